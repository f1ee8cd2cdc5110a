//===- StateSearch.cpp - Best-first search over states --------------------===//
#include "Exact/StateSearch.h"

#include <algorithm>
#include <bit>

using namespace remat::solver;

double StateSearch::costOf(const State &X, Step By) const {
  if (What == Goal::Any)
    return 0;
  double Time = M.P.timeOf(By.Op, By.Choice);
  bool Twice =
      What == Goal::Cost && M.Reluctant[By.Op] && (X.Done >> By.Op & 1);
  return Twice ? 2 * Time : Time;
}

/// A state is of no use when one with the same ops done, that holds no less,
/// was expanded: it cost no more.
bool StateSearch::dominated(const Node &N) const {
  auto It = Closed.find(N.At.Done);
  if (It == Closed.end())
    return false;
  // The newest are most alike. Looking at all would take longer than it saves.
  size_t Looks = 256;
  for (auto I = It->second.rbegin(); I != It->second.rend() && Looks--; ++I) {
    const Node &Other = Nodes[*I];
    if (Other.At.Special == N.At.Special && Other.Cost <= N.Cost &&
        (N.At.Held & ~Other.At.Held) == 0)
      return true;
  }
  return false;
}

void StateSearch::push(const State &X, double Cost, int32_t From, Step By) {
  auto Known = Index.find(X);
  if (Known != Index.end() &&
      (Nodes[Known->second].Closed || Nodes[Known->second].Cost <= Cost))
    return;
  uint64_t Ops = 0;
  if (!Space.mustRun(X, Ops))
    return;
  double Rest = 0;
  for (uint64_t Left = Ops; Left; Left &= Left - 1) {
    OpId O = std::countr_zero(Left);
    Rest += costOf(X, {O, M.Fastest[O]});
  }
  if (What != Goal::Any && Cost + Rest >= Limit)
    return;
  int32_t At = Known == Index.end() ? int32_t(Nodes.size()) : Known->second;
  if (Known == Index.end()) {
    Nodes.push_back({});
    Index.emplace(X, At);
  }
  Nodes[At] = {X, Cost, From, By};
  Queue.push({Unit > 0 ? int64_t((Cost + Rest) / Unit) : 0, std::popcount(Ops),
              ++Pushed, At});
}

StateSearch::Outcome StateSearch::run(Goal G, int64_t Budget, double MaxCost,
                                      size_t MaxStates) {
  What = G;
  Limit = MaxCost;
  Unit = G == Goal::Any ? 0 : 1e-10 * M.BaseTime;
  Nodes.clear();
  Index.clear();
  Closed.clear();
  Queue = {};
  S = {};
  std::vector<StateSpace::Next> Ways;
  push(Space.start(), 0, None, {});
  while (!Queue.empty()) {
    Entry E = Queue.top();
    Queue.pop();
    if (Nodes[E.Index].Closed)
      continue;
    if (Space.finished(Nodes[E.Index].At)) {
      trace(E.Index);
      return Outcome::Found;
    }
    Bound = double(E.Estimate) * Unit;
    if (Nodes.size() > MaxStates || D.passed())
      return Outcome::Unknown;
    Nodes[E.Index].Closed = true;
    Node N = Nodes[E.Index];
    if (dominated(N))
      continue;
    Closed[N.At.Done].push_back(E.Index);
    if (!Space.expand(N.At, Budget, Ways))
      return Outcome::Unknown;
    for (const StateSpace::Next &W : Ways)
      push(W.To, N.Cost + costOf(N.At, W.By), E.Index, W.By);
  }
  return Outcome::None;
}

void StateSearch::trace(int32_t Node) {
  for (; Nodes[Node].From != None; Node = Nodes[Node].From)
    S.Sequence.push_back(Nodes[Node].By);
  std::reverse(S.Sequence.begin(), S.Sequence.end());
}

LeastPeak remat::solver::findLeastPeak(const Model &M, StateSpace &Space,
                                       int64_t Low, int64_t High,
                                       size_t MaxStates, const Watch &D) {
  LeastPeak R;
  R.Peak = High;
  R.Bound = Low;
  // Budgets below `Next` have no plan or were given up.
  int64_t Next = Low;
  bool Sure = true;
  StateSearch Search(M, Space, D);
  while (Next < R.Peak) {
    int64_t Try = Next + (R.Peak - Next) / 2;
    auto Got = Search.run(StateSearch::Goal::Any, Try, 0, MaxStates);
    if (Got == StateSearch::Outcome::Found) {
      R.S = Search.plan();
      R.Peak = std::min(Try, verify(M.P, R.S, INT64_MAX).Peak);
      continue;
    }
    Sure &= Got == StateSearch::Outcome::None;
    Next = Try + 1;
    if (Sure)
      R.Bound = Next;
  }
  return R;
}
