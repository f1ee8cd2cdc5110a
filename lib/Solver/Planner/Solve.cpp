//===- Solve.cpp - Strategies by name, bounds of a problem ----------------===//
#include "remat/Solver/Recompute.h"

#include "Bounds/Bounds.h"

#include <algorithm>

using namespace remat::solver;

namespace {
struct Named {
  Strategy S;
  std::string_view Name;
};
constexpr Named Names[] = {
    {Strategy::None, "none"},       {Strategy::Sqrt, "sqrt"},
    {Strategy::Greedy, "greedy"},   {Strategy::MinCut, "mincut"},
    {Strategy::Optimal, "optimal"}, {Strategy::Search, "search"}};
} // namespace

std::string_view remat::solver::nameOf(Strategy S) {
  for (const Named &N : Names)
    if (N.S == S)
      return N.Name;
  return "unknown";
}

std::optional<Strategy> remat::solver::strategyOf(std::string_view Name) {
  for (const Named &N : Names)
    if (N.Name == Name)
      return N.S;
  return std::nullopt;
}

Floor remat::solver::floorOf(const Problem &P) {
  Floor F;
  if (check(P))
    return F;
  Model M(P);
  F.Bytes = M.Resident;
  for (OpId O = 0; O < M.numOps(); ++O) {
    std::vector<ValueId> Counted;
    int64_t Bytes = M.leastBytesAt(O, {}, &Counted);
    if (Bytes > F.Bytes || F.At == None) {
      F.Bytes = std::max(F.Bytes, Bytes);
      F.At = O;
      F.Values = std::move(Counted);
    }
  }
  return F;
}

PlanBound remat::solver::boundOf(const Problem &P, int64_t Budget, bool Exact,
                                 const std::vector<OpId> &Unseen,
                                 uint32_t Threads) {
  Model M(P);
  for (OpId O : Unseen)
    M.Seen[O] = false;
  SolveOptions Unlimited;
  Workers All(Threads);
  Bounds B = momentBounds(M, Budget, Watch(Unlimited, &All), Exact);
  return {B.Extra, B.LeastBudget};
}
