//===- Context.cpp - threads and scratch of the host's kernels ------------===//

#include "host/Context.h"
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>

using namespace remat::runtime;

Context::Context(unsigned Threads, Ranks *TheRanks) : TheRanks(TheRanks) {
  NumWorkers = Threads ? Threads : std::thread::hardware_concurrency();
  NumWorkers = std::clamp(NumWorkers, 1u, 256u);
  Scratch.resize(NumWorkers);
  Workers.reserve(NumWorkers);
  try {
    for (unsigned Worker = 1; Worker < NumWorkers; ++Worker)
      Workers.emplace_back([this, Worker] { work(Worker); });
  } catch (const std::exception &) {
    // There are no more threads or no memory for one: those that started do the
    // work.
    NumWorkers = static_cast<unsigned>(Workers.size()) + 1;
  }
}

Context::~Context() {
  {
    std::lock_guard<std::mutex> Lock(Mutex);
    Stop = true;
  }
  Begin.notify_all();
  for (std::thread &T : Workers)
    T.join();
  for (Buffer &B : Scratch)
    std::free(B.Data);
}

void Context::runTasks(unsigned Worker) {
  try {
    for (int64_t Index; !OutOfMemory && (Index = Next.fetch_add(1)) < Count;)
      (*Current)(Index, Worker);
  } catch (const std::bad_alloc &) {
    OutOfMemory = true;
  }
}

void Context::work(unsigned Worker) {
  uint64_t Seen = 0;
  std::unique_lock<std::mutex> Lock(Mutex);
  while (true) {
    Begin.wait(Lock, [&] { return Stop || Generation != Seen; });
    if (Stop)
      return;
    Seen = Generation;
    Lock.unlock();
    runTasks(Worker);
    Lock.lock();
    if (--Busy == 0)
      End.notify_one();
  }
}

void Context::parallelFor(int64_t NumTasks, const Task &F) {
  if (NumTasks <= 1 || NumWorkers == 1) {
    for (int64_t Index = 0; Index < NumTasks; ++Index)
      F(Index, 0);
    return;
  }
  {
    std::lock_guard<std::mutex> Lock(Mutex);
    Current = &F;
    Count = NumTasks;
    Next = 0;
    Busy = NumWorkers - 1;
    ++Generation;
  }
  Begin.notify_all();
  runTasks(0);
  std::unique_lock<std::mutex> Lock(Mutex);
  End.wait(Lock, [&] { return Busy == 0; });
  if (OutOfMemory.exchange(false))
    throw std::bad_alloc();
}

Status Context::reserveScratch(uint64_t Bytes) {
  Bytes = (Bytes + 63) / 64 * 64;
  for (Buffer &B : Scratch) {
    if (B.Bytes >= Bytes)
      continue;
    std::free(B.Data);
    countScratch(-int64_t(B.Bytes));
    B = Buffer();
    B.Data = static_cast<char *>(std::aligned_alloc(64, Bytes));
    if (!B.Data)
      return Error(ErrorCode::OutOfMemory,
                   "no " + std::to_string(Bytes) + " bytes of host scratch");
    B.Bytes = Bytes;
    countScratch(int64_t(Bytes));
  }
  return {};
}
