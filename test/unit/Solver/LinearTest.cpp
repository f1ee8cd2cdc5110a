//===- LinearTest.cpp - The interface to the linear-programming library ---===//
#include "Linear/LinearProgram.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace remat::solver;

namespace {

/// Sets REMAT_HIGHS for a test and puts back what was there.
class NamedLibrary {
public:
  NamedLibrary(const char *Path) {
    if (const char *Text = std::getenv("REMAT_HIGHS"))
      Before = Text;
    setenv("REMAT_HIGHS", Path, 1);
  }
  ~NamedLibrary() {
    if (Before.empty())
      unsetenv("REMAT_HIGHS");
    else
      setenv("REMAT_HIGHS", Before.c_str(), 1);
  }

private:
  std::string Before;
};

/// Tests of solutions need the library. Where it is named it must be there.
class Linear : public testing::Test {
protected:
  void SetUp() override {
    std::string Why = whyNoLinearSolver();
    if (Why.empty())
      return;
    ASSERT_FALSE(std::getenv("REMAT_HIGHS")) << Why;
    GTEST_SKIP() << Why;
  }
};

/// Which of some things to take: the dearest set within a weight.
LinearProgram knapsack(int Count, uint64_t Seed) {
  LinearProgram L;
  std::vector<LinearProgram::Term> Weight;
  double Sum = 0;
  for (int I = 0; I < Count; ++I) {
    Seed = Seed * 6364136223846793005u + 1442695040888963407u;
    double W = 20 + double(Seed >> 40 & 63);
    Sum += W;
    L.addColumn(-(W + double(Seed >> 50 & 7)), 0, 1, true);
    Weight.push_back({I, W});
  }
  L.addRow(-Unbounded, Sum / 2, Weight);
  return L;
}

TEST(LinearLibrary, AbsentSaysWhatWouldHelp) {
  NamedLibrary Nowhere("/nonexistent/libhighs.so.1");
  LinearResult R = solveLinear(LinearProgram());
  EXPECT_EQ(R.Status, LinearStatus::Unavailable);
  EXPECT_NE(R.Message.find("/nonexistent/libhighs.so.1"), std::string::npos);
  EXPECT_NE(R.Message.find("REMAT_HIGHS"), std::string::npos);
  EXPECT_NE(R.Message.find("highspy"), std::string::npos);
  EXPECT_EQ(R.Message, whyNoLinearSolver());
}

TEST(LinearLibrary, AnotherLibraryIsRefused) {
  NamedLibrary Other("libc.so.6");
  EXPECT_NE(whyNoLinearSolver().find("lacks functions"), std::string::npos);
}

TEST_F(Linear, APlaneProgram) {
  // Minimise -3x - 5y; x <= 4, 2y <= 12, 3x + 2y <= 18: at (2, 6).
  LinearProgram L;
  int32_t X = L.addColumn(-3, 0, 4), Y = L.addColumn(-5, 0, Unbounded);
  L.addRow(-Unbounded, 12, {{Y, 2}});
  L.addRow(-Unbounded, 18, {{X, 3}, {Y, 2}});
  LinearResult R = solveLinear(L);
  ASSERT_EQ(R.Status, LinearStatus::Optimal) << R.Message;
  EXPECT_NEAR(R.Objective, -36, 1e-9);
  EXPECT_NEAR(R.Bound, -36, 1e-9);
  EXPECT_NEAR(R.Point[X], 2, 1e-9);
  EXPECT_NEAR(R.Point[Y], 6, 1e-9);
}

TEST_F(Linear, WholeNumbers) {
  // 8a + 11b + 6c + 4d with 5a + 7b + 4c + 3d <= 14: b, c and d, 21.
  LinearProgram L;
  for (double Price : {-8, -11, -6, -4})
    L.addColumn(Price, 0, 1, true);
  L.addRow(-Unbounded, 14, {{0, 5}, {1, 7}, {2, 4}, {3, 3}});
  LinearResult R = solveLinear(L);
  ASSERT_EQ(R.Status, LinearStatus::Optimal) << R.Message;
  EXPECT_NEAR(R.Objective, -21, 1e-7);
  EXPECT_NEAR(R.Bound, -21, 1e-6);
  EXPECT_NEAR(R.Point[0], 0, 1e-7);
}

TEST_F(Linear, InfeasibleAndUnbounded) {
  for (bool Whole : {false, true}) {
    LinearProgram L;
    int32_t X = L.addColumn(1, 0, 1, Whole), Y = L.addColumn(1, 0, 1, Whole);
    L.addRow(3, Unbounded, {{X, 1}, {Y, 1}});
    EXPECT_EQ(solveLinear(L).Status, LinearStatus::Infeasible);
    LinearProgram M;
    M.addColumn(-1, 0, Unbounded, Whole);
    EXPECT_EQ(solveLinear(M).Status, LinearStatus::Unbounded);
  }
}

TEST_F(Linear, AStartIsKeptWhenThereIsNoTimeToBetterIt) {
  LinearProgram L = knapsack(60, 1);
  LinearOptions O;
  O.Start.assign(60, 0);
  O.Start[0] = 1;
  O.Stop = [] { return true; };
  LinearResult R = solveLinear(L, O);
  ASSERT_TRUE(R.Status == LinearStatus::Stopped ||
              R.Status == LinearStatus::Optimal);
  ASSERT_FALSE(R.Point.empty());
  EXPECT_LE(R.Objective, L.Cost[0] + 1e-6);
  EXPECT_LE(R.Bound, R.Objective + 1e-6);
}

TEST_F(Linear, TheSameAnswerEveryTime) {
  LinearProgram L = knapsack(40, 2);
  LinearResult A = solveLinear(L), B = solveLinear(L);
  EXPECT_EQ(A.Point, B.Point);
  EXPECT_EQ(A.Nodes, B.Nodes);
}

} // namespace
