//===- Prefetcher.cpp - batches that threads make ready -------------------===//

#include "remat/runtime/Data/Prefetcher.h"
#include "lib/Guard.h"
#include "remat/Support/Threads.h"
#include <algorithm>
#include <new>
#include <system_error>

using namespace remat;
using namespace remat::runtime;

Prefetcher::Prefetcher(const BatchSource &Source, unsigned Threads,
                       unsigned Depth)
    : Source(Source), NumThreads(hasLimitedAddresses() ? 0 : Threads),
      Slots(std::max(Depth, 2u)) {}

Status Prefetcher::reserve(const std::vector<uint64_t> &Bytes,
                           std::pmr::memory_resource &Memory) {
  return guard([&]() -> Status {
    for (Slot &S : Slots) {
      S.Data.clear();
      S.Data.reserve(Bytes.size());
      for (size_t I = 0; I < Bytes.size(); ++I)
        S.Data.push_back({Source.getArguments()[I],
                          std::pmr::vector<uint8_t>(Bytes[I], &Memory)});
    }
    return {};
  });
}

Prefetcher::~Prefetcher() { stop(); }

void Prefetcher::stop() {
  {
    std::lock_guard Held(Lock);
    Stopping = true;
  }
  Asked.notify_all();
  for (std::thread &T : Threads)
    T.join();
  Threads.clear();
}

/// Forgets all batches and begins at a step.
void Prefetcher::startAt(uint64_t Step) {
  stop();
  for (Slot &S : Slots)
    S.Ready = false;
  Started = true;
  Stopping = false;
  Current = Next = Step;
  try {
    Threads.reserve(NumThreads);
    while (Threads.size() < NumThreads)
      Threads.emplace_back([this] { work(); });
  } catch (const std::system_error &) { // NOLINT(bugprone-empty-catch)
    // With fewer threads, or none, a step waits longer.
  } catch (const std::bad_alloc &) { // NOLINT(bugprone-empty-catch)
  }
}

void Prefetcher::work() {
  std::unique_lock Held(Lock);
  while (true) {
    Asked.wait(Held,
               [this] { return Stopping || Next - Current < Slots.size(); });
    if (Stopping)
      return;
    uint64_t Step = Next++;
    Slot &To = getSlot(Step);
    Held.unlock();
    To.Made = Source.get(Step, To.Data);
    Held.lock();
    To.Ready = true;
    Done.notify_one();
  }
}

Result<const Batch *> Prefetcher::get(uint64_t Step) {
  bool Follows = Started && (Step == Current || Step == Current + 1);
  if (!Follows)
    startAt(Step);
  Slot &Wanted = getSlot(Step);
  if (Threads.empty()) {
    bool IsThere = Follows && Step == Current;
    Current = Step;
    if (!IsThere)
      Wanted.Made = Source.get(Step, Wanted.Data);
  } else {
    std::unique_lock Held(Lock);
    if (Step != Current) {
      getSlot(Current).Ready = false;
      Current = Step;
      Asked.notify_all();
    }
    Done.wait(Held, [&] { return Wanted.Ready; });
  }
  if (!Wanted.Made)
    return Wanted.Made.getError();
  return &std::as_const(Wanted.Data);
}
