//===- Ahead.h - Results made before they are needed ----------------------===//
#ifndef REMAT_LIB_SOLVER_AHEAD_H
#define REMAT_LIB_SOLVER_AHEAD_H

#include "Model/Watch.h"

#include <deque>
#include <optional>
#include <type_traits>

namespace remat::solver {

/// When a result is asked for: of two tasks that wait, the one with the earlier
/// of these goes first.
enum class Asked : uint8_t { Soon, Later, Last };

/// A result that another thread may make before it is asked for. Whether it
/// does changes only when the result is there: what makes it reads nothing that
/// is written meanwhile.
template <typename T> class Ahead {
public:
  template <typename MakeFn>
  Ahead(const Watch &D, const MakeFn &Make, Asked When = Asked::Soon)
      : Of(
            D.workers(),
            [this, &D, Make](const Workers::Task &Self) {
              Result.emplace(Make(Watch(D, Self.isDropped())));
            },
            int(When)) {}

  /// To be called once.
  T get() {
    Of.finish();
    return std::move(*Result);
  }
  void drop() { Of.drop(); }

private:
  std::optional<T> Result;
  /// The last: it may begin at once.
  Workers::Task Of;
};

/// How `inOrder` runs ahead of what it takes. What waits and is not needed any
/// more costs nothing but what `Begin` did for it.
enum class Lead : uint8_t {
  /// All results are used, but for the last few at the most.
  Certain,
  /// Most are not used: no more tasks are made than there are threads.
  Unsure,
  /// Tasks are large, and what `Take` does goes first.
  Aside
};

/// Calls `Take(I, R)` for 0 .. Count - 1 in this order, until one returns
/// false. R is what the task that `Begin(I)` returned makes under a watch.
/// Several tasks may run at the same time: what one reads and `Take` or `Begin`
/// writes must not change its result. These two are called by this thread
/// alone.
template <typename BeginFn, typename TakeFn>
void inOrderFrom(const Watch &D, size_t Count, Lead How, BeginFn Begin,
                 TakeFn Take) {
  using Make = std::invoke_result_t<BeginFn &, size_t>;
  using Result = std::invoke_result_t<Make &, const Watch &>;
  struct Results : std::deque<Ahead<Result>> {
    /// All of them at once, before the first is waited for.
    ~Results() {
      for (Ahead<Result> &X : *this)
        X.drop();
    }
  } Begun;
  size_t Next = 0;
  for (size_t I = 0; I < Count; ++I) {
    size_t Most = D.workers().count();
    if (How != Lead::Unsure && Most > 1)
      Most *= 2;
    for (; Next < Count && Begun.size() < Most; ++Next)
      Begun.emplace_back(D, Begin(Next),
                         How == Lead::Aside ? Asked::Later : Asked::Soon);
    if (!Take(I, Begun.front().get()))
      return;
    Begun.pop_front();
  }
}

/// The same where a task is `Make(I, D)`.
template <typename MakeFn, typename TakeFn>
void inOrder(const Watch &D, size_t Count, Lead How, MakeFn Make, TakeFn Take) {
  auto Begin = [&Make](size_t I) {
    return [&Make, I](const Watch &Here) { return Make(I, Here); };
  };
  inOrderFrom(D, Count, How, Begin, Take);
}

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_AHEAD_H
