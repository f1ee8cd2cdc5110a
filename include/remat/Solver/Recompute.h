//===- Recompute.h - Plans that fit a budget, with proof ------------------===//
#ifndef REMAT_SOLVER_RECOMPUTE_H
#define REMAT_SOLVER_RECOMPUTE_H

#include "remat/Solver/Problem.h"

#include <atomic>
#include <functional>

namespace remat::solver {

enum class Strategy : uint8_t {
  None,    ///< the base order, nothing recomputed
  Sqrt,    ///< segments of equal activation bytes (Chen et al., 2016)
  Greedy,  ///< drop the value with the least time per byte until it fits
  MinCut,  ///< one min-cut between forward and backward, as torch.compile
  Optimal, ///< exact: states up to 40 ops, integer programs up to 200
  Search,  ///< the default: seeds, local search, orders, bounds
};

std::string_view nameOf(Strategy S);
std::optional<Strategy> strategyOf(std::string_view Name);

struct Progress {
  double Seconds = 0;
  /// Time of the best feasible plan so far; negative while there is none.
  double Incumbent = -1;
  /// Proven lower bound on the time of any plan within the budget.
  double Bound = 0;
};

struct SolveOptions {
  Strategy Method = Strategy::Search;
  /// Bytes for everything: residents, values, workspaces.
  int64_t Budget = 0;
  /// How much work `search` does: a count, not a clock. 1 is the default
  /// effort, each step doubles the local search. 0 only looks at the seeds.
  int32_t Effort = 1;
  /// Seconds; 0 is no limit. With a limit the plan may depend on the machine.
  double TimeLimit = 0;
  uint64_t Seed = 0;
  /// Threads that `search` works on, the caller among them; 0: one a processor,
  /// 16 at most. Where addresses are limited (`ulimit -v`) there is one.
  /// The result is the same whatever their number, but for what a time limit or
  /// an interrupt cuts short.
  uint32_t Threads = 0;
  /// Also look for the smallest feasible budget (costs about one more solve).
  bool FindMinBudget = false;
  /// Also find the bounds where no search needs them. Without, the certificate
  /// may say less, in particular of a budget that no plan meets.
  bool Prove = true;
  /// When it becomes true the incumbent is returned.
  const std::atomic<bool> *Interrupt = nullptr;
  /// Called by one thread at a time, not always by the caller's.
  std::function<void(const Progress &)> OnProgress;
};

/// Over which plans a bound is proven.
enum class Space : uint8_t {
  /// Every plan that `verify` accepts.
  AnyOrder,
  /// Plans in stages: the first instances stand in the base order, and between
  /// two of them, and at the end, every earlier op may run once more, in the
  /// base order.
  BaseOrder,
};

struct Certificate {
  double Time = 0;
  /// Every op once, fastest choices.
  double BaseTime = 0;
  /// Time / BaseTime - 1.
  double Overhead = 0;
  int64_t Peak = 0;
  /// Proven lower bound on the time, and where it holds.
  double LowerBound = 0;
  Space ProvenOver = Space::AnyOrder;
  /// (Time - LowerBound) / BaseTime.
  double Gap = 0;
  /// The smallest budget for which a plan is known, and the proven least one.
  /// `solve` at exactly `MinBudget` with the same effort and seed succeeds;
  /// one byte below it refuses. Found only with `FindMinBudget`, else the peak.
  int64_t MinBudget = 0;
  int64_t MinBudgetBound = 0;
  double Seconds = 0;
  uint64_t Seed = 0;
};

/// Why no plan was found.
struct Refusal {
  std::string Message;
  /// The op that needs most, and the values that must count there.
  OpId At = None;
  std::vector<ValueId> Values;
  /// Bytes needed at `At`.
  int64_t Needed = 0;
  /// True when no plan at all can fit; false when none was found.
  bool Proven = false;
};

struct SolveResult {
  bool Feasible = false;
  /// The best plan. When infeasible: the plan with the lowest peak found.
  Plan Best;
  Certificate Proof;
  Refusal Reason;
  /// What a strategy could not do, and what would help: a library that is
  /// missing, a limit that was reached. Mostly empty.
  std::string Notice;
};

/// Finds a plan within the budget. A malformed problem gives an infeasible
/// result whose reason is the message of `check`.
SolveResult solve(const Problem &P, const SolveOptions &Options);

/// What no plan can beat within a budget.
struct PlanBound {
  /// Time beyond that of every op once, with its fastest choice.
  double Extra = 0;
  /// No plan has a smaller budget; looked for only as far as the budget.
  int64_t LeastBudget = 0;
};

/// Bounds for every plan of a problem that `check`s, in every order. With
/// `Exact` they are as good as those of `search`, else those of one minimum
/// cut each. At the runs of the ops that `Unseen` lists nothing is assumed of
/// memory: the bounds hold too for programs in which such ops run inside the
/// kernels of their neighbours, where their operands need no bytes, as long as
/// what stands at the runs of all others is what the problem says or more.
PlanBound boundOf(const Problem &P, int64_t Budget, bool Exact,
                  const std::vector<OpId> &Unseen = {}, uint32_t Threads = 0);

/// The least bytes that any plan needs: at each op its inputs, outputs and
/// leanest workspace stand together. Proven for every order.
struct Floor {
  int64_t Bytes = 0;
  OpId At = None;
  std::vector<ValueId> Values;
};
Floor floorOf(const Problem &P);

} // namespace remat::solver

#endif // REMAT_SOLVER_RECOMPUTE_H
