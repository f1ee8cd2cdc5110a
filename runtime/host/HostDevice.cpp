//===- HostDevice.cpp - runs programs on the processor --------------------===//
//
// The embedded default, and the oracle: it runs the programs of every device,
// step by step at their offsets, with its own kernels.
//
//===----------------------------------------------------------------------===//

#include "host/Blas.h"
#include "host/Context.h"
#include "host/FreeMemory.h"
#include "host/Kernel.h"
#include "remat/runtime/Device.h"
#include "remat/runtime/Ranges.h"
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <unistd.h>

using namespace remat::runtime;

static Status verifyKernels(const Program &P);

namespace {

/// A step with its kernel and, once bound, its addresses.
struct BoundStep {
  const HostKernel *Kernel;
  OpCall Call;
};

class HostExecutable : public Executable {
public:
  HostExecutable(std::shared_ptr<const Program> P, Context &C);

  Status run(void *Arena, const RunOptions &Options) override;
  std::vector<double> getStepMilliseconds() const override { return StepMs; }
  std::optional<uint64_t> getHostScratchBytes() const override {
    return TheContext.getPeakScratchBytes();
  }
  void setProfiling(bool On) override { Profiling = On; }

private:
  void bind(char *Arena);
  void findFirstUpdate();
  Status runStep(size_t Index);
  Status runAll(char *Base, const RunOptions &Options);

  std::shared_ptr<const Program> TheProgram;
  Context &TheContext;
  std::vector<BoundStep> Steps;
  char *BoundTo = nullptr;
  /// Before this step all arguments that survive hold what they held.
  size_t FirstUpdate = 0;
  bool Profiling = false;
  std::vector<double> StepMs;
};

class HostDevice : public Device {
public:
  explicit HostDevice(const DeviceOptions &Options)
      : TheRanks(Options.TheRanks),
        TheContext(Options.Threads, TheRanks.get()) {}

  std::string_view getName() const override { return "host"; }
  std::string_view getArch() const override { return ""; }
  std::string getDescription() const override;
  Ranks *getRanks() const override { return TheRanks.get(); }
  Result<void *> allocate(uint64_t Bytes) override;
  void deallocate(void *Address, uint64_t Bytes) override;
  Status copyIn(void *Destination, const void *Source,
                uint64_t Bytes) override {
    std::memcpy(Destination, Source, Bytes);
    return {};
  }
  Status copyWithin(void *Destination, const void *Source,
                    uint64_t Bytes) override {
    std::memmove(Destination, Source, Bytes);
    return {};
  }
  Status copyOut(void *Destination, const void *Source,
                 uint64_t Bytes) override {
    std::memcpy(Destination, Source, Bytes);
    return {};
  }
  Status fill(void *Destination, uint8_t Value, uint64_t Bytes) override {
    std::memset(Destination, Value, Bytes);
    return {};
  }
  Result<std::unique_ptr<Executable>>
  prepare(std::shared_ptr<const Program> P) override {
    REMAT_TRY(checkNumRanks(*P, TheRanks.get()));
    REMAT_TRY(verifyKernels(*P));
    return std::unique_ptr<Executable>(
        std::make_unique<HostExecutable>(std::move(P), TheContext));
  }
  Status synchronize() override { return {}; }
  Result<MemoryInfo> getMemoryInfo() override;

private:
  std::shared_ptr<Ranks> TheRanks;
  Context TheContext;
};

} // namespace

/// Whether the host has a kernel for each step, those in loops included.
static Status verifyKernels(const Program &P) {
  for (const Step &S : P.Steps) {
    if (!findKernel(S.Op))
      return Error(ErrorCode::Unavailable,
                   "the host has no kernel of the op '" + S.Op + "'");
    if (S.TheLoop)
      REMAT_TRY(verifyKernels(*S.TheLoop->Body));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Executable
//===----------------------------------------------------------------------===//

HostExecutable::HostExecutable(std::shared_ptr<const Program> P, Context &C)
    : TheProgram(std::move(P)), TheContext(C) {
  for (const Step &S : TheProgram->Steps) {
    Steps.push_back({findKernel(S.Op), makeCall(*TheProgram, S)});
  }
  findFirstUpdate();
}

/// The first step that writes where an argument lies that survives.
void HostExecutable::findFirstUpdate() {
  std::vector<ByteRange> Kept;
  for (const Argument &A : TheProgram->Arguments)
    if (const Tensor &T = TheProgram->Tensors[A.Tensor]; A.Survives)
      Kept.push_back({T.Offset, T.Bytes});
  auto Updates = [&](ByteRange Of) {
    return Of.Bytes > 0 && std::ranges::any_of(Kept, [&](const ByteRange &R) {
             return Of.Offset < R.Offset + R.Bytes &&
                    R.Offset < Of.Offset + Of.Bytes;
           });
  };
  auto IsUpdate = [&](const Step &S) {
    if (Updates(S.Workspace))
      return true;
    return std::ranges::any_of(S.Results, [&](uint32_t Number) {
      const Tensor &T = TheProgram->Tensors[Number];
      return !T.IsView && Updates({T.Offset, T.Bytes});
    });
  };
  const auto &All = TheProgram->Steps;
  FirstUpdate = std::ranges::find_if(All, IsUpdate) - All.begin();
}

void HostExecutable::bind(char *Arena) {
  if (BoundTo == Arena)
    return;
  BoundTo = Arena;
  for (BoundStep &Bound : Steps)
    bindCall(Bound.Call, *TheProgram,
             [&](uint64_t Offset) { return Arena + Offset; });
}

/// Runs a kernel; a library that finds no memory for its lists may throw.
static Status runGuarded(const BoundStep &Bound, Context &C) {
  try {
    return Bound.Kernel->Run(Bound.Call, C);
  } catch (const std::bad_alloc &) {
    return Error(ErrorCode::OutOfMemory, "no host memory beside the arena for "
                                         "scratch or the BLAS's buffer");
  }
}

Status HostExecutable::runStep(size_t Index) {
  const BoundStep &Bound = Steps[Index];
  auto Begin = std::chrono::steady_clock::now();
  Status S = runGuarded(Bound, TheContext);
  if (Profiling)
    StepMs.push_back(std::chrono::duration<double, std::milli>(
                         std::chrono::steady_clock::now() - Begin)
                         .count());
  if (S)
    return S;
  const Step &From = TheProgram->Steps[Index];
  return S.getError().within(
      "step " + std::to_string(Index) + " (" + From.Op +
      (From.Location.empty() ? ")" : " at " + From.Location + ")"));
}

/// An error of one rank ends the others, which would wait for it.
Status HostExecutable::run(void *Arena, const RunOptions &Options) {
  Status Ran = runAll(static_cast<char *>(Arena), Options);
  if (Ranks *Others = TheContext.getRanks(); Others && !Ran)
    Others->abort(Ran.getError().getMessage());
  return Ran;
}

Status HostExecutable::runAll(char *Base, const RunOptions &Options) {
  // Ranks end before a step, where they agree on it, or not at all.
  const std::atomic<bool> *Interrupt =
      TheContext.getRanks() ? nullptr : Options.Interrupt;
  auto Poison = [&](const std::vector<ByteRange> &Ranges) {
    if (Options.Poison)
      for (const ByteRange &R : Ranges)
        std::memset(Base + R.Offset, 0xff, R.Bytes);
  };
  bind(Base);
  TheContext.setPoisons(Options.Poison);
  StepMs.clear();
  Poison(TheProgram->UnusedAtStart);
  ScopeRanges Ranges(Options.Ranges);
  for (size_t I = 0; I < Steps.size(); ++I) {
    if (I <= FirstUpdate && Interrupt && *Interrupt)
      return Error(ErrorCode::Interrupted,
                   "the step was interrupted before operation " +
                       std::to_string(I) + " of " +
                       std::to_string(Steps.size()));
    Ranges.enter(TheProgram->Steps[I]);
    REMAT_TRY(runStep(I));
    if (Options.AfterStep)
      REMAT_TRY(Options.AfterStep(I));
    Poison(TheProgram->Steps[I].Freed);
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Device
//===----------------------------------------------------------------------===//

static uint64_t getPhysicalBytes() {
  return uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
}

std::string HostDevice::getDescription() const {
  std::ifstream File("/proc/cpuinfo");
  std::string Name = "processor";
  for (std::string Line; std::getline(File, Line);)
    if (Line.rfind("model name", 0) == 0) {
      size_t Colon = Line.find(": ");
      if (Colon != std::string::npos)
        Name = Line.substr(Colon + 2);
      break;
    }
  return Name + ", " + std::to_string(TheContext.getNumWorkers()) + " threads";
}

Result<void *> HostDevice::allocate(uint64_t Bytes) {
  // The system promises more memory than it has; a request beyond all of it
  // would end the process later.
  constexpr uint64_t Page = 4096;
  uint64_t Physical = getPhysicalBytes();
  void *Address = nullptr;
  if (Bytes <= Physical)
    Address = std::aligned_alloc(Page, (Bytes + Page - 1) / Page * Page);
  if (!Address)
    return Error(ErrorCode::OutOfMemory,
                 "the host refuses " + std::to_string(Bytes) +
                     " bytes; it has " + std::to_string(Physical));
  return Address;
}

void HostDevice::deallocate(void *Address, uint64_t) { std::free(Address); }

Result<MemoryInfo> HostDevice::getMemoryInfo() {
  MemoryInfo Info;
  Info.TotalBytes = getPhysicalBytes();
  Info.ContextBytes = 0;
  Info.FreeBytes = std::min(getAvailableBytes(), Info.TotalBytes);
  return Info;
}

namespace remat::runtime {
Result<std::unique_ptr<Device>> createHostDevice(const DeviceOptions &Options) {
  if (Options.Stream)
    return Error(ErrorCode::InvalidArgument, "the host has no streams");
  REMAT_TRY(loadBlas());
  return std::unique_ptr<Device>(std::make_unique<HostDevice>(Options));
}
} // namespace remat::runtime
