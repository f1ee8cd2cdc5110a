//===- StateSearch.h - Best-first search over states ----------------------===//
#ifndef REMAT_LIB_SOLVER_STATESEARCH_H
#define REMAT_LIB_SOLVER_STATESEARCH_H

#include "Exact/StateSpace.h"
#include "Model/Watch.h"

#include <queue>
#include <unordered_map>

namespace remat::solver {

/// A* over the states of a small problem, in any order and with any number of
/// instances. What must run from a state on is the estimate.
class StateSearch {
public:
  /// What a plan is to have least of. `Cost` counts repeated runs of ops with
  /// `Keep::Prefer` twice; with `Any` the first plan will do.
  enum class Goal : uint8_t { Any, Time, Cost };
  /// `Unknown`: the states ran out.
  enum class Outcome : uint8_t { Found, None, Unknown };

  StateSearch(const Model &M, StateSpace &Space, const Watch &D)
      : M(M), Space(Space), D(D) {}

  /// Looks for the best plan within the budget whose time or cost is below the
  /// limit. Makes at most `MaxStates` states.
  Outcome run(Goal G, int64_t Budget, double Limit, size_t MaxStates);

  /// The plan, when one was found.
  const Plan &plan() const { return S; }
  /// When the states ran out: no plan has less.
  double bound() const { return Bound; }
  size_t numStates() const { return Nodes.size(); }

private:
  struct Node {
    State At;
    double Cost;
    int32_t From;
    Step By;
    bool Closed = false;
  };
  struct Entry {
    /// Least first: the estimate in units of `Unit`, then what is still to do.
    int64_t Estimate;
    int32_t Left;
    int32_t Number, Index;
    bool operator<(const Entry &E) const {
      if (Estimate != E.Estimate)
        return Estimate > E.Estimate;
      return Left != E.Left ? Left > E.Left : Number < E.Number;
    }
  };
  struct Hash {
    size_t operator()(const State &X) const {
      uint64_t H =
          X.Done * 0x9E3779B97F4A7C15u ^ X.Held ^ uint64_t(X.Special) << 57;
      return size_t((H ^ H >> 29) * 0xBF58476D1CE4E5B9u);
    }
  };

  const Model &M;
  StateSpace &Space;
  const Watch &D;
  Goal What = Goal::Any;
  double Limit = 0, Unit = 0, Bound = 0;
  std::vector<Node> Nodes;
  std::unordered_map<State, int32_t, Hash> Index;
  /// By the ops done: states that were expanded.
  std::unordered_map<uint64_t, std::vector<int32_t>> Closed;
  std::priority_queue<Entry> Queue;
  int32_t Pushed = 0;
  Plan S;

  double costOf(const State &X, Step By) const;
  bool dominated(const Node &N) const;
  void push(const State &X, double Cost, int32_t From, Step By);
  void trace(int32_t Node);
};

/// The least peak of any plan, between two known bounds: at `High` there is a
/// plan. Depends on nothing but these, so that every budget gives one answer.
struct LeastPeak {
  /// The lowest peak of a plan found, with the plan unless it is `High`.
  int64_t Peak = 0;
  Plan S;
  /// No plan has a lower one.
  int64_t Bound = 0;
};
LeastPeak findLeastPeak(const Model &M, StateSpace &Space, int64_t Low,
                        int64_t High, size_t MaxStates, const Watch &D);

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_STATESEARCH_H
