//===- StagesTest.cpp - The integer program of plans in stages ------------===//
#include "Exact/Stages.h"
#include "RandomProblem.h"
#include "remat/Solver/JSON.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

using namespace remat::solver;
using namespace remat::solver::test;

namespace {

/// Calls back with every plan in stages, each step with the fastest kernel that
/// fits the budget.
void forEachPlan(const Model &M, int64_t Budget,
                 const std::function<void(const Plan &)> &Sink) {
  std::vector<std::pair<int32_t, OpId>> Slots;
  for (int32_t T = 0; T <= M.numOps(); ++T)
    for (OpId O = 0; O < T; ++O)
      if (M.Again[O])
        Slots.push_back({T, O});
  for (uint32_t Set = 0; Set < 1u << Slots.size(); ++Set) {
    Plan S;
    size_t I = 0;
    for (int32_t T = 0; T <= M.numOps(); ++T) {
      for (; I < Slots.size() && Slots[I].first == T; ++I)
        if (Set >> I & 1)
          S.Sequence.push_back({Slots[I].second, 0});
      if (T < M.numOps())
        S.Sequence.push_back({T, 0});
    }
    chooseKernels(M, S, Budget);
    Sink(S);
  }
}

bool satisfies(const LinearProgram &L, const std::vector<double> &X) {
  for (int32_t R = 0; R < L.numRows(); ++R) {
    double Sum = 0;
    for (int32_t K = L.RowStart[R]; K < L.RowStart[R + 1]; ++K)
      Sum += L.Factor[K] * X[L.Index[K]];
    if (Sum < L.RowLower[R] - 1e-9 || Sum > L.RowUpper[R] + 1e-9)
      return false;
  }
  return true;
}

Problem stageProblem(Rng &R, bool Exact) {
  Features F;
  F.Alias = Exact ? 0 : 20;
  F.Reuse = 35;
  F.Choices = 20;
  F.After = R.chance(40) ? 40 : 0;
  Problem P = randomProblem(R, 3 + R.below(3), F);
  for (Value &V : P.Values) {
    if (Exact && V.Reuses != None && P.Values[V.Reuses].Producer == None)
      V.Reuses = None;
    if (V.Producer == None || !R.chance(10))
      continue;
    V.Policy = R.chance(50) ? Keep::Never : Keep::Must;
    if (check(P))
      V.Policy = Keep::Free;
  }
  return P;
}

int64_t stageBudget(Rng &R, const Problem &P) {
  int64_t Low = floorOf(P).Bytes, High = verify(P, basePlan(P), INT64_MAX).Peak;
  return Low + R.below(int(High - Low + 1));
}

double objective(const LinearProgram &L, const std::vector<double> &X) {
  double Sum = 0;
  for (int32_t C = 0; C < L.numColumns(); ++C)
    Sum += L.Cost[C] * X[C];
  return Sum;
}

/// A plan fits the budget where its point fits the rows, and costs as much.
/// Where a count may be too low, only the one direction holds.
TEST(Stages, RowsAgreeWithVerify) {
  int Fit = 0, Over = 0;
  for (int Case = 0; Case < 60; ++Case) {
    Rng R(Case + 1);
    bool Exact = Case % 2 == 0;
    Problem P = stageProblem(R, Exact);
    int64_t Budget = stageBudget(R, P);
    Model M(P);
    StageProgram S(M, Budget, Unbounded);
    S.addRows();
    SCOPED_TRACE(Case);
    forEachPlan(M, Budget, [&](const Plan &Q) {
      VerifyResult V = verify(P, Q, Budget);
      std::vector<double> X = S.pointOf(Q);
      bool Fits = !X.empty() && satisfies(S.program(), X);
      // A run that nothing reads has no column: that plan is no loss.
      if (V.Ok && !X.empty())
        EXPECT_TRUE(Fits);
      if (Exact && Fits)
        EXPECT_TRUE(V.Ok) << V.Error;
      if (!Fits)
        return;
      EXPECT_EQ(S.planOf(X), Q);
      EXPECT_NEAR(objective(S.program(), X) * S.unit(), V.Time, 1e-9);
      ++(V.Ok ? Fit : Over);
    });
  }
  EXPECT_GT(Fit, 500);
}

/// The program's optimum is that of all plans in stages.
TEST(Stages, OptimumEqualsEnumeration) {
  if (std::string Why = whyNoLinearSolver(); !Why.empty())
    GTEST_SKIP() << Why;
  int Feasible = 0, Recomputed = 0;
  for (int Case = 0; Case < 60; ++Case) {
    Rng R(Case + 1000);
    bool Exact = Case % 4 != 0;
    Problem P = stageProblem(R, Exact);
    int64_t Budget = stageBudget(R, P);
    Model M(P);
    double Best = Unbounded;
    forEachPlan(M, Budget, [&](const Plan &Q) {
      if (VerifyResult V = verify(P, Q, Budget); V.Ok)
        Best = std::min(Best, V.Time);
    });
    StageProgram S(M, Budget, Unbounded);
    S.addRows();
    LinearResult Got = solveLinear(S.program());
    SCOPED_TRACE(Case);
    if (Got.Status == LinearStatus::Infeasible) {
      EXPECT_EQ(Best, Unbounded);
      continue;
    }
    ASSERT_EQ(Got.Status, LinearStatus::Optimal) << Got.Message;
    EXPECT_LE(Got.Bound * S.unit(), Best + 1e-6);
    Feasible += Best < Unbounded;
    Recomputed += Best < Unbounded && Best > P.baseTime();
    if (!Exact)
      continue;
    VerifyResult V = verify(P, S.planOf(Got.Point), Budget);
    EXPECT_TRUE(V.Ok) << V.Error;
    EXPECT_NEAR(V.Time, Best, 1e-6);
  }
  EXPECT_GT(Feasible, 20);
  EXPECT_GT(Recomputed, 3);
}

SolveResult solveBy(const Problem &P, int64_t Budget, Strategy S) {
  SolveOptions O;
  O.Budget = Budget;
  O.Method = S;
  return solve(P, O);
}

/// A chain of layers, the loss, and the gradients back through it: an order
/// that leaves nothing to choose.
Problem chain(Rng &R, int Layers) {
  Problem P;
  std::vector<ValueId> Kept = {P.addResident("x", 10)};
  auto add = [&](const std::string &Name, std::vector<ValueId> In,
                 int64_t Bytes) {
    return P.addOutput(P.addOp(Name, 5 + R.below(20), std::move(In)),
                       "v" + Name, Bytes);
  };
  for (int I = 0; I < Layers; ++I)
    Kept.push_back(
        add("f" + std::to_string(I), {Kept.back()}, 20 + R.below(30)));
  ValueId G = add("loss", {Kept.back()}, 5);
  for (int I = Layers; I > 0; --I)
    G = add("b" + std::to_string(I), {G, Kept[I - 1]}, 5 + R.below(10));
  P.Results = {G};
  return P;
}

/// Beyond the reach of the search over states, `optimal` proves what it can
/// for the order given, and the certificate says so.
TEST(Stages, TheCertificateNamesItsSpace) {
  bool Library = whyNoLinearSolver().empty();
  int Given = 0, Better = 0;
  for (int Case = 0; Case < casesOf(2); ++Case) {
    Rng R(Case + 50);
    Problem P = chain(R, 20);
    int64_t Budget = verify(P, basePlan(P), INT64_MAX).Peak * (4 + Case) / 10;
    SolveResult Search = solveBy(P, Budget, Strategy::Search);
    SolveResult Got = solveBy(P, Budget, Strategy::Optimal);
    const Certificate &C = Got.Proof;
    SCOPED_TRACE(Case);
    ASSERT_TRUE(Search.Feasible && Got.Feasible);
    EXPECT_TRUE(verify(P, Got.Best, Budget).Ok);
    EXPECT_LE(C.LowerBound, C.Time + 1e-6);
    EXPECT_LE(C.Time, Search.Proof.Time + 1e-6);
    Better += C.Time < Search.Proof.Time - 1e-6;
    bool InOrder = C.ProvenOver == Space::BaseOrder;
    Given += InOrder;
    if (InOrder) {
      EXPECT_EQ(C.LowerBound, C.Time);
    }
    std::string Text = writePlan(P, Got.Best, &C);
    EXPECT_EQ(Text.find("\"base-order\"") != std::string::npos, InOrder);
    EXPECT_EQ(Search.Proof.ProvenOver, Space::AnyOrder);
  }
  std::printf("%d proven over the base order alone, %d better than search\n",
              Given, Better);
  EXPECT_EQ(Given > 0, Library);
}

TEST(Stages, WithoutTheLibraryOptimalSaysSo) {
  Rng R(52);
  Problem P = chain(R, 20);
  int64_t Budget = verify(P, basePlan(P), INT64_MAX).Peak * 3 / 10;
  const char *Named = std::getenv("REMAT_HIGHS");
  std::string Before = Named ? Named : "";
  setenv("REMAT_HIGHS", "/nonexistent/libhighs.so.1", 1);
  SolveResult Got = solveBy(P, Budget, Strategy::Optimal);
  Named ? setenv("REMAT_HIGHS", Before.c_str(), 1) : unsetenv("REMAT_HIGHS");
  SolveResult Search = solveBy(P, Budget, Strategy::Search);
  ASSERT_GT(Search.Proof.Gap, 1e-6);
  EXPECT_EQ(Got.Best, Search.Best);
  EXPECT_EQ(Got.Proof.ProvenOver, Space::AnyOrder);
  EXPECT_NE(Got.Notice.find("HiGHS was not found"), std::string::npos);
  EXPECT_NE(Got.Notice.find("REMAT_HIGHS"), std::string::npos);
}

} // namespace
