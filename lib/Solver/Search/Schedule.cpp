//===- Schedule.cpp - A plan that can be changed in place -----------------===//
#include "Search/Schedule.h"

#include <algorithm>

using namespace remat::solver;

/// Bytes of the lists for each step, so that most schedules take memory once.
static constexpr size_t BytesOfStep = 256;

Schedule::Schedule(const Model &M, const Plan &S, int64_t Limit)
    : Memory(BytesOfStep * (S.Sequence.size() + 1)), M(M),
      Time(int32_t(S.Sequence.size()) + 2, Limit), Readers(&Memory),
      Aliases(&Memory), ByValue(M.numValues(), &Memory),
      Linked(M.numOps(), &Memory), Runs(M.numOps(), 0) {
  Nodes.reserve(S.Sequence.size() + 2);
  First = newNode(None, 0);
  Time.pushBack(First, M.Resident);
  for (ValueId V = 0; V < M.numValues(); ++V)
    if (M.Values[V].Producer == None) {
      int32_t I = newInstance(V, First);
      Instances[I].End = First;
      Nodes[First].Makes.push_back(I);
    }
  Last = newNode(None, 0);
  Time.pushBack(Last, M.Resident);
  // What all count is settled once, below.
  for (const Step &T : S.Sequence)
    place(T.Op, T.Choice, Last, M.Resident + M.workspaceOf(T.Op, T.Choice));
  Results = M.P.Results;
  for (ValueId V : Results) {
    int32_t I = newestBefore(V, Last);
    Nodes[Last].Reads.push_back(I);
    addRead(I, Last);
  }
  settle();
}

std::span<const ValueId> Schedule::inputsOf(int32_t N) const {
  return Nodes[N].Op == None ? Results : M.inputsOf(Nodes[N].Op);
}

int32_t Schedule::newNode(OpId O, int32_t Choice) {
  int32_t N;
  if (FreeNodes.empty()) {
    N = int32_t(Nodes.size());
    Nodes.emplace_back(&Memory);
    ExtraSlot.push_back(-1);
  } else {
    N = FreeNodes.back();
    FreeNodes.pop_back();
  }
  Nodes[N].Op = O;
  Nodes[N].Choice = Choice;
  Nodes[N].Alive = true;
  Nodes[N].Takes = O != None && !M.Takers[O].empty();
  Nodes[N].Reads.clear();
  Nodes[N].Makes.clear();
  if (O != None) {
    Nodes[N].Reads.reserve(M.inputsOf(O).size());
    Nodes[N].Makes.reserve(M.outputsOf(O).size());
  }
  return N;
}

void Schedule::freeNode(int32_t N) {
  Nodes[N].Alive = false;
  FreeNodes.push_back(N);
}

int32_t Schedule::newInstance(ValueId V, int32_t N) {
  int32_t I;
  if (FreeInstances.empty()) {
    I = int32_t(Instances.size());
    Instances.emplace_back();
    Readers.emplace_back();
    Aliases.emplace_back();
    IsTouched.push_back(0);
  } else {
    I = FreeInstances.back();
    FreeInstances.pop_back();
  }
  Instance &X = Instances[I];
  X.Value = V;
  X.Node = N;
  X.Storage = I;
  Readers[I].clear();
  Aliases[I].clear();
  X.End = -1;
  X.Own = X.Credit = 0;
  X.Counted = false;
  X.Given = M.Values[V].Producer == None;
  // In order of position.
  List &All = ByValue[V];
  size_t K = All.size();
  while (K > 0 && Time.before(N, Instances[All[K - 1]].Node))
    --K;
  All.insert(All.begin() + K, I);
  return I;
}

bool Schedule::nodeReads(int32_t N, int32_t Storage) const {
  for (int32_t I : Nodes[N].Reads)
    if (Instances[I].Storage == Storage)
      return true;
  return false;
}

//===----------------------------------------------------------------------===//
// Bindings
//===----------------------------------------------------------------------===//

void Schedule::addRead(int32_t I, int32_t N) {
  auto &R = Readers[I];
  auto Less = [&](int32_t A, int32_t B) { return Time.before(A, B); };
  R.insert(std::upper_bound(R.begin(), R.end(), N, Less), N);
  touch(Instances[I].Storage);
}

void Schedule::dropRead(int32_t I, int32_t N) {
  auto &R = Readers[I];
  auto Less = [&](int32_t A, int32_t B) { return Time.before(A, B); };
  R.erase(std::lower_bound(R.begin(), R.end(), N, Less));
  touch(Instances[I].Storage);
}

void Schedule::leaveStorage(int32_t I) {
  int32_t S = Instances[I].Storage;
  if (S == I)
    return;
  auto &A = Aliases[S];
  A.erase(std::find(A.begin(), A.end(), I));
  touch(S);
}

/// Puts an alias instance where the instance that its node reads now lives,
/// and aliases of it likewise: chains of them may be as long as the plan.
void Schedule::bindStorage(int32_t Alias, int32_t At) {
  if (M.Values[Instances[Alias].Value].Alias == None)
    return;
  Bound = {{Alias, At}};
  while (!Bound.empty()) {
    auto [I, N] = Bound.back();
    Bound.pop_back();
    ValueId Target = M.Values[Instances[I].Value].Alias;
    if (Target == None)
      continue;
    std::span<const ValueId> In = inputsOf(N);
    size_t K = std::find(In.begin(), In.end(), Target) - In.begin();
    int32_t S = Instances[Nodes[N].Reads[K]].Storage;
    if (S == Instances[I].Storage)
      continue;
    leaveStorage(I);
    Instances[I].Storage = S;
    Aliases[S].push_back(I);
    touch(S);
    // The first reader comes next.
    size_t First = Bound.size();
    for (int32_t R : Readers[I])
      for (int32_t J : Nodes[R].Makes)
        if (M.Values[Instances[J].Value].Alias == Instances[I].Value)
          Bound.push_back({J, R});
    std::reverse(Bound.begin() + First, Bound.end());
  }
}

void Schedule::link(int32_t N) {
  OpId O = Nodes[N].Op;
  if (!isLinked(O))
    return;
  List &All = Linked[O];
  auto Less = [&](int32_t A, int32_t B) { return Time.before(A, B); };
  All.insert(std::upper_bound(All.begin(), All.end(), N, Less), N);
}

void Schedule::unlink(int32_t N) {
  if (OpId O = Nodes[N].Op; isLinked(O))
    Linked[O].erase(std::find(Linked[O].begin(), Linked[O].end(), N));
}

bool Schedule::mayRun(OpId O, int32_t Next) const {
  for (OpId Later : M.Enders[O])
    if (int32_t N = firstRun(Later); N >= 0 && Time.before(N, Next))
      return false;
  for (OpId Earlier : M.P.Ops[O].After)
    if (!Linked[Earlier].empty() && !Time.before(Linked[Earlier].back(), Next))
      return false;
  return true;
}

static void rebind(Schedule::List &Reads, int32_t From, int32_t To) {
  std::replace(Reads.begin(), Reads.end(), From, To);
}

int32_t Schedule::insert(OpId O, int32_t Choice, int32_t Next) {
  int64_t Bytes = bytesBetween(Time.prev(Next)) + M.workspaceOf(O, Choice);
  int32_t N = place(O, Choice, Next, Bytes);
  settle();
  return N;
}

int32_t Schedule::place(OpId O, int32_t Choice, int32_t Next, int64_t Bytes) {
  int32_t N = newNode(O, Choice);
  Time.insertBefore(N, Next, Bytes);
  link(N);
  for (ValueId V : M.inputsOf(O)) {
    int32_t I = newestBefore(V, N);
    Nodes[N].Reads.push_back(I);
    addRead(I, N);
  }
  for (ValueId V : M.outputsOf(O)) {
    int32_t Old = newestBefore(V, N);
    int32_t I = newInstance(V, N);
    Nodes[N].Makes.push_back(I);
    bindStorage(I, N);
    touch(Instances[I].Storage);
    if (Old < 0)
      continue;
    auto &From = Readers[Old];
    size_t K = From.size();
    while (K > 0 && Time.before(N, From[K - 1]))
      --K;
    Readers[I].assign(From.begin() + K, From.end());
    From.resize(K);
    touch(Instances[Old].Storage);
    for (int32_t R : Readers[I]) {
      rebind(Nodes[R].Reads, Old, I);
      for (int32_t J : Nodes[R].Makes)
        if (M.Values[Instances[J].Value].Alias == V)
          bindStorage(J, R);
    }
  }
  ++Runs[O];
  account(N, 1);
  setExtra(N, Runs[O] > 2);
  refreshExtras(O);
  return N;
}

void Schedule::remove(int32_t N) {
  OpId O = Nodes[N].Op;
  account(N, -1);
  for (int32_t I : Nodes[N].Makes) {
    ValueId V = Instances[I].Value;
    List &All = ByValue[V];
    size_t K = std::find(All.begin(), All.end(), I) - All.begin();
    All.erase(All.begin() + K);
    int32_t Old = K > 0 ? All[K - 1] : -1;
    leaveStorage(I);
    uncount(I);
    Moved.assign(Readers[I].begin(), Readers[I].end());
    Readers[I].clear();
    if (Old < 0)
      continue;
    auto &To = Readers[Old];
    To.insert(To.end(), Moved.begin(), Moved.end());
    touch(Instances[Old].Storage);
    for (int32_t R : Moved) {
      rebind(Nodes[R].Reads, I, Old);
      for (int32_t J : Nodes[R].Makes)
        if (M.Values[Instances[J].Value].Alias == V)
          bindStorage(J, R);
    }
  }
  for (int32_t I : Nodes[N].Reads)
    dropRead(I, N);
  Nodes[N].Alive = false;
  settle();
  unlink(N);
  Time.erase(N);
  // In reverse, so that undoing in reverse order hands out the same ids.
  for (size_t K = Nodes[N].Makes.size(); K > 0; --K)
    FreeInstances.push_back(Nodes[N].Makes[K - 1]);
  setExtra(N, false);
  freeNode(N);
  --Runs[O];
  refreshExtras(O);
}

bool Schedule::removable(int32_t N) const {
  const Node &X = Nodes[N];
  if (X.Op == None || Runs[X.Op] < 2 || X.Makes.empty())
    return false;
  return ByValue[Instances[X.Makes[0]].Value].front() != X.Makes[0] ||
         unread(N);
}

bool Schedule::unread(int32_t N) const {
  for (int32_t I : Nodes[N].Makes)
    if (!Readers[I].empty())
      return false;
  return true;
}

bool Schedule::canMove(int32_t N, int32_t Next) const {
  const Node &X = Nodes[N];
  if (X.Op == None || Next == First || Next == N || Next == Time.next(N))
    return false;
  if (!mayRun(X.Op, Next))
    return false;
  bool Later = Time.before(N, Next);
  for (ValueId V : M.inputsOf(X.Op))
    if (newestBefore(V, Next) < 0)
      return false;
  for (int32_t I : X.Makes) {
    const List &All = ByValue[Instances[I].Value];
    size_t K = std::find(All.begin(), All.end(), I) - All.begin();
    const auto &Reads = Readers[I];
    if (Later) {
      if (!Reads.empty() && Time.before(Reads.front(), Next))
        return false;
      if (K + 1 < All.size() && Time.before(Instances[All[K + 1]].Node, Next))
        return false;
    } else if (K > 0) {
      int32_t Old = All[K - 1];
      if (!Time.before(Instances[Old].Node, Next) ||
          (!Readers[Old].empty() && !Time.before(Readers[Old].back(), Next)))
        return false;
    }
  }
  return true;
}

void Schedule::move(int32_t N, int32_t Next) {
  for (int32_t I : Nodes[N].Makes)
    uncount(I);
  for (int32_t I : Nodes[N].Reads)
    dropRead(I, N);
  Nodes[N].Alive = false;
  settle();
  unlink(N);
  Time.erase(N);
  Nodes[N].Alive = true;
  const Node &X = Nodes[N];
  Time.insertBefore(
      N, Next, bytesBetween(Time.prev(Next)) + M.workspaceOf(X.Op, X.Choice));
  link(N);
  auto In = M.inputsOf(X.Op);
  for (size_t K = 0; K < In.size(); ++K) {
    int32_t I = newestBefore(In[K], N);
    Nodes[N].Reads[K] = I;
    addRead(I, N);
  }
  for (int32_t I : Nodes[N].Makes) {
    bindStorage(I, N);
    touch(Instances[I].Storage);
  }
  settle();
}

//===----------------------------------------------------------------------===//
// Time and lists
//===----------------------------------------------------------------------===//

void Schedule::account(int32_t N, double Sign) {
  const Node &X = Nodes[N];
  double T = M.timeOf(X.Op, X.Choice);
  Seconds += Sign * T;
  if (Runs[X.Op] > 1 && M.Reluctant[X.Op])
    Surcharge += Sign * T;
}

void Schedule::setChoice(int32_t N, int32_t Choice) {
  Node &X = Nodes[N];
  Time.add(N, N, M.workspaceOf(X.Op, Choice) - M.workspaceOf(X.Op, X.Choice));
  account(N, -1);
  X.Choice = Choice;
  account(N, 1);
}

void Schedule::setExtra(int32_t N, bool Extra) {
  if (Nodes[N].Extra == Extra)
    return;
  Nodes[N].Extra = Extra;
  if (Extra) {
    ExtraSlot[N] = int32_t(Extras.size());
    Extras.push_back(N);
    return;
  }
  int32_t Slot = ExtraSlot[N];
  Extras[Slot] = Extras.back();
  ExtraSlot[Extras[Slot]] = Slot;
  Extras.pop_back();
}

/// Whether an op runs once or more often changes between one run and two only.
void Schedule::refreshExtras(OpId O) {
  auto Out = M.outputsOf(O);
  if (Out.empty() || Runs[O] > 2)
    return;
  for (int32_t I : ByValue[Out[0]])
    setExtra(Instances[I].Node, Runs[O] > 1);
}

Plan Schedule::plan() const {
  Plan S;
  for (int32_t N : Time.nodes())
    if (Nodes[N].Op != None)
      S.Sequence.push_back({Nodes[N].Op, Nodes[N].Choice});
  return S;
}
