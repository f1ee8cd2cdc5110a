//===- SegmentsTest.cpp - Groups of segments against small calculations ---===//
#include "Seeds/Segments.h"
#include "RandomProblem.h"

#include <gtest/gtest.h>

using namespace remat::solver;
using namespace remat::solver::test;

namespace {

constexpr int64_t Inner = 4;

/// Layers of two ops: x(i-1) -> h(i) of four bytes -> x(i) of one. A loss, and
/// a backward op a layer that reads the gradient of one byte and h(i).
Problem chainOf(int Layers, int Odd = -1) {
  Problem P;
  ValueId X = P.addResident("x0", 1);
  std::vector<ValueId> H;
  for (int I = 1; I <= Layers; ++I) {
    std::string Name = std::to_string(I);
    OpId A = P.addOp("a" + Name, I == Odd ? 2 : 1, {X});
    H.push_back(P.addOutput(A, "h" + Name, Inner));
    OpId B = P.addOp("b" + Name, 1, {H.back()});
    X = P.addOutput(B, "x" + Name, 1);
  }
  ValueId G = P.addOutput(P.addOp("loss", 1, {X}), "g", 1);
  for (int I = Layers; I >= 1; --I) {
    std::string Name = "g" + std::to_string(I);
    G = P.addOutput(P.addOp("back" + Name, 1, {G, H[I - 1]}), Name, 1);
  }
  P.Results = {G};
  return P;
}

/// All points of the parametric cut in the base order.
std::vector<MomentCut::Point> hullOf(const Model &M) {
  MomentCut Cut(M, M.Turn, MomentCut::sidesInOrder(M, M.Turn, baseOrder(M)));
  return Cut.frontier(40, true);
}

std::vector<std::vector<bool>> patternsOf(const Model &M) {
  std::vector<std::vector<bool>> Out;
  for (const MomentCut::Point &X : hullOf(M))
    Out.push_back(X.Dropped);
  return Out;
}

TEST(SegmentsTest, ALayerOfAChainIsASegment) {
  Problem P = chainOf(64);
  Model M(P);
  std::vector<OpId> Order = baseOrder(M);
  Segments S(M, Order, patternsOf(M));
  EXPECT_GE(S.count(), 63);
  EXPECT_LE(S.count(), 66);
}

/// Groups of layers, rebuilt one at a time: with k groups before it a group of
/// n layers needs k bytes kept, n * Inner, two gradients, and x0.
TEST(SegmentsTest, PlansOfAChainReachWhatGroupsCan) {
  constexpr int Layers = 64;
  int64_t Least = 0;
  for (int Covered = 0; Covered < Layers; ++Least) {
    Covered = 0;
    for (int64_t K = 0; Least - 3 - K >= Inner; ++K)
      Covered += int((Least - 3 - K) / Inner);
  }
  --Least;
  Problem P = chainOf(Layers);
  Model M(P);
  int64_t Lowest = INT64_MAX;
  double Time = 0;
  segmentPlans(M, baseOrder(M), hullOf(M), [&](Plan S) {
    dropUnread(M, S);
    VerifyResult V = verify(P, S, INT64_MAX);
    EXPECT_TRUE(V.Ok) << V.Error;
    if (V.Peak < Lowest) {
      Lowest = V.Peak;
      Time = V.Time;
    }
    return true;
  });
  EXPECT_LE(Lowest, Least);
  // Every forward op once more at most.
  EXPECT_LE(Time, M.BaseTime + 2 * Layers);
  // No cut of the whole step comes near.
  int64_t OfCuts = INT64_MAX;
  for (const MomentCut::Point &X : hullOf(M))
    OfCuts = std::min(
        OfCuts,
        measure(M, emitDropped(M, baseOrder(M), M.Turn, X.Dropped)).Peak);
  EXPECT_LT(2 * Lowest, OfCuts);
}

/// Where the ops after the turn read one layer at a time the estimate is exact,
/// but for the byte that a group is rebuilt from: it counts to the end.
TEST(SegmentsTest, CostsOfGroupsAreThoseOfThePlan) {
  Problem P = chainOf(24);
  Model M(P);
  std::vector<OpId> Order = baseOrder(M);
  std::vector<std::vector<bool>> Patterns = patternsOf(M);
  Segments S(M, Order, Patterns);
  int32_t Deepest = S.numPatterns() - 1;
  for (int32_t Size : {1, 2, 3, 5, 8}) {
    std::vector<Segments::Group> Groups;
    int64_t Kept = 0, Peak = 0;
    double Time = M.BaseTime;
    for (int32_t First = 0; First < S.count(); First += Size) {
      Groups.push_back(
          {First, std::min(First + Size, S.count()) - 1, Deepest, true});
      Segments::Cost C = S.costOf(Groups.back());
      Peak = std::max(Peak, Kept + C.Peak);
      Kept += C.Kept;
      Time += C.Time;
    }
    Plan Made = S.emit(Groups);
    VerifyResult V = verify(P, Made, INT64_MAX);
    ASSERT_TRUE(V.Ok) << V.Error;
    EXPECT_EQ(V.Time, Time) << "groups of " << Size;
    EXPECT_LE(V.Peak, Peak) << "groups of " << Size;
    EXPECT_GE(V.Peak, Peak - 1) << "groups of " << Size;
  }
}

TEST(SegmentsTest, EqualSegmentsAreSimulatedOnce) {
  auto simulated = [](int Odd) {
    Problem P = chainOf(64, Odd);
    Model M(P);
    std::vector<OpId> Order = baseOrder(M);
    Segments S(M, Order, patternsOf(M));
    for (int32_t First = 4; First < 60; ++First) {
      Segments::Group G = {First, First, S.numPatterns() - 1, true};
      Segments::Cost Shared = S.costOf(G);
      Segments Alone(M, Order, patternsOf(M));
      Segments::Cost C = Alone.costOf(G);
      EXPECT_EQ(C.Kept, Shared.Kept);
      EXPECT_EQ(C.Peak, Shared.Peak);
      EXPECT_EQ(C.Time, Shared.Time);
    }
    return S.numSimulated();
  };
  EXPECT_EQ(simulated(-1), 1u);
  // The layer before it is kept for it in one of the patterns.
  EXPECT_EQ(simulated(32), 3u);
}

TEST(SegmentsTest, EveryPlanOfARandomProblemIsValid) {
  Rng R(7);
  int Plans = 0;
  for (int Case = 0; Case < casesOf(400); ++Case) {
    Features F;
    F.Policy = 10;
    F.After = Case % 2 ? 5 : 0;
    Problem P = randomProblem(R, 10 + R.below(60), F);
    if (check(P))
      continue;
    Model M(P);
    if (M.Turn == None)
      continue;
    segmentPlans(M, baseOrder(M), hullOf(M), [&](Plan S) {
      VerifyResult V = verify(P, S, INT64_MAX);
      EXPECT_TRUE(V.Ok) << "case " << Case << ": " << V.Error;
      return ++Plans > 0;
    });
  }
  EXPECT_GT(Plans, 400);
}

} // namespace
