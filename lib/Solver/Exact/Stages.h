//===- Stages.h - The problem in a given order as an integer program ------===//
#ifndef REMAT_LIB_SOLVER_STAGES_H
#define REMAT_LIB_SOLVER_STAGES_H

#include "Linear/LinearProgram.h"
#include "Model/Model.h"

namespace remat::solver {

/// Plans in stages (after Jain et al., "Checkmate", 2020): stage T runs, in the
/// base order, some of the ops before T once more, then op T for the first
/// time; a last stage, after all ops, runs some once more.
///
/// Columns, all 0 or 1: does op I run in stage T; is value V held when stage T
/// begins; is a class still read from a reader on; is a storage taken over. A
/// row per stage and op counts the bytes as `verify` does, but for two things
/// that it may count too low: what could stand in a resident value's place
/// counts nothing, and a class counts once even where two instances of it live.
class StageProgram {
public:
  /// `MaxExtra`: no op runs again whose time exceeds it.
  StageProgram(const Model &M, int64_t Budget, double MaxExtra);

  /// Times are in units of `unit`. Bytes are counted at first runs only, until
  /// more rows are asked for.
  const LinearProgram &program() const { return L; }
  double unit() const { return Unit; }
  /// Adds the rows of bytes that the point oversteps, or all. Returns how many.
  int addRows(const std::vector<double> *Point = nullptr);
  /// Entries of all rows.
  size_t numEntries() const { return L.Index.size() + NumWaiting; }
  /// Only plans that take at most so much time count from here on.
  void limit(double Time);
  /// The plan that a solution means.
  Plan planOf(const std::vector<double> &Point) const;
  /// The point that means a plan; empty when the plan is not one in stages.
  std::vector<double> pointOf(const Plan &S) const;

private:
  /// What a column is when the runs and the held values are known: the most of
  /// some columns, or as much of the first as the second leaves.
  struct Derived {
    enum : uint8_t { Most, Left } Kind;
    int32_t Column;
    std::vector<int32_t> From;
  };
  /// Columns of one stage; `None` is zero, `One` is one.
  struct Stage {
    /// Per op: it runs. Per op, when there are several: its choices.
    std::vector<int32_t> Run;
    std::vector<std::vector<int32_t>> Kernel;
    /// Per value and per class: held when the stage begins.
    std::vector<int32_t> Held, Kept;
    /// Per class: its readers in the stage, and whether one from there on, or
    /// a later stage, reads it.
    std::vector<std::vector<std::pair<OpId, int32_t>>> Live;
  };

  const Model &M;
  int64_t Budget;
  int32_t N;
  LinearProgram L;
  double Unit = 1;
  int32_t One = None;
  std::vector<Stage> Stages;
  std::vector<Derived> Rest;
  std::vector<std::vector<int32_t>> Choices;
  /// Rows that are not in the program yet.
  struct Waiting {
    double Upper;
    std::vector<LinearProgram::Term> Terms;
  };
  std::vector<Waiting> Later;
  size_t NumWaiting = 0;
  std::vector<ValueId> Counted;

  bool mayRepeat(OpId O, int32_t T, double MaxExtra) const;
  std::vector<bool> usefulAt(int32_t T, double MaxExtra) const;
  int32_t derive(decltype(Derived::Most) Kind, std::vector<int32_t> From);
  void addRuns(double MaxExtra);
  void addHeld(double MaxExtra);
  void addReads();
  void addLive();
  void addMemory(int32_t T, OpId O);
  int32_t liveAt(int32_t T, ValueId C, OpId O) const;
  int32_t takeover(int32_t T, OpId O, ValueId C);
  bool fillRuns(const Plan &S, std::vector<double> &X,
                std::vector<int32_t> &StageOf) const;
  bool fillHeld(const Plan &S, std::vector<double> &X,
                const std::vector<int32_t> &StageOf) const;
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_STAGES_H
