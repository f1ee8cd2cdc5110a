//===- Cut.cpp - The parametric min-cut at one op -------------------------===//
#include "Bounds/Cut.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace remat::solver;

std::vector<int8_t> MomentCut::sidesInOrder(const Model &M, OpId At,
                                            const std::vector<OpId> &Order) {
  std::vector<int8_t> Side(M.numOps(), Apart);
  bool Passed = false;
  for (OpId O : Order) {
    Side[O] = Passed ? After : Before;
    Passed |= O == At;
  }
  return Side;
}

std::vector<int8_t> MomentCut::sides(const Model &M, OpId At,
                                     const std::vector<OpId> &Later) {
  const Problem &P = M.P;
  std::vector<int8_t> Side(M.numOps(), Apart);
  Side[At] = Before;
  for (OpId O = At; O >= 0; --O)
    if (Side[O] == Before)
      for (ValueId V : P.Ops[O].Inputs)
        if (P.Values[V].Producer != None)
          Side[P.Values[V].Producer] = Before;
  std::vector<bool> Reached(M.numValues(), false);
  for (ValueId V : P.Ops[At].Outputs)
    Reached[V] = true;
  OpId First = At + 1;
  for (OpId O : Later) {
    if (Side[O] == Before)
      return {};
    Side[O] = After;
    First = std::min(First, O);
  }
  for (OpId O = First; O < M.numOps(); ++O) {
    bool Descends = Side[O] == After;
    for (ValueId V : P.Ops[O].Inputs)
      Descends |= Reached[V];
    if (!Descends)
      continue;
    if (Side[O] == Before && O != At)
      return {};
    if (O == At)
      continue;
    Side[O] = After;
    for (ValueId W : P.Ops[O].Outputs)
      Reached[W] = true;
  }
  return Side;
}

Moment Moment::firstRun(const Model &M, OpId At,
                        const std::vector<OpId> &Later) {
  // The operands of the op stand there in any case.
  return {At, MomentCut::sides(M, At, Later), {}, M.leastBytesAt(At)};
}

/// Bytes of a run besides those of its inputs, residents included: less what
/// its outputs may take over from the inputs.
static int64_t leastAdded(const Model &M, OpId O) {
  int64_t Bytes = M.leastBytesAt(O);
  for (ValueId C : M.classesRead(O))
    Bytes -= M.leastCounted(C);
  return Bytes;
}

/// Per op: does it descend from one of those listed?
static std::vector<bool> descendants(const Model &M,
                                     const std::vector<bool> &Listed) {
  std::vector<bool> Below(M.numOps(), false);
  for (OpId O = 0; O < M.numOps(); ++O)
    for (ValueId V : M.P.Ops[O].Inputs)
      if (OpId By = M.P.Values[V].Producer; By != None)
        Below[O] = Below[O] || Listed[By] || Below[By];
  return Below;
}

/// Ops that all of these descend from. Of slices of one computation each has
/// few ancestors, so these are looked at alone, one op after the other.
static std::vector<OpId> commonAncestors(const Model &M,
                                         const std::vector<OpId> &Ops) {
  std::vector<int32_t> Count(M.numOps(), 0);
  std::vector<OpId> Common, Stack;
  for (int32_t Round = 0; Round < int32_t(Ops.size()); ++Round) {
    // Ancestors of this one that all before it have: counted once each.
    std::vector<OpId> Kept, Visited;
    Stack = {Ops[Round]};
    while (!Stack.empty()) {
      OpId O = Stack.back();
      Stack.pop_back();
      for (ValueId V : M.P.Ops[O].Inputs) {
        OpId By = M.P.Values[V].Producer;
        if (By == None || Count[By] < 0)
          continue;
        if (Count[By] == Round)
          Kept.push_back(By);
        Count[By] = ~Count[By];
        Visited.push_back(By);
        Stack.push_back(By);
      }
    }
    for (OpId O : Visited)
      Count[O] = ~Count[O];
    for (OpId O : Kept)
      ++Count[O];
    Common = std::move(Kept);
    if (Common.empty())
      break;
  }
  return Common;
}

Moment Moment::firstOf(const Model &M, const std::vector<OpId> &Ops) {
  std::vector<bool> Listed(M.numOps(), false);
  for (OpId O : Ops)
    Listed[O] = true;
  std::vector<bool> Below = descendants(M, Listed);
  // Those that descend from another are never first.
  std::vector<OpId> Candidates;
  Moment R{
      None, std::vector<int8_t>(M.numOps(), MomentCut::Apart), {}, INT64_MAX};
  for (OpId O : Ops)
    if (!Below[O]) {
      Candidates.push_back(O);
      R.Fixed = std::min(R.Fixed, leastAdded(M, O));
    }
  for (OpId O = 0; O < M.numOps(); ++O)
    if (Listed[O] || Below[O])
      R.Side[O] = MomentCut::After;
  for (OpId O : commonAncestors(M, Candidates))
    R.Side[O] = MomentCut::Before;
  return R;
}

MomentCut::MomentCut(const Model &M, OpId At, const std::vector<int8_t> &Side)
    : MomentCut(M, Moment{At, Side, {}, M.leastBytesAt(At)}) {}

MomentNetwork::MomentNetwork(const Model &M, const Moment &At, FlowNetwork &Net,
                             int32_t Source) {
  const Problem &P = M.P;
  const std::vector<int8_t> &Side = At.Side;
  std::vector<bool> Standing(M.numValues(), false);
  if (At.At != None) {
    for (ValueId V : P.Ops[At.At].Inputs)
      Standing[M.Class[V]] = true;
    for (ValueId V : P.Ops[At.At].Outputs)
      Standing[M.Class[V]] = true;
  }
  for (ValueId C : At.Beside)
    Standing[C] = true;
  std::vector<int32_t> ClassNode(M.numValues(), -1), OpNode(M.numOps(), -1);
  auto Made = [&](ValueId C) {
    OpId O = P.Values[C].Producer;
    return O != None && Side[O] != MomentCut::After;
  };
  // Only what an op after the moment can reach going backward matters.
  std::vector<OpId> Stack;
  auto NodeOf = [&](ValueId C) {
    if (ClassNode[C] >= 0)
      return ClassNode[C];
    ClassNode[C] = Net.addNode();
    OpId O = P.Values[C].Producer;
    if (OpNode[O] < 0) {
      OpNode[O] = Net.addNode();
      Stack.push_back(O);
      Runs.push_back({O, OpNode[O], Side[O] == MomentCut::Before});
    }
    int64_t Bytes = Standing[C] ? 0 : M.leastCounted(C);
    int32_t Edge = Net.addEdge(ClassNode[C], OpNode[O], 0);
    Items.push_back({C, ClassNode[C], OpNode[O], Edge, Bytes});
    return ClassNode[C];
  };
  auto Demand = [&](ValueId V) {
    if (Made(M.Class[V]))
      Net.addEdge(Source, NodeOf(M.Class[V]), FlowNetwork::Infinite);
  };
  for (OpId O = 0; O < M.numOps(); ++O)
    if (Side[O] == MomentCut::After)
      for (ValueId V : P.Ops[O].Inputs)
        Demand(V);
  for (ValueId V : P.Results)
    Demand(V);
  while (!Stack.empty()) {
    OpId O = Stack.back();
    Stack.pop_back();
    for (ValueId V : P.Ops[O].Inputs)
      if (Made(M.Class[V])) {
        int32_t N = NodeOf(M.Class[V]);
        Net.addEdge(OpNode[O], N, FlowNetwork::Infinite);
      }
  }
}

MomentCut::MomentCut(const Model &M, const Moment &At)
    : M(M), Net(2), Fixed(At.Fixed) {
  if (M.sizeFactor() > 1)
    Net.setWorkLimit(WorkOfNetwork);
  // Times become integers: rounding down keeps every cut a lower bound.
  Scale = std::ldexp(1.0, 44) / std::max(M.BaseTime, 1e-250);
  MomentNetwork Part(M, At, Net, Source);
  Items = std::move(Part.Items);
  Ops = std::move(Part.Runs);
  for (const Item &I : Items)
    Weights.push_back(I.Bytes);
  for (auto [O, Node, Extra] : Ops) {
    int64_t Cost = 0;
    if (Extra)
      Cost = M.Again[O] ? int64_t(std::floor(M.Time[O] * Scale))
                        : FlowNetwork::Infinite;
    OpEdges.push_back(Net.addEdge(Node, Sink, Cost));
  }
}

MomentCut::Point MomentCut::read(bool WantDropped) {
  std::vector<bool> Reached = Net.sourceSide(Source);
  Point R;
  if (WantDropped)
    R.Dropped.assign(M.numValues(), false);
  for (size_t K = 0; K < Items.size(); ++K) {
    const Item &I = Items[K];
    if (!Reached[I.Node])
      continue;
    if (!Reached[I.OpNode]) {
      R.Kept += Rulings[K] == Ruling::Keep ? 0 : Weights[K];
      R.Own += I.Bytes;
    } else if (WantDropped)
      R.Dropped[I.Class] = true;
  }
  for (auto [O, Node, Extra] : Ops)
    if (Extra && Reached[Node])
      R.Time += M.Time[O];
  return R;
}

MomentCut::Point MomentCut::cut(double Price, bool WantDropped) {
  constexpr int64_t Most = FlowNetwork::Infinite / 4096;
  Rulings.resize(Items.size(), Ruling::Open);
  for (size_t K = 0; K < Items.size(); ++K) {
    double Cost = std::floor(Price * double(Weights[K]) * Scale);
    int64_t Capacity = Cost < double(Most) ? int64_t(Cost) : Most;
    if (Rulings[K] != Ruling::Open)
      Capacity = Rulings[K] == Ruling::Keep ? 0 : FlowNetwork::Infinite;
    Net.setCapacity(Items[K].Edge, Capacity);
  }
  int64_t Value = Net.maxFlow(Source, Sink);
  --CutsLeft;
  Point R = read(WantDropped);
  R.Value = double(Value) / Scale;
  if (Value >= FlowNetwork::Infinite)
    R.Value = std::numeric_limits<double>::infinity();
  return R;
}

/// Fewest bytes, whatever the time; among such cuts not the cheapest.
MomentCut::Point MomentCut::cutAll() {
  for (size_t I = 0; I < Ops.size(); ++I)
    if (M.Again[Ops[I].Op])
      Net.setCapacity(OpEdges[I], 0);
  for (const Item &I : Items)
    Net.setCapacity(I.Edge, I.Bytes);
  int64_t Value = Net.maxFlow(Source, Sink);
  Rulings.resize(Items.size(), Ruling::Open);
  Point R = read(false);
  LeastKept = Net.stopped() ? Value : R.Kept;
  // A price that makes bytes count above all time finds the cheapest such cut.
  for (size_t I = 0; I < Ops.size(); ++I)
    if (Ops[I].Extra && M.Again[Ops[I].Op])
      Net.setCapacity(OpEdges[I],
                      int64_t(std::floor(M.Time[Ops[I].Op] * Scale)));
  return R;
}

void MomentCut::refine(std::vector<Point> &Out, const Point &A, const Point &B,
                       int32_t &Left, bool WantDropped) {
  if (Left <= 0 || A.Kept <= B.Kept || B.Time <= A.Time)
    return;
  double Price = (B.Time - A.Time) / double(A.Kept - B.Kept);
  --Left;
  Point C = cut(Price, WantDropped);
  if (Net.stopped())
    return;
  double Line = A.Time + Price * double(A.Kept);
  double Value = C.Time + Price * double(C.Kept);
  if (Value >= Line - 1e-9 * (1e-30 + Line) || C.Kept >= A.Kept ||
      C.Kept <= B.Kept)
    return;
  refine(Out, A, C, Left, WantDropped);
  Out.push_back(C);
  refine(Out, C, B, Left, WantDropped);
}

std::vector<MomentCut::Point> MomentCut::frontier(int32_t MaxCuts,
                                                  bool WantDropped) {
  std::vector<Point> Out;
  Point All = cutAll();
  Point None = cut(0, WantDropped);
  // From the dearest price on, every cut has the fewest bytes.
  double Dear =
      (M.BaseTime + 1e-30) * 64 / double(std::max<int64_t>(None.Kept, 1));
  Point Few = cut(Dear, WantDropped);
  for (int Try = 0; Try < 40 && Few.Kept > All.Kept; ++Try) {
    Dear *= 8;
    Few = cut(Dear, WantDropped);
  }
  Out.push_back(None);
  int32_t Left = MaxCuts;
  refine(Out, None, Few, Left, WantDropped);
  if (Few.Kept < None.Kept)
    Out.push_back(Few);
  return Out;
}
