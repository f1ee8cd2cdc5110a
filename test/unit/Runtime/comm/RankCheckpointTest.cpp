//===- RankCheckpointTest.cpp - checkpoints of several ranks --------------===//

#include "RankPrograms.h"
#include "RankSessions.h"
#include "remat/runtime/Checkpoint.h"
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace remat;
using namespace remat::runtime;
using namespace remat::runtime::test;
namespace fs = std::filesystem;

namespace {

class RankCheckpointTest : public ::testing::Test {
protected:
  void SetUp() override {
    Folder = fs::temp_directory_path() /
             ("remat-rank-checkpoints-" + std::to_string(::getpid()));
    fs::remove_all(Folder);
  }
  void TearDown() override { fs::remove_all(Folder); }

  /// Saves what `S` drew with this seed, as the checkpoint of `Steps` steps.
  void save(const Sharded &S, uint64_t Seed, uint64_t Steps, uint64_t Keep = 9);
  /// Loads the newest one; gives its steps on all ranks, and the messages.
  uint64_t load(const Sharded &S, uint64_t Seed,
                std::vector<std::string> *Skipped = nullptr);
  std::vector<std::string> list() const {
    std::vector<std::string> Names;
    for (const auto &Entry : fs::directory_iterator(Folder))
      Names.push_back(Entry.path().filename().string());
    std::ranges::sort(Names);
    return Names;
  }

  fs::path Folder;
};

void RankCheckpointTest::save(const Sharded &S, uint64_t Seed, uint64_t Steps,
                              uint64_t Keep) {
  onRanks(S, [&](OneRank &Mine) {
    ASSERT_EQ(messageOf(Mine.TheSession->initialise(Seed)), "");
    auto Writing = CheckpointFolder::open(Folder, Mine.TheDevice->getRanks());
    ASSERT_EQ(messageOf(Writing), "");
    auto Path = Writing->save(*Mine.TheSession, Steps, {{"a", "b"}}, Keep);
    EXPECT_EQ(messageOf(Path), "");
  });
}

uint64_t RankCheckpointTest::load(const Sharded &S, uint64_t Seed,
                                  std::vector<std::string> *Skipped) {
  OneRank One(makeProgram(nullptr, S.Whole, {2}));
  EXPECT_TRUE(One.TheSession->initialise(Seed));
  std::vector<float> Whole = One.read("w");
  std::atomic<uint64_t> Steps = 0;
  onRanks(S, [&](OneRank &Mine) {
    Session &Own = *Mine.TheSession;
    auto Found = findCheckpoint(Folder, Mine.TheDevice->getRanks());
    ASSERT_EQ(messageOf(Found), "");
    ASSERT_TRUE(Found->Newest);
    if (Own.getRank() == 0 && Skipped)
      *Skipped = Found->Skipped;
    EXPECT_EQ(Found->Newest->Facts, RunFacts({{"a", "b"}}));
    ASSERT_EQ(messageOf(loadCheckpoint(Own, *Found->Newest)), "");
    std::vector<float> Expected;
    for (int64_t E : cutByCopies(S, Own.getRank()))
      Expected.push_back(E < 0 ? 0.0f : Whole[E]);
    EXPECT_EQ(Mine.read("w"), Expected);
    Steps = Found->Newest->Steps;
  });
  return Steps;
}

/// The same tensor, cut in another way.
Sharded cutAnew(const std::vector<int64_t> &Whole, unsigned Seed) {
  for (;; Seed += 1000) {
    Sharded S = makeSharded(Seed);
    S.Whole = Whole;
    bool IsFlat = false;
    bool IsSound = true;
    std::vector<int64_t> Shape = Whole;
    for (Cut &C : S.Cuts) {
      int64_t Pieces = C.Group[1] * C.Blocks;
      if (C.Dim >= int64_t(Whole.size()) ||
          (C.Dim >= 0 && Whole[C.Dim] % Pieces != 0)) {
        C.Dim = -1;
        C.Blocks = 1;
      }
      if (C.Dim >= 0 && (IsFlat || Shape[C.Dim] % Pieces != 0))
        IsSound = false;
      else if (C.Dim >= 0)
        Shape[C.Dim] /= C.Group[1];
      else
        IsFlat = true;
    }
    if (IsSound)
      return S;
  }
}

TEST_F(RankCheckpointTest, AnyCutsToAnyCuts) {
  for (unsigned Seed = 0; Seed < 40; ++Seed) {
    SCOPED_TRACE(Seed);
    fs::remove_all(Folder);
    std::vector<int64_t> Whole = makeSharded(Seed).Whole;
    Sharded One{{}, Whole, {}};
    Sharded From = Seed % 5 == 0 ? One : cutAnew(Whole, Seed);
    Sharded To = Seed % 5 == 1 ? One : cutAnew(Whole, Seed + 7);
    save(From, /*Seed=*/Seed, /*Steps=*/3);
    EXPECT_EQ(list().size(), From.countRanks());
    EXPECT_EQ(load(To, Seed), 3u);
  }
}

Sharded makeFlat(uint32_t Ranks) {
  Sharded S{{Ranks}, {7, 3}, {}};
  S.Cuts = {{-1, groupOf(S.Sizes, {0}).Ints}};
  return S;
}

TEST_F(RankCheckpointTest, OneMissingOrChangedFileIsNoCheckpoint) {
  Sharded S = makeFlat(3);
  for (bool IsMissing : {true, false}) {
    fs::remove_all(Folder);
    save(S, 1, 1);
    save(S, 2, 2);
    fs::path Part = Folder / "step-0000000002.rank-1-of-3.safetensors";
    if (IsMissing) {
      fs::remove(Part);
    } else {
      std::fstream File(Part, std::ios::in | std::ios::out | std::ios::binary);
      File.seekp(-70, std::ios::end);
      File.put('\x55');
    }
    std::vector<std::string> Skipped;
    EXPECT_EQ(load(makeFlat(2), 1, &Skipped), 1u);
    ASSERT_EQ(Skipped.size(), 1u);
    EXPECT_NE(Skipped[0].find("rank-1-of-3"), std::string::npos) << Skipped[0];
  }
}

TEST_F(RankCheckpointTest, FilesWithoutTheFirstGo) {
  Sharded S = makeFlat(2);
  save(S, 1, 1);
  save(S, 2, 2);
  // As if rank 0 had been killed before its file was there.
  fs::remove(Folder / "step-0000000002.safetensors");
  EXPECT_EQ(load(S, 1), 1u);
  save(S, 3, 3, /*Keep=*/1);
  EXPECT_EQ(list(),
            std::vector<std::string>({"step-0000000003.rank-1-of-2.safetensors",
                                      "step-0000000003.safetensors"}));
}

TEST_F(RankCheckpointTest, WhatOneRankCannotWriteNoneHas) {
  Sharded S = makeFlat(2);
  save(S, 1, 1);
  onRanks(S, [&](OneRank &Mine) {
    auto Writing = CheckpointFolder::open(Folder, Mine.TheDevice->getRanks());
    ASSERT_EQ(messageOf(Writing), "");
    // A folder has the name of the file of rank 1.
    if (Mine.TheSession->getRank() == 1)
      fs::create_directories(Folder /
                             "step-0000000002.rank-1-of-2.safetensors" / "x");
    auto Path = Writing->save(*Mine.TheSession, 2, {}, 1);
    EXPECT_EQ(messageOf(Path).find("rank 1: "), 0u) << messageOf(Path);
  });
  EXPECT_FALSE(fs::exists(Folder / "step-0000000002.safetensors"));
  EXPECT_EQ(load(S, 1), 1u);
}

} // namespace
