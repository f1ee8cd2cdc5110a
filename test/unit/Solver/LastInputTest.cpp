//===- LastInputTest.cpp - Bounds where an op's inputs come together ------===//
#include "AskBounds.h"
#include "Oracle.h"

#include <gtest/gtest.h>

using namespace remat::solver;
using namespace remat::solver::test;

namespace {

/// y1 and y2, of 10 bytes, are made from p and q, of 8 bytes, and read by `x`.
struct Pair {
  Problem P;
  ValueId S, Y1, Y2, Z;

  Pair() {
    S = P.addOutput(P.addOp("s", 7, {}), "s", 5);
    ValueId A = P.addOutput(P.addOp("p", 2, {S}), "p", 8);
    ValueId B = P.addOutput(P.addOp("q", 2, {S}), "q", 8);
    Y1 = P.addOutput(P.addOp("y1", 20, {A}), "y1", 10);
    Y2 = P.addOutput(P.addOp("y2", 20, {B}), "y2", 10);
    Z = P.addOutput(P.addOp("x", 1, {Y1, Y2}), "z", 1);
  }
};

} // namespace

TEST(LastInput, InputsThatStandTogetherWereMadeOneAfterTheOther) {
  // `x` needs 10 + 10 + 1. Before, y2 was made beside y1: 8 + 10 + 10, or y1
  // beside y2, which is as much. s is not needed by then.
  Pair G;
  Model M(G.P);
  EXPECT_EQ(atFirstRuns(M, 100).LeastBudget, 21);
  EXPECT_EQ(boundsOf(M, 28).LeastBudget, 28);
  EXPECT_FALSE(Oracle(G.P, 27).solve());
  EXPECT_TRUE(Oracle(G.P, 28).solve());
}

TEST(LastInput, WhatIsKeptStandsBesideInputsThatAreMade) {
  // s is read after `x`, too: 21 + 5 bytes there, but 28 + 5 where the last of
  // y1 and y2 is made. So it is made again, which takes 7.
  Pair G;
  G.P.addOutput(G.P.addOp("b", 1, {G.S, G.Z}), "b", 1);
  Model M(G.P);
  EXPECT_EQ(atFirstRuns(M, 30).Extra, 0);
  EXPECT_NEAR(boundsOf(M, 30).Extra, 7, 1e-6);
  EXPECT_EQ(Oracle(G.P, 30).solve(), M.BaseTime + 7);
}

TEST(LastInput, SmallInputsAreNoStepsBack) {
  // A loss: l from t; f from l, s from f, m in the place of s; e in the place
  // of l; r from both. Either l stands beside f and s, or it is made again,
  // from t, beside m or s: 3 * 1000. e waits for scalars that are made from m
  // one by one; each is an input that may have been the last.
  constexpr int Scalars = 8;
  Problem P;
  ValueId T = P.addOutput(P.addOp("t", 1, {}), "t", 1000);
  ValueId L = P.addOutput(P.addOp("l", 1, {T}), "l", 1000);
  ValueId F = P.addOutput(P.addOp("f", 1, {L}), "f", 1000);
  ValueId S = P.addOutput(P.addOp("s", 1, {F}), "s", 1000);
  ValueId MV = P.addOutput(P.addOp("m", 1, {S}), "m", 1000);
  P.Values[MV].Reuses = S;
  std::vector<ValueId> Inputs = {L};
  ValueId N = MV;
  for (int I = 0; I < Scalars; ++I) {
    N = P.addOutput(P.addOp("n" + std::to_string(I), 1, {N}),
                    "n" + std::to_string(I), 1);
    Inputs.push_back(N);
  }
  ValueId E = P.addOutput(P.addOp("e", 1, Inputs), "e", 1000);
  P.Values[E].Reuses = L;
  P.addOutput(P.addOp("r", 1, {MV, E}), "r", 1);
  Model M(P);
  EXPECT_GE(boundsOf(M, 2500).LeastBudget, 3000);
  SolveOptions O;
  O.Budget = 3000 + Scalars + 1;
  EXPECT_TRUE(solve(P, O).Feasible);
}

TEST(LastInput, AnInputOnTheWayIsNotTakenOver) {
  // y may take the place of p, but `x` reads both. y last: 10 + 10 + 9 of t.
  // p last, made again: 10 + 10 + 8 of r.
  auto Build = [](bool BothRead) {
    Problem P;
    ValueId R = P.addOutput(P.addOp("r", 1, {}), "r", 8);
    ValueId A = P.addOutput(P.addOp("p", 1, {R}), "p", 10);
    ValueId T = P.addOutput(P.addOp("t", 1, {}), "t", 9);
    ValueId Y = P.addOutput(P.addOp("y", 1, {A, T}), "y", 10);
    P.Values[Y].Reuses = A;
    ValueId Q = BothRead ? A : P.addOutput(P.addOp("q", 1, {}), "q", 10);
    P.addOutput(P.addOp("x", 1, {Q, Y}), "z", 1);
    return P;
  };
  Problem P = Build(true);
  EXPECT_EQ(boundsOf(Model(P), 28).LeastBudget, 28);
  EXPECT_FALSE(Oracle(P, 27).solve());
  EXPECT_TRUE(Oracle(P, 28).solve());
  // With another value in its stead, y takes the place, then q is made: the
  // most is 10 + 10 + 1 at `x`.
  P = Build(false);
  EXPECT_EQ(boundsOf(Model(P), 28).LeastBudget, 21);
  EXPECT_TRUE(Oracle(P, 21).solve());
}

TEST(LastInput, WhatRunsOnceWasNotMadeAfterWhatDescendsFromIt) {
  // y2 comes from y1 by way of v, of 1 byte, and reads q, of 5. With y1 made
  // again, most is 10 + 10 + 1 at `x`. If it may not be, y1 stands beside what
  // y2 needs: 10 + 1 + 5 + 10.
  auto Build = [](bool Once) {
    Problem P;
    OpId O = P.addOp("y1", 1, {});
    P.Ops[O].Once = Once;
    ValueId Y1 = P.addOutput(O, "y1", 10);
    ValueId V = P.addOutput(P.addOp("v", 1, {Y1}), "v", 1);
    ValueId Q = P.addOutput(P.addOp("q", 1, {}), "q", 5);
    ValueId Y2 = P.addOutput(P.addOp("y2", 1, {V, Q}), "y2", 10);
    P.addOutput(P.addOp("x", 1, {Y1, Y2}), "z", 1);
    return P;
  };
  for (auto [Once, Least] : {std::pair(false, 21), std::pair(true, 26)}) {
    Problem P = Build(Once);
    EXPECT_EQ(boundsOf(Model(P), 26).LeastBudget, Least);
    EXPECT_FALSE(Oracle(P, Least - 1).solve());
    EXPECT_TRUE(Oracle(P, Least).solve());
  }
}
