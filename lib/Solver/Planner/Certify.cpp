//===- Certify.cpp - A plan, verified, with what is proven ----------------===//
#include "Planner/Certify.h"

using namespace remat::solver;

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

static std::string atOp(const Model &M, OpId O) {
  return O == None ? "" : " at op '" + M.P.Ops[O].Name + "'";
}

/// Some op needs more than the budget, whatever the plan.
static Refusal refuseFloor(const Model &M, int64_t Budget, Floor F) {
  Refusal R;
  R.Proven = true;
  R.At = F.At;
  R.Values = std::move(F.Values);
  R.Needed = F.Bytes;
  R.Message = "no plan fits: " + std::to_string(F.Bytes) +
              " bytes stand together" + atOp(M, F.At) + ", the budget is " +
              std::to_string(Budget);
  return R;
}

static Refusal refuse(const Model &M, int64_t Budget, const SolveResult &Of) {
  if (Floor F = floorOf(M.P); F.Bytes > Budget)
    return refuseFloor(M, Budget, std::move(F));
  VerifyResult V = verify(M.P, Of.Best, INT64_MAX);
  Refusal R;
  R.Proven = Of.Proof.MinBudgetBound > Budget;
  R.At = V.PeakStep == None ? None : Of.Best.Sequence[V.PeakStep].Op;
  R.Values = V.LiveAtPeak;
  R.Needed = V.Peak;
  R.Message = (R.Proven ? "no plan fits: " : "no plan was found: ") +
              ("the lowest peak found is " + std::to_string(V.Peak)) +
              " bytes" + atOp(M, R.At) + ", the budget is " +
              std::to_string(Budget);
  return R;
}

SolveResult remat::solver::certify(const Model &M, const SolveOptions &O,
                                   const Watch &D, SearchResult Found) {
  SolveResult R;
  R.Best = std::move(Found.Best);
  // The search keeps all runs of the turn, whether `Never` needs them or not.
  dropUnread(M.P, R.Best, M.AnyNever ? M.Turn : None);
  VerifyResult V = verify(M.P, R.Best, O.Budget);
  R.Feasible = V.Ok;
  Certificate &C = R.Proof;
  C.Time = V.Time;
  C.Peak = V.Peak;
  C.BaseTime = M.BaseTime;
  C.Overhead = M.BaseTime > 0 ? C.Time / M.BaseTime - 1 : 0;
  C.MinBudget =
      R.Feasible ? std::min(Found.MinBudget, V.Peak) : Found.MinBudget;
  C.MinBudgetBound = std::max(D.LeastBudget, Found.LeastBudget);
  C.LowerBound = std::max(D.Bound, Found.Bound);
  // A proof over the base order counts where it is complete and the other not.
  double Margin = 1e-6 * M.BaseTime;
  if (C.Time > C.LowerBound + Margin && C.Time <= Found.OrderBound + Margin &&
      inStages(M.P, R.Best)) {
    C.ProvenOver = Space::BaseOrder;
    C.LowerBound = C.Time;
  }
  R.Notice = Found.Notice;
  C.Gap = M.BaseTime > 0 ? (C.Time - C.LowerBound) / M.BaseTime : 0;
  C.Seed = O.Seed;
  C.Seconds = D.seconds();
  if (!R.Feasible)
    R.Reason = refuse(M, O.Budget, R);
  return R;
}
