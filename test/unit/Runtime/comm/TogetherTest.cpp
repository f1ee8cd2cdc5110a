//===- TogetherTest.cpp - long work that every rank does alone ------------===//

#include "remat/runtime/Together.h"
#include "RankPrograms.h"
#include <atomic>
#include <thread>

using namespace remat::runtime;
using namespace remat::runtime::test;
using std::chrono::milliseconds;

namespace {

Status fail(const char *Message) { return Error(ErrorCode::IO, Message); }

TEST(TogetherTest, OneRankIsAlone) {
  EXPECT_TRUE(agree(nullptr, {}));
  EXPECT_EQ(messageOf(workTogether(nullptr, [] { return fail("no"); })), "no");
}

TEST(TogetherTest, TheFirstErrorIsEveryRanks) {
  auto All = createThreadRanks(3);
  onThreads(3, [&](uint32_t Rank) {
    Status Own = Rank == 1 ? fail("full") : Rank == 2 ? fail("late") : Status();
    EXPECT_EQ(messageOf(agree(&*All[Rank], Own)), "rank 1: full");
    // An error that was agreed on ends nothing.
    EXPECT_TRUE(agree(&*All[Rank], {}));
    EXPECT_EQ(messageOf(workTogether(&*All[Rank], [&] { return Own; })),
              "rank 1: full");
    EXPECT_TRUE(workTogether(&*All[Rank], [] { return Status(); }));
  });
}

TEST(TogetherTest, WorkMayTakeLongerThanTheLimit) {
  auto All = createThreadRanks(3);
  onThreads(3, [&](uint32_t Rank) {
    All[Rank]->setTimeLimit(milliseconds(1000));
    EXPECT_EQ(messageOf(workTogether(&*All[Rank],
                                     [&] {
                                       std::this_thread::sleep_for(
                                           milliseconds(Rank * 1500));
                                       return Status();
                                     })),
              "");
  });
}

TEST(TogetherTest, PollingEndsWhenAllAreDone) {
  auto All = createThreadRanks(3);
  std::atomic<uint32_t> NumDone = 0;
  onThreads(3, [&](uint32_t Rank) {
    uint32_t Left = 2 * Rank;
    EXPECT_TRUE(pollTogether(*All[Rank], [&]() -> Result<bool> {
      bool IsDone = Left-- == 0; // and it is not asked again
      NumDone += IsDone;
      return IsDone;
    }));
    EXPECT_EQ(NumDone, 3u);
    Status Failed = pollTogether(*All[Rank], [&]() -> Result<bool> {
      if (Rank == 1)
        return Error(ErrorCode::DeviceFailure, "no network");
      return Rank == 0;
    });
    EXPECT_EQ(messageOf(Failed), "rank 1: no network");
  });
}

TEST(TogetherTest, PollingNamesWhoEnds) {
  auto All = createThreadRanks(3);
  onThreads(3, [&](uint32_t Rank) {
    if (Rank == 1) {
      All[1].reset();
      return;
    }
    Status Ended = pollTogether(*All[Rank], [] { return false; });
    EXPECT_NE(messageOf(Ended).find("rank 1 has ended"), std::string::npos)
        << messageOf(Ended);
  });
}

TEST(TogetherTest, ARankThatEndsIsNamed) {
  auto All = createThreadRanks(3);
  onThreads(3, [&](uint32_t Rank) {
    if (Rank == 1) {
      All[1].reset();
      return;
    }
    std::atomic<bool> IsTold = false;
    Status Ended = workTogether(
        &*All[Rank],
        [&] {
          // As planning does, which asks now and then.
          for (int I = 0; I < 3000 && !IsTold; ++I)
            std::this_thread::sleep_for(milliseconds(10));
          return Status();
        },
        [&](const Error &) { IsTold = true; });
    EXPECT_TRUE(IsTold);
    EXPECT_NE(messageOf(Ended).find("rank 1 has ended"), std::string::npos)
        << messageOf(Ended);
  });
}

} // namespace
