//===- Workers.cpp - Independent parts of a call on several threads -------===//
#include "Workers.h"

#include <algorithm>
#include <climits>
#include <new>
#include <sys/resource.h>
#include <system_error>
#include <tuple>
#include <utility>

using namespace remat::solver;

/// What this thread is at: tasks that it makes are parts of it.
static thread_local const Workers::Task *Current = nullptr;

/// A thread reserves far more addresses than it uses, for its stack and its
/// heap: where they are limited, memory would seem exhausted. The planner is a
/// library that stands alone, so that it asks for itself (Support/Threads.h).
static bool hasLimitedAddresses() {
  rlimit Limit;
  return getrlimit(RLIMIT_AS, &Limit) == 0 && Limit.rlim_cur != RLIM_INFINITY;
}

/// More processors than these find nothing to do.
static constexpr unsigned MostThreads = 16;

static unsigned countThreads(unsigned Wanted) {
  if (hasLimitedAddresses())
    return 1;
  if (Wanted)
    return Wanted;
  return std::clamp(std::thread::hardware_concurrency(), 1u, MostThreads);
}

Workers::Workers(unsigned Threads) : Count(countThreads(Threads)) {}

Workers::~Workers() {
  {
    std::lock_guard<std::mutex> Lock(Mutex);
    Over = true;
  }
  Come.notify_all();
  for (std::thread &X : Threads)
    X.join();
}

/// With the mutex held. Fewer threads take longer, that is all.
void Workers::startThreads() {
  Started = true;
  try {
    Threads.reserve(count() - 1);
    while (Threads.size() + 1 < count())
      Threads.emplace_back([this] { work(); });
  } catch (const std::system_error &) { // NOLINT(bugprone-empty-catch)
  } catch (const std::bad_alloc &) {    // NOLINT(bugprone-empty-catch)
  }
  Count = unsigned(Threads.size()) + 1;
}

void Workers::work() {
  std::unique_lock<std::mutex> Lock(Mutex);
  while (true) {
    if (Task *X = takeBest(INT_MAX, 0))
      execute(*X, Lock);
    else if (Over)
      return;
    else
      Come.wait(Lock);
  }
}

/// The most urgent of these tasks that nobody has begun; null if none.
Workers::Task *Workers::takeBest(int MostLevel, int LeastDepth) {
  auto Urgency = [](const Task *X) {
    return std::tuple(X->Level, -X->Depth, X->Number);
  };
  auto Best = Waiting.end();
  for (auto X = Waiting.begin(); X != Waiting.end(); ++X)
    if ((*X)->Level <= MostLevel && (*X)->Depth >= LeastDepth &&
        (Best == Waiting.end() || Urgency(*X) < Urgency(*Best)))
      Best = X;
  if (Best == Waiting.end())
    return nullptr;
  Task *X = *Best;
  Waiting.erase(Best);
  return X;
}

/// With the mutex held before and after. The task is not touched after its end:
/// its owner may be gone.
void Workers::execute(Task &X, std::unique_lock<std::mutex> &Lock) {
  X.Is = Task::State::Running;
  Lock.unlock();
  const Task *Before = Current;
  Current = &X;
  std::exception_ptr Thrown;
  try {
    X.Run(X);
  } catch (...) {
    Thrown = std::current_exception();
  }
  Current = Before;
  Lock.lock();
  X.Thrown = Thrown;
  X.Is = Task::State::Ended;
  Changed.notify_all();
}

Workers::Task::Task(Workers &Of, std::function<void(const Task &)> Run,
                    int Later)
    : Of(Of), Run(std::move(Run)),
      Level((Current ? Current->Level : 0) + Later),
      Depth(Current ? Current->Depth + 1 : 0) {
  if (Of.count() == 1)
    return;
  std::lock_guard<std::mutex> Lock(Of.Mutex);
  if (!Of.Started)
    Of.startThreads();
  Number = Of.Made++;
  Of.Waiting.push_back(this);
  Of.Come.notify_one();
  Of.Changed.notify_all();
}

void Workers::Task::drop() {
  std::lock_guard<std::mutex> Lock(Of.Mutex);
  if (Is == State::Waiting)
    std::erase(Of.Waiting, this);
  Dropped.store(true, std::memory_order_relaxed);
}

Workers::Task::~Task() {
  drop();
  std::unique_lock<std::mutex> Lock(Of.Mutex);
  while (Is == State::Running)
    Of.Changed.wait(Lock);
}

void Workers::Task::finish() {
  std::unique_lock<std::mutex> Lock(Of.Mutex);
  while (Is != State::Ended)
    if (Is == State::Waiting) {
      std::erase(Of.Waiting, this);
      Of.execute(*this, Lock);
    } else if (Task *X = Of.takeBest(Level, Depth)) {
      Of.execute(*X, Lock);
    } else {
      Of.Changed.wait(Lock);
    }
  if (Thrown)
    std::rethrow_exception(std::exchange(Thrown, nullptr));
}
