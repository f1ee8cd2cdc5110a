//===- RepairTest.cpp - What a repair and a crossing can do ---------------===//
#include "Search/Repair.h"
#include "RandomProblem.h"
#include "Search/Attempt.h"
#include "Seeds/Baselines.h"

#include <gtest/gtest.h>

using namespace remat::solver;
using namespace remat::solver::test;

namespace {

/// The peak that a repair reaches without random choices before it gives up.
int64_t repaired(const Model &M, int64_t Limit) {
  SolveOptions O;
  Watch D(O);
  Schedule S(M, emitKept(M, baseOrder(M)), Limit);
  Repair L(S, 1, D);
  L.WorkLimit = 1'000;
  L.repair(10);
  VerifyResult V = verify(M.P, S.plan(), INT64_MAX);
  EXPECT_TRUE(V.Ok) << V.Error;
  return V.Peak;
}

/// m (50) -> c (100), m -> s (100); p (100) from c and s may take over c, which
/// q reads once more, after p. In the base order all three stand together: 300.
/// With m kept, p in the place of c and c made again after: 50 + 100 + 100.
TEST(Repair, AnOutputTakesOverWhatIsReadLaterAndMadeAgain) {
  for (bool InPlace : {true, false}) {
    Problem P;
    ValueId MV = P.addOutput(P.addOp("m", 1, {}), "m", 50);
    ValueId C = P.addOutput(P.addOp("c", 1, {MV}), "c", 100);
    ValueId SV = P.addOutput(P.addOp("s", 1, {MV}), "s", 100);
    ValueId PV = P.addOutput(P.addOp("p", 1, {C, SV}), "p", 100);
    if (InPlace)
      P.Values[PV].Reuses = C;
    ValueId T = P.addOutput(P.addOp("t", 1, {PV}), "t", 0);
    ValueId Q = P.addOutput(P.addOp("q", 1, {C, T}), "q", 0);
    P.Results = {Q};
    Model M(P);
    EXPECT_EQ(measure(M, emitKept(M, baseOrder(M))).Peak, 300);
    EXPECT_EQ(repaired(M, 250), InPlace ? 250 : 300);
  }
}

/// Of two plans over other orders, cut at every place: what comes out is valid,
/// begins as the first and runs every op.
TEST(Crossing, IsValidWhereverItCuts) {
  Rng R(7);
  for (int Case = 0; Case < 200; ++Case) {
    Problem P = randomProblem(R, 8);
    Model M(P);
    Plan A = emitKept(M, baseOrder(M)), B;
    greedyPlans(M, [&](Plan S) {
      B = std::move(S);
      return true;
    });
    if (M.AnyNever || B.Sequence.empty())
      continue;
    for (const auto &[First, Second] : {std::pair(A, B), std::pair(B, A)})
      for (size_t At = 0; At <= First.Sequence.size(); ++At) {
        Plan C = crossed(M, First, At, Second);
        VerifyResult V = verify(P, C, INT64_MAX);
        ASSERT_TRUE(V.Ok) << V.Error;
        EXPECT_TRUE(std::equal(First.Sequence.begin(),
                               First.Sequence.begin() + ptrdiff_t(At),
                               C.Sequence.begin()));
      }
  }
}

/// d reads b and c, which both read a.
TEST(Crossing, TakesTheSecondFromWhereItHasRunAsMuch) {
  Problem P;
  ValueId A = P.addOutput(P.addOp("a", 1, {}), "a", 1);
  ValueId B = P.addOutput(P.addOp("b", 1, {A}), "b", 1);
  ValueId C = P.addOutput(P.addOp("c", 1, {A}), "c", 1);
  P.Results = {P.addOutput(P.addOp("d", 1, {B, C}), "d", 1)};
  Model M(P);
  Plan First, Second;
  First.Sequence = {{0, 0}, {1, 0}, {2, 0}, {3, 0}};
  Second.Sequence = {{0, 0}, {2, 0}, {0, 0}, {1, 0}, {3, 0}};
  // After a and b: c, which the second has run by then, and then what it runs
  // after two ops: a again, b again, d.
  std::vector<OpId> Ops;
  for (const Step &X : crossed(M, First, 2, Second).Sequence)
    Ops.push_back(X.Op);
  EXPECT_EQ(Ops, (std::vector<OpId>{0, 1, 2, 0, 1, 3}));
}

} // namespace
