//===- DeviceTest.cpp - what every device does the same way ---------------===//
//
// Run for each device of the build; a device that is not here is skipped, once
// its error has said why.
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"
#include "remat/runtime/Pool.h"

using namespace remat;
using namespace remat::runtime;
using namespace remat::runtime::test;

namespace {

class DeviceConformance : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    auto Made = createDevice(GetParam());
    if (!Made) {
      EXPECT_EQ(Made.getError().getCode(), ErrorCode::Unavailable);
      EXPECT_NE(GetParam(), "host");
      GTEST_SKIP() << messageOf(Made);
    }
    D = std::move(*Made);
  }
  std::unique_ptr<Device> D;
};

TEST_P(DeviceConformance, SaysWhatItIs) {
  EXPECT_EQ(D->getName(), GetParam());
  EXPECT_NE(D->getDescription(), "");
  auto Info = D->getMemoryInfo();
  ASSERT_TRUE(Info) << messageOf(Info);
  EXPECT_GT(Info->TotalBytes, 0u);
  EXPECT_LE(Info->FreeBytes, Info->TotalBytes);
}

TEST_P(DeviceConformance, CopiesAndFills) {
  constexpr uint64_t Bytes = 100000;
  auto Memory = D->allocate(Bytes);
  ASSERT_TRUE(Memory) << messageOf(Memory);
  EXPECT_EQ(reinterpret_cast<uint64_t>(*Memory) % 512, 0u);
  std::vector<uint8_t> In(Bytes), Out(Bytes);
  for (uint64_t I = 0; I < Bytes; ++I)
    In[I] = static_cast<uint8_t>(I * 7);
  ASSERT_TRUE(D->copyIn(*Memory, In.data(), Bytes));
  ASSERT_TRUE(D->fill(static_cast<char *>(*Memory) + 10, 0xab, 5));
  ASSERT_TRUE(D->copyOut(Out.data(), *Memory, Bytes));
  std::fill(In.begin() + 10, In.begin() + 15, 0xab);
  EXPECT_EQ(In, Out);
  auto *Begin = static_cast<char *>(*Memory);
  ASSERT_TRUE(D->copyWithin(Begin, Begin + Bytes / 2, Bytes / 2));
  ASSERT_TRUE(D->copyOut(Out.data(), *Memory, Bytes));
  EXPECT_TRUE(
      std::equal(Out.begin(), Out.begin() + Bytes / 2, In.begin() + Bytes / 2));
  auto *Later = static_cast<uint8_t *>(D->allocateHost(Bytes));
  ASSERT_TRUE(Later);
  std::reverse_copy(In.begin(), In.end(), Later);
  ASSERT_TRUE(D->copyInLater(*Memory, Later, Bytes));
  ASSERT_TRUE(D->copyOut(Out.data(), *Memory, Bytes));
  EXPECT_TRUE(std::equal(Out.begin(), Out.end(), Later));
  D->deallocateHost(Later);
  EXPECT_EQ(D->getStream() == nullptr, GetParam() == "host");
  EXPECT_TRUE(D->synchronizeOthers());
  EXPECT_TRUE(D->synchronize());
  D->deallocate(*Memory, Bytes);
}

TEST_P(DeviceConformance, RefusesMoreThanItHas) {
  auto Memory = D->allocate(uint64_t(1) << 50);
  ASSERT_FALSE(Memory);
  EXPECT_EQ(Memory.getError().getCode(), ErrorCode::OutOfMemory);
  EXPECT_NE(messageOf(Memory).find("1125899906842624"), std::string::npos);
  // Nothing is broken by it.
  auto Small = D->allocate(512);
  ASSERT_TRUE(Small) << messageOf(Small);
  D->deallocate(*Small, 512);
}

TEST_P(DeviceConformance, PoolGivesDeviceMemory) {
  Pool P(*D);
  uint32_t A = 1, B = 2, Out = 0;
  void *PA = *P.allocate(4), *PB = *P.allocate(4);
  EXPECT_EQ(static_cast<char *>(PB) - static_cast<char *>(PA), 512);
  EXPECT_EQ(P.getStatistics().Reserved.Current, 2097152u);
  ASSERT_TRUE(D->copyIn(PA, &A, 4));
  ASSERT_TRUE(D->copyIn(PB, &B, 4));
  ASSERT_TRUE(D->copyOut(&Out, PA, 4));
  EXPECT_EQ(Out, 1u);
  auto Huge = P.allocate(uint64_t(1) << 50);
  ASSERT_FALSE(Huge);
  EXPECT_EQ(P.getStatistics().Allocated.Current, 1024u);
  ASSERT_TRUE(D->copyOut(&Out, PB, 4));
  EXPECT_EQ(Out, 2u);
}

/// A program without steps: arguments in, results out.
ProgramMaker makeIdentity(const std::string &Device) {
  ProgramMaker P;
  P.Program.device = Device;
  uint32_t X = P.argument("x", f32({1000}));
  P.result("y", X);
  return P;
}

TEST_P(DeviceConformance, ArenaOutOfMemoryCanBeTriedAgain) {
  auto Bytes = makeIdentity(GetParam());
  if (GetParam() == "cuda")
    Bytes.Program.arch = std::string(D->getArch());
  SessionOptions Options;
  Options.Pool.LimitBytes = 1 << 20;
  auto S = Session::create(Bytes.finish(), *D, Options);
  ASSERT_FALSE(S);
  EXPECT_EQ(S.getError().getCode(), ErrorCode::OutOfMemory);
  EXPECT_NE(messageOf(S).find("4000 bytes"), std::string::npos) << messageOf(S);
  Options.Pool.LimitBytes = 2 << 20;
  S = Session::create(Bytes.finish(), *D, Options);
  ASSERT_TRUE(S) << messageOf(S);
  std::vector<float> In(1000, 3.5f), Out(1000);
  EXPECT_FALSE((*S)->runStep()) << "x was not written";
  ASSERT_TRUE((*S)->writeArgument("x", In.data(), 4000));
  ASSERT_EQ(messageOf((*S)->runStep()), "");
  ASSERT_TRUE((*S)->readResult("y", Out.data(), 4000));
  EXPECT_EQ(In, Out);
  EXPECT_EQ((*S)->getStatistics().MeasuredPeakBytes, 4000u);
}

TEST_P(DeviceConformance, RefusesAMalformedProgram) {
  std::vector<uint8_t> Bytes = makeIdentity(GetParam()).finish();
  Bytes.resize(Bytes.size() / 2);
  auto S = Session::create(Bytes, *D);
  ASSERT_FALSE(S);
  EXPECT_EQ(S.getError().getCode(), ErrorCode::InvalidProgram);
}

INSTANTIATE_TEST_SUITE_P(All, DeviceConformance,
                         testing::ValuesIn(getDeviceNames()));

TEST(Devices, AMissingOneIsAnError) {
  auto D = createDevice("abacus");
  ASSERT_FALSE(D);
  EXPECT_EQ(D.getError().getCode(), ErrorCode::Unavailable);
  EXPECT_NE(messageOf(D).find("host"), std::string::npos);
}

TEST(Devices, CanBeRegistered) {
  registerDevice("alias", [](const DeviceOptions &Options) {
    return createDevice("host", Options);
  });
  EXPECT_TRUE(createDevice("alias"));
}

} // namespace
