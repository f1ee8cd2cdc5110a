//===- LtSearchTest.cpp - the fastest algorithm of a matrix product -------===//
//
// A cuBLASLt and a driver of this file: each algorithm takes the time that the
// test says, on a clock that only they move.
//
//===----------------------------------------------------------------------===//

#include "cuda/LtMatmul.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <optional>

using namespace remat::runtime;
using namespace remat::runtime::cuda;

namespace {

/// The numbers of an algorithm, each in a word of its own.
struct Configuration {
  uint32_t Id, Tile, Split, Custom, Cluster;
};

constexpr int NotSupported = 15;
/// What the fakes are told, and their clock in milliseconds.
std::function<bool(const Configuration &)> Supports;
std::function<uint64_t(const Configuration &)> GetWorkspace;
std::function<double(const Configuration &)> GetMs;
std::function<float(const Configuration &)> GetResult;
std::function<float(const Configuration &)> GetWaves;
std::vector<Configuration> Suggestions;
double Now;

} // namespace

/// The word that a number of an algorithm is kept in.
static int getWord(int Number) { return Number == ConfigCluster ? 7 : Number; }

static Algorithm encode(const Configuration &C) {
  Algorithm Out = {};
  Out[ConfigId] = C.Id;
  Out[ConfigTile] = C.Tile;
  Out[ConfigSplit] = C.Split;
  Out[ConfigCustom] = C.Custom;
  Out[getWord(ConfigCluster)] = C.Cluster;
  return Out;
}

static Configuration decode(const Algorithm &A) {
  auto Get = [&](int Number) { return uint32_t(A[getWord(Number)]); };
  return {Get(ConfigId), Get(ConfigTile), Get(ConfigSplit), Get(ConfigCustom),
          Get(ConfigCluster)};
}

static Lt makeLt() {
  Lt L;
  L.GetStatusString = [](LtStatus) { return "status"; };
  L.DescCreate = [](LtDesc *, int, int) { return 0; };
  L.DescSet = [](LtDesc, int, const void *, size_t) { return 0; };
  L.LayoutCreate = [](LtLayout *, int, uint64_t, uint64_t, int64_t) {
    return 0;
  };
  L.PreferenceCreate = [](LtPreference *) { return 0; };
  L.PreferenceDestroy = [](LtPreference) { return 0; };
  L.PreferenceSet = [](LtPreference, int, const void *, size_t) { return 0; };
  L.GetHeuristic = [](LtHandle, LtDesc, LtLayout, LtLayout, LtLayout, LtLayout,
                      LtPreference, int, LtHeuristic *Out, int *Found) {
    *Found = 0;
    for (const Configuration &C : Suggestions)
      Out[(*Found)++] = {encode(C), 0, 0, GetWaves(C), {}};
    return 0;
  };
  L.Check = [](LtHandle, LtDesc, LtLayout, LtLayout, LtLayout, LtLayout,
               const Algorithm *A, LtHeuristic *Out) {
    Configuration C = decode(*A);
    Out->WorkspaceBytes = GetWorkspace(C);
    Out->Waves = GetWaves(C);
    return Supports(C) ? 0 : NotSupported;
  };
  L.CapGet = [](const Algorithm *, int Number, void *Out, size_t,
                size_t *Bytes) {
    static constexpr uint32_t Tiles[] = {11, 12, 13, 14};
    static constexpr uint32_t MostCustom = 3;
    *Bytes = Number == CapTiles ? sizeof Tiles : sizeof MostCustom;
    std::memcpy(Out, Number == CapTiles ? Tiles : &MostCustom, *Bytes);
    return 0;
  };
  L.ConfigGet = [](const Algorithm *A, int Number, void *Out, size_t Bytes,
                   size_t *) {
    std::memcpy(Out, &(*A)[getWord(Number)], Bytes);
    return 0;
  };
  L.ConfigSet = [](Algorithm *A, int Number, const void *In, size_t Bytes) {
    (*A)[getWord(Number)] = 0;
    std::memcpy(&(*A)[getWord(Number)], In, Bytes);
    return 0;
  };
  L.Run = [](LtHandle, LtDesc, const void *, const void *, LtLayout,
             const void *, LtLayout, const void *, const void *, LtLayout,
             void *Out, LtLayout, const Algorithm *A, void *, size_t, Stream) {
    Configuration C = decode(*A);
    Now += GetMs(C);
    auto *Result = static_cast<float *>(Out);
    Result[0] = GetResult(C);
    return 0;
  };
  return L;
}

static Driver makeDriver() {
  Driver D;
  D.MemAlloc = [](Address *At, size_t Bytes) {
    *At = reinterpret_cast<Address>(std::calloc(1, Bytes));
    return Success;
  };
  D.MemFree = [](Address At) {
    std::free(reinterpret_cast<void *>(At));
    return Success;
  };
  D.CopyIn = [](Address To, const void *From, size_t Bytes, Stream) {
    std::memcpy(reinterpret_cast<void *>(To), From, Bytes);
    return Success;
  };
  D.CopyOut = [](void *To, Address From, size_t Bytes, Stream) {
    std::memcpy(To, reinterpret_cast<void *>(From), Bytes);
    return Success;
  };
  D.CopyWithin = [](Address, Address, size_t, Stream) {
    Now += 0.05;
    return Success;
  };
  D.StreamSynchronize = [](Stream) { return Success; };
  D.EventCreate = [](Event *Out, unsigned) {
    *Out = reinterpret_cast<Event>(new double(0));
    return Success;
  };
  D.EventRecord = [](Event At, Stream) {
    *reinterpret_cast<double *>(At) = Now;
    return Success;
  };
  D.EventSynchronize = [](Event) { return Success; };
  D.EventElapsed = [](float *Ms, Event From, Event To) {
    *Ms = static_cast<float>(*reinterpret_cast<double *>(To) -
                             *reinterpret_cast<double *>(From));
    return Success;
  };
  D.EventDestroy = [](Event At) {
    delete reinterpret_cast<double *>(At);
    return Success;
  };
  return D;
}

namespace {

class LtSearch : public ::testing::Test {
protected:
  void SetUp() override {
    Now = 0;
    Suggestions = {{66, 11, 1, 1, 3}};
    Supports = [](const Configuration &) { return true; };
    GetWorkspace = [](const Configuration &) { return uint64_t(0); };
    GetMs = [](const Configuration &) { return 0.2; };
    GetResult = [](const Configuration &) { return 5.0f; };
    GetWaves = [](const Configuration &) { return 1.0f; };
  }

  /// The algorithm that is measured to be the fastest for 8 x 8 x 8, with so
  /// many bytes of workspace.
  Configuration measure(uint64_t WorkspaceBytes = 0) {
    MatmulProblem P;
    P.M = P.N = P.K = 8;
    P.WorkspaceBytes = WorkspaceBytes;
    Product.emplace(L, nullptr, P);
    EXPECT_TRUE(Product->describe());
    EXPECT_TRUE(Product->measure(D, nullptr));
    return decode(Product->getChosen());
  }

  Lt L = makeLt();
  Driver D = makeDriver();
  std::optional<LtMatmul> Product;
};

} // namespace

TEST_F(LtSearch, OtherConfigurationsThanTheSuggestedAreFound) {
  GetMs = [](const Configuration &C) {
    double Ms = C.Tile == 13 ? 0.1 : 0.2;
    return Ms - 0.01 * (C.Cluster == 6) - 0.02 * (C.Custom == 2);
  };
  Configuration Found = measure();
  EXPECT_EQ(Found.Id, 66u);
  EXPECT_EQ(Found.Tile, 13u);
  EXPECT_EQ(Found.Cluster, 6u);
  EXPECT_EQ(Found.Custom, 2u);
}

TEST_F(LtSearch, ASuggestionThatIsFastestStays) {
  Suggestions = {{66, 12, 1, 0, 3}, {66, 14, 1, 1, 9}};
  // No cluster of the search is 9.
  GetMs = [](const Configuration &C) { return C.Cluster == 9 ? 0.1 : 0.2; };
  EXPECT_EQ(measure().Cluster, 9u);
}

TEST_F(LtSearch, ATileThatTakesSomeCustomOptionsOnlyIsFound) {
  Supports = [](const Configuration &C) {
    return C.Tile != 12 || C.Custom == 3;
  };
  GetMs = [](const Configuration &C) { return C.Tile == 12 ? 0.1 : 0.2; };
  EXPECT_EQ(measure().Tile, 12u);
}

TEST_F(LtSearch, OtherNumbersAreNotTaken) {
  GetMs = [](const Configuration &C) { return C.Tile == 14 ? 0.1 : 0.2; };
  GetResult = [](const Configuration &C) { return C.Tile == 14 ? 5.1f : 5.0f; };
  EXPECT_NE(measure().Tile, 14u);
  // What rounding makes of a number is no other.
  GetResult = [](const Configuration &C) {
    return C.Tile == 14 ? 5.02f : 5.0f;
  };
  EXPECT_EQ(measure().Tile, 14u);
  GetResult = [](const Configuration &C) { return C.Tile == 14 ? NAN : 5.0f; };
  EXPECT_NE(measure().Tile, 14u);
}

TEST_F(LtSearch, PartialSumsNeedTheirWorkspace) {
  Suggestions = {{66, 11, 1, 0, 3}, {66, 11, 4, 0, 3}};
  GetWorkspace = [](const Configuration &C) {
    return uint64_t(C.Split > 1 ? 4096 : 4);
  };
  GetMs = [](const Configuration &C) {
    return 0.2 - 0.05 * (C.Split == 4) - 0.05 * (C.Tile == 12);
  };
  Configuration Found = measure(4096);
  EXPECT_EQ(Found.Split, 4u);
  EXPECT_EQ(Found.Tile, 12u);
  Found = measure(0);
  EXPECT_EQ(Found.Split, 1u);
  EXPECT_EQ(Found.Tile, 12u);
}

// The library names 4 bytes for what it suggests, and runs, without any.
TEST_F(LtSearch, ACounterOfTilesIsNoNeed) {
  GetWorkspace = [](const Configuration &) { return uint64_t(4); };
  measure();
  EXPECT_TRUE(Product->accepts(encode({66, 11, 1, 1, 3})));
  GetWorkspace = [](const Configuration &) { return uint64_t(5); };
  EXPECT_FALSE(Product->accepts(encode({66, 11, 1, 1, 3})));
}

TEST_F(LtSearch, WhatIsMuchSlowerRunsTwice) {
  static std::map<Algorithm, int> Counts;
  GetMs = [](const Configuration &C) {
    ++Counts[encode(C)];
    return C.Tile == 11 ? 0.1 : 0.2;
  };
  EXPECT_EQ(measure().Tile, 11u);
  for (const auto &[Value, Count] : Counts)
    if (decode(Value).Tile != 11)
      EXPECT_EQ(Count, 2) << decode(Value).Tile;
}

TEST_F(LtSearch, TilesThatAreFarTooSmallAreNotRun) {
  static bool Ran;
  Ran = false;
  GetWaves = [](const Configuration &C) { return C.Tile == 13 ? 9.0f : 2.0f; };
  GetMs = [](const Configuration &C) {
    Ran |= C.Tile == 13;
    return 0.2;
  };
  measure();
  EXPECT_FALSE(Ran);
  GetWaves = [](const Configuration &C) { return C.Tile == 13 ? 8.0f : 2.0f; };
  measure();
  EXPECT_TRUE(Ran);
}

// What takes much power makes the clock go down where it runs for long.
TEST_F(LtSearch, ThePowerOfAnAlgorithmCounts) {
  GetMs = [](const Configuration &C) {
    static double Since = 0;
    if (C.Tile != 13)
      Since = Now;
    return C.Tile != 13 ? 0.1 : Now - Since < 50 ? 0.095 : 0.105;
  };
  EXPECT_NE(measure().Tile, 13u);
}
