//===- PropertyTest.cpp - What every answer promises, on rich problems ----===//
//
// REMAT_SOLVER_FUZZ=10000 runs the full number; the default is a part of it.
// REMAT_SOLVER_FIRST names the first case and prints the problems.
//
//===----------------------------------------------------------------------===//
#include "RichProblem.h"
#include "remat/Solver/JSON.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace remat::solver;
using namespace remat::solver::test;

namespace {

int number(const char *Variable, int Default) {
  const char *Text = std::getenv(Variable);
  return Text ? std::atoi(Text) : Default;
}

/// All that was claimed and all that was shown of one problem; the two are
/// compared in the end, across strategies and budgets.
class Evidence {
public:
  explicit Evidence(const Problem &P) : P(P) {
    Slack = 1e-9 * P.baseTime();
    show(basePlan(P));
  }

  /// A plan that verifies, whoever made it.
  bool show(const Plan &S) {
    VerifyResult V = verify(P, S, INT64_MAX);
    if (V.Ok)
      Shown.push_back({V.Peak, V.Time});
    return V.Ok;
  }

  void ask(Strategy S, int64_t Budget, uint64_t Seed) {
    SolveOptions O;
    O.Method = S;
    O.Budget = Budget;
    O.Seed = Seed;
    O.FindMinBudget = Seed % 5 == 0;
    SolveResult R = solve(P, O);
    SCOPED_TRACE(std::string(nameOf(S)) + " at " + std::to_string(Budget));
    const Certificate &C = R.Proof;
    EXPECT_TRUE(show(R.Best)) << verify(P, R.Best, INT64_MAX).Error;
    VerifyResult V = verify(P, R.Best, Budget);
    EXPECT_EQ(V.Ok, R.Feasible) << V.Error;
    EXPECT_LE(C.MinBudgetBound, C.MinBudget);
    Claims.push_back({S, Budget, C.LowerBound, C.MinBudgetBound,
                      !R.Feasible && R.Reason.Proven});
    if (!R.Feasible) {
      EXPECT_FALSE(R.Reason.Message.empty());
      EXPECT_GT(C.MinBudget, Budget);
      return;
    }
    EXPECT_EQ(V.Time, C.Time);
    EXPECT_EQ(V.Peak, C.Peak);
    EXPECT_LE(C.LowerBound, C.Time + Slack);
    EXPECT_LE(C.MinBudget, Budget);
    EXPECT_EQ(releasesOf(P, R.Best).size(), R.Best.Sequence.size());
    auto Read = readPlan(writePlan(P, R.Best, &C), P);
    ASSERT_TRUE(std::holds_alternative<Plan>(Read));
    EXPECT_EQ(std::get<Plan>(Read), R.Best);
    Last = R.Best;
  }

  /// Plans near the last one found: steps inserted, dropped and moved.
  void wander(Rng &R) {
    for (int I = 0; I < 40; ++I) {
      Plan S = Last;
      for (int K = 1 + R.below(3); K > 0 && !S.Sequence.empty(); --K) {
        size_t At = R.next() % S.Sequence.size();
        Step T = S.Sequence[At];
        if (R.chance(60)) {
          OpId O = OpId(R.below(int(P.Ops.size())));
          T = {O, R.below(int(P.numChoices(O)))};
        } else {
          S.Sequence.erase(S.Sequence.begin() + At);
          At = R.next() % (S.Sequence.size() + 1);
        }
        if (R.chance(80))
          S.Sequence.insert(S.Sequence.begin() + At, T);
      }
      if (show(S))
        Last = S;
    }
  }

  /// No claim is above what was shown.
  /// Returns how many times a plan stood against a bound on its time.
  int compare() const {
    int Compared = 0;
    for (const Claim &C : Claims) {
      SCOPED_TRACE(std::string(nameOf(C.By)) + " claimed at " +
                   std::to_string(C.Budget));
      for (auto [Peak, Time] : Shown) {
        EXPECT_GE(Peak, C.LeastBudget);
        if (Peak > C.Budget)
          continue;
        EXPECT_FALSE(C.Impossible) << "a plan needs " << Peak;
        EXPECT_GE(Time, C.Bound - Slack);
        Compared += C.Bound > 0;
      }
    }
    return Compared;
  }

private:
  struct Claim {
    Strategy By;
    int64_t Budget;
    double Bound;
    int64_t LeastBudget;
    bool Impossible;
  };
  const Problem &P;
  double Slack = 0;
  Plan Last = basePlan(P);
  std::vector<std::pair<int64_t, double>> Shown;
  std::vector<Claim> Claims;
};

int64_t randomBudget(Rng &R, int64_t Floor, int64_t Peak) {
  switch (R.below(8)) {
  case 0:
    return Floor - 1;
  case 1:
    return Floor;
  case 2:
    return Peak;
  case 3:
    return R.chance(50) ? 0 : MaxTotalBytes;
  default:
    return Floor + int64_t(R.next() % uint64_t(Peak - Floor + 1));
  }
}

TEST(Properties, ClaimsNeverContradictPlans) {
  int First = number("REMAT_SOLVER_FIRST", 0), Tight = 0, Compared = 0;
  int Cases = number("REMAT_SOLVER_FUZZ", casesOf(160));
  for (int Case = First; Case < First + Cases; ++Case) {
    Rng R(Case + 4242);
    Problem P = RichProblem(R, 1 + R.below(R.chance(20) ? 40 : 14)).P;
    ASSERT_FALSE(check(P)) << *check(P);
    SCOPED_TRACE("case " + std::to_string(Case));
    int64_t Peak = verify(P, basePlan(P), INT64_MAX).Peak;
    int64_t Floor = floorOf(P).Bytes;
    EXPECT_LE(Floor, Peak);
    Floor = std::min(Floor, Peak);
    Evidence E(P);
    int64_t Budget = randomBudget(R, Floor, Peak);
    Tight += Budget < Peak;
    for (Strategy S :
         {Strategy::None, Strategy::Sqrt, Strategy::Greedy, Strategy::MinCut})
      E.ask(S, R.chance(50) ? Budget : randomBudget(R, Floor, Peak), Case);
    E.ask(Strategy::Search, Budget, Case);
    if (Case % 4 == 0 && P.Ops.size() <= 16)
      E.ask(Strategy::Optimal, Budget, Case);
    if (Case % 4 == 1)
      E.ask(Strategy::Search, randomBudget(R, Floor, Peak), Case);
    E.wander(R);
    Compared += E.compare() > 0;
    if (HasFailure() || First)
      std::printf("%s", writeProblem(P).c_str());
    if (HasFailure())
      return;
  }
  // Budgets below the base order's peak, and plans that a bound could fail.
  EXPECT_GE(Tight, Cases / 4);
  EXPECT_GE(Compared, Cases / 2);
}

TEST(Properties, SearchIsNeverWorseThanTheBaselines) {
  int Planned = 0, Cases = number("REMAT_SOLVER_FUZZ", casesOf(160)) / 4;
  for (int Case = 0; Case < Cases; ++Case) {
    Rng R(Case + 99);
    Problem P = RichProblem(R, 8 + R.below(40)).P;
    int64_t Peak = verify(P, basePlan(P), INT64_MAX).Peak;
    int64_t Floor = floorOf(P).Bytes;
    SolveOptions O;
    O.Budget = Floor + int64_t(R.next() % uint64_t(Peak - Floor + 1));
    SolveResult Search = solve(P, O);
    Planned += Search.Feasible;
    SCOPED_TRACE("case " + std::to_string(Case));
    for (Strategy S :
         {Strategy::None, Strategy::Sqrt, Strategy::Greedy, Strategy::MinCut}) {
      O.Method = S;
      SolveResult Other = solve(P, O);
      if (!Other.Feasible)
        continue;
      EXPECT_TRUE(Search.Feasible) << nameOf(S);
      EXPECT_LE(Search.Proof.Time, Other.Proof.Time * (1 + 1e-9)) << nameOf(S);
    }
  }
  EXPECT_GT(Planned, Cases / 4);
}

TEST(Properties, EveryBudgetFromTheSmallestFoundIsMet) {
  int Cases = number("REMAT_SOLVER_FUZZ", casesOf(160)) / 4;
  for (int Case = 0; Case < Cases; ++Case) {
    Rng R(Case + 1234);
    Problem P = RichProblem(R, 4 + R.below(24)).P;
    SolveOptions O;
    int64_t Peak = O.Budget = verify(P, basePlan(P), INT64_MAX).Peak;
    O.FindMinBudget = true;
    int64_t Least = solve(P, O).Proof.MinBudget;
    O.FindMinBudget = false;
    SCOPED_TRACE("case " + std::to_string(Case));
    for (int64_t Budget :
         {Least, Least + int64_t(R.next() % uint64_t(Peak - Least + 1))}) {
      O.Budget = Budget;
      EXPECT_TRUE(solve(P, O).Feasible) << Budget << "\n" << writeProblem(P);
    }
    O.Budget = Least - 1;
    EXPECT_FALSE(solve(P, O).Feasible) << Least << "\n" << writeProblem(P);
  }
}

} // namespace
