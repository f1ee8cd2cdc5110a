//===- Model.h - What every strategy asks of a problem --------------------===//
#ifndef REMAT_LIB_SOLVER_MODEL_H
#define REMAT_LIB_SOLVER_MODEL_H

#include "Model/SearchParameters.h"
#include "Model/Storage.h"

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

namespace remat::solver {

/// Facts derived once from a checked problem. A *class* is a value with bytes
/// of its own together with all its aliases, named by that value's id.
struct Model {
  explicit Model(const Problem &P);

  const Problem &P;
  OpId Turn = None;
  int64_t Resident = 0;
  double BaseTime = 0;
  /// Per value: its class. Resident values head classes too.
  std::vector<ValueId> Class;
  /// Per value: ops that read it, in the base order, each once.
  std::vector<std::vector<OpId>> Readers;
  /// Per class: ops that read a value of it, in the base order, each once.
  std::vector<std::vector<OpId>> ClassReaders;
  std::vector<bool> IsResult;
  /// Per op: fastest choice, its time, the leanest workspace, may it run again.
  std::vector<int32_t> Fastest;
  std::vector<double> Time;
  /// Per op: its time in the eyes of a search that would run it again.
  std::vector<double> TimeAgain;
  std::vector<int64_t> LeanWorkspace;
  std::vector<bool> Again;
  /// Per op: an output has `Keep::Prefer`.
  std::vector<bool> Reluctant;
  /// Per class: a value of it has `Keep::Never`.
  std::vector<bool> Never;
  bool AnyNever = false;
  /// Per class: it may stand in a resident value's place, at no cost: it reuses
  /// a resident value that is as large, or what may stand in such a place.
  std::vector<bool> InPlace;

  /// Per op: which output may take over which input.
  struct Taker {
    int32_t Output, Input;
  };
  std::vector<std::vector<Taker>> Takers;
  /// Per value: which input of its op it reuses; `None` where none.
  std::vector<int32_t> ReusedInput;

  /// Per op: those that run after it (see `Op::After`), sorted: once one of
  /// them has run, it may not run again.
  std::vector<std::vector<OpId>> Enders;
  bool AnyAfter = false;
  /// Per op: it ends the runs of an op that makes a value that must never be
  /// kept, so that it waits for the turn in the orders that seeds are made of.
  std::vector<bool> WaitsForTurn;

  /// Per op: does what a rule says of memory hold at its runs. See `boundOf`.
  std::vector<bool> Seen;

  /// What a local search asks of values and ops most, close together in memory:
  /// `P` has their names between them.
  struct ValueFacts {
    int64_t Bytes;
    OpId Producer;
    ValueId Alias;
    /// Of its class, and of that of what it reuses.
    bool Resident, ReusesResident;
  };
  std::vector<ValueFacts> Values;
  std::span<const ValueId> inputsOf(OpId O) const {
    return idsBetween(Begin[O].Inputs, Begin[O].Outputs);
  }
  std::span<const ValueId> outputsOf(OpId O) const {
    return idsBetween(Begin[O].Outputs, Begin[O].Again);
  }
  /// Inputs that a search may have computed again.
  std::span<const ValueId> inputsAgain(OpId O) const {
    return idsBetween(Begin[O].Again, Begin[O + 1].Inputs);
  }
  double timeOf(OpId O, int32_t C) const {
    return Kernels[Begin[O].Kernels + C].Time;
  }
  int64_t workspaceOf(OpId O, int32_t C) const {
    return Kernels[Begin[O].Kernels + C].Workspace;
  }

  /// Values with `Keep::Never`.
  std::vector<ValueId> NeverValues;

  /// May the op run when these ran before?
  template <typename RanFn> bool isOpen(OpId O, RanFn Ran) const {
    return std::none_of(Enders[O].begin(), Enders[O].end(), Ran);
  }

  int32_t numOps() const { return int32_t(P.Ops.size()); }
  /// How many times as large as those whose work has no limit but its own: 1 up
  /// to 20,000 ops. What is done for each op is done so many times less often,
  /// so that the work of a search does not grow with the square of the size.
  int32_t sizeFactor() const { return 1 + (numOps() - 1) / Tuned.Size.Large; }
  /// Work that one change to a schedule counts as. A change takes the longer
  /// the more its op reads: above `Size.Few` ops, each read of the mean op
  /// counts one beyond `Work.FreeReads`.
  int32_t workOfChange() const;
  /// So many of a kind, less on large problems, but at least 8.
  int32_t fewerOf(int32_t Count) const {
    return std::max(std::min(Count, 8), Count / sizeFactor());
  }
  int32_t numValues() const { return int32_t(P.Values.size()); }
  bool resident(ValueId V) const { return P.Values[Class[V]].Producer == None; }
  bool heads(ValueId V) const { return Class[V] == V; }
  /// Bytes of the storages that a run of the op makes, none taken over.
  int64_t bytesMade(OpId O) const {
    int64_t Sum = 0;
    for (ValueId V : P.Ops[O].Outputs)
      Sum += heads(V) ? P.Values[V].Bytes : 0;
    return Sum;
  }
  /// Bytes that any storage of the class counts, in every plan.
  int64_t leastCounted(ValueId C) const {
    return InPlace[C] || resident(C) ? 0 : P.Values[C].Bytes;
  }
  /// Classes that the op reads, sorted, none resident.
  std::vector<ValueId> classesRead(OpId O) const;
  /// Bytes that any run of the op needs: residents, its inputs and outputs,
  /// its leanest workspace, an output in place of an input where allowed. Where
  /// storages of the classes `Beside`, sorted, stand at the run and go on to
  /// stand, they count too, and no output takes them over.
  int64_t leastBytesAt(OpId O, const std::vector<ValueId> &Beside = {},
                       std::vector<ValueId> *Counted = nullptr) const;

private:
  struct Kernel {
    double Time;
    int64_t Workspace;
  };
  /// Where an op's ids and kernels begin; one more at the end.
  struct Beginning {
    uint32_t Inputs, Outputs, Again, Kernels;
  };
  std::vector<Beginning> Begin;
  std::vector<ValueId> Ids;
  std::vector<Kernel> Kernels;
  std::span<const ValueId> idsBetween(uint32_t From, uint32_t To) const {
    return {Ids.data() + From, Ids.data() + To};
  }
  void findEnders();
  void gather();
};

/// Peak and time of a plan, without the checks of `verify`: for sequences that
/// are valid by construction.
struct Measure {
  int64_t Peak = 0;
  double Time = 0;
  /// The time once more for each repeated run of an op with `Keep::Prefer`.
  double Surcharge = 0;
  double cost() const { return Time + Surcharge; }
};
Measure measure(const Model &M, const Plan &S);

/// The cost where there is no plan.
inline constexpr double AboveAllCosts = 4 * MaxTotalTime;

/// Bytes at every step of such a plan, workspaces included.
std::vector<int64_t> bytesOf(const Model &M, const Plan &S);

/// Runs the ops in the given order; once the op `Turn` has run, the values of
/// the classes in `Dropped` and those that must never be kept are forgotten,
/// and recomputed when next read.
/// Choices are the fastest that fit the budget.
Plan emitDropped(const Model &M, const std::vector<OpId> &Order, OpId Turn,
                 const std::vector<bool> &Dropped);

/// The ops in the given order, each once but for what `Keep::Never` asks.
Plan emitKept(const Model &M, const std::vector<OpId> &Order);

/// The same steps, where an op waits until all have run that it runs after (see
/// `Op::After`), and what reads its values waits for it. For sequences that are
/// valid but for that. What waits goes on as soon as it may.
Plan withWaiting(const Model &M, Plan S);
std::vector<OpId> withWaiting(const Model &M, const std::vector<OpId> &Order);

/// Takes out steps that nobody reads; those of the turn stay: `Keep::Never`
/// counts from its first run.
void dropUnread(const Model &M, Plan &S);

/// Gives every step the fastest choice that fits the budget, else the leanest.
void chooseKernels(const Model &M, Plan &S, int64_t Budget);

std::vector<OpId> baseOrder(const Model &M);

/// The ops by their first runs.
std::vector<OpId> orderOf(const Model &M, const Plan &S);

/// Calls `Run` with the op, and before it with what makes the inputs that are
/// missing, and theirs in turn. `IsMissing` is asked of each input of an op
/// once: what is there stays. The stack is explicit: chains may be as long as
/// the problem.
template <typename IsMissingFn, typename RunFn>
void runWithMissing(const Model &M, OpId Goal, IsMissingFn IsMissing,
                    RunFn Run) {
  // With the first input that was not looked at.
  std::vector<std::pair<OpId, size_t>> Stack = {{Goal, 0}};
  while (!Stack.empty()) {
    auto &[O, Next] = Stack.back();
    const std::vector<ValueId> &In = M.P.Ops[O].Inputs;
    OpId Maker = None;
    for (; Next < In.size() && Maker == None; ++Next)
      if (IsMissing(In[Next]))
        Maker = M.P.Values[In[Next]].Producer;
    if (Maker != None) {
      Stack.push_back({Maker, 0});
      continue;
    }
    Run(O);
    Stack.pop_back();
  }
}

/// Is called with plans until it returns false.
using PlanSink = std::function<bool(Plan)>;

/// The op's choices from fast to slow, each with less workspace than those
/// before: no other choice is ever better.
std::vector<int32_t> usefulChoices(const Problem &P, OpId O);

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_MODEL_H
