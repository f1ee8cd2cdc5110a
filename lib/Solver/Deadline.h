//===- Deadline.h - When to give up ---------------------------------------===//
#ifndef REMAT_LIB_SOLVER_DEADLINE_H
#define REMAT_LIB_SOLVER_DEADLINE_H

#include <atomic>
#include <chrono>

namespace remat::solver {

/// The time limit in seconds, from the making of this on (0 is none), and
/// interrupts. The clock decides nothing unless there is a limit.
class Deadline {
public:
  Deadline(double TimeLimit, const std::atomic<bool> *Interrupt)
      : TimeLimit(TimeLimit), Interrupt(Interrupt) {}
  double seconds() const {
    std::chrono::duration<double> Spent =
        std::chrono::steady_clock::now() - Start;
    return Spent.count();
  }
  bool passed() const {
    return interrupted() || (TimeLimit > 0 && seconds() > TimeLimit);
  }
  /// For work that is done whatever the time limit.
  bool interrupted() const {
    return Interrupt && Interrupt->load(std::memory_order_relaxed);
  }

private:
  double TimeLimit;
  const std::atomic<bool> *Interrupt;
  std::chrono::steady_clock::time_point Start =
      std::chrono::steady_clock::now();
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_DEADLINE_H
