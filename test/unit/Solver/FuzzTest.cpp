//===- FuzzTest.cpp - Random problems and mangled text --------------------===//
//
// REMAT_SOLVER_FUZZ=10000 runs the full number; the default is a part of it.
//
//===----------------------------------------------------------------------===//
#include "RichProblem.h"
#include "remat/Solver/JSON.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace remat::solver;
using namespace remat::solver::test;

namespace {

int numCases() {
  const char *Text = std::getenv("REMAT_SOLVER_FUZZ");
  return Text ? std::atoi(Text) : casesOf(400);
}

/// Random fields, in range and out of it: most of these are malformed.
Problem mangled(Rng &R) {
  Features F;
  F.Policy = 20;
  int NumOps = 1 + R.below(20);
  Problem P =
      R.chance(50) ? randomProblem(R, NumOps, F) : RichProblem(R, NumOps).P;
  for (int K = R.below(3); K > 0; --K) {
    Value *V =
        P.Values.empty() ? nullptr : &P.Values[R.below(int(P.Values.size()))];
    Op &O = P.Ops[R.below(int(P.Ops.size()))];
    int64_t Odd[] = {-1, 0, 1, INT64_MAX, INT64_MIN, int64_t(1) << 55, 1000};
    int64_t N = Odd[R.below(7)];
    switch (R.below(8)) {
    case 0:
      O.Time = double(N);
      break;
    case 1:
      O.Workspace = N;
      break;
    case 2:
      O.Inputs.push_back(ValueId(N));
      break;
    case 3:
      O.Outputs.push_back(ValueId(N));
      break;
    case 4:
      P.Results.push_back(ValueId(N));
      break;
    case 5:
      if (V)
        V->Bytes = N;
      break;
    case 6:
      if (V)
        (R.chance(50) ? V->Reuses : V->Alias) = ValueId(N);
      break;
    default:
      if (V)
        V->Policy = Keep(R.below(4));
    }
  }
  return P;
}

TEST(Fuzz, RandomProblemsNeverGiveAWrongPlan) {
  int WellFormed = 0, Planned = 0;
  for (int Case = 0; Case < numCases(); ++Case) {
    Rng R(Case + 77);
    Problem P = mangled(R);
    bool Good = !check(P);
    WellFormed += Good;
    int64_t Peak = Good ? verify(P, basePlan(P), INT64_MAX).Peak : 10;
    SolveOptions O;
    O.Method = Strategy(R.below(6));
    O.Budget = Peak - R.below(int(std::min<int64_t>(Peak + 1, 8)));
    O.Seed = Case;
    SolveResult Got = solve(P, O);
    Planned += Got.Feasible;
    if (Got.Feasible)
      EXPECT_TRUE(verify(P, Got.Best, O.Budget).Ok) << "case " << Case;
    else
      EXPECT_FALSE(Got.Reason.Message.empty()) << "case " << Case;
    if (!Good)
      EXPECT_FALSE(Got.Feasible) << "case " << Case;
  }
  EXPECT_GT(WellFormed, numCases() / 4);
  EXPECT_GT(Planned, numCases() / 10);
}

/// Cuts, repeats, flips bits, or puts another word or number in some place.
std::string mangledText(Rng &R, std::string Text) {
  static const char *const Words[] = {"1e400",
                                      "-1e400",
                                      "NaN",
                                      "Infinity",
                                      "-0",
                                      "-0.0",
                                      "1e-400",
                                      "null",
                                      "true",
                                      "[]",
                                      "{}",
                                      "[[[[[[[[",
                                      "\"\"",
                                      "\"v3\"",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "1.5",
                                      "72057594037927937",
                                      "\"\\u0000\"",
                                      "\"\\ud800\"",
                                      "\xff",
                                      "\"time\": 1, "};
  for (int N = 1 + R.below(3); N > 0 && !Text.empty(); --N) {
    size_t At = R.next() % Text.size();
    switch (R.below(6)) {
    case 0:
      Text[At] = char(R.below(256));
      break;
    case 1:
      Text[At] ^= char(1 << R.below(8));
      break;
    case 2:
      Text.erase(At, 1 + R.below(20));
      break;
    case 3:
      Text.insert(At, Text.substr(R.next() % Text.size(), R.below(30)));
      break;
    case 4:
      Text.resize(At);
      break;
    default: // a token makes way for another
      At = Text.find_first_of("0123456789\"", At);
      if (At == std::string::npos)
        break;
      size_t End = Text[At] == '"' ? Text.find('"', At + 1) + 1
                                   : Text.find_first_not_of("0123456789.e", At);
      if (End == 0 || End == std::string::npos)
        break;
      Text.replace(At, End - At, Words[R.below(int(std::size(Words)))]);
    }
  }
  return Text;
}

TEST(Fuzz, TextRoundTripAndMangledText) {
  int Accepted = 0, Refused = 0;
  for (int Case = 0; Case < numCases(); ++Case) {
    Rng R(Case + 5);
    Problem P = RichProblem(R, 1 + R.below(12)).P;
    std::string Text = writeProblem(P);
    auto Same = readProblem(Text);
    ASSERT_TRUE(std::holds_alternative<Problem>(Same))
        << std::get<ReadError>(Same).Message;
    EXPECT_EQ(writeProblem(std::get<Problem>(Same)), Text);
    for (int K = 0; K < 8; ++K) {
      std::string Bad = mangledText(R, Text);
      auto Read = readProblem(Bad);
      if (auto *E = std::get_if<ReadError>(&Read)) {
        ++Refused;
        EXPECT_FALSE(E->Message.empty());
      } else {
        ++Accepted;
        EXPECT_FALSE(check(std::get<Problem>(Read)));
      }
      readPlan(Bad, P);
    }
  }
  EXPECT_GT(Refused, Accepted);
}

TEST(Fuzz, MangledPlansAreRefusedOrVerified) {
  int Accepted = 0, Refused = 0, Wrong = 0;
  for (int Case = 0; Case < numCases(); ++Case) {
    Rng R(Case + 31);
    Problem P = RichProblem(R, 1 + R.below(12)).P;
    std::string Text = writePlan(P, basePlan(P), nullptr);
    for (int K = 0; K < 8; ++K) {
      auto Read = readPlan(mangledText(R, Text), P);
      if (auto *E = std::get_if<ReadError>(&Read)) {
        ++Refused;
        EXPECT_FALSE(E->Message.empty());
        continue;
      }
      ++Accepted;
      const Plan &S = std::get<Plan>(Read);
      VerifyResult V = verify(P, S, INT64_MAX);
      EXPECT_NE(V.Ok, !V.Error.empty());
      Wrong += !V.Ok;
      releasesOf(P, S);
    }
  }
  EXPECT_GT(Refused, 0);
  EXPECT_GT(Accepted, Wrong);
  EXPECT_GT(Wrong, 0);
}

TEST(Fuzz, PlansOfAnyNumbersAreRefusedOrSimulated) {
  int Ok = 0;
  for (int Case = 0; Case < numCases(); ++Case) {
    Rng R(Case + 13);
    Problem P = RichProblem(R, 1 + R.below(12)).P;
    Plan S = basePlan(P);
    for (int K = R.below(4); K > 0; --K) {
      int32_t Odd[] = {-1, 0, 1, INT32_MAX, INT32_MIN, R.below(12)};
      Step T = {Odd[R.below(6)], Odd[R.below(6)]};
      S.Sequence.insert(S.Sequence.begin() +
                            R.below(int(S.Sequence.size()) + 1),
                        R.chance(50) ? T : Step{R.below(12), 0});
    }
    VerifyResult V = verify(P, S, INT64_MAX);
    EXPECT_NE(V.Ok, !V.Error.empty());
    Ok += V.Ok;
    releasesOf(P, S);
  }
  EXPECT_GT(Ok, 0);
  EXPECT_LT(Ok, numCases());
}

TEST(Json, ErrorsNameThePlace) {
  auto says = [](const char *Text, const char *Words) {
    auto Read = readProblem(Text);
    auto *E = std::get_if<ReadError>(&Read);
    ASSERT_TRUE(E) << Text;
    EXPECT_NE(E->Message.find(Words), std::string::npos) << E->Message;
  };
  says("", "not valid JSON");
  says("[]", "expected an object");
  says("{\"format\": \"x\", \"ops\": []}", "remat-problem-1");
  std::string Deep(100, '[');
  says(Deep.c_str(), "nested too deeply");
#define OPS(Text) "{\"format\": \"remat-problem-1\", \"ops\": [" Text "]}"
  says(OPS("{\"name\": \"a\"}"), "ops[0]: missing field 'outputs'");
  says(OPS("{\"name\": \"a\", \"time\": 1, \"inputs\": [\"x\"], "
           "\"outputs\": []}"),
       "ops[0].inputs[0]: no value is named 'x'");
  says(OPS("{\"name\": \"a\", \"time\": -1, \"inputs\": [], \"outputs\": []}"),
       "ops[0].time: negative");
  says(OPS("{\"name\": \"a\", \"time\": 1, \"inputs\": [], \"outputs\": "
           "[{\"name\": \"v\", \"bytes\": 1.5}]}"),
       "ops[0].outputs[0].bytes: expected a whole number");
  says(OPS("{\"name\": \"a\", \"time\": 1, \"inputs\": [], \"outputs\": "
           "[{\"name\": \"v\", \"bytes\": 1e30}]}"),
       "too large");
  says(OPS("{\"name\": \"a\", \"time\": 1, \"inputs\": [], \"outputs\": [], "
           "\"colour\": 1}"),
       "ops[0]: unknown field 'colour'");
  says(OPS("{\"name\": \"a\", \"time\": 1, \"inputs\": [], \"outputs\": "
           "[{\"name\": \"v\", \"bytes\": 1, \"keep\": \"maybe\"}]}"),
       "ops[0].outputs[0].keep");
  says(OPS("{\"name\": \"a\", \"time\": 1, \"time\": 2, \"inputs\": [], "
           "\"outputs\": []}"),
       "two fields 'time' in one object");
  says(OPS("{\"name\": \"a\", \"time\": 1e400, \"inputs\": [], "
           "\"outputs\": []}"),
       "not valid JSON");
  says(OPS("{\"name\": \"a\", \"choices\": [], \"inputs\": [], "
           "\"outputs\": []}"),
       "ops[0].choices: empty");
  says(OPS("{\"name\": \"a\", \"time\": 1, \"choices\": [{\"time\": 1}], "
           "\"inputs\": [], \"outputs\": []}"),
       "has choices and a time");
#undef OPS
}

TEST(Json, PlansRoundTripWithChoices) {
  Problem P;
  OpId A = P.addOp("a", 0, {});
  P.Ops[A].Choices = {{"slow", 2, 0}, {"fast", 1, 9}};
  Plan S = {{{A, 0}}};
  auto Read = readPlan(writePlan(P, S, nullptr), P);
  ASSERT_TRUE(std::holds_alternative<Plan>(Read));
  EXPECT_EQ(std::get<Plan>(Read), S);
  // Without a choice: the fastest.
  auto Fast = readPlan("{\"format\": \"remat-plan-1\", \"sequence\": "
                       "[{\"op\": \"a\"}]}",
                       P);
  ASSERT_TRUE(std::holds_alternative<Plan>(Fast));
  EXPECT_EQ(std::get<Plan>(Fast).Sequence[0].Choice, 1);
  for (const char *Bad : {"{\"op\": \"b\"}", "{\"op\": \"a\", \"choice\": 2}",
                          "{\"op\": \"a\", \"choice\": -1}", "3"}) {
    std::string Text = "{\"format\": \"remat-plan-1\", \"sequence\": [" +
                       std::string(Bad) + "]}";
    EXPECT_TRUE(std::holds_alternative<ReadError>(readPlan(Text, P))) << Bad;
  }
}

} // namespace
