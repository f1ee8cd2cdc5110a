//===- Problem.h - The recomputation problem, its plans, their checks -----===//
//
// A problem is a straight-line training step: ops in a valid order, values with
// sizes. A plan is a sequence of op instances. Nothing here knows of MLIR.
//
//===----------------------------------------------------------------------===//
#ifndef REMAT_SOLVER_PROBLEM_H
#define REMAT_SOLVER_PROBLEM_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace remat::solver {

using OpId = int32_t;
using ValueId = int32_t;
inline constexpr int32_t None = -1;

/// What the user asks of a value. `Must`: computed once, never again.
/// `Never`: no instance made before the turn (see `turnOf`) is read after it.
/// `Prefer`: its op counts twice when the planner looks for what to recompute.
enum class Keep : uint8_t { Free, Must, Never, Prefer };

struct Value {
  std::string Name;
  int64_t Bytes = 0;
  /// The op that makes it; `None` for a resident value, which always counts.
  OpId Producer = None;
  /// An input of the producer whose storage this value takes over when the
  /// producer is the last reader of that storage.
  ValueId Reuses = None;
  /// An input of the producer whose storage this value shares. An alias has
  /// no bytes of its own; the storage lives while any alias of it lives.
  ValueId Alias = None;
  Keep Policy = Keep::Free;
};

/// One way to run an op: a kernel that trades workspace for time.
struct Choice {
  std::string Name;
  double Time = 0;
  int64_t Workspace = 0;
};

struct Op {
  std::string Name;
  /// Any unit, the same for every op. Ignored when there are `Choices`.
  double Time = 0;
  /// Bytes needed while the op runs. Ignored when there are `Choices`.
  int64_t Workspace = 0;
  std::vector<ValueId> Inputs;
  std::vector<ValueId> Outputs;
  std::vector<Choice> Choices;
  /// The op has an effect: it may run one time only.
  bool Once = false;
  /// Ops of which every instance runs before the first instance of this one:
  /// once this op has run, none of them may run again.
  std::vector<OpId> After;
};

struct Problem {
  std::vector<Value> Values;
  std::vector<Op> Ops;
  /// Values that live to the end.
  std::vector<ValueId> Results;

  ValueId addResident(std::string Name, int64_t Bytes);
  OpId addOp(std::string Name, double Time, std::vector<ValueId> Inputs,
             int64_t Workspace = 0);
  /// Adds `Earlier` to the ops that `Later` runs after, unless it is there.
  void addAfter(OpId Later, OpId Earlier);
  ValueId addOutput(OpId Producer, std::string Name, int64_t Bytes);

  size_t numChoices(OpId O) const {
    return Ops[O].Choices.empty() ? 1 : Ops[O].Choices.size();
  }
  double timeOf(OpId O, int32_t C) const {
    return Ops[O].Choices.empty() ? Ops[O].Time : Ops[O].Choices[C].Time;
  }
  int64_t workspaceOf(OpId O, int32_t C) const {
    return Ops[O].Choices.empty() ? Ops[O].Workspace
                                  : Ops[O].Choices[C].Workspace;
  }
  /// The fastest choice; of equally fast ones that with the least workspace.
  int32_t fastestChoice(OpId O) const;
  /// The choice with the least workspace; of equal ones the fastest.
  int32_t leanestChoice(OpId O) const;
  /// True when the op may run only once: `Once`, or an output must be kept.
  bool runsOnce(OpId O) const;
  /// Every op once, with its fastest choice.
  double baseTime() const;
  int64_t residentBytes() const;
};

/// Sizes, names and counts beyond these are refused by `check`.
inline constexpr int64_t MaxTotalBytes = int64_t(1) << 56;
inline constexpr double MaxTotalTime = 1e15;

/// Returns nothing when the problem is well formed, else a message that names
/// the place: bad ids, duplicate names, a read before the value is made, an op
/// before one that it runs after, a cycle, negative or overflowing numbers,
/// contradictory policies.
std::optional<std::string> check(const Problem &P);

/// The op at which `Keep::Never` values are gone: where the base order with
/// every op run once has the most live bytes, workspaces apart (the first such
/// op). In a training step this is the loss. Needs a problem that `check`s.
OpId turnOf(const Problem &P);

/// A value with `Keep::Never` that has to be kept.
struct WrongNever {
  ValueId Value;
  /// What is wrong, as `check` says it.
  std::string Message;
};

/// All such values: those that cannot be computed again, or not after the turn,
/// and results. A value is listed once for each reason. Needs a problem that
/// `check`s but for them.
std::vector<WrongNever> findWrongNever(const Problem &P);

/// One op instance of a plan.
struct Step {
  OpId Op = None;
  int32_t Choice = 0;
  bool operator==(const Step &) const = default;
};

/// The order of execution. A read means the newest instance of its value; an
/// instance is released after the last step that reads it, results never.
struct Plan {
  std::vector<Step> Sequence;
  bool operator==(const Plan &) const = default;
};

/// The base order, every op once with its fastest choice.
Plan basePlan(const Problem &P);

/// Takes out steps whose outputs nobody reads, where the op runs again later.
/// Steps of the op `Spared` stay.
void dropUnread(const Problem &P, Plan &S, OpId Spared = None);

/// The values whose storage is released after each step of the plan, derived
/// from the sequence. Needs a plan that `verify`s. Aliases are not listed, and
/// a storage that an output took over is not released by the step that did so.
std::vector<std::vector<ValueId>> releasesOf(const Problem &P, const Plan &S);

struct VerifyResult {
  bool Ok = false;
  /// The plan keeps every rule, but needs more than the budget.
  bool OverBudget = false;
  /// Why not: names the step and the op or value.
  std::string Error;
  int64_t Peak = 0;
  double Time = 0;
  /// The first step at the peak and the values whose storage counts there,
  /// largest first; resident values are among them.
  int32_t PeakStep = None;
  std::vector<ValueId> LiveAtPeak;
  /// Bytes in use while each step runs.
  std::vector<int64_t> Memory;
};

/// Simulates the plan step by step and checks it against the rules and the
/// budget in bytes. Shares no code with the solvers. Never trusts the plan.
VerifyResult verify(const Problem &P, const Plan &S, int64_t Budget);

} // namespace remat::solver

#endif // REMAT_SOLVER_PROBLEM_H
