//===- DriverTest.cpp - what the CUDA device asks of the driver -----------===//
//
// With a stand-in for the driver, in a program of its own: a process loads one.
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"
#include "remat/Support/Library.h"
#include "remat/runtime/Data/Prefetcher.h"
#include "remat/runtime/HostMemory.h"
#include <cstdlib>
#include <cstring>

using namespace remat;
using namespace remat::runtime;
using namespace remat::runtime::test;

namespace {

/// As in FakeDriver.c.
struct FakeState {
  int Refuses, Pinned, Pending, Created, Destroyed, FreedWhilePending;
  void *Foreign;
};

class FakeDriver : public testing::Test {
protected:
  void SetUp() override {
    setenv("REMAT_CUDA_LIBRARIES", REMAT_FAKE_DRIVER, 1);
    Library = openCUDALibrary({"libcuda.so.1"}, /*IsGlobal=*/true);
    ASSERT_TRUE(Library.Handle) << Library.Why;
    Fake = static_cast<FakeState *>(Library.find("fake"));
    ASSERT_TRUE(Fake) << "another driver was loaded";
    *Fake = {};
  }

  std::unique_ptr<Device> make(void *Stream = nullptr) {
    DeviceOptions Options;
    Options.Stream = Stream;
    auto Made = createDevice("cuda", Options);
    EXPECT_TRUE(Made) << messageOf(Made);
    return Made ? std::move(*Made) : nullptr;
  }

  SharedLibrary Library;
  FakeState *Fake = nullptr;
};

/// Numbers batches by their steps.
class Steps : public BatchSource {
public:
  Steps() { Arguments = {0, 2}; }
  uint64_t getBatchesPerEpoch() const override { return 1000; }

private:
  Status fill(uint64_t Step, Batch &To) const override {
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

} // namespace
