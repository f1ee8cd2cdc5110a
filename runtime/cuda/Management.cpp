//===- Management.cpp - what a process holds on a GPU ---------------------===//
//
// Types and numbers are those of NVML, whose binary interface is stable; no
// header of it is needed.
//
//===----------------------------------------------------------------------===//

#include "cuda/Management.h"
#include "cuda/Library.h"
#include <unistd.h>
#include <vector>

using namespace remat::runtime;

namespace {

using Code = int; ///< nvmlReturn_t
constexpr Code Success = 0, TooSmall = 7;
struct OpaqueDevice;
using DeviceHandle = OpaqueDevice *;

/// nvmlProcessInfo_t of the functions of version 3.
struct ProcessInfo {
  unsigned Process;
  unsigned long long Bytes;
  unsigned Instance, ComputeInstance;
};
constexpr unsigned long long NotCounted = ~0ull;

struct Functions {
  Code (*Init)() = nullptr;
  Code (*Shutdown)() = nullptr;
  Code (*GetDevice)(const char *, DeviceHandle *) = nullptr;
  Code (*GetProcesses)(DeviceHandle, unsigned *, ProcessInfo *) = nullptr;

  static std::optional<Functions> load() {
    Result<cuda::Library> Loaded = cuda::Library::open("libnvidia-ml.so.1");
    Functions F;
    if (!Loaded || !cuda::bind(*Loaded, "nvmlInit_v2", F.Init) ||
        !cuda::bind(*Loaded, "nvmlShutdown", F.Shutdown) ||
        !cuda::bind(*Loaded, "nvmlDeviceGetHandleByPciBusId_v2", F.GetDevice) ||
        !cuda::bind(*Loaded, "nvmlDeviceGetComputeRunningProcesses_v3",
                    F.GetProcesses))
      return std::nullopt;
    return F;
  }
};

} // namespace

/// All processes of a device; empty on failure.
static std::vector<ProcessInfo> listProcesses(const Functions &F,
                                              DeviceHandle Device) {
  std::vector<ProcessInfo> List(16);
  // Others may start between two calls.
  for (int Attempt = 0; Attempt < 8; ++Attempt) {
    auto Count = static_cast<unsigned>(List.size());
    Code Done = F.GetProcesses(Device, &Count, List.data());
    if (Done == Success) {
      List.resize(Count);
      return List;
    }
    if (Done != TooSmall)
      break;
    List.resize(size_t(Count) + 16);
  }
  return {};
}

std::optional<uint64_t> cuda::getProcessBytes(const char *BusId) {
  static const std::optional<Functions> F = Functions::load();
  if (!F || F->Init() != Success)
    return std::nullopt;
  std::optional<uint64_t> Bytes;
  DeviceHandle Device = nullptr;
  if (F->GetDevice(BusId, &Device) == Success)
    for (const ProcessInfo &P : listProcesses(*F, Device))
      if (P.Process == static_cast<unsigned>(::getpid()) &&
          P.Bytes != NotCounted)
        Bytes = Bytes.value_or(0) + P.Bytes;
  F->Shutdown();
  return Bytes;
}
