//===- MixProgram.cpp - The cheapest mix of a few choices that fits -------===//
#include "Bounds/MixProgram.h"

#include <algorithm>

using namespace remat::solver;

static constexpr int32_t NoColumn = -1;

MixProgram::MixProgram(size_t NumRows, double MostCost)
    : Size(NumRows + 1), Inverse(Size * Size, 0), Basis(Size), Value(Size, 0),
      Dual(Size, 0) {
  add(std::vector<double>(NumRows, 0), MostCost);
  for (size_t R = 0; R < Size; ++R) {
    Inverse[R * Size + R] = 1;
    Basis[R] = R == NumRows ? 0 : slackOf(R);
  }
  Value[NumRows] = 1;
}

void MixProgram::add(std::vector<double> Column, double Cost) {
  Column.push_back(1);
  Columns.push_back(std::move(Column));
  Costs.push_back(Cost);
}

void MixProgram::solve() {
  constexpr int MostSteps = 500;
  for (int Step = 0; Step < MostSteps; ++Step) {
    findDuals();
    int32_t Entering = choose();
    if (Entering == NoColumn || !exchange(Entering))
      return;
  }
  findDuals();
}

std::vector<double> MixProgram::shares() const {
  std::vector<double> Out(Columns.size(), 0);
  for (size_t R = 0; R < Size; ++R)
    if (Basis[R] >= 0)
      Out[Basis[R]] = Value[R];
  return Out;
}

void MixProgram::findDuals() {
  std::fill(Dual.begin(), Dual.end(), 0);
  for (size_t R = 0; R < Size; ++R)
    if (Basis[R] >= 0)
      for (size_t J = 0; J < Size; ++J)
        Dual[J] += Costs[Basis[R]] * Inverse[R * Size + J];
}

/// The column, or slack, of the most negative reduced cost.
int32_t MixProgram::choose() const {
  double Most = -1e-10;
  int32_t Entering = NoColumn;
  for (size_t R = 0; R + 1 < Size; ++R)
    if (-Dual[R] < Most) {
      Most = -Dual[R];
      Entering = slackOf(R);
    }
  for (size_t C = 0; C < Columns.size(); ++C) {
    double Cost = Costs[C];
    for (size_t J = 0; J < Size; ++J)
      Cost -= Dual[J] * Columns[C][J];
    if (Cost < Most) {
      Most = Cost;
      Entering = int32_t(C);
    }
  }
  return Entering;
}

/// Takes it into the basis. False where nothing would leave.
bool MixProgram::exchange(int32_t Entering) {
  std::vector<double> By(Size, 0);
  for (size_t R = 0; R < Size; ++R)
    for (size_t J = 0; J < Size; ++J)
      if (Entering >= 0)
        By[R] += Inverse[R * Size + J] * Columns[Entering][J];
      else if (slackOf(J) == Entering)
        By[R] = Inverse[R * Size + J];
  size_t Out = Size;
  double Step = 0;
  for (size_t R = 0; R < Size; ++R)
    if (By[R] > 1e-11 && (Out == Size || Value[R] / By[R] < Step)) {
      Step = Value[R] / By[R];
      Out = R;
    }
  if (Out == Size)
    return false;
  for (size_t J = 0; J < Size; ++J)
    Inverse[Out * Size + J] /= By[Out];
  for (size_t R = 0; R < Size; ++R) {
    if (R == Out)
      continue;
    for (size_t J = 0; J < Size; ++J)
      Inverse[R * Size + J] -= By[R] * Inverse[Out * Size + J];
    Value[R] = std::max(0.0, Value[R] - By[R] * Step);
  }
  Value[Out] = Step;
  Basis[Out] = Entering;
  return true;
}
