//===- LinearProgram.h - Linear and mixed-integer programs ----------------===//
//
// The one place where the solver meets a linear-programming library. The
// library is HiGHS (Huangfu and Hall, 2018), loaded when it is first needed.
//
//===----------------------------------------------------------------------===//
#ifndef REMAT_LIB_SOLVER_LINEARPROGRAM_H
#define REMAT_LIB_SOLVER_LINEARPROGRAM_H

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace remat::solver {

inline constexpr double Unbounded = std::numeric_limits<double>::infinity();

/// Minimise cost * x, with bounds on every column and row.
struct LinearProgram {
  std::vector<double> Cost, Lower, Upper;
  std::vector<bool> Integer;
  std::vector<double> RowLower, RowUpper;
  /// Per row: where its entries begin; one more than there are rows.
  std::vector<int32_t> RowStart = {0};
  std::vector<int32_t> Index;
  std::vector<double> Factor;

  using Term = std::pair<int32_t, double>;

  int32_t numColumns() const { return int32_t(Cost.size()); }
  int32_t numRows() const { return int32_t(RowLower.size()); }
  /// Returns the column's number.
  int32_t addColumn(double Price, double Low, double High, bool Whole = false);
  /// Low <= sum of factor * column <= High. A column may stand there once.
  void addRow(double Low, double High, const std::vector<Term> &Terms);
};

struct LinearOptions {
  /// Branch-and-bound nodes; the same number gives the same answer everywhere.
  int32_t MaxNodes = std::numeric_limits<int32_t>::max();
  /// Seconds; 0 is no limit.
  double TimeLimit = 0;
  /// A feasible point to begin with, or empty.
  std::vector<double> Start;
  /// Called now and then; when it returns true the best point so far is
  /// returned.
  std::function<bool()> Stop;
};

enum class LinearStatus : uint8_t {
  Optimal,
  Infeasible,
  Unbounded,
  /// A limit was reached. `Point` may be empty.
  Stopped,
  /// No library, or it failed: `Message` says which, and what would help.
  Unavailable,
};

struct LinearResult {
  LinearStatus Status = LinearStatus::Unavailable;
  std::vector<double> Point;
  double Objective = Unbounded;
  /// No point has a lower objective.
  double Bound = -Unbounded;
  int64_t Nodes = 0;
  std::string Message;
};

/// Solves the program on one thread, in the same way every time. The library is
/// looked for in this order: the file named by the environment variable
/// REMAT_HIGHS and no other; the system's loader; the `highspy` wheel of
/// VIRTUAL_ENV, of ./.venv, of the Python on PATH.
LinearResult solveLinear(const LinearProgram &L, const LinearOptions &O = {});

/// What would be said for want of a library; empty when there is one.
std::string whyNoLinearSolver();

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_LINEARPROGRAM_H
