//===- CUDADevice.cpp - one GPU -------------------------------------------===//

#include "cuda/CUDAExecutable.h"
#include "cuda/Management.h"
#include "remat/runtime/Device.h"
#include <cstdlib>

using namespace remat::runtime;
using namespace remat::runtime::cuda;

namespace remat::runtime {
Result<std::unique_ptr<Device>> createCUDADevice(const DeviceOptions &Options);
} // namespace remat::runtime

static constexpr char SwitchVariable[] = "NCCL_NVLS_ENABLE";

/// Whether NCCL may let the switches between GPUs add (NVLink SHARP), in an
/// order that changes from call to call. What else it has adds in an order that
/// stays (NVIDIA/nccl, issue 1497).
static bool usesSwitches() {
  const char *Given = std::getenv(SwitchVariable);
  return !Given || std::string_view(Given) != "0";
}

/// NCCL has no other way to be told. What the user says stays.
static void avoidSwitches() { setenv(SwitchVariable, "0", /*overwrite=*/0); }

namespace {

class CUDADevice : public Device {
public:
  explicit CUDADevice(std::shared_ptr<DeviceState> State)
      : State(std::move(State)) {}

  std::string_view getName() const override { return "cuda"; }
  std::string_view getArch() const override { return State->Arch; }
  std::string getDescription() const override { return State->Name; }
  Result<void *> allocate(uint64_t Bytes) override;
  void deallocate(void *Address, uint64_t Bytes) override;
  void *allocateHost(uint64_t Bytes) override;
  void deallocateHost(void *Address) override;
  Status copyIn(void *Destination, const void *Source, uint64_t Bytes) override;
  Status copyInLater(void *Destination, const void *Source,
                     uint64_t Bytes) override;
  Status copyOut(void *Destination, const void *Source,
                 uint64_t Bytes) override;
  Status copyWithin(void *Destination, const void *Source,
                    uint64_t Bytes) override;
  Status fill(void *Destination, uint8_t Value, uint64_t Bytes) override;
  Result<std::unique_ptr<Executable>>
  prepare(std::shared_ptr<const Program> P) override;
  Ranks *getRanks() const override { return State->Options.TheRanks.get(); }
  bool isDeterministic() const override {
    return !getRanks() || !usesSwitches();
  }
  void *getStream() const override { return State->TheStream; }
  Status synchronize() override;
  Status synchronizeOthers() override;
  Result<MemoryInfo> getMemoryInfo() override;

private:
  Status makeCurrent() const {
    return State->D.check(State->D.SetCurrent(State->TheContext),
                          "cannot use the GPU's context");
  }

  std::shared_ptr<DeviceState> State;
};

} // namespace

static Address toAddress(const void *Pointer) {
  return reinterpret_cast<Address>(Pointer);
}

Result<void *> CUDADevice::allocate(uint64_t Bytes) {
  if (Status S = makeCurrent(); !S)
    return S.getError();
  Address At = 0;
  // The driver aligns to 512 bytes at least.
  Code Allocated = State->D.MemAlloc(&At, Bytes ? Bytes : 1);
  if (Allocated != Success) {
    size_t Free = 0, Total = 0;
    State->D.MemGetInfo(&Free, &Total);
    return State->D.makeError(Allocated,
                              "the GPU refuses " + std::to_string(Bytes) +
                                  " bytes, " + std::to_string(Free) + " of " +
                                  std::to_string(Total) + " are free");
  }
  State->AllocatedBytes += Bytes;
  return reinterpret_cast<void *>(At);
}

void CUDADevice::deallocate(void *Address, uint64_t Bytes) {
  if (!makeCurrent())
    return;
  State->D.StreamSynchronize(State->TheStream);
  if (State->D.MemFree(toAddress(Address)) == Success)
    State->AllocatedBytes -= Bytes;
}

/// Page-locked: the GPU reads it by itself.
void *CUDADevice::allocateHost(uint64_t Bytes) {
  void *At = nullptr;
  if (!makeCurrent() ||
      State->D.MemHostAlloc(&At, Bytes, PortableHost) != Success)
    return nullptr;
  return At;
}

void CUDADevice::deallocateHost(void *Address) {
  (void)synchronize();
  State->D.MemFreeHost(Address);
}

Status CUDADevice::copyInLater(void *Destination, const void *Source,
                               uint64_t Bytes) {
  if (Status S = makeCurrent(); !S)
    return S;
  return State->D.check(
      State->D.CopyIn(toAddress(Destination), Source, Bytes, State->TheStream),
      "cannot copy to the GPU");
}

Status CUDADevice::copyIn(void *Destination, const void *Source,
                          uint64_t Bytes) {
  if (Status S = copyInLater(Destination, Source, Bytes); !S)
    return S;
  return synchronize();
}

Status CUDADevice::copyOut(void *Destination, const void *Source,
                           uint64_t Bytes) {
  if (Status S = makeCurrent(); !S)
    return S;
  if (Status S = State->D.check(State->D.CopyOut(Destination, toAddress(Source),
                                                 Bytes, State->TheStream),
                                "cannot copy from the GPU");
      !S)
    return S;
  return synchronize();
}

Status CUDADevice::copyWithin(void *Destination, const void *Source,
                              uint64_t Bytes) {
  if (Status S = makeCurrent(); !S)
    return S;
  if (Status S = State->D.check(State->D.CopyWithin(toAddress(Destination),
                                                    toAddress(Source), Bytes,
                                                    State->TheStream),
                                "cannot copy on the GPU");
      !S)
    return S;
  return synchronize();
}

Status CUDADevice::fill(void *Destination, uint8_t Value, uint64_t Bytes) {
  if (Status S = makeCurrent(); !S)
    return S;
  return State->D.check(
      State->D.Fill(toAddress(Destination), Value, Bytes, State->TheStream),
      "cannot fill the GPU's memory");
}

Result<std::unique_ptr<Executable>>
CUDADevice::prepare(std::shared_ptr<const Program> P) {
  if (Status S = makeCurrent(); !S)
    return S.getError();
  if (Status S = checkNumRanks(*P, getRanks()); !S)
    return S.getError();
  auto Made = std::make_unique<CUDAExecutable>(std::move(P), State);
  if (Status S = Made->prepare(); !S)
    return S.getError();
  return std::unique_ptr<Executable>(std::move(Made));
}

Status CUDADevice::synchronize() {
  if (Status S = makeCurrent(); !S)
    return S;
  return State->synchronize("the GPU's work failed");
}

Status CUDADevice::synchronizeOthers() {
  if (Status S = makeCurrent(); !S)
    return S;
  return State->D.check(State->D.ContextSynchronize(),
                        "work on the GPU has failed");
}

Result<MemoryInfo> CUDADevice::getMemoryInfo() {
  if (Status S = makeCurrent(); !S)
    return S.getError();
  size_t Free = 0, Total = 0;
  if (Status S = State->D.check(State->D.MemGetInfo(&Free, &Total),
                                "cannot ask for the GPU's memory");
      !S)
    return S.getError();
  MemoryInfo Info;
  Info.TotalBytes = Total;
  Info.FreeBytes = Free;
  // What is not free may be another process's: only the management library
  // tells them apart.
  char BusId[32] = {};
  if (State->D.DeviceGetPCIBusId(BusId, sizeof BusId, State->Device) == Success)
    Info.ProcessBytes = getProcessBytes(BusId);
  if (Info.ProcessBytes)
    Info.ContextBytes = *Info.ProcessBytes > State->AllocatedBytes
                            ? *Info.ProcessBytes - State->AllocatedBytes
                            : 0;
  return Info;
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

static Status findDevice(DeviceState &State) {
  const Driver &D = State.D;
  int Count = 0;
  if (Status S = D.check(D.DeviceGetCount(&Count), "no GPU can be used"); !S)
    return Error(ErrorCode::Unavailable, S.getError().getMessage());
  if (State.Options.Ordinal < 0 || State.Options.Ordinal >= Count)
    return Error(ErrorCode::Unavailable,
                 "no GPU " + std::to_string(State.Options.Ordinal) +
                     ", the driver has " + std::to_string(Count));
  if (Status S = D.check(D.DeviceGet(&State.Device, State.Options.Ordinal),
                         "cannot use the GPU");
      !S)
    return S;
  char Name[256] = {};
  int Major = 0, Minor = 0;
  D.DeviceGetName(Name, sizeof Name - 1, State.Device);
  D.DeviceGetAttribute(&Major, ComputeMajor, State.Device);
  D.DeviceGetAttribute(&Minor, ComputeMinor, State.Device);
  State.Name = Name;
  State.Arch = "sm_" + std::to_string(Major) + std::to_string(Minor);
  return {};
}

/// The stream that was given, if it is one of this context that a graph can be
/// captured on, or a new one.
static Status takeStream(DeviceState &State) {
  const Driver &D = State.D;
  void *Given = State.Options.Stream;
  if (!Given)
    return D.check(D.StreamCreate(&State.TheStream, NonBlocking),
                   "cannot make a stream");
  // The driver's handles of the default streams.
  if (auto Number = reinterpret_cast<uintptr_t>(Given); Number <= 2)
    return Error(ErrorCode::InvalidArgument,
                 "the stream " + std::to_string(Number) +
                     " is a default stream of CUDA, on which no step can be "
                     "captured; cudaStreamCreate makes one");
  State.TheStream = static_cast<Stream>(Given);
  Context Of = nullptr;
  if (Status S = D.check(D.StreamGetContext(State.TheStream, &Of),
                         "cannot use the stream that was given");
      !S)
    return S;
  if (Of != State.TheContext)
    return Error(ErrorCode::InvalidArgument,
                 "the stream that was given is of another context than the "
                 "primary one of GPU " +
                     std::to_string(State.Options.Ordinal));
  return {};
}

Result<std::unique_ptr<Device>>
remat::runtime::createCUDADevice(const DeviceOptions &Options) {
  Result<Driver> D = Driver::load();
  if (!D)
    return D.getError();
  auto State = std::make_shared<DeviceState>();
  State->D = *D;
  State->Options = Options;
  if (Options.TheRanks)
    avoidSwitches();
  if (Status S = findDevice(*State); !S)
    return S.getError();
  if (Status S = D->check(D->PrimaryRetain(&State->TheContext, State->Device),
                          "cannot make a context on the GPU");
      !S) {
    State->TheContext = nullptr;
    return S.getError();
  }
  if (Status S = D->check(D->SetCurrent(State->TheContext),
                          "cannot use the GPU's context");
      !S)
    return S.getError();
  if (Status S = takeStream(*State); !S)
    return S.getError();
  return std::unique_ptr<Device>(
      std::make_unique<CUDADevice>(std::move(State)));
}
