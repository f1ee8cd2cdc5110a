//===- Device.h - what a device can do --------------------------*- C++ -*-===//
//
// The interface between the runtime and a device. To add a device: implement
// Device and Executable in a folder beside host/, and register a factory in
// Devices.cpp. Device libraries are loaded when the factory runs, so that a
// binary starts on a machine without them.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_DEVICE_H
#define REMAT_RUNTIME_DEVICE_H

#include "remat/runtime/Pool.h"
#include "remat/runtime/Program.h"
#include "remat/runtime/Ranks.h"
#include "remat/runtime/Result.h"
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace remat::runtime {

/// Worker threads of a device, at most.
inline constexpr unsigned MaxThreads = 1024;

struct DeviceOptions {
  unsigned Threads = 0; ///< host: worker threads; 0: one a processor
  int Ordinal = 0;      ///< cuda: which GPU
  /// cuda: the stream that all work is queued on, of the GPU's primary context;
  /// not owned, and outlives the device and its sessions. Null: one of its own.
  void *Stream = nullptr;
  /// cuda: a file of algorithms of matrix products; what it does not hold, and
  /// the runtime does not know, is measured and added. "": what the environment
  /// variable REMAT_MATMUL_CACHE says, else none.
  std::string MatmulAlgorithms = {};
  /// Those that run programs side by side with this one. Null: one rank.
  std::shared_ptr<Ranks> TheRanks = nullptr;
};

struct MemoryInfo {
  uint64_t TotalBytes = 0, FreeBytes = 0;
  /// This process's memory on a device of its own, whoever allocated it; what
  /// other processes hold there is not in it. Nothing if the system does not
  /// say, and on the host.
  std::optional<uint64_t> ProcessBytes;
  /// What of it no pool asked for: context, library handles. 0 on the host.
  std::optional<uint64_t> ContextBytes;
};

struct RunOptions {
  /// Fill bytes with 0xff (a NaN in every float type) as soon as they hold
  /// nothing: before the first step Program::UnusedAtStart, after each step its
  /// Freed ranges.
  bool Poison = false;
  /// Run the steps one by one, each in the ranges of its scope (ScopeRanges).
  bool Ranges = false;
  /// Run the steps one by one and call this behind each, with its number, once
  /// its results are there and before anything is poisoned. An error ends the
  /// run.
  std::function<Status(size_t)> AfterStep;
  /// Once it is true, `run` may end with the code Interrupted, but only while
  /// all arguments that survive still hold what they held. May be null.
  const std::atomic<bool> *Interrupt = nullptr;
};

/// A program made ready on one device. It is used by one thread at a time.
class Executable {
public:
  virtual ~Executable() = default;

  /// Runs all steps once over the arena at `Arena` (device memory of
  /// Program::ArenaBytes bytes, aligned to 512, not owned; the same address at
  /// every call makes it cheaper). May return before the work is done; an
  /// error of the work is then given by Device::synchronize. Host errors are
  /// returned here. After an error the arguments that are not donated are
  /// unchanged.
  virtual Status run(void *Arena, const RunOptions &Options) = 0;

  /// Milliseconds of each step of the last run, in order; empty if it was not
  /// measured. Ask for it with setProfiling(true).
  virtual std::vector<double> getStepMilliseconds() const { return {}; }
  virtual void setProfiling(bool) {}

  /// The most host memory beside the arena that kernels of this device took so
  /// far; nothing if no kernels run on the host.
  virtual std::optional<uint64_t> getHostScratchBytes() const {
    return std::nullopt;
  }
};

/// One device. One thread at a time: sessions hold `lock()` while they use it,
/// so that several threads can have sessions on one device, whose work is then
/// done in turn. Whoever else calls the functions below does the same.
class Device : public UpstreamAllocator {
public:
  std::unique_lock<std::recursive_mutex> lock() {
    return std::unique_lock(Turn);
  }

  /// "host" or "cuda": what Program::Device says.
  virtual std::string_view getName() const = 0;
  /// "" or "sm_90".
  virtual std::string_view getArch() const = 0;
  /// In words, e.g. the processor's name.
  virtual std::string getDescription() const = 0;

  /// DeviceOptions::TheRanks, or null.
  virtual Ranks *getRanks() const { return nullptr; }

  /// Whether sums over ranks have a fixed order, so that a deterministic
  /// program leaves the same bits at every run.
  virtual bool isDeterministic() const { return true; }

  // allocate, deallocate: see UpstreamAllocator.

  /// Host memory that `copyInLater` copies from without waiting and at full
  /// speed, aligned to 64 bytes; null where there is no more. Any thread may
  /// call these.
  virtual void *allocateHost(uint64_t Bytes);
  /// Waits for copies that read it.
  virtual void deallocateHost(void *Address);

  /// Copies `Bytes` bytes from host memory `Source` to device memory
  /// `Destination`. Neither is owned; `Source` may be reused on return. Ordered
  /// behind the work that was started before.
  virtual Status copyIn(void *Destination, const void *Source,
                        uint64_t Bytes) = 0;
  /// The same, but `Source` stays as it is until `synchronize`.
  virtual Status copyInLater(void *Destination, const void *Source,
                             uint64_t Bytes) {
    return copyIn(Destination, Source, Bytes);
  }
  /// Copies device memory `Source` to host memory `Destination`, which holds
  /// the bytes on return.
  virtual Status copyOut(void *Destination, const void *Source,
                         uint64_t Bytes) = 0;
  /// Copies device memory, wherever on this device it was allocated; `Source`
  /// may be reused on return.
  virtual Status copyWithin(void *Destination, const void *Source,
                            uint64_t Bytes) = 0;
  /// Sets each of `Bytes` bytes of device memory to `Value`.
  virtual Status fill(void *Destination, uint8_t Value, uint64_t Bytes) = 0;

  /// Makes `P` ready to run here: loads kernels, chooses algorithms, allocates
  /// what lies outside the arena. Keeps `P`. Unavailable if it was compiled for
  /// another device or architecture, or if a library is missing;
  /// InvalidArgument if it is for another number of ranks. The host runs
  /// the programs of every device: it is their oracle.
  virtual Result<std::unique_ptr<Executable>>
  prepare(std::shared_ptr<const Program> P) = 0;

  /// What all work is queued on, for others to order theirs before it: a CUDA
  /// stream. Null where work is done in the calls.
  virtual void *getStream() const { return nullptr; }

  /// Waits for all work; gives its first error since the last call.
  virtual Status synchronize() = 0;

  /// Waits for the work that others of this process started on the device too.
  virtual Status synchronizeOthers() { return {}; }

  virtual Result<MemoryInfo> getMemoryInfo() = 0;

private:
  std::recursive_mutex Turn;
};

/// Makes the device of that name: "host", or "cuda" where this build has it.
/// Unavailable, with what was looked for, when it cannot run here.
Result<std::unique_ptr<Device>> createDevice(std::string_view Name,
                                             const DeviceOptions &Options = {});

/// Names of all devices that this build knows, present or not.
std::vector<std::string> getDeviceNames();

using DeviceFactory =
    std::function<Result<std::unique_ptr<Device>>(const DeviceOptions &)>;

/// Adds a device, or replaces the one of that name. Call before createDevice.
void registerDevice(std::string Name, DeviceFactory Factory);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_DEVICE_H
