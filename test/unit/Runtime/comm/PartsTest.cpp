//===- PartsTest.cpp - tensors that several ranks hold together -----------===//

#include "remat/runtime/Parts.h"
#include "RankPrograms.h"
#include "RankSessions.h"
#include <cstring>

using namespace remat;
using namespace remat::runtime;
using namespace remat::runtime::test;

namespace {

TEST(PartsTest, ElementsLieWhereCopiesPutThem) {
  for (unsigned Seed = 0; Seed < 300; ++Seed) {
    SCOPED_TRACE(Seed);
    Sharded S = makeSharded(Seed);
    std::vector<unsigned> Held(S.countElements());
    for (uint32_t Rank = 0; Rank < S.countRanks(); ++Rank) {
      Part Own(S.Whole, S.Cuts, Rank);
      std::vector<int64_t> Expected = cutByCopies(S, Rank);
      ASSERT_EQ(Own.getNumElements(), int64_t(Expected.size()));
      std::vector<int64_t> Found(Expected.size(), -1);
      Own.forRuns(0, Own.getNumElements(), [&](const Part::Run &R) {
        for (int64_t I = 0; I < R.Count; ++I)
          Found[R.Own + I] = R.Whole + I;
      });
      EXPECT_EQ(Found, Expected);
      for (int64_t At = 0; At <= S.countElements(); ++At)
        ASSERT_EQ(Own.countBefore(At),
                  std::count_if(Expected.begin(), Expected.end(),
                                [&](int64_t E) { return E >= 0 && E < At; }));
      for (int64_t E : Expected)
        if (Own.isFirst() && E >= 0)
          ++Held[E];
    }
    // Of the ranks that hold an element one is the first.
    EXPECT_EQ(Held, std::vector<unsigned>(Held.size(), 1));
  }
}

TEST(PartsTest, RanksOfTheTensorAxisShareABatch) {
  Program P;
  P.Mesh = {{"data", 3}, {"tensor", 2}};
  DataShare Share = getDataShare(P, 5);
  EXPECT_EQ(Share.Number, 2u);
  EXPECT_EQ(Share.Count, 3u);
  P.Mesh = {{"tensor", 2}, {"data", 2}, {"shard", 2}};
  for (uint32_t Rank = 0; Rank < 8; ++Rank) {
    EXPECT_EQ(getDataShare(P, Rank).Number, Rank % 4);
    EXPECT_EQ(getDataShare(P, Rank).Count, 4u);
  }
  EXPECT_EQ(getDataShare(Program(), 0).Count, 1u);
}

//===----------------------------------------------------------------------===//
// Sessions
//===----------------------------------------------------------------------===//

/// What rank 0 gets of a whole tensor; the others get nothing.
std::vector<float> join(Session &S, const char *Name) {
  std::vector<float> All;
  EXPECT_EQ(messageOf(S.storeWhole(Name,
                                   [&](const void *Data, uint64_t Bytes) {
                                     auto *From =
                                         static_cast<const float *>(Data);
                                     All.insert(All.end(), From,
                                                From + Bytes / sizeof(float));
                                     return Status();
                                   })),
            "");
  return All;
}

void checkSessions(const Sharded &S, bool InHalves = false) {
  OneRank One(makeProgram(nullptr, S.Whole, {2}, InHalves));
  std::vector<float> Whole = One.read("w");
  std::string Digest = *One.TheSession->computeParametersDigest();
  auto Program = makeProgram(&S, S.Whole, {2}, InHalves);
  auto All = createThreadRanks(S.countRanks());
  onThreads(S.countRanks(), [&](uint32_t Rank) {
    OneRank Mine(Program, All[Rank]);
    Session &Own = *Mine.TheSession;
    auto Check = [&](const std::vector<float> &From) {
      std::vector<float> Expected;
      for (int64_t E : cutByCopies(S, Rank))
        Expected.push_back(E < 0 ? 0.0f : From[E]);
      EXPECT_EQ(Mine.read("w"), Expected);
      EXPECT_EQ(join(Own, "w"), Rank == 0 ? From : std::vector<float>());
    };
    Check(Whole);
    EXPECT_EQ(*Own.computeParametersDigest(), Digest);
    std::vector<float> Other = Whole;
    std::ranges::reverse(Other);
    auto Read = [&](uint64_t Offset, void *To, uint64_t Bytes) {
      EXPECT_LE(Offset + Bytes, Other.size() * sizeof(float));
      std::memcpy(To, reinterpret_cast<const char *>(Other.data()) + Offset,
                  Bytes);
      return Status();
    };
    EXPECT_EQ(messageOf(Own.loadWhole("w", Read)), "");
    Check(Other);
    All[Rank].reset();
  });
}

TEST(PartsTest, SessionsHoldPartsOfWhatOneHolds) {
  for (unsigned Seed = 0; Seed < 30; ++Seed) {
    SCOPED_TRACE(Seed);
    checkSessions(makeSharded(Seed));
    checkSessions(makeSharded(Seed), /*InHalves=*/true);
  }
}

TEST(PartsTest, LargeTensorsAreJoinedInPieces) {
  // 3.1 MB, of which the pieces of 1 MiB end inside of rows; once with rows of
  // one element for each rank.
  Sharded Columns{{2, 2}, {1021, 764}, {}};
  Columns.Cuts = {{1, groupOf(Columns.Sizes, {0}).Ints},
                  {-1, groupOf(Columns.Sizes, {1}).Ints}};
  checkSessions(Columns);
  checkSessions(Columns, /*InHalves=*/true);
  Sharded Thin{{3}, {300'007, 3}, {}};
  Thin.Cuts = {{1, groupOf(Thin.Sizes, {0}).Ints}};
  checkSessions(Thin);
}

TEST(PartsTest, InputsAreRowsOfWhatOneProcessDraws) {
  // One process with --accumulate 3 has the rows of all three ranks.
  OneRank One(makeProgram(nullptr, {1}, {3, 2, 5}));
  ASSERT_EQ(messageOf(One.TheSession->fillInputs(4, 2)), "");
  std::vector<float> All = One.read("x");
  Sharded S{{3}, {1}, {}};
  auto Program = makeProgram(&S, {1}, {2, 5});
  auto Ranks = createThreadRanks(3);
  onThreads(3, [&](uint32_t Rank) {
    OneRank Mine(Program, Ranks[Rank]);
    // The mesh's axis is "a": one of data.
    ASSERT_EQ(messageOf(Mine.TheSession->fillInputs(4, 2)), "");
    std::vector<float> Own(All.begin() + Rank * 10,
                           All.begin() + Rank * 10 + 10);
    EXPECT_EQ(Mine.read("x"), Own);
  });
}

TEST(PartsTest, AnAxisCutsOnce) {
  Sharded S{{2}, {4}, {}};
  S.Cuts = {{0, groupOf(S.Sizes, {0}).Ints}, {0, groupOf(S.Sizes, {0}).Ints}};
  EXPECT_NE(messageOf(Program::load(makeProgram(&S, {4}, {1})))
                .find("is cut twice along one axis of the mesh"),
            std::string::npos);
}

} // namespace
