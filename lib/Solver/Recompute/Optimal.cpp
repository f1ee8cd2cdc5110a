//===- Optimal.cpp - Shortest path over what is done and what is held -----===//
#include "Strategies.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

using namespace remat::solver;

namespace {

/// A* over states (ops done, values held). Running an op costs its time;
/// letting a value go costs nothing; what is still to run once is the estimate.
/// Covers every order and any number of instances. Aliases, reuse of a
/// resident value's place and `Keep::Never` are outside the model.
class StateSearch {
public:
  StateSearch(const Model &M, const SolveOptions &O, const Deadline &D)
      : M(M), O(O), D(D) {
    Bit.assign(M.numValues(), -1);
    for (ValueId V = 0; V < M.numValues(); ++V)
      if (M.P.Values[V].Producer != None) {
        Bit[V] = int32_t(Values.size());
        Values.push_back(V);
      }
  }

  bool applies() const {
    if (M.numOps() > 40 || Values.size() > 60 || M.AnyNever)
      return false;
    for (const Value &V : M.P.Values)
      if (V.Alias != None || (V.Reuses != None && M.resident(V.Reuses)))
        return false;
    return true;
  }

  /// Looks for a plan faster than the limit. Returns false when it ran out of
  /// states or time: nothing is proven then.
  bool run(double Limit) {
    Cutoff = Limit;
    push({0, 0}, 0, {{0, 0}, {None, 0}});
    uint64_t All = (uint64_t(1) << M.numOps()) - 1, Wanted = 0;
    for (ValueId V : M.P.Results)
      Wanted |= bitOf(V);
    while (!Queue.empty()) {
      Entry E = Queue.top();
      Queue.pop();
      const Node &N = Nodes.find(E.S)->second;
      if (N.Closed)
        continue;
      if (E.S.Done == All && (E.S.Held & Wanted) == Wanted) {
        trace(E.S);
        return true;
      }
      Nodes[E.S].Closed = true;
      if (Nodes.size() > MaxStates || D.passed())
        return false;
      expand(E.S, N.Cost);
    }
    return true;
  }

  bool found() const { return Found; }
  Plan S;

private:
  static constexpr size_t MaxStates = 400'000;

  struct State {
    uint64_t Done, Held;
    bool operator==(const State &) const = default;
  };
  struct Hash {
    size_t operator()(const State &S) const {
      uint64_t H = S.Done * 0x9E3779B97F4A7C15u ^ S.Held;
      return size_t((H ^ H >> 29) * 0xBF58476D1CE4E5B9u);
    }
  };
  struct Node {
    double Cost;
    State From;
    Step By;
    bool Closed = false;
  };
  struct Entry {
    double Estimate;
    int64_t Number;
    State S;
    bool operator<(const Entry &E) const {
      return Estimate != E.Estimate ? Estimate > E.Estimate : Number < E.Number;
    }
  };

  const Model &M;
  const SolveOptions &O;
  const Deadline &D;
  double Cutoff = 0;
  bool Found = false;
  int64_t Pushed = 0;
  std::vector<int32_t> Bit;
  std::vector<ValueId> Values;
  std::unordered_map<State, Node, Hash> Nodes;
  std::priority_queue<Entry> Queue;

  uint64_t bitOf(ValueId V) const {
    return Bit[V] < 0 ? 0 : uint64_t(1) << Bit[V];
  }

  void push(State X, double Cost, std::pair<State, Step> Way) {
    double Rest = 0;
    for (OpId Op = 0; Op < M.numOps(); ++Op)
      if (!(X.Done >> Op & 1))
        Rest += M.Time[Op];
    if (Cost + Rest >= Cutoff)
      return;
    auto [It, New] = Nodes.try_emplace(X, Node{Cost, Way.first, Way.second});
    if (!New) {
      if (It->second.Closed || It->second.Cost <= Cost)
        return;
      It->second = Node{Cost, Way.first, Way.second};
    }
    Queue.push({Cost + Rest, ++Pushed, X});
  }

  void expand(State X, double Cost) {
    for (OpId Op = 0; Op < M.numOps(); ++Op)
      if (M.Again[Op] || !(X.Done >> Op & 1))
        runOp(X, Cost, Op);
    for (size_t B = 0; B < Values.size(); ++B)
      if (X.Held >> B & 1)
        push({X.Done, X.Held & ~(uint64_t(1) << B)}, Cost, {X, {None, 0}});
  }

  void runOp(State X, double Cost, OpId Op) {
    uint64_t In = 0, Out = 0;
    for (ValueId V : M.P.Ops[Op].Inputs)
      In |= bitOf(V);
    for (ValueId V : M.P.Ops[Op].Outputs)
      Out |= bitOf(V);
    // Nothing new would come of it.
    if ((X.Held & In) != In || ((X.Done >> Op & 1) && (X.Held & Out) == Out))
      return;
    uint64_t After = X.Held | Out;
    int64_t Bytes = M.Resident;
    for (size_t B = 0; B < Values.size(); ++B)
      if (After >> B & 1)
        Bytes += M.P.Values[Values[B]].Bytes;
    finish(X, Cost, Op, After, Bytes, 0, 0);
  }

  /// Each output may take over an input, which is gone then.
  void finish(State X, double Cost, OpId Op, uint64_t After, int64_t Bytes,
              size_t Index, uint64_t Taken) {
    const auto &Outputs = M.P.Ops[Op].Outputs;
    for (; Index < Outputs.size(); ++Index) {
      const Value &V = M.P.Values[Outputs[Index]];
      if (V.Reuses == None || (Taken & bitOf(V.Reuses)))
        continue;
      int64_t Less = std::min(V.Bytes, M.P.Values[V.Reuses].Bytes);
      finish(X, Cost, Op, After, Bytes - Less, Index + 1,
             Taken | bitOf(V.Reuses));
    }
    int32_t Best = None;
    for (int32_t C = 0, E = int32_t(M.P.numChoices(Op)); C < E; ++C)
      if (Bytes + M.P.workspaceOf(Op, C) <= O.Budget &&
          (Best == None || M.P.timeOf(Op, C) < M.P.timeOf(Op, Best)))
        Best = C;
    if (Best != None)
      push({X.Done | uint64_t(1) << Op, After & ~Taken},
           Cost + M.P.timeOf(Op, Best), {X, {Op, Best}});
  }

  void trace(State X) {
    Found = true;
    while (X.Done || X.Held) {
      const Node &N = Nodes.find(X)->second;
      if (N.By.Op != None)
        S.Sequence.push_back(N.By);
      X = N.From;
    }
    std::reverse(S.Sequence.begin(), S.Sequence.end());
  }
};

} // namespace

SearchResult remat::solver::solveOptimal(const Model &M, const SolveOptions &O,
                                         const Deadline &D) {
  SearchResult R = solveSearch(M, O, D);
  Measure Of = measure(M, R.Best);
  bool Fits = Of.Peak <= O.Budget;
  StateSearch Exact(M, O, D);
  double Limit = Fits ? Of.Time - 1e-9 * M.BaseTime : MaxTotalTime;
  if (!Exact.applies() || !Exact.run(Limit))
    return R;
  R.Proven = true;
  if (Exact.found()) {
    R.Best = std::move(Exact.S);
    R.MinBudget = std::min(R.MinBudget, measure(M, R.Best).Peak);
  }
  return R;
}
