//===- PrefetcherTest.cpp - orders of records, batches made ready ---------===//

#include "remat/runtime/Data/Prefetcher.h"
#include "TestProgram.h"
#include "lib/Data/Shuffle.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>

using namespace remat::runtime;
using namespace remat::runtime::test;

namespace {

//===----------------------------------------------------------------------===//
// Shuffle
//===----------------------------------------------------------------------===//

/// Both ways to shuffle: in a list, and without one.
TEST(Shuffle, VisitsAllOnce) {
  for (uint64_t Count :
       {uint64_t(1), uint64_t(2), uint64_t(1000), Shuffle::MaxListed + 1}) {
    Shuffle S(Count, /*Seed=*/3, /*Id=*/4);
    std::vector<uint64_t> Order(Count), Other(std::min<uint64_t>(Count, 1000));
    S.get(0, 0, Order);
    S.get(1, 0, Other);
    EXPECT_TRUE(Count < 3 ||
                !std::equal(Other.begin(), Other.end(), Order.begin()));
    std::vector<bool> Seen(Count);
    for (uint64_t Number : Order) {
      ASSERT_LT(Number, Count);
      ASSERT_FALSE(Seen[Number]);
      Seen[Number] = true;
    }
  }
}

/// A position depends on epoch, seed and id; what was asked before is nothing
/// to it. Positions far from each other are as mixed as near ones.
TEST(Shuffle, LargeCounts) {
  constexpr uint64_t Count = 3'000'000'000'000;
  Shuffle S(Count, 3, 4), OtherSeed(Count, 5, 4), OtherId(Count, 3, 5);
  std::vector<uint64_t> Part(1000), Again(1000);
  S.get(7, 123'456, Part);
  double Sum = 0;
  for (uint64_t Number : Part) {
    ASSERT_LT(Number, Count);
    Sum += static_cast<double>(Number) / Count;
  }
  EXPECT_NEAR(Sum / 1000, 0.5, 0.05); // five deviations of the mean
  S.get(8, 123'456, Again);
  EXPECT_NE(Again, Part);
  OtherSeed.get(7, 123'456, Again);
  EXPECT_NE(Again, Part);
  OtherId.get(7, 123'456, Again);
  EXPECT_NE(Again, Part);
  S.get(7, 123'956, std::span(Again).first(500));
  EXPECT_TRUE(std::equal(Part.begin() + 500, Part.end(), Again.begin()));
}

//===----------------------------------------------------------------------===//
// Prefetcher
//===----------------------------------------------------------------------===//

/// The batch of a step is the step; every tenth one fails.
class Counter final : public BatchSource {
public:
  explicit Counter(bool Fails = false) : Fails(Fails) { Arguments = {0}; }
  uint64_t getBatchesPerEpoch() const override { return 5; }
  mutable std::atomic<uint64_t> Last = 0;

protected:
  Status fill(uint64_t Step, uint64_t, Batch &To) const override {
    for (uint64_t Old = Last;
         Old < Step && !Last.compare_exchange_weak(Old, Step);)
      ;
    if (Fails && Step % 10 == 9)
      return Error(ErrorCode::InvalidFile, "record " + std::to_string(Step));
    if (Fails && Step % 10 == 4)
      throw std::bad_alloc();
    // Some take longer than those behind them.
    if (Step % 3 == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    To[0].Bytes.resize(8);
    std::memcpy(To[0].Bytes.data(), &Step, 8);
    return {};
  }

private:
  bool Fails;
};

uint64_t numberOf(const Batch &B) {
  uint64_t Number = 0;
  EXPECT_EQ(B.size(), 1u);
  std::memcpy(&Number, B[0].Bytes.data(), 8);
  return Number;
}

TEST(Prefetcher, GivesEachStepItsBatch) {
  Counter Source;
  for (unsigned Threads : {0, 1, 3, 16}) {
    Prefetcher P(Source, Threads, 2 * Threads);
    // In order from anywhere, again, back, and far away.
    std::vector<uint64_t> Steps(100);
    std::iota(Steps.begin(), Steps.end(), 40);
    for (uint64_t Step : {139, 3, 4, 4, 5, 1000, 0, 1})
      Steps.push_back(Step);
    for (uint64_t Step : Steps) {
      auto B = P.get(Step);
      ASSERT_TRUE(B) << messageOf(B);
      EXPECT_EQ(numberOf(**B), Step);
    }
  }
}

TEST(Prefetcher, ErrorsComeAtTheirStep) {
  Counter Source(/*Fails=*/true);
  for (unsigned Threads : {0, 1, 4}) {
    Prefetcher P(Source, Threads, 8);
    for (uint64_t Step = 0; Step < 40; ++Step) {
      auto B = P.get(Step);
      if (Step % 10 == 9)
        EXPECT_EQ(messageOf(B), "record " + std::to_string(Step));
      else if (Step % 10 == 4)
        EXPECT_EQ(messageOf(B), "no host memory");
      else
        EXPECT_EQ(messageOf(B), "");
    }
  }
}

TEST(Prefetcher, IsAheadButBounded) {
  Counter Source;
  Prefetcher P(Source, 2, 6);
  ASSERT_TRUE(P.get(10));
  // The threads make what has room behind step 10, and nothing more.
  auto End = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (Source.Last < 15 && std::chrono::steady_clock::now() < End)
    std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(Source.Last, 15u);
}

} // namespace
