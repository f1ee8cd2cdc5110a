//===- ScheduleTest.cpp - Incremental against independent simulation ------===//
#include "Search/Schedule.h"
#include "RandomProblem.h"

#include <gtest/gtest.h>

using namespace remat::solver;
using namespace remat::solver::test;

namespace {

/// True when an output may pass on a place that it took from a resident: the
/// schedule then counts more than `verify`, by design.
bool chainsFromResident(const Problem &P, const Model &M) {
  for (const Value &V : P.Values)
    if (V.Reuses != None && !M.resident(V.Reuses)) {
      ValueId S = M.Class[V.Reuses];
      while (S != None && !M.resident(S))
        S = P.Values[S].Reuses == None ? None : M.Class[P.Values[S].Reuses];
      if (S != None)
        return true;
    }
  return false;
}

void expectSame(const Schedule &S, const Model &M, bool Exact) {
  VerifyResult V = verify(M.P, S.plan(), INT64_MAX);
  ASSERT_TRUE(V.Ok) << V.Error;
  std::vector<int32_t> Nodes = S.timeline().nodes();
  ASSERT_EQ(Nodes.size(), V.Memory.size() + 2);
  for (size_t I = 0; I < V.Memory.size(); ++I) {
    int64_t Bytes = S.timeline().bytesAt(Nodes[I + 1]);
    if (Exact)
      ASSERT_EQ(Bytes, V.Memory[I]) << "step " << I;
    else
      ASSERT_GE(Bytes, V.Memory[I]) << "step " << I;
  }
  EXPECT_NEAR(S.time(), V.Time, 1e-6);
  Measure X = measure(M, S.plan());
  EXPECT_GE(X.Peak, V.Peak);
  if (Exact && V.PeakStep != None) {
    EXPECT_EQ(X.Peak, V.Peak);
    EXPECT_EQ(S.timeline().peak(), V.Peak);
  }
}

/// One random change; returns false when it was not possible.
bool change(Schedule &S, const Model &M, Rng &R) {
  std::vector<int32_t> Nodes = S.timeline().nodes();
  int32_t Next = Nodes[1 + R.below(int(Nodes.size()) - 1)];
  switch (R.below(3)) {
  case 0: {
    OpId O = R.below(M.numOps());
    if (!M.Again[O] || !S.mayRun(O, Next))
      return false;
    for (ValueId V : M.P.Ops[O].Inputs)
      if (S.newestBefore(V, Next) < 0)
        return false;
    S.insert(O, 0, Next);
    return true;
  }
  case 1:
    if (S.extras().empty())
      return false;
    if (int32_t N = S.extras()[R.below(int(S.extras().size()))];
        S.removable(N)) {
      S.remove(N);
      return true;
    }
    return false;
  default:
    if (int32_t N = Nodes[R.below(int(Nodes.size()))]; S.canMove(N, Next)) {
      S.move(N, Next);
      return true;
    }
    return false;
  }
}

TEST(Schedule, AgreesWithVerifyUnderRandomChanges) {
  int Changes = 0;
  for (uint64_t Seed = 1; Seed <= 150; ++Seed) {
    Rng R(Seed);
    Features F;
    F.After = Seed % 3 == 0 ? 20 : 0;
    Problem P = randomProblem(R, 3 + R.below(40), F);
    ASSERT_FALSE(check(P)) << *check(P);
    Model M(P);
    bool Exact = !chainsFromResident(P, M);
    Schedule S(M, basePlan(P), 10);
    expectSame(S, M, Exact);
    for (int I = 0; I < 60; ++I)
      if (change(S, M, R)) {
        ++Changes;
        expectSame(S, M, Exact);
        if (HasFatalFailure())
          FAIL() << "seed " << Seed << ", change " << I;
      }
  }
  EXPECT_GT(Changes, 2000);
}

/// Whether a run may stand somewhere is what `verify` says of the plan with it.
TEST(Schedule, MayRunWhereVerifyAllowsIt) {
  int Allowed = 0, Refused = 0;
  for (uint64_t Seed = 1; Seed <= 60; ++Seed) {
    Rng R(Seed);
    Features F;
    F.After = 30;
    F.Once = 0;
    Problem P = randomProblem(R, 3 + R.below(12), F);
    Model M(P);
    Schedule S(M, basePlan(P), 10);
    for (int I = 0; I < 10; ++I)
      change(S, M, R);
    std::vector<int32_t> Nodes = S.timeline().nodes();
    Plan Base = S.plan();
    for (size_t At = 0; At <= Base.Sequence.size(); ++At)
      for (OpId O = 0; O < M.numOps(); ++O) {
        Plan With = Base;
        With.Sequence.insert(With.Sequence.begin() + ptrdiff_t(At), {O, 0});
        VerifyResult V = verify(P, With, INT64_MAX);
        bool May = S.mayRun(O, Nodes[At + 1]);
        bool Order = V.Error.find("must run after every") != std::string::npos;
        EXPECT_EQ(May, !Order) << V.Error;
        ++(May ? Allowed : Refused);
      }
  }
  EXPECT_GT(Allowed, 1000);
  EXPECT_GT(Refused, 1000);
}

} // namespace
