//===- Context.h - threads and scratch of the host's kernels ----*- C++ -*-===//

#ifndef REMAT_RUNTIME_HOST_CONTEXT_H
#define REMAT_RUNTIME_HOST_CONTEXT_H

#include "remat/runtime/Result.h"
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace remat::runtime {

class Ranks;

/// Runs independent tasks on a fixed number of threads. A kernel cuts its work
/// into tasks by its shapes alone, never by the number of threads, so that its
/// values do not depend on that number.
class Context {
public:
  /// `Threads` workers, the caller among them; 0: one a processor. `TheRanks`
  /// is not owned.
  explicit Context(unsigned Threads, Ranks *TheRanks = nullptr);
  ~Context();
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;

  /// Those that this process works with; null: it is alone.
  Ranks *getRanks() const { return TheRanks; }

  /// Whether kernels that run other kernels fill bytes that hold nothing, as
  /// RunOptions::Poison has it.
  bool poisons() const { return Poisons; }
  void setPoisons(bool On) { Poisons = On; }

  using Task = std::function<void(int64_t Index, unsigned Worker)>;

  /// Calls `F` for 0 .. Count - 1 and waits for all. Not to be nested. When a
  /// task throws std::bad_alloc the rest is left out and it is thrown again
  /// here.
  void parallelFor(int64_t Count, const Task &F);

  /// Calls `F(First, Last)` for runs of at most `Grain` elements of [0, Count).
  template <typename Function>
  void forBlocks(int64_t Count, int64_t Grain, Function F) {
    parallelFor((Count + Grain - 1) / Grain, [&](int64_t Index, unsigned) {
      F(Index * Grain, std::min(Count, (Index + 1) * Grain));
    });
  }

  /// Makes sure that each worker has `Bytes` bytes of scratch; OutOfMemory if
  /// the system has none.
  Status reserveScratch(uint64_t Bytes);
  /// That worker's scratch, aligned to 64 bytes.
  template <typename T> T *getScratch(unsigned Worker) {
    return reinterpret_cast<T *>(Scratch[Worker].Data);
  }
  unsigned getNumWorkers() const { return NumWorkers; }

  /// The most bytes of scratch so far: what the workers have, and the arrays of
  /// the kernel that ran.
  uint64_t getPeakScratchBytes() const { return PeakBytes; }

private:
  template <typename T> friend class ScratchArray;
  void countScratch(int64_t Bytes) {
    CurrentBytes += uint64_t(Bytes);
    PeakBytes = std::max(PeakBytes, CurrentBytes);
  }
  void work(unsigned Worker);
  void runTasks(unsigned Worker);

  struct Buffer {
    char *Data = nullptr;
    uint64_t Bytes = 0;
  };

  unsigned NumWorkers;
  Ranks *TheRanks;
  std::vector<Buffer> Scratch;
  std::vector<std::thread> Workers;
  std::mutex Mutex;
  std::condition_variable Begin, End;
  uint64_t Generation = 0;
  unsigned Busy = 0;
  bool Stop = false;
  bool Poisons = false;
  const Task *Current = nullptr;
  int64_t Count = 0;
  std::atomic<int64_t> Next{0};
  std::atomic<bool> OutOfMemory{false};
  uint64_t CurrentBytes = 0, PeakBytes = 0; ///< of scratch
};

/// An array that a kernel needs for one call beside the arena, counted as
/// scratch. Made and destroyed outside of tasks.
template <typename T> class ScratchArray {
public:
  ScratchArray(Context &C, int64_t Size) : C(C), Elements(Size) {
    C.countScratch(Size * int64_t(sizeof(T)));
  }
  ~ScratchArray() { C.countScratch(-int64_t(Elements.size() * sizeof(T))); }
  ScratchArray(const ScratchArray &) = delete;
  ScratchArray &operator=(const ScratchArray &) = delete;

  T *data() { return Elements.data(); }
  T &operator[](int64_t I) { return Elements[I]; }
  auto begin() { return Elements.begin(); }
  auto end() { return Elements.end(); }

private:
  Context &C;
  std::vector<T> Elements;
};

} // namespace remat::runtime

#endif // REMAT_RUNTIME_HOST_CONTEXT_H
