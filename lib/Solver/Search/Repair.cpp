//===- Repair.cpp - Dropping values where the schedule is over ------------===//
#include "Search/Repair.h"

#include <algorithm>
#include <cmath>

using namespace remat::solver;

/// More than what sums of times lose by rounding, in parts.
static constexpr double Rounded = 1e-9;

Repair::Repair(Schedule &S, uint64_t Seed, const Watch &D) : Moves(S, Seed, D) {
  Price = M.BaseTime / double(std::max<int64_t>(T.peak(), 1));
}

/// Rough time to have a value again before `Next`, from at most `Left` ops of
/// those that it needs. Views cost nothing and are not counted, but a chain of
/// `Views` of them is followed so far only. Where the time is over `Enough`, as
/// much of it that it shows is enough.
double Repair::chainTime(ValueId V, int32_t Next, int &Left, double Enough,
                         int Views) const {
  OpId O = M.Values[V].Producer;
  double Sum = M.TimeAgain[O];
  for (ValueId U : M.inputsAgain(O)) {
    if (Sum > Enough)
      break;
    int32_t I = S.newestBefore(U, Next);
    if (I < 0 || !T.before(S.instance(S.instance(I).Storage).End, Next))
      continue;
    bool View = M.Values[U].Alias != None;
    if (!View && --Left < 0)
      break;
    // More than what is left, so that the sum is over, however it is rounded.
    if (Views < Tuned.Repair.ChainViews)
      Sum += chainTime(U, Next, Left, Enough * (1 + Rounded) - Sum,
                       View ? Views + 1 : Views);
  }
  return Sum;
}

/// The instance is dead before `Next`: is holding it until then better than
/// computing it again? Across the place to relieve a byte has its price.
bool Repair::extendIsBetter(int32_t I, int32_t Next, int32_t At) {
  const Schedule::Instance &X = S.instance(S.instance(I).Storage);
  ValueId V = S.instance(I).Value;
  if (!M.Again[M.Values[V].Producer])
    return true;
  if (X.Own == 0)
    return true;
  bool Crosses = T.before(X.End, At) && T.before(At, Next);
  if (!Crosses && T.maxBetween(T.next(X.End), Next) + X.Own <= T.limit())
    return true;
  double Hold = double(X.Own) * Price * Rng.noise(1);
  int Left = Tuned.Repair.HoldChain;
  return Hold < chainTime(V, Next, Left, Hold);
}

/// Must a value that is read before `Next` be computed again there? `Missing`
/// where it is not made before.
bool Repair::mustRun(ValueId U, int32_t Next, int32_t Avoid, int32_t At,
                     bool &Missing) {
  if (M.Values[U].Producer == None)
    return false;
  int32_t I = S.newestBefore(U, Next);
  if (I < 0) {
    Missing = true;
    return false;
  }
  const Schedule::Instance &X = S.instance(I);
  int32_t Storage = X.Storage;
  if (Stamp[X.Node] == Now && Storage != Avoid)
    return false;
  bool Forced = Storage == Avoid || mustRecompute(I, U, Next);
  if (!Forced && !T.before(S.instance(Storage).End, Next))
    return false;
  return Forced || !extendIsBetter(I, Next, At);
}

/// Computes a value again just before `Next`, and first what that needs, unless
/// the plan would cost too much. The stack is explicit: a chain may be long.
bool Repair::recompute(ValueId V, int32_t Next, int32_t Avoid, int32_t At,
                       double MostCost) {
  Stack.clear();
  auto Enter = [&](ValueId U) {
    OpId O = M.Values[U].Producer;
    if (O == None || !M.Again[O] ||
        Stack.size() > size_t(Tuned.Repair.MostInserted) ||
        ++Inserted > Tuned.Repair.MostInserted)
      return false;
    Stack.push_back({O, 0});
    return true;
  };
  if (!Enter(V))
    return false;
  while (!Stack.empty()) {
    auto &[O, Input] = Stack.back();
    std::span<const ValueId> In = M.inputsOf(O);
    bool Missing = false;
    while (Input < In.size() && !Missing &&
           !mustRun(In[Input], Next, Avoid, At, Missing))
      ++Input;
    if (Missing)
      return false;
    if (Input < In.size()) {
      if (!Enter(In[Input++]))
        return false;
      continue;
    }
    int32_t Place = makeWay(O, Next);
    if (Place < 0)
      return false;
    insert(O, M.Fastest[O], Place);
    if (S.cost() > MostCost)
      return false;
    Stack.pop_back();
  }
  return true;
}

/// Frees a storage at node `At`: whatever reads it later reads new instances.
bool Repair::drop(int32_t Storage, int32_t At, double MostCost) {
  ++Now;
  Inserted = 0;
  Uses.clear();
  auto Collect = [&](int32_t I) {
    for (int32_t R : S.readersOf(I))
      if (T.before(At, R)) {
        Uses.push_back({T.key(R), {I, R}});
        return;
      }
  };
  Collect(Storage);
  for (int32_t A : S.aliasesOf(Storage))
    Collect(A);
  std::sort(Uses.begin(), Uses.end());
  for (auto &[Key, Use] : Uses) {
    auto [I, Reader] = Use;
    ValueId V = S.instance(I).Value;
    if (Reader == S.endNode() ? S.newestBefore(V, Reader) != I
                              : !S.nodeReads(Reader, Storage))
      continue;
    if (S.newestBefore(V, Reader) != I)
      continue;
    if (!recompute(V, Reader, Storage, At, MostCost))
      return false;
  }
  return !Uses.empty();
}

/// The first node after `At` that reads the storage.
int32_t Repair::firstUse(int32_t Storage, int32_t At) const {
  int32_t First = S.endNode();
  auto Look = [&](int32_t I) {
    for (int32_t R : S.readersOf(I))
      if (T.before(At, R)) {
        if (T.before(R, First))
          First = R;
        return;
      }
  };
  Look(Storage);
  for (int32_t A : S.aliasesOf(Storage))
    Look(A);
  return First;
}

/// Storages that live through the node without being touched by it, those that
/// an output of it could take over if they ended there, and leaner kernels for
/// it, best time per byte first.
void Repair::candidatesAt(int32_t N, double Noise) {
  Found.clear();
  uint32_t Key = T.key(N);
  double Over = double(T.bytesAt(N) - T.limit());
  double Small = Tuned.Near.Rounding * M.BaseTime / double(M.numOps());
  auto Offer = [&](Candidate C, double Cost, double Bytes) {
    double Gain = std::min(Bytes, Over) + Tuned.Repair.BeyondNeed * Bytes;
    C.Score = (Cost + Small) / Gain;
    if (Noise > 0)
      C.Score *= Rng.noise(Noise);
    Found.push_back(C);
  };
  int32_t E = S.numInstances(), Stride = 1, Start = 0;
  Work += std::min(E, SampleLimit) / Tuned.Repair.LooksPerChange;
  if (Noise > 0 && E > SampleLimit) {
    Stride = (E + SampleLimit - 1) / SampleLimit;
    Start = int32_t(Rng.below(uint32_t(Stride)));
  }
  if (M.sizeFactor() > 1 && Stride == 1)
    Work += E / Tuned.Repair.LooksPerChange;
  for (int32_t I = Start; I < E; I += Stride) {
    if (!S.ownsAcross(I, Key))
      continue;
    const Schedule::Instance &X = S.instance(I);
    OpId O = M.Values[X.Value].Producer;
    if (!M.Again[O])
      continue;
    int64_t Bytes = S.nodeReads(N, I) ? S.creditAt(I, N) : X.Own;
    if (Bytes == 0)
      continue;
    double Cost = M.TimeAgain[O];
    if (RemovedAt[O] == Iteration && Noise > 0)
      Cost *= 1 + Rng.unit();
    Offer({I, -1, 0}, Cost, double(Bytes));
  }
  const Schedule::Node &X = S.node(N);
  if (X.Op != None)
    for (int32_t C = 0, E = int32_t(M.P.numChoices(X.Op)); C < E; ++C) {
      int64_t Bytes = M.workspaceOf(X.Op, X.Choice) - M.workspaceOf(X.Op, C);
      if (Bytes > 0)
        Offer({-1, C, 0}, M.timeOf(X.Op, C) - M.timeOf(X.Op, X.Choice),
              double(Bytes));
    }
  auto KeepBest = [&](size_t Count) {
    auto Better = [](const Candidate &A, const Candidate &B) {
      if (A.Score != B.Score)
        return A.Score < B.Score;
      return A.Storage != B.Storage ? A.Storage < B.Storage
                                    : A.Choice < B.Choice;
    };
    if (Found.size() > Count) {
      std::nth_element(Found.begin(), Found.begin() + Count, Found.end(),
                       Better);
      Found.resize(Count);
    }
    std::sort(Found.begin(), Found.end(), Better);
  };
  KeepBest(Tuned.Repair.Scored);
  // What an op needs may be gone as well. That makes no score less: from where
  // enough are less than the next one was, all others are left out.
  Scores.clear();
  size_t Looked = 0;
  for (; Looked < Found.size(); ++Looked) {
    Candidate &C = Found[Looked];
    if (Scores.size() == ScoredInFull && C.Score > Scores.back())
      break;
    if (C.Storage >= 0) {
      ValueId V = S.instance(C.Storage).Value;
      double Own = timeAgain(C);
      int Left = Tuned.Repair.ScoreChain;
      double Enough = HUGE_VAL;
      if (Scores.size() == ScoredInFull)
        Enough = Scores.back() * (1 + Rounded) * (Own + Small) / C.Score;
      double Chain = chainTime(V, firstUse(C.Storage, N), Left, Enough);
      C.Score *= (Chain + Small) / (Own + Small);
    }
    Scores.insert(std::upper_bound(Scores.begin(), Scores.end(), C.Score),
                  C.Score);
    if (Scores.size() > ScoredInFull)
      Scores.pop_back();
  }
  Found.resize(Looked);
  KeepBest(ScoredInFull);
}

bool Repair::apply(const Candidate &C, int32_t At, double MostCost) {
  if (C.Storage < 0) {
    choose(At, C.Choice);
    return true;
  }
  return drop(C.Storage, At, MostCost);
}

/// By how much a candidate can lower what is over the limit at most.
double Repair::mostRelief(const Candidate &C) const {
  if (C.Storage < 0)
    return T.overflow();
  const Schedule::Instance &X = S.instance(C.Storage);
  return double(T.overWithin(X.Node, X.End, X.Own));
}

/// Applies the best of the first few candidates that help, each of which is
/// tried in full. One that costs too much for what it can give is given up as
/// soon as that shows. Returns its time for each byte, or nothing where none
/// helps.
std::optional<double> Repair::applyBest(int32_t At, size_t Enough) {
  Reliefs.clear();
  for (size_t K = 0; Looks && K < std::min(Enough, Found.size()); ++K)
    Reliefs.push_back(mostRelief(Found[K]));
  const size_t Mark = Log.size();
  double Cost = S.cost(), Over = T.overflow();
  std::optional<double> Least;
  size_t Best = 0, Applied = 0;
  Random BestRng = Rng;
  for (size_t K = 0; K < Found.size() && (K < Enough || !Least); ++K) {
    const Candidate &C = Found[K];
    double MostCost =
        Least && Looks ? Cost + *Least * Reliefs[K] : AboveAllCosts;
    if (C.Storage >= 0 && Cost + timeAgain(C) > MostCost)
      continue;
    rollback(Mark);
    // A block that a try has split stays so, which changes what is over. Looks
    // are at what was before all tries, and so is what they are compared with.
    if (!Looks) {
      Cost = S.cost();
      Over = T.overflow();
    }
    Random Before = Rng;
    Applied = K;
    if (!apply(C, At, MostCost) || T.overflow() >= Over)
      continue;
    double Score = (S.cost() - Cost) / (Over - T.overflow());
    if (Least && Score >= *Least)
      continue;
    Least = Score;
    Best = K;
    BestRng = Before;
  }
  if (Least && Looks && Applied == Best)
    return Least;
  rollback(Mark);
  if (!Least)
    return Least;
  // The same random numbers again, so that it does the same.
  Rng = BestRng;
  apply(Found[Best], At, AboveAllCosts);
  return Least;
}

/// Relieves one place that is over the limit. Returns false when nothing helps.
bool Repair::repairStep(double Noise) {
  int32_t At = Noise > 0 && Rng.chance(Tuned.Repair.Elsewhere)
                   ? T.overNode(Rng.below(uint32_t(T.numBlocks())))
                   : T.peakNode();
  bool MovesFirst = Noise == 0 || (Reordering > 0 && Rng.chance(Reordering));
  if (MovesFirst && reorderStep(At, Tuned.Moves.Storages))
    return true;
  candidatesAt(At, Noise);
  std::optional<double> Score = applyBest(
      At, Noise > 0 ? Tuned.Repair.TriedWithNoise : Tuned.Repair.Tried);
  if (Score && *Score > 0)
    Price =
        (1 - Tuned.Repair.NewPrice) * Price + Tuned.Repair.NewPrice * *Score;
  return Score.has_value();
}

bool Repair::repair(int MaxSteps) {
  for (int I = 0; T.overflow() > 0; ++I) {
    if (I >= MaxSteps || S.cost() > CostLimit || stopped())
      return false;
    // Where the usual order finds nothing, a more random one may.
    if (!repairStep(I == 0 ? 0 : Tuned.Repair.Noise) &&
        !repairStep(Tuned.Repair.MoreNoise))
      return false;
  }
  return true;
}
