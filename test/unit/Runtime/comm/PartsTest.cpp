//===- PartsTest.cpp - tensors that several ranks hold together -----------===//

#include "remat/runtime/Parts.h"
#include "RankPrograms.h"
#include <cstring>
#include <random>

using namespace remat;
using namespace remat::runtime;
using namespace remat::runtime::test;

namespace {

/// A tensor, cut along axes of a mesh of its own.
struct Sharded {
  Mesh Sizes;
  std::vector<int64_t> Whole;
  std::vector<Cut> Cuts;

  uint32_t countRanks() const {
    uint32_t Count = 1;
    for (uint32_t Size : Sizes)
      Count *= Size;
    return Count;
  }
  int64_t countElements() const {
    int64_t Count = 1;
    for (int64_t Size : Whole)
      Count *= Size;
    return Count;
  }
  std::vector<int64_t> getPartShape() const {
    std::vector<int64_t> Shape = Whole;
    for (const Cut &C : Cuts) {
      int64_t Count = 1, Ranks = 1;
      for (int64_t Size : Shape)
        Count *= Size;
      for (size_t I = 1; I < C.Group.size(); I += 2)
        Ranks *= C.Group[I];
      if (C.Dim == -1)
        Shape = {(Count + Ranks - 1) / Ranks};
      else
        Shape[C.Dim] /= Ranks;
    }
    return Shape;
  }
};

/// Up to three axes, each of which may cut: along a dimension, whose size is
/// then a multiple, or all of it, flat.
Sharded makeSharded(unsigned Seed) {
  std::mt19937 Random(Seed);
  auto Draw = [&](int64_t From, int64_t To) {
    return std::uniform_int_distribution<int64_t>(From, To)(Random);
  };
  Sharded S;
  for (int64_t I = Draw(1, 3); I > 0; --I)
    S.Sizes.push_back(static_cast<uint32_t>(Draw(1, 3)));
  for (int64_t I = Draw(1, 3); I > 0; --I)
    S.Whole.push_back(Draw(1, 5));
  std::vector<size_t> Axes(S.Sizes.size());
  for (size_t I = 0; I < Axes.size(); ++I)
    Axes[I] = I;
  std::shuffle(Axes.begin(), Axes.end(), Random);
  bool IsFlat = false;
  for (size_t Axis : Axes) {
    if (Draw(0, 3) == 0)
      continue;
    Cut C;
    C.Group = groupOf(S.Sizes, {Axis}).Ints;
    if (!IsFlat && Draw(0, 2) > 0) {
      C.Dim = static_cast<int32_t>(Draw(0, int64_t(S.Whole.size()) - 1));
      S.Whole[C.Dim] *= S.Sizes[Axis];
    } else {
      IsFlat = true;
    }
    S.Cuts.push_back(C);
  }
  return S;
}

/// The parts of 0, 1, 2, ..., cut one cut after the other by copying; -1 is
/// padding.
std::vector<int64_t> cutByCopies(const Sharded &S, uint32_t Rank) {
  std::vector<int64_t> Shape = S.Whole, Data(S.countElements());
  for (size_t I = 0; I < Data.size(); ++I)
    Data[I] = static_cast<int64_t>(I);
  for (const Cut &C : S.Cuts) {
    int64_t Ranks = C.Group[1], Place = Rank / C.Group[0] % Ranks;
    if (C.Dim == -1) {
      int64_t Each = (int64_t(Data.size()) + Ranks - 1) / Ranks;
      Data.resize(Each * Ranks, -1);
      Data = {Data.begin() + Place * Each, Data.begin() + (Place + 1) * Each};
      Shape = {Each};
      continue;
    }
    int64_t Inner = 1, Size = Shape[C.Dim];
    for (size_t I = C.Dim + 1; I < Shape.size(); ++I)
      Inner *= Shape[I];
    std::vector<int64_t> Kept;
    for (size_t I = 0; I < Data.size(); ++I)
      if (int64_t(I) / Inner % Size / (Size / Ranks) == Place)
        Kept.push_back(Data[I]);
    Data = Kept;
    Shape[C.Dim] /= Ranks;
  }
  return Data;
}

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

/// A program with the parameter "w", drawn at random, of which each rank has
/// its part, and the input "x"; the step copies the input.
std::vector<uint8_t> makeProgram(const Sharded *S,
                                 const std::vector<int64_t> &Whole,
                                 const std::vector<int64_t> &Input) {
  ProgramMaker P;
  uint32_t X = P.argument("x", f32(Input));
  P.argument("w", f32(S ? S->getPartShape() : Whole), program::Role::Parameter);
  program::ArgumentT &W = *P.Program.arguments.back();
  W.init_kind = "normal";
  W.init_value = 0.5;
  if (S) {
    setMesh(P, S->Sizes);
    if (!S->Cuts.empty())
      W.whole = Whole;
    for (const Cut &C : S->Cuts) {
      auto To = std::make_unique<program::CutT>();
      To->dim = C.Dim;
      To->group = C.Group;
      W.cuts.push_back(std::move(To));
    }
  }
  uint32_t Y = P.tensor(f32(Input));
  P.step("copy", {X}, {Y});
  P.result("y", Y);
  return P.finish();
}

struct OneRank {
  std::unique_ptr<Device> TheDevice;
  std::unique_ptr<Session> TheSession;

  OneRank(const std::vector<uint8_t> &Program,
          std::shared_ptr<Ranks> Others = nullptr) {
    DeviceOptions Options;
    Options.Threads = 1;
    Options.TheRanks = std::move(Others);
    TheDevice = std::move(*createDevice("host", Options));
    auto Made = Session::create(Program, *TheDevice);
    EXPECT_EQ(messageOf(Made), "");
    TheSession = std::move(*Made);
    EXPECT_EQ(messageOf(TheSession->initialise(7)), "");
  }
  std::vector<float> read(const char *Name) {
    const Program &P = TheSession->getProgram();
    uint64_t Bytes = P.Tensors[P.Arguments[*P.findArgument(Name)].Tensor].Bytes;
    std::vector<float> Data(Bytes / sizeof(float));
    EXPECT_EQ(messageOf(TheSession->readArgument(Name, Data.data(), Bytes)),
              "");
    return Data;
  }
};

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

void checkSessions(const Sharded &S) {
  OneRank One(makeProgram(nullptr, S.Whole, {2}));
  std::vector<float> Whole = One.read("w");
  std::string Digest = *One.TheSession->computeParametersDigest();
  auto Program = makeProgram(&S, S.Whole, {2});
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
  }
}

TEST(PartsTest, LargeTensorsAreJoinedInPieces) {
  // 3.1 MB, of which the pieces of 1 MiB end inside of rows; once with rows of
  // one element for each rank.
  Sharded Columns{{2, 2}, {1021, 764}, {}};
  Columns.Cuts = {{1, groupOf(Columns.Sizes, {0}).Ints},
                  {-1, groupOf(Columns.Sizes, {1}).Ints}};
  checkSessions(Columns);
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
