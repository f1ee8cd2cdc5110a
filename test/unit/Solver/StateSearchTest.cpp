//===- StateSearchTest.cpp - Best-first search over states ----------------===//
#include "Exact/StateSearch.h"
#include "remat/Solver/Problem.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace remat::solver;

namespace {

/// `a` and `b`, of 10 bytes, are read at once (1 byte comes of it), and again
/// at the end. In between an op has 10 bytes of workspace: with 22 bytes one of
/// `a` and `b` stays, and the other one is made again.
Problem oneOfTwo() {
  Problem P;
  OpId A = P.addOp("make_a", 2, {}), B = P.addOp("make_b", 5, {});
  ValueId VA = P.addOutput(A, "a", 10), VB = P.addOutput(B, "b", 10);
  P.Values[VA].Policy = Keep::Prefer;
  ValueId D = P.addOutput(P.addOp("both", 1, {VA, VB}), "d", 1);
  ValueId C = P.addOutput(P.addOp("work", 1, {D}, 10), "c", 1);
  P.Results = {P.addOutput(P.addOp("end", 1, {VA, VB, C}), "e", 1)};
  return P;
}

int64_t runsOf(const Plan &S, OpId Op) {
  return std::count_if(S.Sequence.begin(), S.Sequence.end(),
                       [&](Step X) { return X.Op == Op; });
}

/// A search for plans of a problem, and what it works with.
struct Searcher {
  explicit Searcher(const Problem &P) : M(P), Space(M), Search(M, Space, D) {}

  Model M;
  StateSpace Space;
  SolveOptions Options;
  Watch D{Options};
  StateSearch Search;
};

TEST(StateSearch, RepeatingWhatIsBetterKeptCostsTwice) {
  Problem P = oneOfTwo();
  // Twice 2 is less than 5, three times 2 is more.
  for (bool IsDear : {false, true}) {
    if (IsDear)
      P.Ops[0].Time = 3; // twice 3 is more than 5
    Searcher S(P);
    StateSearch &Search = S.Search;
    ASSERT_EQ(Search.run(StateSearch::Goal::Cost, 22, 1e9, 10000),
              StateSearch::Outcome::Found);
    EXPECT_TRUE(verify(P, Search.plan(), 22).Ok);
    EXPECT_EQ(runsOf(Search.plan(), 0), IsDear ? 1 : 2);
    EXPECT_EQ(runsOf(Search.plan(), 1), IsDear ? 2 : 1);
  }
}

TEST(StateSearch, EachRunHasTheWholeLimitOfStates) {
  Problem P = oneOfTwo();
  Searcher S(P);
  StateSearch &Search = S.Search;
  ASSERT_EQ(Search.run(StateSearch::Goal::Time, 22, 1e9, 10000),
            StateSearch::Outcome::Found);
  size_t Needed = Search.numStates();
  for (int Again = 0; Again < 3; ++Again) {
    EXPECT_EQ(Search.run(StateSearch::Goal::Time, 22, 1e9, Needed),
              StateSearch::Outcome::Found);
    EXPECT_EQ(Search.numStates(), Needed);
  }
}

} // namespace
