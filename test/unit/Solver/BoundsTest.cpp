//===- BoundsTest.cpp - No bound is above the optimum ---------------------===//
//
// The least time is that of `Oracle`. REMAT_SOLVER_CASES=2000 tries as many
// problems; the default is few.
//
//===----------------------------------------------------------------------===//
#include "Cut.h"
#include "Oracle.h"
#include "RandomProblem.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

using namespace remat::solver;
using namespace remat::solver::test;

namespace {

/// Layers that each keep a value for the backward part: all of them stand when
/// the loss runs. Values that only set the order have no bytes.
Problem repeated(int Layers, const std::function<int64_t(int)> &Bytes,
                 const std::function<double(int)> &Time) {
  Problem P;
  ValueId X = P.addResident("x", 0);
  std::vector<ValueId> Saved;
  for (int I = 0; I < Layers; ++I) {
    std::string N = std::to_string(I);
    OpId O = P.addOp("forward" + N, Time(I), {X});
    Saved.push_back(P.addOutput(O, "saved" + N, Bytes(I)));
    X = P.addOutput(O, "next" + N, 0);
  }
  OpId Loss = P.addOp("loss", 1, {X});
  ValueId G = P.addOutput(Loss, "g", 0);
  for (int I = Layers - 1; I >= 0; --I) {
    OpId O = P.addOp("backward" + std::to_string(I), 1, {G, Saved[I]});
    G = P.addOutput(O, "g" + std::to_string(I), 0);
  }
  return P;
}

int numCases() {
  const char *Cases = std::getenv("REMAT_SOLVER_CASES");
  return Cases ? std::atoi(Cases) : 150;
}

/// The bounds at every op, with few cuts and with many: branches of every
/// kind, finished or not.
void expectNoBoundAbove(const Problem &P, int64_t Budget) {
  std::optional<double> Optimum = Oracle(P, Budget).solve();
  if (!Optimum)
    return;
  Model M(P);
  for (OpId At = 0; At < M.numOps(); ++At)
    for (OpId Other = 0; Other < M.numOps(); ++Other)
      for (int32_t Part : {2, 8})
        EXPECT_LE(M.BaseTime + MomentCut(M, At, Other, Part).rootBound(Budget),
                  *Optimum + 1e-6);
  for (OpId At = 0; At < M.numOps(); ++At)
    for (int MaxCuts : {1, 12, 80}) {
      MomentCut Cut(M, At, MomentCut::sides(M, At));
      Cut.findLeast();
      EXPECT_LE(Cut.leastBudget(), Budget);
      EXPECT_LE(M.BaseTime + Cut.exactBound(Budget, MaxCuts), *Optimum + 1e-6);
    }
}

} // namespace

TEST(Bounds, EqualLayersAreCounted) {
  // Two of the values fit and half of a third. Which two, does not matter:
  // without counting, branches on single values do not end.
  constexpr int Layers = 40;
  Problem P = repeated(Layers, [](int) { return 10; }, [](int) { return 3.0; });
  SolveOptions O;
  O.Budget = 25;
  SolveResult Got = solve(P, O);
  ASSERT_TRUE(Got.Feasible);
  EXPECT_DOUBLE_EQ(Got.Proof.Time, Got.Proof.BaseTime + 38 * 3);
  EXPECT_GT(Got.Proof.LowerBound, Got.Proof.Time - 0.01);
}

TEST(Bounds, APlaceTooSmallForOneOutputIsLeftToTheNext) {
  // Of w's 10 bytes: a is too large, b takes them. 10 + 20, as `verify` has it.
  Problem P;
  ValueId W = P.addResident("w", 10);
  OpId O = P.addOp("o", 1, {W});
  for (int64_t Bytes : {20, 8})
    P.Values[P.addOutput(O, "v" + std::to_string(Bytes), Bytes)].Reuses = W;
  EXPECT_EQ(floorOf(P).Bytes, 30);
  EXPECT_EQ(verify(P, basePlan(P), 30).Peak, 30);
}

TEST(Bounds, NoneAboveTheOptimumOfEqualLayers) {
  for (int Case = 0; Case < numCases(); ++Case) {
    SCOPED_TRACE("case " + std::to_string(Case));
    Rng R(Case + 1);
    int Kinds = 1 + R.below(2);
    std::vector<int64_t> Bytes = {2 + R.below(5), 2 + R.below(5)};
    std::vector<double> Time = {double(1 + R.below(5)), double(1 + R.below(5))};
    Problem P = repeated(
        3 + R.below(2), [&](int I) { return Bytes[I % Kinds]; },
        [&](int I) { return Time[I % Kinds]; });
    expectNoBoundAbove(P, floorOf(P).Bytes + R.below(14));
  }
}

TEST(Bounds, NoneAboveTheOptimumOfAnyProblem) {
  for (int Case = 0; Case < numCases(); ++Case) {
    SCOPED_TRACE("case " + std::to_string(Case));
    Rng R(Case + 7001);
    Problem P = randomProblem(R, 4 + R.below(5));
    // Few sizes: groups of equal values.
    for (Value &V : P.Values)
      if (V.Alias == None && V.Bytes > 0)
        V.Bytes = 1 + (V.Bytes > 2);
    if (check(P))
      continue;
    expectNoBoundAbove(P, floorOf(P).Bytes + R.below(4));
  }
}
