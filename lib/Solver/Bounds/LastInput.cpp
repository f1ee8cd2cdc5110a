//===- LastInput.cpp - Moments at which an op's inputs come together ------===//
#include "Bounds/LastInput.h"

#include <algorithm>
#include <cmath>

using namespace remat::solver;

static void sortUnique(std::vector<int32_t> &X) {
  std::sort(X.begin(), X.end());
  X.erase(std::unique(X.begin(), X.end()), X.end());
}

/// Nothing is said of classes that an op makes at whose run memory is not seen.
static void keepIfSeen(const Model &M, Together &T) {
  bool Seen = std::all_of(T.Classes.begin(), T.Classes.end(), [&](ValueId C) {
    return bool(M.Seen[M.P.Values[C].Producer]);
  });
  if (!Seen)
    T.Classes.clear();
}

Together Together::inputsOf(const Model &M, OpId First) {
  Together T{First, {}};
  if (M.Seen[First])
    T.Classes = M.classesRead(First);
  keepIfSeen(M, T);
  return T;
}

bool Together::usable() const {
  constexpr size_t Most = 32;
  return !Classes.empty() && Classes.size() <= Most;
}

bool Descent::reachesAny(OpId From, const std::vector<OpId> &Ops) const {
  size_t Bit = std::find(Known.begin(), Known.end(), From) - Known.begin();
  if (Bit == Known.size()) {
    if (Known.size() == 64)
      return search(From, Ops);
    Known.push_back(From);
    Below.resize(M.numOps(), 0);
    for (OpId O = From + 1; O < M.numOps(); ++O)
      for (ValueId V : M.P.Ops[O].Inputs)
        if (OpId By = M.P.Values[V].Producer; By >= From)
          Below[O] |=
              By == From ? uint64_t(1) << Bit : Below[By] & uint64_t(1) << Bit;
  }
  return std::any_of(Ops.begin(), Ops.end(),
                     [&](OpId O) { return bool(Below[O] >> Bit & 1); });
}

/// Backward, nearest first: what descends mostly does so in a few steps.
bool Descent::search(OpId From, const std::vector<OpId> &Ops) const {
  Stamp.resize(M.numOps(), 0);
  ++Now;
  std::vector<OpId> Queue;
  for (OpId O : Ops)
    if (O > From)
      Queue.push_back(O);
  for (size_t I = 0; I < Queue.size() && Work < MaxWork; ++I)
    for (ValueId V : M.P.Ops[Queue[I]].Inputs) {
      OpId By = M.P.Values[V].Producer;
      ++Work;
      if (By == From)
        return true;
      if (By > From && Stamp[By] != Now) {
        Stamp[By] = Now;
        Queue.push_back(By);
      }
    }
  return false;
}

std::vector<OpId> Together::lastMakers(const Model &M,
                                       const Descent &Of) const {
  std::vector<OpId> Makers;
  for (ValueId C : Classes)
    Makers.push_back(M.P.Values[C].Producer);
  sortUnique(Makers);
  std::vector<OpId> Last;
  for (OpId O : Makers)
    if (M.Again[O] || !Of.reachesAny(O, Makers))
      Last.push_back(O);
  return Last;
}

Moment Together::lastMade(const Model &M, OpId Last) const {
  std::vector<int8_t> Side = MomentCut::sides(M, First);
  // Other ancestors of `First`, such as views, may have run or not.
  std::replace(Side.begin(), Side.end(), int8_t(MomentCut::Before),
               int8_t(MomentCut::Apart));
  Side[First] = MomentCut::After;
  for (ValueId C : Classes)
    Side[M.P.Values[C].Producer] = MomentCut::Before;
  for (OpId O = First; O >= 0; --O)
    if (Side[O] == MomentCut::Before)
      for (ValueId V : M.P.Ops[O].Inputs)
        if (OpId By = M.P.Values[V].Producer; By != None)
          Side[By] = MomentCut::Before;
  return {Last, std::move(Side), Classes, M.leastBytesAt(Last, Classes)};
}

Together Together::before(const Model &M, OpId Last) const {
  Together T{First, M.classesRead(Last)};
  for (ValueId C : Classes)
    if (M.P.Values[C].Producer != Last)
      T.Classes.push_back(C);
  sortUnique(T.Classes);
  // That the others stand together holds without the small ones, each of which
  // would be one more step back.
  constexpr int64_t Small = 64;
  int64_t Most = 0;
  for (ValueId C : T.Classes)
    Most = std::max(Most, M.P.Values[C].Bytes);
  std::erase_if(T.Classes,
                [&](ValueId C) { return M.P.Values[C].Bytes < Most / Small; });
  keepIfSeen(M, T);
  return T;
}

int64_t Together::leastOver(const Model &M, const Descent &Of, int64_t Known,
                            const BytesAt &At, int Deeper) const {
  if (!usable())
    return 0;
  int64_t Least = INT64_MAX;
  for (OpId Last : lastMakers(M, Of)) {
    int64_t Here = At(*this, Last);
    if (Here <= Known && Deeper > 0)
      Here = std::max(Here,
                      before(M, Last).leastOver(M, Of, Known, At, Deeper - 1));
    Least = std::min(Least, Here);
    if (Least <= Known)
      break;
  }
  return Least;
}

LastInputBound::LastInputBound(const Model &M, const Descent &Of, OpId First,
                               int64_t Budget)
    : M(M), Of(Of), Budget(Budget) {
  if (Together T = Together::inputsOf(M, First); T.usable())
    expand(T, 0, Together::Deepest);
}

/// Adds the cases of what was last of `T`, one of which holds. What is known of
/// the case that they replace holds in each of them.
void LastInputBound::expand(const Together &T, double Known, int Deeper) {
  for (OpId Last : T.lastMakers(M, Of)) {
    MomentCut Cut(M, T.lastMade(M, Last));
    Cut.findLeast();
    double Bound = std::max(Known, Cut.rootBound(Budget));
    Open.push_back({Bound, T, Last, Deeper});
    Work += Cut.work();
  }
}

std::vector<LastInputBound::Case>::iterator LastInputBound::weakest() {
  return std::min_element(
      Open.begin(), Open.end(),
      [](const Case &A, const Case &B) { return A.Bound < B.Bound; });
}

double LastInputBound::search(int64_t MostWork) {
  constexpr int ExactCuts = 60;
  while (!Open.empty() && Work < MostWork) {
    Case &X = *weakest();
    if (std::isinf(X.Bound))
      break;
    // First the gap between prices and whole values, then one step back.
    if (!X.Exact) {
      X.Exact = true;
      MomentCut Cut(M, X.Of.lastMade(M, X.Last));
      Cut.findLeast();
      X.Bound = std::max(X.Bound, Cut.exactBound(Budget, ExactCuts));
      Work += Cut.work();
      continue;
    }
    Together Before = X.Of.before(M, X.Last);
    if (X.Deeper == 0 || !Before.usable())
      break;
    double Known = X.Bound;
    int Deeper = X.Deeper - 1;
    Open.erase(weakest());
    expand(Before, Known, Deeper);
  }
  return Open.empty() ? 0 : weakest()->Bound;
}
