//===- Oracle.h - The optimum of small problems, by brute force -----------===//
#ifndef REMAT_TEST_UNIT_SOLVER_ORACLE_H
#define REMAT_TEST_UNIT_SOLVER_ORACLE_H

#include "remat/Solver/Problem.h"

#include <map>
#include <optional>
#include <queue>

namespace remat::solver::test {

/// Shortest path over (ops done, values held), any order. Knows residents,
/// workspaces, choices, once, several outputs and reuse of an input that is not
/// resident; no aliases, no chains of reuse from a resident, no policies.
class Oracle {
public:
  Oracle(const Problem &P, int64_t Budget) : P(P), Budget(Budget) {}

  /// The least time of any plan within the budget.
  std::optional<double> solve() {
    uint64_t AllDone = (uint64_t(1) << P.Ops.size()) - 1, Wanted = 0;
    for (ValueId V : P.Results)
      Wanted |= bit(V);
    push({0, 0}, 0);
    while (!Queue.empty()) {
      auto [Cost, S] = Queue.top();
      Queue.pop();
      if (Cost > Best[S])
        continue;
      if (S.first == AllDone && (S.second & Wanted) == Wanted)
        return Cost;
      for (OpId O = 0; O < OpId(P.Ops.size()); ++O)
        run(S, Cost, O);
      for (ValueId V = 0; V < ValueId(P.Values.size()); ++V)
        if (S.second & bit(V))
          push({S.first, S.second & ~bit(V)}, Cost);
    }
    return std::nullopt;
  }

private:
  using State = std::pair<uint64_t, uint64_t>;
  using Entry = std::pair<double, State>;
  const Problem &P;
  int64_t Budget;
  std::map<State, double> Best;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> Queue;

  static uint64_t bit(ValueId V) { return uint64_t(1) << V; }

  void push(State S, double Cost) {
    auto [It, New] = Best.emplace(S, Cost);
    if (!New && It->second <= Cost)
      return;
    It->second = Cost;
    Queue.push({Cost, S});
  }

  void run(State S, double Cost, OpId O) {
    const Op &X = P.Ops[O];
    uint64_t Done = uint64_t(1) << O;
    if (X.Once && (S.first & Done))
      return;
    for (ValueId V : X.Inputs)
      if (P.Values[V].Producer != None && !(S.second & bit(V)))
        return;
    uint64_t Out = 0;
    for (ValueId V : X.Outputs)
      Out |= bit(V);
    int64_t Bytes = P.residentBytes();
    uint64_t Held = S.second & ~Out;
    for (ValueId V = 0; V < ValueId(P.Values.size()); ++V)
      if ((Held | Out) & bit(V))
        Bytes += P.Values[V].Bytes;
    finish(S, Cost, O, Held | Out, Bytes, 0, 0);
  }

  /// Every way for outputs to take over inputs, which are then gone.
  void finish(State S, double Cost, OpId O, uint64_t After, int64_t Bytes,
              size_t Index, uint64_t Consumed) {
    const Op &X = P.Ops[O];
    if (Index < X.Outputs.size()) {
      finish(S, Cost, O, After, Bytes, Index + 1, Consumed);
      const Value &V = P.Values[X.Outputs[Index]];
      if (V.Reuses != None && P.Values[V.Reuses].Producer != None &&
          !(Consumed & bit(V.Reuses)))
        finish(S, Cost, O, After,
               Bytes - std::min(V.Bytes, P.Values[V.Reuses].Bytes), Index + 1,
               Consumed | bit(V.Reuses));
      return;
    }
    std::optional<double> Time;
    for (int32_t C = 0; C < int32_t(P.numChoices(O)); ++C)
      if (Bytes + P.workspaceOf(O, C) <= Budget &&
          (!Time || P.timeOf(O, C) < *Time))
        Time = P.timeOf(O, C);
    if (Time)
      push({S.first | uint64_t(1) << O, After & ~Consumed}, Cost + *Time);
  }
};

} // namespace remat::solver::test

#endif // REMAT_TEST_UNIT_SOLVER_ORACLE_H
