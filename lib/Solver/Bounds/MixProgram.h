//===- MixProgram.h - The cheapest mix of a few choices that fits ---------===//
#ifndef REMAT_LIB_SOLVER_MIXPROGRAM_H
#define REMAT_LIB_SOLVER_MIXPROGRAM_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace remat::solver {

/// A linear program: shares of columns, one in all, of the least cost for which
/// the mix is at most zero in every row. Revised simplex method with an
/// explicit inverse (Dantzig), for a dozen rows and columns that come one at a
/// time. Basic floating-point arithmetic only: the same on every machine.
class MixProgram {
public:
  /// The first column is zero in every row, at a cost above all others.
  MixProgram(size_t NumRows, double MostCost);
  void add(std::vector<double> Column, double Cost);
  void solve();

  /// What a unit more in a row would save.
  double price(size_t Row) const { return Dual[Row] < 0 ? -Dual[Row] : 0; }
  double cost() const { return Dual[Size - 1]; }
  /// Of each column, the first one included.
  std::vector<double> shares() const;

private:
  /// Rows, and one for the sum of the shares.
  size_t Size;
  std::vector<std::vector<double>> Columns;
  std::vector<double> Costs;
  std::vector<double> Inverse;
  /// Per row: a column, or the slack of a row.
  std::vector<int32_t> Basis;
  std::vector<double> Value, Dual;

  static int32_t slackOf(size_t Row) { return -2 - int32_t(Row); }
  void findDuals();
  int32_t choose() const;
  bool exchange(int32_t Entering);
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_MIXPROGRAM_H
