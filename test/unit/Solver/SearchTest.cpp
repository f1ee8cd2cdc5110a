//===- SearchTest.cpp - Promises of the strategies on larger graphs -------===//
//
// REMAT_SOLVER_SWEEP=500 sweeps as many budgets a graph; the default is few.
//
//===----------------------------------------------------------------------===//
#include "RandomProblem.h"
#include "remat/Solver/Recompute.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

using namespace remat::solver;
using namespace remat::solver::test;

namespace {

/// A step of layers: forward keeps two values a layer for the backward, every
/// gradient is used once by an update.
Problem layeredStep(Rng &R, int Layers) {
  Problem P;
  ValueId X = P.addResident("input", 50);
  struct Layer {
    ValueId W, In, Mid;
  };
  std::vector<Layer> Tape;
  auto name = [](const char *Kind, int I) { return Kind + std::to_string(I); };
  for (int I = 0; I < Layers; ++I) {
    ValueId W = P.addResident(name("w", I), 20 + R.below(40));
    OpId A = P.addOp(name("linear", I), 50 + R.below(50), {X, W}, R.below(30));
    ValueId Mid = P.addOutput(A, name("mid", I), 100 + R.below(300));
    OpId B = P.addOp(name("act", I), 2 + R.below(6), {Mid});
    ValueId Out = P.addOutput(B, name("out", I), 60 + R.below(100));
    Tape.push_back({W, X, Mid});
    X = Out;
  }
  OpId Loss = P.addOp("loss", 5, {X});
  ValueId G = P.addOutput(Loss, "dloss", 80);
  for (int I = Layers - 1; I >= 0; --I) {
    auto [W, In, Mid] = Tape[I];
    OpId A = P.addOp(name("dact", I), 3, {G, Mid});
    ValueId DMid = P.addOutput(A, name("dmid", I), P.Values[Mid].Bytes);
    OpId B = P.addOp(name("dw", I), 60, {DMid, In});
    ValueId DW = P.addOutput(B, name("grad", I), P.Values[W].Bytes);
    OpId C = P.addOp(name("dx", I), 60, {DMid, W});
    G = P.addOutput(C, name("din", I), 100);
    OpId U = P.addOp(name("update", I), 2, {DW, W});
    P.Ops[U].Once = true;
  }
  return P;
}

SolveResult run(const Problem &P, int64_t Budget,
                Strategy S = Strategy::Search) {
  SolveOptions O;
  O.Budget = Budget;
  O.Method = S;
  return solve(P, O);
}

int64_t basePeak(const Problem &P) {
  return verify(P, basePlan(P), INT64_MAX).Peak;
}

TEST(Search, TheSmallestFeasibleBudgetIsExactlyThat) {
  for (int Case = 1; Case <= casesOf(6); ++Case) {
    Rng R(Case);
    Problem P = Case % 2 ? layeredStep(R, 6 + R.below(10))
                         : randomProblem(R, 20 + R.below(40));
    SolveOptions O;
    O.Budget = basePeak(P);
    O.FindMinBudget = true;
    int64_t Least = solve(P, O).Proof.MinBudget;
    SCOPED_TRACE(Case);
    SolveResult At = run(P, Least);
    EXPECT_TRUE(At.Feasible);
    EXPECT_TRUE(verify(P, At.Best, Least).Ok);
    SolveResult Below = run(P, Least - 1);
    EXPECT_FALSE(Below.Feasible);
    EXPECT_EQ(Below.Proof.MinBudget, Least);
    EXPECT_LE(At.Proof.MinBudgetBound, Least);
  }
}

TEST(Search, APlanThatOnlyVerifyFindsToFitIsGiven) {
  // Made after `reader`, v takes the place of w (60), and z (20) that of v: the
  // peak is w and u, 160. In the base order v does not, and all is 60 + 15 + 20
  // more at `last`.
  Problem P;
  ValueId W = P.addResident("w", 60);
  ValueId V = P.addOutput(P.addOp("first", 1, {W}), "v", 15);
  P.Values[V].Reuses = W;
  P.addOp("reader", 1, {W});
  OpId Last = P.addOp("last", 1, {V});
  ValueId Z = P.addOutput(Last, "z", 20);
  P.Values[Z].Reuses = V;
  P.addOutput(Last, "u", 100);
  SolveOptions O;
  O.FindMinBudget = true;
  O.Budget = verify(P, basePlan(P), INT64_MAX).Peak;
  O.Budget = solve(P, O).Proof.MinBudget;
  EXPECT_EQ(O.Budget, 160);
  for (bool Find : {false, true}) {
    O.FindMinBudget = Find;
    EXPECT_TRUE(solve(P, O).Feasible);
  }
}

TEST(Search, SameInputSamePlan) {
  Rng R(3);
  Problem P = layeredStep(R, 14);
  int64_t Budget = basePeak(P) * 6 / 10;
  SolveResult A = run(P, Budget), B = run(P, Budget);
  EXPECT_EQ(A.Best, B.Best);
  EXPECT_EQ(A.Proof.LowerBound, B.Proof.LowerBound);
}

TEST(Search, NeverWorseThanTheBaselinesAndRoughlyMonotone) {
  const char *Text = std::getenv("REMAT_SOLVER_SWEEP");
  int Points = Text ? std::atoi(Text) : 5;
  for (int Case = 1; Case <= (Text ? 10 : casesOf(4)); ++Case) {
    Rng R(Case + 100);
    Problem P = layeredStep(R, 5 + 2 * Case);
    SolveOptions O;
    int64_t High = O.Budget = basePeak(P);
    O.FindMinBudget = true;
    int64_t Low = solve(P, O).Proof.MinBudget;
    double Before = -1;
    for (int I = 0; I < Points; ++I) {
      int64_t Budget = Low + (High - Low) * I / std::max(1, Points - 1);
      SolveResult Got = run(P, Budget);
      SCOPED_TRACE("case " + std::to_string(Case) + ", budget " +
                   std::to_string(Budget));
      ASSERT_TRUE(Got.Feasible);
      EXPECT_TRUE(verify(P, Got.Best, Budget).Ok);
      EXPECT_GE(Got.Proof.Time, Got.Proof.LowerBound - 1e-6);
      for (Strategy S : {Strategy::Sqrt, Strategy::Greedy, Strategy::MinCut})
        if (SolveResult Other = run(P, Budget, S); Other.Feasible)
          EXPECT_LE(Got.Proof.Time, Other.Proof.Time + 1e-9);
      if (Before >= 0)
        EXPECT_LE(Got.Proof.Time, Before + 0.001 * Got.Proof.BaseTime);
      Before = Got.Proof.Time;
    }
  }
}

/// Layers of ops that read what ops of any layer before made.
Problem randomLayers(Rng &R, int Layers, int Width) {
  Problem P;
  std::vector<ValueId> Known;
  for (int L = 0; L < Layers; ++L) {
    std::vector<ValueId> New;
    for (int I = 0; I < Width; ++I) {
      std::vector<ValueId> In;
      for (int K = Known.empty() ? 0 : 1 + R.below(3); K > 0; --K)
        In.push_back(Known[Known.size() - 1 -
                           R.below(int(std::min<size_t>(Known.size(), 24)))]);
      std::string Name = std::to_string(L) + "." + std::to_string(I);
      OpId O = P.addOp("op" + Name, 10 + R.below(90), In);
      New.push_back(P.addOutput(O, "v" + Name, 1000 + R.below(9000)));
    }
    Known.insert(Known.end(), New.begin(), New.end());
  }
  return P;
}

TEST(Search, NeighboursAgree) {
  // What one call finds, one with a little more to spend finds as well, from
  // the lowest peak up to that of the base order.
  Rng R(7);
  Problem P = randomLayers(R, 1 + casesOf(5), 6);
  SolveOptions O;
  O.Effort = 1;
  int64_t Highest = O.Budget = basePeak(P), Near = 7 * (Highest / 1024);
  O.FindMinBudget = true;
  int64_t Lowest = O.Budget = solve(P, O).Proof.MinBudget;
  O.FindMinBudget = false;
  double First = 0, Before = std::numeric_limits<double>::infinity();
  while (O.Budget <= Highest) {
    SCOPED_TRACE(O.Budget);
    SolveResult Got = solve(P, O);
    ASSERT_TRUE(Got.Feasible);
    EXPECT_TRUE(verify(P, Got.Best, O.Budget).Ok);
    EXPECT_LE(Got.Proof.Time, Before + 0.001 * Got.Proof.BaseTime);
    Before = Got.Proof.Time;
    First = std::max(First, Before);
    O.Budget += std::max(Near, (O.Budget - Lowest) / 6);
  }
  EXPECT_LT(Before, First);
}

TEST(Search, KeepsWhatMustBeKeptAndDropsWhatMustNot) {
  Rng R(9);
  Problem P = layeredStep(R, 10);
  int64_t Budget = basePeak(P) * 7 / 10;
  for (Value &V : P.Values) {
    if (V.Name.rfind("mid", 0) == 0 && V.Name != "mid9")
      V.Policy = Keep::Never;
    if (V.Name == "out3")
      V.Policy = Keep::Must;
  }
  SolveResult Got = run(P, Budget);
  ASSERT_TRUE(Got.Feasible) << Got.Reason.Message;
  EXPECT_TRUE(verify(P, Got.Best, Budget).Ok);
  SolveResult Free = run(P, basePeak(P));
  ASSERT_TRUE(Free.Feasible) << Free.Reason.Message;
  EXPECT_GT(Free.Proof.Overhead, 0);
  // What must not be kept is made again however much there is to spend.
  SolveResult Rich = run(P, int64_t(1) << 60);
  ASSERT_TRUE(Rich.Feasible) << Rich.Reason.Message;
  EXPECT_LE(Rich.Proof.Time, Free.Proof.Time + 0.001 * Free.Proof.BaseTime);
}

TEST(Search, PrefersToLeaveAlone) {
  // Two values of the same size and time: the preferred one stays.
  for (bool First : {true, false}) {
    Problem P;
    ValueId In = P.addResident("in", 1);
    ValueId A = P.addOutput(P.addOp("a", 10, {In}), "va", 100);
    ValueId B = P.addOutput(P.addOp("b", 10, {In}), "vb", 100);
    ValueId C = P.addOutput(P.addOp("c", 10, {A}), "vc", 1);
    ValueId D = P.addOutput(P.addOp("d", 10, {B, C}), "vd", 1);
    OpId Big = P.addOp("big", 10, {D}, 100);
    ValueId E = P.addOutput(Big, "ve", 1);
    ValueId F = P.addOutput(P.addOp("f", 1, {A, E}), "vf", 1);
    P.addOp("g", 1, {B, F});
    P.Values[First ? A : B].Policy = Keep::Prefer;
    SolveResult R = run(P, 210);
    ASSERT_TRUE(R.Feasible) << R.Reason.Message;
    int Runs = 0;
    for (const Step &S : R.Best.Sequence)
      Runs += S.Op == (First ? 0 : 1);
    EXPECT_EQ(Runs, 1);
  }
}

TEST(Search, AnInterruptReturnsTheIncumbent) {
  Rng R(4);
  Problem P = layeredStep(R, 60);
  std::atomic<bool> Stop = true;
  SolveOptions O;
  O.Budget = basePeak(P) * 7 / 10;
  O.Effort = 20;
  O.Interrupt = &Stop;
  SolveResult Got = solve(P, O);
  EXPECT_TRUE(verify(P, Got.Best, INT64_MAX).Ok);
}

TEST(Search, RefusalNamesOpAndValues) {
  Rng R(5);
  Problem P = layeredStep(R, 8);
  SolveResult Got = run(P, floorOf(P).Bytes - 1);
  EXPECT_FALSE(Got.Feasible);
  EXPECT_TRUE(Got.Reason.Proven);
  ASSERT_NE(Got.Reason.At, None);
  EXPECT_FALSE(Got.Reason.Values.empty());
  EXPECT_NE(Got.Reason.Message.find(P.Ops[Got.Reason.At].Name),
            std::string::npos);
}

TEST(Search, TrivialProblems) {
  Problem Empty;
  EXPECT_TRUE(run(Empty, 0).Feasible);
  Problem One;
  One.addOp("only", 1, {});
  EXPECT_TRUE(run(One, 0).Feasible);
  One.Ops[0].Workspace = 5;
  EXPECT_FALSE(run(One, 4).Feasible);
  EXPECT_TRUE(run(One, 5).Feasible);
  Problem Bad = One;
  Bad.Ops[0].Inputs = {3};
  EXPECT_FALSE(run(Bad, 5).Feasible);
  EXPECT_NE(run(Bad, 5).Reason.Message.find("malformed"), std::string::npos);
}

} // namespace
