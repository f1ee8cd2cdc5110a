//===- FitBudgetTest.cpp - what is planned for after a plan was too large -===//

#include "remat/Transforms/FitBudget.h"
#include <gtest/gtest.h>

using namespace remat;

namespace {

TEST(FitBudget, WhatWasNotForeseenIsSavedFirst) {
  EXPECT_EQ(getNextTarget(1'000'000, 1'000'000, 40, 1), 999'960);
}

// A plan that is over by little stays the same for targets that differ by as
// little: three thousandths of the budget are soon reached.
TEST(FitBudget, LaterStepsGrow) {
  int64_t Budget = 1'000'000, Target = Budget;
  int Plans = 1;
  for (; Budget - Target < Budget * 3 / 1000; ++Plans)
    Target = getNextTarget(Budget, Target, 40, Plans);
  EXPECT_EQ(Target, Budget - 40 - 1000 - 2000);
  EXPECT_EQ(Plans, 4);
}

TEST(FitBudget, WhatIsFarOverIsSavedWhole) {
  EXPECT_EQ(getNextTarget(1'000'000, 900'000, 50'000, 2), 850'000);
}

} // namespace
