//===- RepairTest.cpp - What a repair and a crossing can do ---------------===//
#include "Search/Repair.h"
#include "GreedyPlans.h"
#include "Search/Attempt.h"

#include <gtest/gtest.h>

#include <algorithm>

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

/// Moves as a repair tries them.
struct Mover : Moves {
  using Moves::mayRelieve, Moves::moveAway, Moves::rollback;
  using Moves::Moves;
};

/// The ops in any order in which each runs after what makes its inputs.
std::vector<OpId> anyOrder(const Model &M, Rng &R) {
  std::vector<OpId> Out;
  std::vector<bool> Runs(M.numOps(), false);
  auto IsReady = [&](OpId O) {
    return !Runs[O] && std::ranges::all_of(M.inputsOf(O), [&](ValueId V) {
      OpId Maker = M.Values[V].Producer;
      return Maker == None || Runs[Maker];
    });
  };
  while (Out.size() < size_t(M.numOps())) {
    OpId O = R.below(M.numOps());
    while (!IsReady(O))
      O = (O + 1) % M.numOps();
    Runs[O] = true;
    Out.push_back(O);
  }
  return Out;
}

/// What a look says no to would not have made the place emptier.
TEST(Repair, ALookKeepsEveryMoveThatMakesAPlaceEmptier) {
  int Helped = 0, Refused = 0;
  for (int Case = 0; Case < casesOf(12); ++Case) {
    Rng R(Case + 5);
    Problem P = randomProblem(R, 40);
    for (Value &V : P.Values)
      V.Reuses = None;
    Model M(P);
    SolveOptions O;
    Watch D(O);
    Schedule S(M, emitKept(M, anyOrder(M, R)), INT64_MAX);
    const Timeline &T = S.timeline();
    Mover L(S, 1, D);
    for (int32_t At : T.nodes())
      for (int32_t I = 0; I < S.numInstances(); ++I)
        for (bool Later : {false, true}) {
          if (!S.ownsAcross(I, T.key(At)) || S.nodeReads(At, I))
            continue;
          bool MayHelp = L.mayRelieve(At, I, Later);
          int64_t Before = T.bytesAt(At);
          bool Helps = L.moveAway(I, At, Later) && T.bytesAt(At) < Before;
          EXPECT_TRUE(MayHelp || !Helps) << Case << ' ' << At << ' ' << I;
          Helped += Helps;
          Refused += !MayHelp;
          L.rollback(0);
          EXPECT_EQ(T.bytesAt(At), Before);
        }
  }
  EXPECT_GT(Helped, 0);
  EXPECT_GT(Refused, 0);
}

/// The parameter w (8) is read by f, which makes x (100) of it, and written by
/// update, which runs after f. Between f and back much else stands: x is to be
/// made again for back, and update has run by then. It waits.
TEST(Repair, WhatRunsAfterAnotherWaitsForItsRepetition) {
  for (bool Reads : {false, true}) {
    Problem P;
    ValueId W = P.addResident("w", 8);
    OpId F = P.addOp("f", 1, {W});
    ValueId X = P.addOutput(F, "x", 100);
    ValueId Y = P.addOutput(P.addOp("g", 1, {X}), "y", 4);
    OpId Update = P.addOp("update", 1, {W, Y});
    P.Ops[Update].Once = true;
    ValueId U = P.addOutput(Update, "u", 0);
    P.addAfter(Update, F);
    ValueId Z = P.addOutput(P.addOp("much", 9, {Y}), "z", 200);
    P.Ops[P.Values[Z].Producer].Once = true;
    ValueId V = P.addOutput(P.addOp("less", 1, {Z}), "v", 4);
    // Where back reads what update makes, update waits no longer than that.
    std::vector<ValueId> In = {X, V};
    if (Reads)
      In.push_back(U);
    P.Results = {P.addOutput(P.addOp("back", 1, std::move(In)), "r", 4)};
    Model M(P);
    EXPECT_EQ(measure(M, emitKept(M, baseOrder(M))).Peak, 8 + 100 + 4 + 200);
    EXPECT_EQ(repaired(M, 250), 216);
  }
}

/// Asks of each recomputation whether it is needed, then takes it out.
class Removals : public Repair {
public:
  using Repair::Repair;
  int Needed = 0, Failed = 0;

  void compare() {
    for (int32_t N : std::vector<int32_t>(S.extras())) {
      if (!S.removable(N) || N == TurnNode)
        continue;
      bool Said = isNeeded(N);
      removeCascade(N);
      bool Fails = T.overflow() > 0;
      rollback(0);
      EXPECT_EQ(T.overflow(), 0);
      // Nobody says yes where it may go.
      EXPECT_TRUE(Fails || !Said);
      Needed += Said;
      Failed += Fails;
    }
  }
};

/// Of plans whose peak is the limit.
TEST(Repair, SaysOfMostWhatTheLimitNeeds) {
  int Needed = 0, Failed = 0;
  forGreedyPlans(5, 400, [&](int, const Model &M, const Watch &D, auto &From) {
    Schedule S(M, From, INT64_MAX);
    S.setLimit(S.timeline().peak());
    Removals L(S, 1, D);
    L.compare();
    Needed += L.Needed;
    Failed += L.Failed;
  });
  EXPECT_GT(Failed, 1000);
  EXPECT_GT(Needed, Failed / 2);
}

/// a (100 bytes, 3 us), b and c (50, 2 us each) are read before much (200) and
/// after it, and made again. Within 300 there is room for 100 across much: for
/// a, which is dearest, or for b and c, which are dearer together.
TEST(Repair, TakesBackInTheOrderThatSavesMost) {
  Problem P;
  ValueId A = P.addOutput(P.addOp("a", 3, {}), "a", 100);
  ValueId B = P.addOutput(P.addOp("b", 2, {}), "b", 50);
  ValueId C = P.addOutput(P.addOp("c", 2, {}), "c", 50);
  ValueId U = P.addOutput(P.addOp("use", 1, {A, B, C}), "u", 0);
  ValueId Z = P.addOutput(P.addOp("much", 1, {U}), "z", 200);
  ValueId W = P.addOutput(P.addOp("less", 1, {Z}), "w", 0);
  P.Results = {P.addOutput(P.addOp("end", 1, {A, B, C, W}), "r", 0)};
  Model M(P);
  Plan From;
  for (OpId O : {0, 1, 2, 3, 4, 5, 0, 1, 2, 6})
    From.Sequence.push_back({O, 0});
  SolveOptions O;
  Watch D(O);
  for (int Orders : {1, 16}) {
    Schedule S(M, From, 300);
    Repair L(S, 1, D);
    Plan Best = L.restored(Orders);
    EXPECT_EQ(measure(M, Best).Time, M.BaseTime + (Orders == 1 ? 2 + 2 : 3));
    EXPECT_TRUE(verify(P, Best, 300).Ok);
  }
}

/// Of plans within a limit above their peak.
TEST(Repair, MoreOrdersTakeBackNoLess) {
  int Better = 0;
  forGreedyPlans(11, 200, [&](int, const Model &M, const Watch &D, auto &From) {
    int64_t Limit = measure(M, From).Peak * 5 / 4;
    double Least = AboveAllCosts;
    for (int Orders : {1, 4}) {
      Schedule S(M, From, Limit);
      Repair L(S, 1, D);
      Plan Best = L.restored(Orders);
      VerifyResult V = verify(M.P, Best, Limit);
      EXPECT_TRUE(V.Ok) << V.Error;
      double Cost = measure(M, Best).cost();
      EXPECT_LE(Cost, Least);
      Better += Orders > 1 && Cost < Least;
      Least = Cost;
    }
  });
  EXPECT_GT(Better, 0);
}

/// Of two plans over other orders, cut at every place: what comes out is valid,
/// begins as the first and runs every op.
TEST(Crossing, IsValidWhereverItCuts) {
  Rng R(7);
  for (int Case = 0; Case < 200; ++Case) {
    Features F;
    F.After = Case % 2 ? 25 : 0;
    Problem P = randomProblem(R, 8, F);
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
        // But for what waits, see `Op::After`.
        EXPECT_TRUE(M.AnyAfter ||
                    std::equal(First.Sequence.begin(),
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
