//===- StepOrderTest.cpp - which steps wait for which ---------------------===//

#include "cuda/StepOrder.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace remat::runtime;
using namespace remat::runtime::cuda;

namespace {

StepWork work(bool IsSmall, std::vector<uint64_t> Reads,
              std::vector<uint64_t> Writes) {
  StepWork W;
  W.IsSmall = IsSmall;
  for (uint64_t Byte : Reads)
    W.Touches.push_back({{Byte, 1}, false});
  for (uint64_t Byte : Writes)
    W.Touches.push_back({{Byte, 1}, true});
  return W;
}

std::string print(const std::vector<StepPlace> &Order) {
  std::string Text;
  for (const StepPlace &P : Order) {
    Text += P.IsBeside ? "beside" : "chain";
    for (uint32_t B : P.Before)
      Text += " " + std::to_string(B);
    Text += "\n";
  }
  return Text;
}

TEST(StepOrder, SmallOnesWaitForTheirBytes) {
  // The update of step 2 reads what 1 writes; 4 writes over it.
  EXPECT_EQ(print(orderSteps({work(false, {0}, {1}), work(false, {1}, {2}),
                              work(true, {2}, {9}), work(false, {1}, {3}),
                              work(false, {3}, {2}), work(false, {9}, {4})})),
            "chain\nchain 0\nbeside 1\nchain 1\nchain 2 3\nchain 4\n");
}

TEST(StepOrder, WhatTheChainWaitsForAtOnceBelongsToIt) {
  // Over two small ones as well as over one.
  EXPECT_EQ(print(orderSteps({work(false, {0}, {1}), work(true, {1}, {2}),
                              work(true, {2}, {3}), work(false, {3}, {4})})),
            "chain\nchain 0\nchain 1\nchain 2\n");
  // Not where a large one lies between.
  EXPECT_EQ(print(orderSteps({work(false, {0}, {1}), work(true, {1}, {2}),
                              work(false, {1}, {5}), work(true, {2}, {3}),
                              work(false, {3}, {4})})),
            "chain\nbeside 0\nchain 0\nbeside 1\nchain 2 3\n");
}

TEST(StepOrder, TakesLongChains) {
  // Many small steps, each of which reads what the one before wrote,
  // beside two large ones, the second of which reads the last.
  std::vector<StepWork> Steps = {work(false, {0}, {1})};
  for (uint64_t I = 0; I < 300'000; ++I)
    Steps.push_back(work(true, {I + 2}, {I + 3}));
  Steps.push_back(work(false, {1}, {0}));
  Steps.push_back(work(false, {300'002}, {0}));
  std::vector<StepPlace> Order = orderSteps(Steps);
  EXPECT_TRUE(Order[1].IsBeside);
  EXPECT_EQ(Order.back().Before, (std::vector<uint32_t>{300'000, 300'001}));
}

/// Whether two steps may not change places.
bool conflict(const StepWork &A, const StepWork &B) {
  for (const TouchedRange &X : A.Touches)
    for (const TouchedRange &Y : B.Touches)
      if ((X.IsWritten || Y.IsWritten) &&
          X.Range.Offset < Y.Range.Offset + Y.Range.Bytes &&
          Y.Range.Offset < X.Range.Offset + X.Range.Bytes)
        return true;
  return false;
}

/// Which steps are done before each one starts.
std::vector<std::vector<bool>> close(const std::vector<StepPlace> &Order) {
  std::vector<std::vector<bool>> Done(Order.size());
  for (size_t I = 0; I < Order.size(); ++I) {
    Done[I].resize(Order.size());
    for (uint32_t B : Order[I].Before) {
      Done[I][B] = true;
      for (size_t J = 0; J < B; ++J)
        if (Done[B][J])
          Done[I][J] = true;
    }
  }
  return Done;
}

TEST(StepOrder, KeepsTheOrderOfAllThatMeet) {
  std::mt19937 Random(7);
  auto Draw = [&](uint64_t Below) { return Random() % Below; };
  size_t NumBeside = 0;
  for (int Case = 0; Case < 2000; ++Case) {
    std::vector<StepWork> Steps(2 + Draw(20));
    uint64_t Bytes = 4 + Draw(60);
    for (StepWork &W : Steps) {
      W.IsSmall = Draw(2);
      for (uint64_t Left = 1 + Draw(3); Left > 0; --Left)
        W.Touches.push_back({{Draw(Bytes), 1 + Draw(6)}, Draw(2) == 1});
    }
    std::vector<StepPlace> Order = orderSteps(Steps);
    std::vector<std::vector<bool>> Done = close(Order);
    std::optional<size_t> Last;
    for (size_t I = 0; I < Steps.size(); ++I) {
      for (size_t J = 0; J < I; ++J)
        if (conflict(Steps[J], Steps[I])) {
          EXPECT_TRUE(Done[I][J]) << "case " << Case << ": " << J << ", " << I;
        }
      EXPECT_TRUE(std::ranges::is_sorted(Order[I].Before));
      NumBeside += Order[I].IsBeside;
      if (Order[I].IsBeside) {
        EXPECT_TRUE(Steps[I].IsSmall);
        continue;
      }
      if (Last) {
        EXPECT_TRUE(Done[I][*Last]) << "case " << Case << ": " << I;
      }
      Last = I;
    }
  }
  EXPECT_GT(NumBeside, 2000u);
}

} // namespace
