//===- PackingTest.cpp - Offsets against brute force and by shape ---------===//
#include "remat/Solver/Packing.h"
#include "RandomProblem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

using namespace remat::solver;
using remat::solver::test::Rng;

namespace {

std::vector<Buffer> randomBuffers(Rng &R, int N, int Times, int MaxSize) {
  std::vector<Buffer> B(N);
  for (Buffer &X : B) {
    X.Lower = R.below(Times);
    X.Upper = X.Lower + 1 + R.below(Times);
    X.Size = 1 + R.below(MaxSize);
  }
  return B;
}

/// The least height over all orders of placing at the lowest free offset:
/// every packing pushed down is one of these.
int64_t bruteForce(const std::vector<Buffer> &B) {
  std::vector<int> Order(B.size());
  std::iota(Order.begin(), Order.end(), 0);
  int64_t Best = INT64_MAX;
  do {
    std::vector<int64_t> At(B.size(), -1);
    int64_t Height = 0;
    for (int I : Order) {
      int64_t Low = 0;
      for (bool Moved = true; Moved;) {
        Moved = false;
        for (size_t J = 0; J < B.size(); ++J)
          if (At[J] >= 0 && B[J].Lower < B[I].Upper &&
              B[I].Lower < B[J].Upper && Low < At[J] + B[J].Size &&
              At[J] < Low + B[I].Size) {
            Low = At[J] + B[J].Size;
            Moved = true;
          }
      }
      At[I] = Low;
      Height = std::max(Height, Low + B[I].Size);
    }
    Best = std::min(Best, Height);
  } while (std::next_permutation(Order.begin(), Order.end()));
  return Best;
}

TEST(Packing, ReachesTheOptimumOfSmallInstances) {
  for (int Case = 1; Case <= 150; ++Case) {
    Rng R(Case);
    std::vector<Buffer> B = randomBuffers(R, 3 + R.below(5), 6, 9);
    int64_t Optimum = bruteForce(B);
    SCOPED_TRACE(Case);
    PackOptions O;
    O.Capacity = Optimum;
    PackResult Fits = pack(B, O);
    EXPECT_TRUE(Fits.Feasible);
    EXPECT_EQ(verifyPacking(B, Fits.Offsets, Optimum), "");
    EXPECT_EQ(pack(B).Height, Optimum);
    O.Capacity = Optimum - 1;
    PackResult Not = pack(B, O);
    EXPECT_FALSE(Not.Feasible);
    EXPECT_TRUE(Not.Proven);
    ASSERT_FALSE(Not.Conflict.empty());
    ASSERT_TRUE(Not.Irreducible);
    // The conflict does not fit; without any one of its buffers it does.
    std::vector<Buffer> Set;
    for (int32_t I : Not.Conflict)
      Set.push_back(B[I]);
    EXPECT_GT(bruteForce(Set), Optimum - 1);
    for (size_t Skip = 0; Skip < Set.size() && Set.size() > 1; ++Skip) {
      std::vector<Buffer> Fewer = Set;
      Fewer.erase(Fewer.begin() + Skip);
      EXPECT_LE(bruteForce(Fewer), Optimum - 1);
    }
  }
}

TEST(Packing, KeepsAlignmentAndFixedOffsets) {
  for (int Case = 1; Case <= 200; ++Case) {
    Rng R(Case);
    std::vector<Buffer> B = randomBuffers(R, 12, 10, 40);
    for (Buffer &X : B)
      X.Alignment = 1 << R.below(5);
    B[0].Fixed = B[0].Alignment * R.below(4);
    PackOptions Quick;
    Quick.NodeLimit = 20'000;
    PackResult P = pack(B, Quick);
    ASSERT_TRUE(P.Feasible);
    EXPECT_EQ(verifyPacking(B, P.Offsets, P.Height), "");
    EXPECT_GE(P.Height, P.LowerBound);
    PackOptions O = Quick;
    O.Capacity = P.LowerBound + R.below(60);
    PackResult Q = pack(B, O);
    if (Q.Feasible)
      EXPECT_EQ(verifyPacking(B, Q.Offsets, O.Capacity), "");
    EXPECT_FALSE(P.Height <= *O.Capacity && !Q.Feasible);
  }
}

TEST(Packing, TwoFixedBuffersThatClash) {
  std::vector<Buffer> B = {
      {0, 4, 10, 1, 0}, {2, 6, 10, 1, 5}, {0, 6, 1, 1, {}}};
  PackResult R = pack(B);
  EXPECT_FALSE(R.Feasible);
  EXPECT_TRUE(R.Proven);
  EXPECT_EQ(R.Conflict, (std::vector<int32_t>{0, 1}));
}

TEST(Packing, RefusesMalformedBuffers) {
  auto error = [](Buffer B) { return pack({B}).Error; };
  EXPECT_NE(error({4, 4, 1, 1, {}}).find("is empty"), std::string::npos);
  EXPECT_NE(error({0, 1, -1, 1, {}}).find("-1 bytes"), std::string::npos);
  EXPECT_NE(error({0, 1, INT64_MAX, 1, {}}).find("too large"),
            std::string::npos);
  EXPECT_NE(error({0, 1, 1, 0, {}}).find("alignment 0"), std::string::npos);
  EXPECT_NE(error({0, 1, 1, 1, -4}).find("fixed at -4"), std::string::npos);
  EXPECT_NE(error({0, 1, 1, 8, 4}).find("not aligned"), std::string::npos);
  EXPECT_NE(error({INT64_MIN, 1, 1, 1, {}}).find("out of range"),
            std::string::npos);
}

TEST(Packing, VerifyNamesWhatIsWrong) {
  std::vector<Buffer> B = {{0, 4, 8, 4, {}}, {2, 6, 8, 4, {}}};
  EXPECT_EQ(verifyPacking(B, {0, 8}, 16), "");
  EXPECT_NE(verifyPacking(B, {0, 4}, 16).find("overlap"), std::string::npos);
  EXPECT_NE(verifyPacking(B, {0, 9}, 17).find("not aligned"),
            std::string::npos);
  EXPECT_NE(verifyPacking(B, {0, 8}, 15).find("beyond the capacity"),
            std::string::npos);
  EXPECT_NE(verifyPacking(B, {0}, 16).find("1 offsets for 2"),
            std::string::npos);
  EXPECT_NE(verifyPacking(B, {-4, 8}, 16).find("out of range"),
            std::string::npos);
}

TEST(Packing, ManyBuffersStayCloseToTheLoad) {
  // A stack of lives as in training: what is made first dies last.
  std::vector<Buffer> B;
  Rng R(7);
  constexpr int64_t N = 6'000;
  for (int64_t I = 0; I < N; ++I) {
    int64_t Size = 512 * (1 + R.below(1000));
    bool Kept = R.chance(20);
    B.push_back({I, Kept ? 2 * N - I : I + 1 + R.below(40), Size, 512, {}});
  }
  PackOptions O;
  O.NodeLimit = 0;
  PackResult P = pack(B, O);
  EXPECT_EQ(verifyPacking(B, P.Offsets, P.Height), "");
  EXPECT_LE(double(P.Height), 1.05 * double(P.LowerBound));
}

} // namespace
