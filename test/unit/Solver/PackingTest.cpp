//===- PackingTest.cpp - Offsets against brute force and by shape ---------===//
#include "remat/Solver/Packing.h"
#include "Packing/Exact.h"
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

std::vector<Buffer> alignedBuffers(Rng &R, int N, int Times, int MaxSize) {
  std::vector<Buffer> B = randomBuffers(R, N, Times, MaxSize);
  for (Buffer &X : B)
    X.Alignment = 1 << R.below(5);
  return B;
}

/// The lowest aligned offset that is clear of what lies already.
int64_t lowestOffset(const std::vector<Buffer> &B,
                     const std::vector<int64_t> &At, int I) {
  int64_t Low = 0;
  for (bool Moved = true; Moved;) {
    Moved = false;
    for (size_t J = 0; J < B.size(); ++J)
      if (At[J] >= 0 && B[J].Lower < B[I].Upper && B[I].Lower < B[J].Upper &&
          Low < At[J] + B[J].Size && At[J] < Low + B[I].Size) {
        int64_t A = B[I].Alignment;
        Low = (At[J] + B[J].Size + A - 1) / A * A;
        Moved = true;
      }
  }
  return Low;
}

/// The least height over all orders of placing at the lowest free offset: every
/// packing pushed down is one of these. Fixed buffers lie there first.
int64_t bruteForce(const std::vector<Buffer> &B) {
  std::vector<int64_t> Fixed(B.size(), -1);
  std::vector<int> Order;
  int64_t Least = 0, Best = INT64_MAX;
  for (size_t I = 0; I < B.size(); ++I) {
    if (!B[I].Fixed) {
      Order.push_back(int(I));
      continue;
    }
    Fixed[I] = *B[I].Fixed;
    Least = std::max(Least, *B[I].Fixed + B[I].Size);
  }
  do {
    std::vector<int64_t> At = Fixed;
    int64_t Height = Least;
    for (int I : Order) {
      At[I] = lowestOffset(B, At, I);
      Height = std::max(Height, At[I] + B[I].Size);
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

/// The exact search alone, without best fit before it.
TEST(Packing, ExactSearchAgreesWithBruteForce) {
  int NumAboveLoad = 0;
  for (int Case = 1; Case <= 2000; ++Case) {
    Rng R(Case);
    std::vector<Buffer> B =
        randomBuffers(R, 2 + R.below(5), 3 + R.below(5), 3 + R.below(10));
    if (R.chance(40))
      for (Buffer &X : B)
        X.Alignment = 1 + R.below(5);
    if (R.chance(40))
      B[0].Fixed = B[0].Alignment * R.below(8);
    int64_t Optimum = bruteForce(B);
    SCOPED_TRACE(Case);
    PackOptions O;
    Deadline Until(O.TimeLimit, O.Interrupt);
    ExactPacker Fits(B, Optimum, Until);
    ASSERT_EQ(Fits.solve(100'000), Verdict::Fits);
    ASSERT_EQ(verifyPacking(B, Fits.offsets(), Optimum), "");
    ExactPacker Not(B, Optimum - 1, Until);
    ASSERT_EQ(Not.solve(100'000), Verdict::CannotFit);
    O.NodeLimit = 0;
    NumAboveLoad += pack(B, O).LowerBound < Optimum;
  }
  // Refused for more reasons than the load.
  EXPECT_GT(NumAboveLoad, 200);
}

/// A rectangle cut into buffers: a packing without any empty space exists.
std::vector<Buffer> cutRectangle(Rng &R, int Times, int Height, int Count) {
  struct Box {
    int T0, T1, Y0, Y1;
  };
  std::vector<Box> Boxes = {{0, Times, 0, Height}};
  while (int(Boxes.size()) < Count) {
    size_t K = R.below(int(Boxes.size()));
    Box &B = Boxes[K];
    bool Across = R.chance(50);
    if ((Across ? B.T1 - B.T0 : B.Y1 - B.Y0) < 2)
      continue;
    Box Rest = B;
    if (Across)
      B.T1 = Rest.T0 = B.T0 + 1 + R.below(B.T1 - B.T0 - 1);
    else
      B.Y1 = Rest.Y0 = B.Y0 + 1 + R.below(B.Y1 - B.Y0 - 1);
    Boxes.push_back(Rest);
  }
  std::vector<Buffer> Out;
  for (const Box &B : Boxes)
    Out.push_back({B.T0, B.T1, B.Y1 - B.Y0, 1, {}});
  return Out;
}

TEST(Packing, PacksWithoutEmptySpace) {
  for (int Case = 1; Case <= 30; ++Case) {
    Rng R(Case);
    std::vector<Buffer> B = cutRectangle(R, 60, 1000, 60);
    PackOptions O;
    O.Capacity = 1000;
    PackResult P = pack(B, O);
    SCOPED_TRACE(Case);
    EXPECT_TRUE(P.Feasible);
    EXPECT_EQ(verifyPacking(B, P.Offsets, 1000), "");
    // The same again: work is counted, not timed.
    EXPECT_EQ(pack(B, O).Offsets, P.Offsets);
  }
}

TEST(Packing, KeepsAlignmentAndFixedOffsets) {
  for (int Case = 1; Case <= 200; ++Case) {
    Rng R(Case);
    std::vector<Buffer> B = alignedBuffers(R, 12, 10, 40);
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
  PackOptions Negative;
  Negative.Capacity = -1;
  EXPECT_NE(pack({}, Negative).Error.find("negative: -1"), std::string::npos);
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

/// 20,000 buffers in three shapes; a fifth of what is asked for, which keeps
/// the test short.
TEST(Packing, ManyBuffersStayCloseToTheLoad) {
  constexpr int64_t N = 20'000;
  Rng R(7);
  std::vector<Buffer> Nested, Short, Long;
  for (int64_t I = 0; I < N; ++I) {
    int64_t Size = 512 * (1 + R.below(1000));
    // A stack of lives as in training: what is made first dies last.
    bool Kept = R.chance(20);
    Nested.push_back(
        {I, Kept ? 2 * N - I : I + 1 + R.below(40), Size, 512, {}});
    int64_t At = R.below(int(N));
    Short.push_back({At, At + 1 + R.below(200), Size, 1, {}});
    Long.push_back({At, At + 1 + R.below(int(N)), Size, 1, {}});
  }
  for (const std::vector<Buffer> &B : {Nested, Short, Long}) {
    PackOptions O;
    O.NodeLimit = 0;
    PackResult P = pack(B, O);
    EXPECT_EQ(verifyPacking(B, P.Offsets, P.Height), "");
    EXPECT_LE(double(P.Height), 1.05 * double(P.LowerBound));
  }
}

TEST(Packing, ReachesTheLoadWithoutACapacity) {
  Rng R(3);
  std::vector<Buffer> B;
  for (int I = 0; I < 600; ++I) {
    int64_t At = R.below(600);
    B.push_back({At, At + 1 + R.below(75), 1 + R.below(1'000'000), 512, {}});
    B.back().Size = (B.back().Size + 511) / 512 * 512;
  }
  PackOptions Quick;
  Quick.NodeLimit = 0;
  EXPECT_GT(pack(B, Quick).Height, pack(B, Quick).LowerBound);
  PackResult P = pack(B);
  EXPECT_EQ(P.Height, P.LowerBound);
  EXPECT_EQ(verifyPacking(B, P.Offsets, P.LowerBound), "");
}

TEST(Packing, StopsWhenInterrupted) {
  // Without empty space and with 400 buffers: not packed at once.
  Rng R(5);
  std::vector<Buffer> B = cutRectangle(R, 100, 100'000, 400);
  std::atomic<bool> Interrupt = true;
  PackOptions O;
  O.Capacity = 100'000;
  O.NodeLimit = INT64_MAX;
  O.Interrupt = &Interrupt;
  PackResult P = pack(B, O);
  EXPECT_FALSE(P.Feasible);
  EXPECT_FALSE(P.Proven);
  // What there is at that moment is a packing all the same.
  EXPECT_EQ(verifyPacking(B, P.Offsets, P.Height), "");
  Interrupt = false;
  O.TimeLimit = 0.05;
  P = pack(B, O);
  EXPECT_EQ(verifyPacking(B, P.Offsets, P.Height), "");
}

TEST(Packing, RowsKeepAlignmentAndFixedOffsets) {
  for (int Case = 1; Case <= 300; ++Case) {
    Rng R(Case);
    std::vector<Buffer> B = alignedBuffers(R, 30, 20, 50);
    B[0].Size = 0;
    // Several fixed ones, of all lengths, on top of each other.
    int64_t Top = 0;
    for (int I = 1; I < 6; ++I) {
      int64_t A = B[I].Alignment;
      B[I].Fixed = (Top + R.below(9) + A - 1) / A * A;
      Top = *B[I].Fixed + B[I].Size;
    }
    std::rotate(B.begin(), B.begin() + R.below(30), B.end());
    for (bool Backward : {false, true}) {
      Placement P = placeInRows(B, 0.5 + R.below(50) / 100.0, Backward);
      SCOPED_TRACE(Case);
      ASSERT_EQ(verifyPacking(B, P.Offsets, P.Height), "");
    }
  }
}

TEST(Packing, SqueakyWheelWinsHalfOfWhatBestFitLoses) {
  double Lost = 0, Left = 0;
  for (int Case = 1; Case <= 10; ++Case) {
    Rng R(Case);
    constexpr int64_t Load = 1000;
    std::vector<Buffer> B = cutRectangle(R, 200, Load, 150);
    Deadline Never(0, nullptr);
    Placement First = bestFit(B, Load, Never), Best = First, Again = First;
    squeakyWheel(B, Load, Load, Never, Best);
    squeakyWheel(B, Load, Load, Never, Again);
    SCOPED_TRACE(Case);
    EXPECT_LE(Best.Height, First.Height);
    EXPECT_EQ(verifyPacking(B, Best.Offsets, Best.Height), "");
    EXPECT_EQ(Best.Offsets, Again.Offsets);
    Lost += double(First.Height - Load) / double(Load);
    Left += double(Best.Height - Load) / double(Load);
  }
  EXPECT_GT(Lost / 10, 0.01);
  EXPECT_LT(Left, Lost / 2);
}

TEST(Packing, SqueakyWheelKeepsAlignmentAndFixedOffsets) {
  for (int Case = 1; Case <= 60; ++Case) {
    Rng R(Case);
    std::vector<Buffer> B = alignedBuffers(R, 40, 20, 4000);
    B[3].Fixed = B[3].Alignment * R.below(40);
    B[5].Size = 0;
    Deadline Never(0, nullptr);
    Placement Best = bestFit(B, 0, Never);
    squeakyWheel(B, Best.Height / 2, 0, Never, Best);
    SCOPED_TRACE(Case);
    ASSERT_EQ(verifyPacking(B, Best.Offsets, Best.Height), "");
  }
}

/// Any buffers, absurd ones too: refused, or the result is what it says.
TEST(Packing, AnyBuffers) {
  int NumFit = 0, NumRefused = 0, NumNot = 0;
  for (int Case = 1; Case <= 1000; ++Case) {
    Rng R(Case);
    std::vector<Buffer> B(R.below(30));
    for (Buffer &X : B) {
      X.Lower = R.below(30) - 10;
      X.Upper = X.Lower + 1 + R.below(20);
      X.Size = R.below(50) * int64_t(R.chance(5) ? 1'000'000'007 : 1);
      X.Alignment = R.chance(70) ? 1 : 1 + R.below(64);
      if (R.chance(8))
        X.Fixed = X.Alignment * R.below(20);
      int64_t *Fields[] = {&X.Lower, &X.Upper, &X.Size, &X.Alignment};
      int64_t Absurd[] = {INT64_MIN, -1, 0, int64_t(1) << 56, INT64_MAX};
      if (Case % 10 == 0 && R.chance(5))
        *Fields[R.below(4)] = Absurd[R.below(5)];
    }
    PackOptions O;
    O.NodeLimit = R.chance(30) ? 0 : 2000;
    if (R.chance(60))
      O.Capacity = R.below(1200);
    PackResult P = pack(B, O);
    SCOPED_TRACE(Case);
    NumRefused += !P.Error.empty();
    NumFit += P.Feasible;
    NumNot += P.Proven;
    ASSERT_LE(P.Feasible + P.Proven + !P.Error.empty(), 1);
    if (P.Feasible) {
      ASSERT_EQ(verifyPacking(B, P.Offsets, O.Capacity), "");
      ASSERT_GE(P.Height, P.LowerBound);
    }
    ASSERT_EQ(P.Proven, !P.Conflict.empty());
  }
  EXPECT_GT(NumFit, 300);
  EXPECT_GT(NumRefused, 20);
  EXPECT_GT(NumNot, 200);
}

} // namespace
