//===- FakeDriver.h - tests with a stand-in for the driver ------*- C++ -*-===//

#ifndef REMAT_TEST_RUNTIME_DRIVER_FAKEDRIVER_H
#define REMAT_TEST_RUNTIME_DRIVER_FAKEDRIVER_H

#include "TestProgram.h"
#include "remat/Support/Library.h"
#include "remat/runtime/Ranks.h"
#include <cstdlib>

namespace remat::runtime::test {

/// As in FakeDriver.c.
struct FakeState {
  int Refuses, Pinned, Pending, Created, Destroyed, FreedWhilePending;
  void *Foreign;
  int Stuck;
  char Log[4096];
  char Graph[4096];
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

  std::unique_ptr<Device> make(void *Stream = nullptr,
                               std::shared_ptr<Ranks> TheRanks = nullptr) {
    DeviceOptions Options;
    Options.Stream = Stream;
    Options.TheRanks = std::move(TheRanks);
    auto Made = createDevice("cuda", Options);
    EXPECT_TRUE(Made) << messageOf(Made);
    return Made ? std::move(*Made) : nullptr;
  }

  SharedLibrary Library;
  FakeState *Fake = nullptr;
};

/// Adds tensors of `Count` elements, by the only kernel that there is.
inline void add(ProgramMaker &P, uint32_t Lhs, uint32_t Rhs, uint32_t Sum,
                int64_t Count) {
  program::StepT &S = P.step("add", {Lhs, Rhs}, {Sum});
  auto L = std::make_unique<program::LaunchT>();
  L->grid = L->block = {1, 1, 1};
  for (uint32_t Tensor : {Lhs, Rhs, Sum}) {
    L->arguments.push_back(std::make_unique<program::KernelArgumentT>());
    L->arguments.back()->index = Tensor;
  }
  L->arguments.push_back(std::make_unique<program::KernelArgumentT>());
  L->arguments.back()->kind = program::ArgumentKind::Int;
  L->arguments.back()->int_value = Count;
  S.launches.push_back(std::move(L));
}

inline void setKernel(ProgramMaker &P) {
  P.Program.device = "cuda";
  P.Program.arch = "sm_90";
  P.Program.kernels.push_back(std::make_unique<program::KernelT>());
  P.Program.kernels.back()->name = "add";
  P.Program.modules.push_back(std::make_unique<program::ModuleT>());
  P.Program.modules.back()->cubin = {1};
}

} // namespace remat::runtime::test

#endif // REMAT_TEST_RUNTIME_DRIVER_FAKEDRIVER_H
