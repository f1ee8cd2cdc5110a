//===- DriverTest.cpp - what the CUDA device asks of the driver -----------===//
//
// With a stand-in for the driver, in a program of its own: a process loads one.
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"
#include "remat/runtime/Data/Prefetcher.h"
#include "remat/runtime/HostMemory.h"
#include <cstring>

using namespace remat;
using namespace remat::runtime;
using namespace remat::runtime::test;

namespace {

/// Numbers batches by their steps.
class Steps : public BatchSource {
public:
  Steps() { Arguments = {0, 2}; }
  uint64_t getBatchesPerEpoch() const override { return 1000; }

private:
  Status fill(uint64_t Step, uint64_t, Batch &To) const override {
    for (BatchInput &I : To) {
      I.Bytes.resize(sizeof Step);
      std::memcpy(I.Bytes.data(), &Step, sizeof Step);
    }
    return {};
  }
};

TEST_F(FakeDriver, CopiesLater) {
  std::unique_ptr<Device> D = make();
  ASSERT_TRUE(D);
  auto To = D->allocate(8);
  ASSERT_TRUE(To);
  ASSERT_TRUE(D->fill(*To, 0, 8));
  auto *From = static_cast<char *>(D->allocateHost(8));
  ASSERT_TRUE(From);
  EXPECT_EQ(Fake->Pinned, 1);
  std::memcpy(From, "batch 1", 8);
  ASSERT_TRUE(D->copyInLater(*To, From, 8));
  EXPECT_EQ(Fake->Pending, 1);
  EXPECT_STREQ(static_cast<char *>(*To), "");
  ASSERT_TRUE(D->synchronize());
  EXPECT_STREQ(static_cast<char *>(*To), "batch 1");
  // Memory that is still read is not given back.
  ASSERT_TRUE(D->copyInLater(*To, From, 8));
  D->deallocateHost(From);
  EXPECT_EQ(Fake->Pinned, 0);
  EXPECT_EQ(Fake->FreedWhilePending, 0);
  D->deallocate(*To, 8);
}

TEST_F(FakeDriver, BatchesLieInPinnedMemory) {
  std::unique_ptr<Device> D = make();
  ASSERT_TRUE(D);
  auto To = D->allocate(8);
  ASSERT_TRUE(To);
  for (bool Refuses : {false, true}) {
    Fake->Refuses = Refuses;
    HostMemory Memory(*D);
    Steps Source;
    Prefetcher Batches(Source, /*Threads=*/2, /*Depth=*/4);
    ASSERT_TRUE(Batches.reserve({8, 8}, Memory));
    EXPECT_EQ(Fake->Pinned, Refuses ? 0 : 8);
    for (uint64_t Step = 0; Step < 50; ++Step) {
      auto Made = Batches.get(Step);
      ASSERT_TRUE(Made) << messageOf(Made);
      ASSERT_EQ((*Made)->size(), 2u);
      EXPECT_EQ((**Made)[1].Argument, 2u);
      ASSERT_TRUE(D->copyInLater(*To, (**Made)[1].Bytes.data(), 8));
      ASSERT_TRUE(D->synchronize());
      EXPECT_EQ(*static_cast<uint64_t *>(*To), Step);
    }
    // Nothing was allocated anew for a batch.
    EXPECT_EQ(Fake->Pinned, Refuses ? 0 : 8);
  }
  EXPECT_EQ(Fake->Pinned, 0);
  D->deallocate(*To, 8);
}

/// h += x and s = h + x, over rows of x into rows of s. Rows of 64 elements are
/// used where they lie, others in the workspace. With `Before`, h is doubled
/// before, and so is a tensor of so many elements.
ProgramMaker makeLoop(int64_t Width, bool Reverse, int64_t Before = 0) {
  Array Row = f32({Width}), All = f32({3, Width});
  bool Bound = Width % 64 == 0;
  ProgramMaker B, P;
  uint32_t H = B.argument("h", Row, program::Role::State, 0);
  uint32_t X = B.argument("x", Row, program::Role::State);
  uint32_t S = B.argument("s", Row, program::Role::State, 1);
  uint32_t NextH = B.tensor(Row, int64_t(offsetOf(B, H)));
  uint32_t NextS = B.tensor(Row, int64_t(offsetOf(B, S)));
  add(B, H, X, NextH, Width);
  add(B, NextH, X, NextS, Width);
  B.result("h", NextH, program::Role::State);
  B.result("s", NextS, program::Role::State);
  setKernel(B);
  B.Program.kernels_wait = Before != 0;

  uint32_t First = P.argument("h", Row), Rows = P.argument("x", All);
  uint32_t Last = P.tensor(Row), Stack = P.tensor(All);
  uint32_t Space = P.tensor(f32({128}));
  if (Before) {
    uint32_t Large = P.argument("y", f32({Before}));
    uint32_t Doubled = P.tensor(f32({Before})), Twice = P.tensor(Row);
    add(P, Large, Large, Doubled, Before);
    add(P, First, First, Twice, Width);
    P.result("doubled", Doubled);
    First = Twice;
  }
  Attrs List = {ints("steps", {3})};
  if (Reverse)
    List.push_back(flag("reverse"));
  program::StepT &Scan = P.step("scan", {First, Rows}, {Last, Stack}, List);
  Scan.workspace_offset = offsetOf(P, Space);
  Scan.workspace_bytes = 512;
  Scan.loop = std::make_unique<program::LoopT>();
  Scan.loop->body = std::make_unique<program::ProgramT>(std::move(B.Program));
  Scan.loop->carries = Scan.loop->slices = 1;
  Scan.loop->bound_bytes = Bound ? 768 : 256;
  P.result("last", Last);
  P.result("stack", Stack);
  setKernel(P);
  return P;
}

/// The first element of each row of the stack, and of the last carry; h begins
/// as 0.5, the rows of x are 1, 2 and 3.
std::vector<float> runLoop(Device &D, int64_t Width, bool Reverse) {
  auto P = Program::load(makeLoop(Width, Reverse).finish());
  EXPECT_TRUE(P) << messageOf(P);
  auto E = D.prepare(*P);
  EXPECT_TRUE(E) << messageOf(E);
  auto Arena = D.allocate((*P)->ArenaBytes);
  // Device memory is the host's here.
  auto At = [&](uint32_t Tensor, int64_t Row) {
    return reinterpret_cast<float *>(static_cast<char *>(*Arena) +
                                     (*P)->Tensors[Tensor].Offset) +
           Row * Width;
  };
  std::fill_n(At(0, 0), Width, 0.5f);
  for (int Row : {0, 1, 2})
    std::fill_n(At(1, Row), Width, float(Row + 1));
  RunOptions Options; // poisoned, and so not captured
  Options.Poison = true;
  Status Ran = (*E)->run(*Arena, Options);
  EXPECT_TRUE(Ran) << messageOf(Ran);
  EXPECT_TRUE(D.synchronize());
  std::vector<float> Found = {*At(3, 0), *At(3, 1), *At(3, 2), *At(2, 0)};
  D.deallocate(*Arena, (*P)->ArenaBytes);
  return Found;
}

TEST_F(FakeDriver, RunsLoops) {
  std::unique_ptr<Device> D = make();
  ASSERT_TRUE(D);
  for (int64_t Width : {64, 10}) {
    // Carries 1.5, 3.5, 6.5; in reverse 3.5, 5.5, 6.5.
    std::vector<float> Forward = {2.5f, 5.5f, 9.5f, 6.5f};
    EXPECT_EQ(runLoop(*D, Width, false), Forward) << Width;
    std::vector<float> Backward = {7.5f, 7.5f, 6.5f, 6.5f};
    EXPECT_EQ(runLoop(*D, Width, true), Backward) << Width;
  }
}

TEST_F(FakeDriver, WorksOnAGivenStream) {
  int Stream = 0, Other = 0;
  {
    std::unique_ptr<Device> D = make(&Stream);
    ASSERT_TRUE(D);
    EXPECT_EQ(D->getStream(), &Stream);
  }
  // It is the caller's.
  EXPECT_EQ(Fake->Created, 0);
  EXPECT_EQ(Fake->Destroyed, 0);
  make();
  EXPECT_EQ(Fake->Created, 1);
  EXPECT_EQ(Fake->Destroyed, 1);
  Fake->Foreign = &Other;
  DeviceOptions Options;
  Options.Stream = &Other;
  auto Refused = createDevice("cuda", Options);
  ASSERT_FALSE(Refused);
  EXPECT_NE(messageOf(Refused).find("of another context"), std::string::npos);
  EXPECT_EQ(Fake->Destroyed, 1);
  // Streams that stand for "none" cannot be captured.
  for (uintptr_t Number : {1, 2}) {
    Options.Stream = reinterpret_cast<void *>(Number);
    EXPECT_FALSE(createDevice("cuda", Options));
  }
}

/// m = y + y; a = x + x; n = m + m; b = a + a; c = b + b; o = n + n. Those that
/// come of x have 64 elements, those of y `Large`.
ProgramMaker makeBeside(int64_t Large) {
  ProgramMaker P;
  Array Small = f32({64}), Wide = f32({Large});
  uint32_t X = P.argument("x", Small), Y = P.argument("y", Wide);
  uint32_t A = P.tensor(Small), B = P.tensor(Small), C = P.tensor(Small);
  uint32_t M = P.tensor(Wide), N = P.tensor(Wide), O = P.tensor(Wide);
  add(P, Y, Y, M, Large);
  add(P, X, X, A, 64);
  add(P, M, M, N, Large);
  add(P, A, A, B, 64);
  add(P, B, B, C, 64);
  add(P, N, N, O, Large);
  P.result("c", C);
  P.result("o", O);
  setKernel(P);
  return P;
}

/// The kernels of the program's graph.
std::string capture(FakeState &Fake, Device &D, ProgramMaker Made) {
  Made.Program.kernels_wait = true;
  auto P = Program::load(Made.finish());
  EXPECT_TRUE(P) << messageOf(P);
  auto E = D.prepare(*P);
  EXPECT_TRUE(E) << messageOf(E);
  auto Arena = D.allocate((*P)->ArenaBytes);
  std::memset(*Arena, 0, (*P)->ArenaBytes);
  Fake.Graph[0] = 0;
  Status Ran = (*E)->run(*Arena, {});
  EXPECT_TRUE(Ran) << messageOf(Ran);
  D.deallocate(*Arena, (*P)->ArenaBytes);
  return Fake.Graph;
}

TEST_F(FakeDriver, SmallStepsRunBesideLargeOnes) {
  std::unique_ptr<Device> D = make();
  ASSERT_TRUE(D);
  // Large ones in turn, small ones behind those whose results they read.
  EXPECT_EQ(capture(*Fake, *D, makeBeside(1 << 20)),
            "1<; 2<; 3<1!; 4<2; 5<4; 6<3!; ");
  // Where all are small each waits for the one before.
  EXPECT_EQ(capture(*Fake, *D, makeBeside(64)),
            "1<; 2<1!; 3<2!; 4<3!; 5<4!; 6<5!; ");
}

TEST_F(FakeDriver, ALoopWaitsForAllBeforeItOnce) {
  std::unique_ptr<Device> D = make();
  ASSERT_TRUE(D);
  // The loop of three steps of two kernels, behind a small step and a large one
  // that have nothing to do with each other.
  ProgramMaker P = makeLoop(64, /*Reverse=*/false, /*Before=*/1 << 20);
  EXPECT_EQ(capture(*Fake, *D, std::move(P)),
            "1<; 2<; 3<1 2; 4<3!; 5<4!; 6<5!; 7<6!; 8<7!; ");
}

} // namespace
