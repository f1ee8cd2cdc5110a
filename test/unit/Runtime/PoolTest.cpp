//===- PoolTest.cpp - the caching allocator's rules -----------------------===//
//
// The numbers are those of the reference experiments (PyTorch's allocator).
//
//===----------------------------------------------------------------------===//

#include "remat/runtime/Pool.h"
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace remat::runtime;

namespace {

constexpr uint64_t KiB = 1 << 10, MiB = 1 << 20;

/// Hands out addresses without memory behind them.
class FakeUpstream : public UpstreamAllocator {
public:
  uint64_t Limit = UINT64_MAX, Used = 0;
  std::map<uint64_t, uint64_t> Segments;

  Result<void *> allocate(uint64_t Bytes) override {
    if (Bytes > Limit || Used > Limit - Bytes)
      return Error(ErrorCode::OutOfMemory, "the upstream is full");
    Used += Bytes;
    Segments[Next] = Bytes;
    Next += Bytes;
    return reinterpret_cast<void *>(Next - Bytes);
  }
  void deallocate(void *Address, uint64_t Bytes) override {
    auto It = Segments.find(reinterpret_cast<uint64_t>(Address));
    ASSERT_NE(It, Segments.end());
    EXPECT_EQ(It->second, Bytes);
    Used -= Bytes;
    Segments.erase(It);
  }

private:
  uint64_t Next = 1 << 30;
};

class PoolTest : public testing::Test {
protected:
  FakeUpstream Upstream;
  Pool P{Upstream};

  void *take(uint64_t Bytes, uint64_t Stream = 0) {
    AllocationInfo Info;
    Info.Stream = Stream;
    auto R = P.allocate(Bytes, Info);
    EXPECT_TRUE(R) << (R ? "" : R.getError().getMessage());
    return R ? *R : nullptr;
  }
  void drop(void *Address) { EXPECT_TRUE(P.free(Address)); }
  uint64_t allocated() { return P.getStatistics().Allocated.Current; }
  uint64_t reserved() { return P.getStatistics().Reserved.Current; }

  /// What Pool.h says is always true.
  void check() {
    uint64_t Used = 0, Requested = 0, Reserved = 0, End = 0, Segment = 0;
    bool LastFree = false;
    for (const Pool::BlockView &B : P.getBlocks()) {
      bool First = B.Segment == B.Address;
      if (First) {
        if (Segment)
          EXPECT_EQ(End, Segment + Upstream.Segments[Segment]);
        Segment = B.Segment;
        Reserved += Upstream.Segments[Segment];
      } else {
        EXPECT_EQ(B.Address, End);
        EXPECT_EQ(B.Segment, Segment);
        EXPECT_FALSE(LastFree && !B.Used) << "free neighbours";
      }
      EXPECT_EQ(B.Bytes % 512, 0u);
      Used += B.Used ? B.Bytes : 0;
      Requested += B.Requested;
      LastFree = !B.Used;
      End = B.Address + B.Bytes;
    }
    EXPECT_EQ(Used, allocated());
    EXPECT_EQ(Requested, P.getStatistics().Requested.Current);
    EXPECT_EQ(Reserved, reserved());
    EXPECT_EQ(Upstream.Used, reserved());
  }
};

TEST_F(PoolTest, RoundsToBlocksOf512Bytes) {
  EXPECT_EQ(Pool::roundSize(0), 512u);
  EXPECT_EQ(Pool::roundSize(4), 512u);
  EXPECT_EQ(Pool::roundSize(512), 512u);
  EXPECT_EQ(Pool::roundSize(513), 1024u);
  EXPECT_EQ(Pool::roundSize(UINT64_MAX), UINT64_MAX);
  EXPECT_EQ(Pool::roundSize(UINT64_MAX - 510), UINT64_MAX);
}

TEST_F(PoolTest, SizesOfSegments) {
  EXPECT_EQ(Pool::getSegmentSize(512), 2 * MiB);
  EXPECT_EQ(Pool::getSegmentSize(MiB), 2 * MiB);
  EXPECT_EQ(Pool::getSegmentSize(MiB + 512), 20 * MiB);
  EXPECT_EQ(Pool::getSegmentSize(10 * MiB - 512), 20 * MiB);
  EXPECT_EQ(Pool::getSegmentSize(10 * MiB), 10 * MiB);
  EXPECT_EQ(Pool::getSegmentSize(10 * MiB + 512), 12 * MiB);
  EXPECT_EQ(Pool::getSegmentSize(UINT64_MAX), UINT64_MAX);
}

TEST_F(PoolTest, AScalarTakesASegmentAndABlock) {
  take(4);
  EXPECT_EQ(reserved(), 2097152u);
  EXPECT_EQ(allocated(), 512u);
  EXPECT_EQ(P.getStatistics().Requested.Current, 4u);
}

TEST_F(PoolTest, ThreeScalars) {
  for (uint64_t Expected : {512u, 1024u, 1536u}) {
    take(4);
    EXPECT_EQ(allocated(), Expected);
  }
  EXPECT_EQ(reserved(), 2 * MiB);
}

TEST_F(PoolTest, SmallLinearLayers) {
  take(1 * 4);
  EXPECT_EQ(allocated(), 512u);
  take(128 * 4);
  EXPECT_EQ(allocated(), 1024u);
  take(129 * 4);
  EXPECT_EQ(allocated(), 2048u);
}

TEST_F(PoolTest, LinearWithBiasAndAdam) {
  // Weight and bias; input 1024x1; forward; mean; two gradients.
  take(4), take(4);
  EXPECT_EQ(allocated(), 1024u);
  take(1024 * 4);
  EXPECT_EQ(allocated(), 5120u);
  take(1024 * 4);
  EXPECT_EQ(allocated(), 9216u);
  take(4);
  EXPECT_EQ(allocated(), 9728u);
  take(4), take(4);
  EXPECT_EQ(allocated(), 10752u);
}

TEST_F(PoolTest, CheckpointedPerceptronWithoutWorkspaces) {
  // The first iteration of the checkpointed MLP, with no GEMM workspace.
  take(1024 * 1024 * 4); // linear1
  EXPECT_EQ(allocated(), 4194304u);
  take(1024 * 1024 * 4), take(1024 * 4); // linear2
  EXPECT_EQ(allocated(), 4194304u + 4198400u);
  take(1024 * 1024 * 4); // input
  void *O1 = take(1024 * 1024 * 4);
  take(1024 * 4); // output of the checkpointed region
  take(4);
  EXPECT_EQ(allocated(), 16785920u);
  take(1024 * 1024 * 4), take(1024 * 1024 * 4), take(1024 * 4); // gradients
  drop(O1);
  EXPECT_EQ(allocated(), 20984320u);
  check();
}

TEST_F(PoolTest, GemmWorkspaceOfEightMiB) {
  take(2 * 4096 * KiB + 8 * 16 * KiB);
  EXPECT_EQ(allocated(), 8519680u);
  EXPECT_EQ(reserved(), 20 * MiB);
}

TEST_F(PoolTest, OneMiBIsSmallMoreIsLarge) {
  take(MiB);
  EXPECT_EQ(reserved(), 2 * MiB);
  take(MiB + 1);
  EXPECT_EQ(reserved(), 22 * MiB);
  EXPECT_EQ(allocated(), 2 * MiB + 512);
}

TEST_F(PoolTest, ALargeBlockIsNotSplitForAMiBOrLess) {
  // 10 MiB minus a block leaves 10 MiB and a block of a 20 MiB segment; the
  // next request leaves exactly 1 MiB, which stays with it.
  take(10 * MiB - 512);
  take(9 * MiB + 512);
  EXPECT_EQ(allocated(), 20 * MiB);
  EXPECT_EQ(reserved(), 20 * MiB);
  EXPECT_EQ(P.getStatistics().Requested.Current, 19 * MiB);
}

TEST_F(PoolTest, ALargeBlockIsSplitForMoreThanAMiB) {
  take(10 * MiB - 512);
  take(9 * MiB);
  EXPECT_EQ(allocated(), 19 * MiB - 512);
  EXPECT_EQ(P.getBlocks().size(), 3u);
}

TEST_F(PoolTest, ASmallBlockIsSplitForOneBlock) {
  take(MiB);
  take(MiB - 512);
  EXPECT_EQ(allocated(), 2 * MiB - 512);
  take(512);
  EXPECT_EQ(allocated(), 2 * MiB);
  EXPECT_EQ(reserved(), 2 * MiB);
}

TEST_F(PoolTest, BestFitTakesTheSmallestThatFits) {
  void *A = take(8 * KiB), *G1 = take(512);
  void *B = take(4 * KiB), *G2 = take(512);
  void *C = take(6 * KiB), *G3 = take(512);
  drop(A), drop(B), drop(C);
  EXPECT_EQ(take(5 * KiB), C);
  EXPECT_EQ(take(4 * KiB), B);
  EXPECT_EQ(take(8 * KiB), A);
  drop(G1), drop(G2), drop(G3);
  check();
}

TEST_F(PoolTest, EqualsAreTakenAtTheLowestAddress) {
  void *A = take(4 * KiB);
  take(512);
  void *B = take(4 * KiB);
  take(512);
  drop(B), drop(A);
  EXPECT_EQ(take(4 * KiB), A);
  EXPECT_EQ(take(4 * KiB), B);
}

TEST_F(PoolTest, FreedNeighboursMerge) {
  void *A = take(512), *B = take(512), *C = take(512);
  drop(A), drop(C);
  EXPECT_EQ(P.getBlocks().size(), 3u); // C has merged with the rest
  drop(B);
  EXPECT_EQ(P.getBlocks().size(), 1u);
  EXPECT_EQ(allocated(), 0u);
  EXPECT_EQ(reserved(), 2 * MiB);
  check();
}

TEST_F(PoolTest, MemoryIsReusedOnTheSameStreamOnly) {
  void *A = take(512, 1);
  drop(A);
  EXPECT_NE(take(512, 2), A);
  EXPECT_EQ(reserved(), 4 * MiB);
  EXPECT_EQ(take(512, 1), A);
}

TEST_F(PoolTest, CachedSegmentsGoBack) {
  void *A = take(3 * MiB);
  take(4);
  drop(A);
  EXPECT_EQ(reserved(), 22 * MiB);
  P.releaseCached();
  EXPECT_EQ(reserved(), 2 * MiB);
  check();
}

TEST_F(PoolTest, RefusesAnUnknownAddress) {
  void *A = take(512);
  EXPECT_EQ(P.free(static_cast<char *>(A) + 512).getError().getCode(),
            ErrorCode::InvalidArgument);
  drop(A);
  EXPECT_FALSE(P.free(A)) << "freed twice";
}

TEST_F(PoolTest, OutOfMemoryNamesOpAndBytesAndChangesNothing) {
  P.setLimit(20 * MiB);
  AllocationInfo Holder;
  Holder.Op = "gelu";
  Holder.Class = MemoryClass::Activations;
  ASSERT_TRUE(P.allocate(2 * MiB, Holder));
  AllocationInfo Info;
  Info.Op = "matmul";
  Info.Location = "model.mlir:3:5";
  auto R = P.allocate(19 * MiB, Info);
  ASSERT_FALSE(R);
  EXPECT_EQ(R.getError().getCode(), ErrorCode::OutOfMemory);
  for (const char *Part : {"19922944 bytes", "matmul", "model.mlir:3:5",
                           "20971520", "gelu", "activations"})
    EXPECT_NE(R.getError().getMessage().find(Part), std::string::npos)
        << R.getError().getMessage();
  EXPECT_EQ(allocated(), 2 * MiB);
  EXPECT_EQ(P.getStatistics().NumOutOfMemory, 1u);
  check();
  P.setLimit(UINT64_MAX);
  EXPECT_TRUE(P.allocate(19 * MiB, Info));
}

TEST_F(PoolTest, CachedMemoryIsGivenBackBeforeARefusal) {
  Upstream.Limit = 24 * MiB;
  drop(take(3 * MiB));
  EXPECT_EQ(reserved(), 20 * MiB);
  take(24 * MiB);
  EXPECT_EQ(reserved(), 24 * MiB);
  EXPECT_FALSE(P.allocate(512));
  check();
}

TEST_F(PoolTest, HugeRequestsFail) {
  for (uint64_t Bytes : {UINT64_MAX, UINT64_MAX - 1000, UINT64_MAX / 2}) {
    Upstream.Limit = 1 << 30;
    EXPECT_FALSE(P.allocate(Bytes));
  }
}

TEST_F(PoolTest, PeaksAndClasses) {
  AllocationInfo Info;
  Info.Class = MemoryClass::Gradients;
  void *A = *P.allocate(1000, Info);
  drop(A);
  take(512);
  const PoolStatistics &S = P.getStatistics();
  auto &Gradients = S.AllocatedByClass[unsigned(MemoryClass::Gradients)];
  EXPECT_EQ(Gradients.Peak, 1024u);
  EXPECT_EQ(Gradients.Current, 0u);
  EXPECT_EQ(S.Allocated.Peak, 1024u);
  EXPECT_EQ(S.Requested.Peak, 1000u);
  P.resetPeaks();
  EXPECT_EQ(S.Allocated.Peak, 512u);
  EXPECT_EQ(getName(MemoryClass::OptimizerState), "optimizer_state");
}

TEST_F(PoolTest, HistoryTellsWhatHappened) {
  PoolOptions Options;
  Options.RecordHistory = true;
  Pool Recorded(Upstream, Options);
  AllocationInfo Info;
  Info.Op = "relu";
  void *A = *Recorded.allocate(100, Info);
  ASSERT_TRUE(Recorded.free(A));
  Recorded.releaseCached();
  using Kind = enum PoolEvent::Kind;
  std::vector<Kind> Kinds;
  for (const PoolEvent &E : Recorded.getHistory())
    Kinds.push_back(E.Kind);
  EXPECT_EQ(Kinds, (std::vector<Kind>{Kind::SegmentAllocate, Kind::Allocate,
                                      Kind::Free, Kind::SegmentFree}));
  EXPECT_EQ(Recorded.getHistory()[1].Requested, 100u);
  EXPECT_EQ(Recorded.getHistory()[2].Info.Op, "relu");
}

TEST_F(PoolTest, RandomUseKeepsTheRules) {
  std::mt19937 Generator(7);
  std::vector<void *> Held;
  P.setLimit(400 * MiB);
  for (int I = 0; I < 4000; ++I) {
    if (Generator() % 2 && !Held.empty()) {
      size_t At = Generator() % Held.size();
      drop(Held[At]);
      Held.erase(Held.begin() + At);
    } else {
      AllocationInfo Info;
      Info.Stream = Generator() % 3;
      uint64_t Bytes = Generator() % (1u << (Generator() % 25));
      if (auto R = P.allocate(Bytes, Info))
        Held.push_back(*R);
    }
    if (I % 50 == 0)
      check();
  }
  for (void *A : Held)
    drop(A);
  P.releaseCached();
  EXPECT_EQ(Upstream.Used, 0u);
}

TEST(PoolLifetime, DestructionGivesEverythingBack) {
  FakeUpstream Upstream;
  {
    Pool P(Upstream);
    ASSERT_TRUE(P.allocate(512));
    ASSERT_TRUE(P.allocate(30 * MiB));
  }
  EXPECT_EQ(Upstream.Used, 0u);
}

} // namespace
