//===- Solve.cpp - Strategies by name, certificates, refusals -------------===//
#include "Bounds/Bounds.h"
#include "Exact/Optimal.h"
#include "Seeds/Baselines.h"

#include <algorithm>
#include <cmath>

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
                                 const std::vector<OpId> &Unseen) {
  Model M(P);
  for (OpId O : Unseen)
    M.Seen[O] = false;
  SolveOptions Unlimited;
  Bounds B = momentBounds(M, Budget, Watch(Unlimited), Exact);
  return {B.Extra, B.LeastBudget};
}

/// `Space::BaseOrder` is about such plans.
static bool inStages(const Problem &P, const Plan &S) {
  OpId Stage = 0, Before = None;
  for (auto [O, C] : S.Sequence) {
    if (O > Stage || O <= Before)
      return false;
    Before = O == Stage ? None : O;
    Stage += O == Stage;
  }
  return Stage == OpId(P.Ops.size());
}

static SearchResult runStrategy(const Model &M, const SolveOptions &O,
                                const Watch &D) {
  SearchResult R;
  switch (O.Method) {
  case Strategy::None:
    R.Best = solveNone(M, O.Budget);
    break;
  case Strategy::Sqrt:
    R.Best = solveSqrt(M, O.Budget);
    break;
  case Strategy::Greedy:
    R.Best = solveGreedy(M, O.Budget);
    break;
  case Strategy::MinCut:
    R.Best = solveMinCut(M, O.Budget);
    break;
  case Strategy::Optimal:
    return solveOptimal(M, O, D);
  case Strategy::Search:
    // Few states, for a problem of a dozen ops or two: milliseconds.
    R = solveSearch(M, O, D);
    closeSmall(M, O, D, Tuned.Exact.SearchStates, R);
    return R;
  }
  R.MinBudget = measure(M, R.Best).Peak;
  return R;
}

static void refuse(const Model &M, const SolveOptions &O, SolveResult &R) {
  Floor F = floorOf(M.P);
  VerifyResult V = verify(M.P, R.Best, INT64_MAX);
  R.Reason.Proven = F.Bytes > O.Budget;
  std::string Budget = std::to_string(O.Budget);
  if (R.Reason.Proven) {
    R.Reason.At = F.At;
    R.Reason.Values = F.Values;
    R.Reason.Needed = F.Bytes;
    std::string At = F.At == None ? "" : " at op '" + M.P.Ops[F.At].Name + "'";
    R.Reason.Message = "no plan fits: " + std::to_string(F.Bytes) +
                       " bytes stand together" + At + ", the budget is " +
                       Budget;
    return;
  }
  R.Reason.At = V.PeakStep == None ? None : R.Best.Sequence[V.PeakStep].Op;
  R.Reason.Values = V.LiveAtPeak;
  R.Reason.Needed = V.Peak;
  std::string At =
      R.Reason.At == None ? "" : " at op '" + M.P.Ops[R.Reason.At].Name + "'";
  bool Proven = R.Proof.MinBudgetBound > O.Budget;
  R.Reason.Proven = Proven;
  R.Reason.Message = (Proven ? "no plan fits: " : "no plan was found: ") +
                     ("the lowest peak found is " + std::to_string(V.Peak)) +
                     " bytes" + At + ", the budget is " + Budget;
}

SolveResult remat::solver::solve(const Problem &P,
                                 const SolveOptions &Options) {
  SolveResult R;
  Watch D(Options);
  if (std::optional<std::string> Bad = check(P)) {
    R.Reason.Message = "the problem is malformed: " + *Bad;
    return R;
  }
  Model M(P);
  Bounds B =
      momentBounds(M, Options.Budget, D, Options.Method >= Strategy::Optimal);
  D.Bound = M.BaseTime + B.Extra;
  D.LeastBudget = B.LeastBudget;
  SearchResult Found = runStrategy(M, Options, D);
  R.Best = std::move(Found.Best);
  dropUnread(M, R.Best);
  VerifyResult V = verify(P, R.Best, Options.Budget);
  R.Feasible = V.Ok;
  Certificate &C = R.Proof;
  C.Time = V.Time;
  C.Peak = V.Peak;
  C.BaseTime = M.BaseTime;
  C.Overhead = M.BaseTime > 0 ? C.Time / M.BaseTime - 1 : 0;
  C.MinBudget =
      R.Feasible ? std::min(Found.MinBudget, V.Peak) : Found.MinBudget;
  C.MinBudgetBound = std::max(B.LeastBudget, Found.LeastBudget);
  C.LowerBound = std::max(D.Bound, Found.Bound);
  // A proof over the base order counts where it is complete and the other not.
  double Margin = 1e-6 * M.BaseTime;
  if (C.Time > C.LowerBound + Margin && C.Time <= Found.OrderBound + Margin &&
      inStages(P, R.Best)) {
    C.ProvenOver = Space::BaseOrder;
    C.LowerBound = C.Time;
  }
  R.Notice = Found.Notice;
  C.Gap = M.BaseTime > 0 ? (C.Time - C.LowerBound) / M.BaseTime : 0;
  C.Seed = Options.Seed;
  C.Seconds = D.seconds();
  if (!R.Feasible)
    refuse(M, Options, R);
  return R;
}
