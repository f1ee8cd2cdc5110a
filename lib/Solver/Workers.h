//===- Workers.h - Independent parts of a call on several threads ---------===//
#ifndef REMAT_LIB_SOLVER_WORKERS_H
#define REMAT_LIB_SOLVER_WORKERS_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace remat::solver {

/// A few threads that run tasks before their results are asked for. Whoever
/// asks for the result of a task that none has begun runs it itself: so with
/// one thread every task runs where its result is used, and one whose result
/// nobody uses never runs.
///
/// A task may make tasks. A thread that waits for one runs others meanwhile:
/// such as are no less urgent and lie no less deep, so that it is not kept for
/// long.
class Workers {
public:
  class Task;

  /// So many threads, the caller among them; 0: one a processor, 16 at most.
  /// They start with the first task. Where the system gives fewer, there are
  /// fewer, and one where addresses are limited (`ulimit -v`).
  explicit Workers(unsigned Threads);
  ~Workers();
  Workers(const Workers &) = delete;
  Workers &operator=(const Workers &) = delete;

  unsigned count() const { return Count.load(std::memory_order_relaxed); }

private:
  std::atomic<unsigned> Count;
  /// Guards all below, and what tasks say of themselves.
  std::mutex Mutex;
  /// For threads without work: a task has come, or all is over. For those that
  /// wait for a task: one has come or ended.
  std::condition_variable Come, Changed;
  std::vector<Task *> Waiting;
  std::vector<std::thread> Threads;
  bool Started = false, Over = false;
  uint64_t Made = 0;

  void startThreads();
  void work();
  Task *takeBest(int MostLevel, int LeastDepth);
  void execute(Task &X, std::unique_lock<std::mutex> &Lock);
};

/// One piece of work, made and ended by the same thread, or by the one that the
/// owner was handed to.
class Workers::Task {
public:
  /// Those with less `Later` go first; one of several that make no tasks for
  /// each other, the first.
  Task(Workers &Of, std::function<void(const Task &)> Run, int Later);
  /// Drops it, and waits for its end if it runs. What it threw is lost.
  ~Task();
  Task(const Task &) = delete;
  Task &operator=(const Task &) = delete;

  /// Returns when it has run; throws what it threw.
  void finish();
  /// Takes the task out if nobody has begun it, else tells it that it need not
  /// go on.
  void drop();
  /// Becomes true when nobody needs the result.
  const std::atomic<bool> &isDropped() const { return Dropped; }

private:
  friend class Workers;
  enum class State : uint8_t { Waiting, Running, Ended };

  Workers &Of;
  std::function<void(const Task &)> Run;
  /// Less is more urgent; then what lies deeper, then what came first.
  int Level, Depth;
  uint64_t Number = 0;
  State Is = State::Waiting;
  std::exception_ptr Thrown;
  std::atomic<bool> Dropped{false};
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_WORKERS_H
