//===- Prefetcher.h - batches that threads make ready -----------*- C++ -*-===//

#ifndef REMAT_RUNTIME_DATA_PREFETCHER_H
#define REMAT_RUNTIME_DATA_PREFETCHER_H

#include "remat/runtime/Data/BatchSource.h"
#include <condition_variable>
#include <mutex>
#include <thread>

namespace remat::runtime {

/// Threads make the batches of the next steps while a step runs. What is given
/// does not depend on how many threads there are. An error of a batch is given
/// at the step that needs it, and at no other.
class Prefetcher {
public:
  /// `Source` is not owned and outlives it. At most `Depth` batches, two at
  /// least, are in memory. Without threads, or where the system gives none, a
  /// batch is made when it is asked for.
  Prefetcher(const BatchSource &Source, unsigned Threads, unsigned Depth);
  ~Prefetcher();
  Prefetcher(const Prefetcher &) = delete;
  Prefetcher &operator=(const Prefetcher &) = delete;

  /// Takes what all batches need from `Memory`, which is not owned and outlives
  /// it: so many bytes for each argument of the source. Comes before `get`.
  Status reserve(const std::vector<uint64_t> &Bytes,
                 std::pmr::memory_resource &Memory);

  /// The batch of a step, valid until the next call. The batches behind it are
  /// made ready in order; another step may be asked for at any time.
  Result<const Batch *> get(uint64_t Step);

private:
  struct Slot {
    bool Ready = false;
    Status Made;
    Batch Data;
  };

  Slot &getSlot(uint64_t Step) { return Slots[Step % Slots.size()]; }
  void startAt(uint64_t Step);
  void stop();
  void work();

  const BatchSource &Source;
  unsigned NumThreads;
  std::vector<Slot>
      Slots; ///< the batch of step s is in slot s mod their number
  std::vector<std::thread> Threads;

  std::mutex Lock; ///< of what follows, and of Slot::Ready
  std::condition_variable Asked, Done;
  bool Started = false, Stopping = false;
  uint64_t Current = 0; ///< the step asked for last; its slot is the caller's
  uint64_t Next = 0;    ///< the first step that no thread has begun
};

} // namespace remat::runtime

#endif // REMAT_RUNTIME_DATA_PREFETCHER_H
