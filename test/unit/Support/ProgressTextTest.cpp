//===- ProgressTextTest.cpp - lines of plans and of training --------------===//

#include "remat/Support/ProgressText.h"
#include <gtest/gtest.h>

using namespace remat;

namespace {

TEST(ProgressText, Plans) {
  PlanNumbers Plan;
  Plan.PeakBytes = 2380267;
  EXPECT_EQ(renderPlan(Plan),
            "plan: 2.27 MiB, nothing recomputed, +0.0 % time");
  Plan.BudgetBytes = 2411725;
  Plan.RecomputedOps = 12;
  Plan.Overhead = 0.0314;
  Plan.Gap = 0.0081;
  EXPECT_EQ(renderPlan(Plan),
            "plan: 2.27 of 2.30 MiB, 12 recomputations, +3.1 % time, within "
            "0.9 % of the best possible");
  Plan.PeakBytes = 1000;
  Plan.RecomputedOps = 1;
  Plan.Overhead = -1e-12;
  Plan.Gap = 0;
  EXPECT_EQ(renderPlan(Plan),
            "plan: 1000 bytes of 2.30 MiB, 1 recomputation, +0.0 % time, "
            "within 0.0 % of the best possible");
  Plan.FromCache = true;
  EXPECT_EQ(renderPlan(Plan),
            "plan: 1000 bytes of 2.30 MiB, 1 recomputation, +0.0 % time, "
            "within 0.0 % of the best possible, from the cache");
}

TEST(ProgressText, Planning) {
  Screen Where;
  PlanProgress P;
  P.Seconds = 4.2;
  P.SmallestBytes = 2411725;
  EXPECT_EQ(renderPlanning(P, Where),
            "planning 4.2 s: the smallest budget found so far is 2.30 MiB");
  P.BudgetBytes = 3 << 20;
  P.LeastOverhead = 0.0229;
  EXPECT_EQ(renderPlanning(P, Where),
            "planning 4.2 s: nothing found yet within 3.00 MiB, at least +2.2 "
            "% proven");
  P.Overhead = 0.031;
  EXPECT_EQ(renderPlanning(P, Where),
            "planning 4.2 s: +3.1 % time found within 3.00 MiB, at least +2.2 "
            "% proven");
  Where.Width = 40;
  EXPECT_EQ(renderPlanning(P, Where),
            "planning 4.2 s: +3.1 % time found wi...");
}

TEST(ProgressText, Logs) {
  TrainingNumbers T;
  T.Step = 3;
  T.Steps = 10;
  T.StepMs = 1.234;
  T.PeakBytes = 2 << 20;
  EXPECT_EQ(renderStep(T), "step 3/10  1.23 ms  2.00 MiB");
  T.Loss = 2.5;
  T.BudgetBytes = 3 << 20;
  EXPECT_EQ(renderStep(T),
            "step 3/10  loss 2.5  1.23 ms  2.00 MiB of 3.00 MiB");
}

TEST(ProgressText, LogsAreShort) {
  for (uint64_t Steps : {1, 2, 99, 100, 101, 250, 1000, 12345}) {
    uint64_t Lines = 0;
    for (uint64_t Step = 1; Step <= Steps; ++Step)
      Lines += isLogged(Step, Steps);
    EXPECT_TRUE(isLogged(1, Steps) && isLogged(Steps, Steps)) << Steps;
    EXPECT_LE(Lines, 102u) << Steps;
    EXPECT_GE(Lines, std::min<uint64_t>(Steps, 50)) << Steps;
    if (Steps <= 100)
      EXPECT_EQ(Lines, Steps);
  }
}

TrainingNumbers getExample() {
  TrainingNumbers T;
  T.Step = 42;
  T.Steps = 300;
  T.Loss = 5.54321;
  T.StepMs = 28.51;
  T.SecondsLeft = 7.4;
  T.Throughput = 9271;
  T.Unit = "tokens";
  T.PeakBytes = 2380267;
  T.BudgetBytes = 2411725;
  return T;
}

TEST(ProgressText, AtEightyColumns) {
  Screen Where;
  EXPECT_EQ(renderTraining(getExample(), Where),
            " 42/300  ##           loss 5.5432         28.5 ms    7.4 s left"
            "  9.27k tokens/s");
}

TEST(ProgressText, AtAHundredAndTwenty) {
  Screen Where;
  Where.Width = 120;
  Where.Unicode = true;
  EXPECT_EQ(renderTraining(getExample(), Where),
            " 42/300  ███▍                      loss 5.5432         28.5 ms    "
            "7.4 s left  9.27k tokens/s  2.27 of 2.30 MiB");
}

TEST(ProgressText, ColourTakesNoColumns) {
  Screen Plain, Coloured;
  Coloured.Colour = true;
  std::string Line = renderTraining(getExample(), Coloured);
  for (const char *Code : {"\x1b[32m", "\x1b[0m"}) {
    ASSERT_NE(Line.find(Code), std::string::npos);
    Line.erase(Line.find(Code), std::string_view(Code).size());
  }
  EXPECT_EQ(Line, renderTraining(getExample(), Plain));
}

TEST(ProgressText, TheLineKeepsStillAndFits) {
  for (unsigned Width = 40; Width <= 200; ++Width) {
    Screen Where;
    Where.Width = Width;
    Where.Unicode = Width % 2;
    TrainingNumbers T = getExample();
    unsigned Columns = countColumns(renderTraining(T, Where));
    EXPECT_LT(Columns, Width);
    for (double Value : {0.001, 1.5, 12.25, 999.0, 12345.0}) {
      T.Step = T.Step * 3 / 2;
      T.Loss = -Value;
      T.StepMs = Value;
      T.SecondsLeft = Value;
      T.Throughput = Value;
      EXPECT_EQ(countColumns(renderTraining(T, Where)), Columns)
          << Width << ' ' << Value;
    }
  }
}

} // namespace
