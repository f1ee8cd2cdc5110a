//===- Orders.cpp - Topological orders that hold less ---------------------===//
#include "Seeds/Orders.h"

#include <algorithm>
#include <queue>

using namespace remat::solver;

namespace {

/// An op is ready once its inputs are made and all ops that it runs after have
/// run; knows what running one would add to the bytes in use.
class Frontier {
public:
  Frontier(const Model &M)
      : M(M), Missing(M.numOps(), 0), Left(M.numValues(), 0),
        Done(M.numOps(), false) {
    for (OpId O = 0; O < M.numOps(); ++O)
      for (ValueId V : distinct(O)) {
        Missing[O] += M.P.Values[V].Producer != None;
        ++Left[M.Class[V]];
      }
    for (const std::vector<OpId> &Later : M.Enders)
      for (OpId O : Later)
        ++Missing[O];
    for (ValueId V : M.P.Results)
      ++Left[M.Class[V]];
  }

  bool ready(OpId O) const { return !Done[O] && Missing[O] == 0; }

  /// Bytes after the op less bytes before it.
  int64_t effect(OpId O) const {
    int64_t Sum = 0;
    for (ValueId V : M.P.Ops[O].Outputs)
      if (M.heads(V) && (Left[V] > 0))
        Sum += M.P.Values[V].Bytes;
    // One entry for each distinct value, those of a class together.
    std::vector<ValueId> Read = distinct(O);
    for (ValueId &V : Read)
      V = M.Class[V];
    std::sort(Read.begin(), Read.end());
    for (size_t From = 0, To = 0; From < Read.size(); From = To) {
      ValueId C = Read[From];
      while (To < Read.size() && Read[To] == C)
        ++To;
      if (!M.resident(C) && Left[C] == int32_t(To - From) && !aliased(O, C))
        Sum -= M.P.Values[C].Bytes;
    }
    return Sum;
  }

  /// Returns the ops whose effect or readiness changed.
  std::vector<OpId> run(OpId O) {
    std::vector<OpId> Changed;
    Done[O] = true;
    for (ValueId V : distinct(O))
      if (--Left[M.Class[V]] == 1 && !M.resident(V))
        for (OpId R : M.Readers[V])
          if (!Done[R])
            Changed.push_back(R);
    for (ValueId V : M.P.Ops[O].Outputs)
      for (OpId R : M.Readers[V]) {
        --Missing[R];
        Changed.push_back(R);
      }
    for (OpId Later : M.Enders[O]) {
      --Missing[Later];
      Changed.push_back(Later);
    }
    return Changed;
  }

private:
  const Model &M;
  std::vector<int32_t> Missing, Left;
  std::vector<bool> Done;

  std::vector<ValueId> distinct(OpId O) const {
    std::vector<ValueId> In = M.P.Ops[O].Inputs;
    std::sort(In.begin(), In.end());
    In.erase(std::unique(In.begin(), In.end()), In.end());
    return In;
  }
  bool aliased(OpId O, ValueId C) const {
    for (ValueId V : M.P.Ops[O].Outputs)
      if (!M.heads(V) && M.Class[V] == C)
        return true;
    return false;
  }
};

} // namespace

/// The given order, but what frees at least as much as it adds runs as soon as
/// it can: weight gradients and optimizer steps above all.
std::vector<OpId> remat::solver::eagerOrder(const Model &M,
                                            const std::vector<OpId> &Order) {
  Frontier F(M);
  std::vector<OpId> Out;
  std::vector<int32_t> Rank(M.numOps());
  for (size_t I = 0; I < Order.size(); ++I)
    Rank[Order[I]] = int32_t(I);
  std::vector<bool> Done(M.numOps(), false);
  auto Run = [&](OpId Goal) {
    std::vector<OpId> Queue = {Goal};
    while (!Queue.empty()) {
      OpId O = Queue.back();
      Queue.pop_back();
      if (Done[O] || !F.ready(O) || (O != Goal && F.effect(O) > 0))
        continue;
      Done[O] = true;
      Out.push_back(O);
      std::vector<OpId> Next = F.run(O);
      std::sort(Next.begin(), Next.end(),
                [&](OpId A, OpId B) { return Rank[A] > Rank[B]; });
      Queue.insert(Queue.end(), Next.begin(), Next.end());
    }
  };
  for (OpId O : Order)
    if (!Done[O])
      Run(O);
  return Out;
}

/// The given order, but what adds bytes waits for its first reader.
std::vector<OpId> remat::solver::lazyOrder(const Model &M,
                                           const std::vector<OpId> &Order) {
  Frontier F(M);
  std::vector<bool> Waits(M.numOps(), false), Done(M.numOps(), false);
  // The effect is asked for when the op's turn comes in the given order.
  for (OpId O : Order) {
    bool IsRead = false;
    for (ValueId V : M.P.Ops[O].Outputs)
      IsRead |= !M.Readers[V].empty();
    Waits[O] = IsRead && F.effect(O) > 0;
    F.run(O);
  }
  std::vector<OpId> Out;
  for (OpId Goal : Order) {
    if (Waits[Goal] || Done[Goal])
      continue;
    runWithMissing(
        M, Goal,
        [&](ValueId V) {
          OpId Maker = M.P.Values[V].Producer;
          return Maker != None && !Done[Maker];
        },
        [&](OpId O) {
          Done[O] = true;
          Out.push_back(O);
        });
  }
  for (OpId O : Order)
    if (!Done[O])
      Out.push_back(O);
  return withWaiting(M, Out);
}

/// Always runs the ready op that adds the fewest bytes.
std::vector<OpId> remat::solver::leastOrder(const Model &M) {
  Frontier F(M);
  using Entry = std::pair<int64_t, OpId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> Queue;
  std::vector<OpId> Out;
  std::vector<bool> Done(M.numOps(), false);
  for (OpId O = 0; O < M.numOps(); ++O)
    if (F.ready(O))
      Queue.push({F.effect(O), O});
  while (!Queue.empty()) {
    auto [Effect, O] = Queue.top();
    Queue.pop();
    if (Done[O])
      continue;
    if (int64_t Current = F.effect(O); Effect != Current) {
      Queue.push({Current, O});
      continue;
    }
    Done[O] = true;
    Out.push_back(O);
    for (OpId R : F.run(O))
      if (!Done[R] && F.ready(R))
        Queue.push({F.effect(R), R});
  }
  return Out;
}
