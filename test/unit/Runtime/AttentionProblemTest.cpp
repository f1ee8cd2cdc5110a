//===- AttentionProblemTest.cpp - what a step asks of cuDNN ---------------===//

#include "TestProgram.h"
#include "cuda/Attention.h"
#include <gtest/gtest.h>

using namespace remat::runtime;
using namespace remat::runtime::test;
using remat::runtime::cuda::AttentionProblem;

namespace {

/// Attention over two sequences, six heads that share three of keys.
Result<AttentionProblem> getProblem(int32_t Slices, const Attrs &List = {}) {
  ProgramMaker Maker;
  uint32_t Q = Maker.argument("q", bf16({2, 64, 6, 32}));
  uint32_t K = Maker.argument("k", bf16({2, 80, 3, 32}));
  uint32_t Out = Maker.tensor(bf16({2, 64, 6, 32}));
  uint32_t Lse = Maker.tensor(f32({2, 6, 64}));
  Maker.result("out", Out);
  Maker.step("attention", {Q, K, K, NoTensor, NoTensor, NoTensor}, {Out, Lse},
             List);
  auto P = Program::load(Maker.finish());
  if (!P)
    return P.getError();
  Step S = (*P)->Steps.front();
  S.Slices = Slices;
  return AttentionProblem::of(**P, S);
}

TEST(AttentionProblem, KnowsWhichHeadsShareKeys) {
  auto P = getProblem(1);
  ASSERT_EQ(messageOf(P), "");
  EXPECT_EQ(P->Heads, 6);
  EXPECT_EQ(P->KeyHeads, 3);
  EXPECT_EQ(P->Keys, 80);
  EXPECT_EQ(P->Window, 0);
}

TEST(AttentionProblem, LeavesOutAWindowThatHidesNothing) {
  auto Hides = getProblem(1, {flag("causal"), ints("window", {63})});
  ASSERT_EQ(messageOf(Hides), "");
  EXPECT_EQ(Hides->Window, 63);
  auto All = getProblem(1, {flag("causal"), ints("window", {64})});
  ASSERT_EQ(messageOf(All), "");
  EXPECT_EQ(All->Window, 0);
  EXPECT_NE(Hides->getKey(), All->getKey());
}

/// Of the batch, and then of the three heads of keys.
TEST(AttentionProblem, SlicesAreEqualParts) {
  struct {
    int32_t Slices;
    int64_t Batch, HeadParts;
  } Cases[] = {{1, 2, 1}, {2, 1, 1}, {6, 1, 3}};
  for (auto [Slices, Batch, HeadParts] : Cases) {
    auto P = getProblem(Slices);
    ASSERT_EQ(messageOf(P), "") << Slices;
    EXPECT_EQ(P->getSliceBatch(), Batch) << Slices;
    EXPECT_EQ(P->getHeadParts(), HeadParts) << Slices;
  }
}

/// 3 are no whole sequences, 4 and 12 no whole heads of keys.
TEST(AttentionProblem, RefusesOtherSlices) {
  for (int32_t Slices : {-1, 0, 3, 4, 12})
    EXPECT_EQ(messageOf(getProblem(Slices)),
              std::to_string(Slices) + " slices do not divide a batch of 2 "
                                       "with 3 heads of keys");
}

} // namespace
