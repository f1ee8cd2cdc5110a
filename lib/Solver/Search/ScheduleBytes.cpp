//===- ScheduleBytes.cpp - What each storage of a schedule counts ---------===//
#include "Search/Schedule.h"

#include <algorithm>

using namespace remat::solver;

int32_t Schedule::endOf(int32_t S) const {
  int32_t End = Readers[S].empty() ? Instances[S].Node : Readers[S].back();
  for (int32_t A : Aliases[S])
    if (const auto &R = Readers[A]; !R.empty() && Time.before(End, R.back()))
      End = R.back();
  return End;
}

/// The output instance that takes the storage over at its end, or -1.
int32_t Schedule::takerAt(int32_t S, int32_t End) const {
  const Node &N = Nodes[End];
  if (!N.Takes)
    return -1;
  for (auto [Output, Input] : M.Takers[N.Op]) {
    if (Output >= int32_t(N.Makes.size()) ||
        Instances[N.Reads[Input]].Storage != S)
      continue;
    const Value &Old = M.P.Values[Instances[S].Value];
    int64_t Bytes = M.P.Values[M.P.Ops[N.Op].Outputs[Output]].Bytes;
    if (!takeOver(Old.Bytes, placeOf(Old), Bytes).Allowed)
      continue;
    return N.Makes[Output];
  }
  return -1;
}

int64_t Schedule::ownOf(int32_t S) const {
  const Instance &X = Instances[S];
  const Model::ValueFacts &V = M.Values[X.Value];
  if (X.Given)
    return 0;
  if (!V.ReusesResident)
    return V.Bytes;
  int32_t R = Instances[Nodes[X.Node].Reads[M.ReusedInput[X.Value]]].Storage;
  bool Takes = Instances[R].End == X.Node && takerAt(R, X.Node) == S;
  return Takes ? 0 : V.Bytes;
}

int64_t Schedule::creditAt(int32_t S, int32_t End) const {
  int32_t T = takerAt(S, End);
  if (T < 0 || Instances[S].Given)
    return 0;
  int64_t New = M.Values[Instances[T].Value].Bytes;
  return takeOver(Instances[S].Own, None, New).Saved;
}

void Schedule::uncount(int32_t S) {
  Instance &X = Instances[S];
  if (!X.Counted)
    return;
  if (X.Own)
    Time.add(X.Node, X.End, -X.Own);
  if (X.Credit)
    Time.add(X.End, X.End, X.Credit);
  X.Counted = false;
}

/// Brings the counted range of a storage up to date, changing only what
/// differs.
void Schedule::count(int32_t S) {
  Instance &X = Instances[S];
  int32_t End = endOf(S);
  int64_t Own = ownOf(S);
  if (!X.Counted || Own != X.Own) {
    uncount(S);
    X.Own = Own;
    X.End = End;
    X.Credit = 0;
    X.Counted = true;
    if (Own)
      Time.add(X.Node, End, Own);
  } else if (End != X.End) {
    if (X.Credit)
      Time.add(X.End, X.End, X.Credit);
    X.Credit = 0;
    if (Own && Time.before(X.End, End))
      Time.add(Time.next(X.End), End, Own);
    else if (Own)
      Time.add(Time.next(End), X.End, -Own);
    X.End = End;
  }
  int64_t Credit = creditAt(S, End);
  if (Credit != X.Credit)
    Time.add(End, End, X.Credit - Credit);
  X.Credit = Credit;
}

void Schedule::settle() {
  // Residents first: an output's bytes depend on where they end.
  for (size_t K = 0; K < Touched.size(); ++K) {
    Instance &X = Instances[Touched[K]];
    if (!X.Given)
      continue;
    int32_t Old = X.End;
    X.End = endOf(Touched[K]);
    if (Old == X.End)
      continue;
    // The start makes residents alone, which reuse nothing.
    for (int32_t N : {Old, X.End})
      if (N >= 0 && N != First && Nodes[N].Alive)
        for (int32_t I : Nodes[N].Makes)
          if (ValueId R = M.P.Values[Instances[I].Value].Reuses;
              R != None && Instances[I].Storage == I)
            touch(I);
  }
  for (size_t K = 0; K < Touched.size(); ++K) {
    int32_t S = Touched[K];
    if (!Instances[S].Given && Nodes[Instances[S].Node].Alive)
      count(S);
  }
  for (int32_t S : Touched)
    IsTouched[S] = 0;
  Touched.clear();
}

/// What lives both at the node and at the one after it.
int64_t Schedule::bytesBetween(int32_t Prev) {
  const Node &N = Nodes[Prev];
  int64_t Bytes = Time.bytesAt(Prev);
  if (N.Op == None)
    return Bytes;
  Bytes -= M.workspaceOf(N.Op, N.Choice);
  auto EndsHere = [&](int32_t S) {
    return Instances[S].Counted && Instances[S].End == Prev;
  };
  // Each storage once, though several inputs may lie in it.
  Ended.clear();
  for (int32_t I : N.Reads)
    if (EndsHere(Instances[I].Storage))
      Ended.push_back(Instances[I].Storage);
  std::sort(Ended.begin(), Ended.end());
  Ended.erase(std::unique(Ended.begin(), Ended.end()), Ended.end());
  for (int32_t I : N.Makes)
    if (Instances[I].Storage == I && EndsHere(I))
      Ended.push_back(I);
  for (int32_t S : Ended)
    Bytes += Instances[S].Credit - Instances[S].Own;
  return Bytes;
}
