//===- Bounds.cpp - Cuts at the moments that bind most --------------------===//
#include "Bounds/Bounds.h"
#include "Bounds/LastInput.h"
#include "Bounds/Several.h"
#include "Model/Ahead.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace remat::solver;

namespace {

/// Before an op runs for the first time its ancestors have run and its
/// descendants have not. Bytes that cross from the ones to the others, with
/// those of the op itself, are what a bound at this op can work with.
int64_t crossingBytes(const Model &M, OpId At, const std::vector<int8_t> &Side,
                      std::vector<OpId> &Seen) {
  int64_t Bytes = M.leastBytesAt(At);
  Seen.resize(M.numValues(), None);
  for (ValueId V : M.P.Ops[At].Inputs)
    Seen[M.Class[V]] = At;
  for (ValueId V : M.P.Ops[At].Outputs)
    Seen[M.Class[V]] = At;
  for (OpId O = At + 1; O < M.numOps(); ++O) {
    if (Side[O] != MomentCut::After)
      continue;
    for (ValueId V : M.P.Ops[O].Inputs) {
      ValueId C = M.Class[V];
      OpId By = M.P.Values[C].Producer;
      if (By == None || Side[By] != MomentCut::Before || Seen[C] == At)
        continue;
      Seen[C] = At;
      Bytes += M.P.Values[C].Bytes;
    }
  }
  return Bytes;
}

/// Looks at every op, or at some and then at the neighbours of the best.
class Moments {
public:
  Moments(const Model &M, const std::vector<int64_t> &Bytes, int64_t Budget)
      : M(M), Budget(Budget), Looked(M.numOps(), false), Bytes(Bytes) {}

  /// The ops with the most crossing bytes: of the whole step, and of each of
  /// its parts, so that they do not all stand together.
  std::vector<OpId> choose() {
    // To look at one takes as long as there are ops.
    const int32_t MaxTried = 1500 / M.sizeFactor();
    const int32_t MostOfAll = M.sizeFactor() > 1 ? 3 : 8;
    int32_t NumParts = M.numOps() < 2000 ? 36 : M.sizeFactor() > 1 ? 4 : 12;
    int32_t Stride = 1 + M.numOps() / MaxTried;
    int32_t Near = M.sizeFactor() > 1 ? 1 + Stride / 4 : 1;
    look(M.Turn);
    for (OpId At = 0; At < M.numOps(); At += Stride)
      look(At);
    std::sort(Found.begin(), Found.end());
    std::vector<std::pair<int64_t, OpId>> Best = Found;
    Best.resize(std::min(Best.size(), size_t(2) * MostOfAll));
    for (auto [Negative, At] : Best)
      for (OpId O = At - Stride; O <= At + Stride; O += Near)
        look(O);
    std::sort(Found.begin(), Found.end());
    std::vector<OpId> Chosen;
    if (M.Seen[M.Turn])
      Chosen.push_back(M.Turn);
    std::vector<bool> PartTaken(NumParts, false);
    for (size_t I = 0; I < Found.size(); ++I) {
      OpId At = Found[I].second;
      size_t Part = size_t(int64_t(At) * NumParts / M.numOps());
      if (At == M.Turn || (int32_t(I) >= MostOfAll && PartTaken[Part]))
        continue;
      PartTaken[Part] = true;
      Chosen.push_back(At);
    }
    return Chosen;
  }

private:
  const Model &M;
  int64_t Budget;
  std::vector<bool> Looked;
  /// Of the base order. What crosses an op in every order is alive there.
  const std::vector<int64_t> &Bytes;
  std::vector<OpId> Seen;
  std::vector<std::pair<int64_t, OpId>> Found;

  void look(OpId At) {
    if (At < 0 || At >= M.numOps() || Looked[At] || !M.Seen[At])
      return;
    Looked[At] = true;
    if (!M.AnyNever && Bytes[At] <= Budget)
      return;
    int64_t Crossing = crossingBytes(M, At, MomentCut::sides(M, At), Seen);
    if (Crossing > Budget)
      Found.push_back({-Crossing, At});
  }
};

/// Is there a step over the budget in the base order among those at which what
/// stands together there was made, one step back after the other? If the base
/// order is a plan and there is none, no bound from these steps is above 0.
bool meetsOver(const Model &M, Together T, const std::vector<int64_t> &Bytes,
               int64_t Budget) {
  for (int I = 0; I <= Together::Deepest && T.usable(); ++I) {
    OpId Last = None;
    for (ValueId C : T.Classes)
      Last = std::max(Last, M.P.Values[C].Producer);
    if (Bytes[Last] > Budget)
      return true;
    T = T.before(M, Last);
  }
  return false;
}

/// So many bytes, if more than `Known`, every plan has at a step where the
/// inputs of an op come together, by what stands there in any case. Looks at
/// few steps.
int64_t bytesToMeet(const Model &M, const Descent &Of, const Together &Inputs,
                    int64_t Known) {
  int Left = 100;
  if (Inputs.Classes.size() < 2)
    return 0;
  return Inputs.leastOver(M, Of, Known, [&](const Together &T, OpId Last) {
    return Left-- > 0 ? M.leastBytesAt(Last, T.Classes) : 0;
  });
}

/// Ops whose inputs come together at a cost, those first that should bind most.
std::vector<OpId> meetings(const Model &M, const Descent &Of,
                           const std::vector<int64_t> &Bytes, int64_t Budget) {
  int32_t Left = M.sizeFactor() > 1 ? 2000 / M.sizeFactor() : M.numOps();
  std::vector<OpId> Seen;
  std::vector<std::pair<int64_t, OpId>> Found;
  for (OpId X = 0; X < M.numOps(); ++X) {
    Together T = Together::inputsOf(M, X);
    if (!M.AnyNever && !meetsOver(M, T, Bytes, Budget))
      continue;
    // What adds little to the op's own bytes is seen at its own moment.
    int64_t Own = M.leastBytesAt(X), Visible = Own + Budget / 64;
    int64_t Least = bytesToMeet(M, Of, T, Visible);
    if (Least <= Visible)
      continue;
    if (Left-- <= 0)
      break;
    int64_t Crossing = crossingBytes(M, X, MomentCut::sides(M, X), Seen);
    if (Crossing - Own + Least > Budget)
      Found.push_back({Own - Least - Crossing, X});
  }
  std::sort(Found.begin(), Found.end());
  std::vector<OpId> Out;
  for (auto [Negative, X] : Found)
    Out.push_back(X);
  return Out;
}

/// Raises the bounds by those from where an op's inputs come together: first
/// that on the budget; if that is met, the time, by a short search at each of
/// the ops, and a long one where it is above what is known.
void meetingBounds(const Model &M, const Descent &Of,
                   const std::vector<int64_t> &Bytes, int64_t Budget,
                   const Watch &D, Bounds &R) {
  constexpr int64_t Short = 300'000, Long = 3'000'000;
  int64_t LeftForBytes = 40'000'000, LeftForTime = 20'000'000;
  std::vector<OpId> Ops = meetings(M, Of, Bytes, Budget);
  auto LeastAt = [&](const Together &T, OpId Last) -> int64_t {
    if (LeftForBytes <= 0)
      return 0;
    MomentCut Cut(M, T.lastMade(M, Last));
    Cut.findLeast();
    LeftForBytes -= Cut.work();
    return Cut.leastBudget();
  };
  for (OpId X : Ops) {
    if (LeftForBytes <= 0 || R.LeastBudget > Budget || D.passed())
      break;
    int64_t Least =
        Together::inputsOf(M, X).leastOver(M, Of, R.LeastBudget, LeastAt);
    R.LeastBudget = std::max(R.LeastBudget, Least);
  }
  for (OpId X : Ops) {
    if (LeftForTime <= 0 || R.LeastBudget > Budget || D.passed())
      break;
    LastInputBound Last(M, Of, X, Budget);
    double Extra = Last.search(Short);
    if (Extra > R.Extra)
      Extra = Last.search(Long);
    LeftForTime -= Last.work();
    if (std::isinf(Extra))
      R.LeastBudget = std::max(R.LeastBudget, Budget + 1);
    else
      R.Extra = std::max(R.Extra, Extra);
  }
}

/// Ops that may run before `At` or after it and need as many bytes: slices of
/// the same computation, such as the parts of a loss.
std::vector<OpId> equalsOf(const Model &M, OpId At,
                           const std::vector<int8_t> &Side) {
  int64_t Bytes = M.leastBytesAt(At);
  std::vector<OpId> Out;
  for (OpId O = 0; O < M.numOps(); ++O)
    if (Side[O] == MomentCut::Apart && M.Seen[O]) {
      int64_t Other = M.leastBytesAt(O);
      if (std::abs(Other - Bytes) <= Bytes / 50)
        Out.push_back(O);
    }
  return Out;
}

/// A bound from the first of several ops to run. One of them is, and the others
/// and all that descends from them come later: the least of their bounds holds.
/// Gives up, with 0, where one is not above `Known`. Of many ops one cut takes
/// what holds whichever is first.
double firstOfBound(const Model &M, const std::vector<OpId> &Ops,
                    int64_t Budget, double Known) {
  const size_t Most = M.sizeFactor() > 1 ? 4 : 25;
  if (Ops.size() > Most) {
    MomentCut Cut(M, Moment::firstOf(M, Ops));
    Cut.findLeast();
    return Cut.rootBound(Budget);
  }
  double Least = std::numeric_limits<double>::infinity();
  for (OpId At : Ops) {
    std::vector<OpId> Later;
    for (OpId O : Ops)
      if (O != At)
        Later.push_back(O);
    std::vector<int8_t> Side = MomentCut::sides(M, At, Later);
    if (Side.empty())
      continue;
    MomentCut Cut(M, At, Side);
    Cut.findLeast();
    Least = std::min(Least, Cut.rootBound(Budget));
    if (Least <= Known)
      return 0;
  }
  return Least;
}

/// Groups of slices around the best moments, and around the ops at which most
/// bytes stand in the base order: alone these may bind nothing. At least
/// `Known`.
double groupsBound(const Model &M, const std::vector<int64_t> &Bytes,
                   const std::vector<std::pair<double, OpId>> &Roots,
                   int64_t Budget, const Watch &D, double Known) {
  const int MostOfEach = M.sizeFactor() > 1 ? 1 : 4;
  std::vector<std::pair<int64_t, OpId>> Peaks;
  for (OpId O = 0; O < M.numOps(); ++O)
    if (Bytes[O] > Budget && M.Seen[O])
      Peaks.push_back({-Bytes[O], O});
  std::sort(Peaks.begin(), Peaks.end());
  std::vector<bool> Seen(M.numOps(), false);
  int Left = 0;
  auto Look = [&](OpId At) {
    if (Seen[At] || Left == 0 || D.passed() ||
        M.leastBytesAt(At) - M.Resident < Budget / 50)
      return;
    --Left;
    std::vector<OpId> Ops = equalsOf(M, At, MomentCut::sides(M, At));
    Ops.push_back(At);
    for (OpId O : Ops)
      Seen[O] = true;
    double First = Ops.size() > 1 ? firstOfBound(M, Ops, Budget, Known) : 0;
    if (std::isfinite(First))
      Known = std::max(Known, First);
  };
  Left = MostOfEach;
  for (auto [Negative, At] : Roots)
    Look(At);
  Left = MostOfEach;
  for (auto [Negative, At] : Peaks)
    Look(At);
  return Known;
}

/// The bounds from the first runs of the ops that should bind most: of the
/// time, negative, with the op, where there is one.
std::vector<std::pair<double, OpId>>
rootBounds(const Model &M, const std::vector<int64_t> &Bytes, int64_t Budget,
           const Watch &D, Bounds &R) {
  std::vector<OpId> Ops = Moments(M, Bytes, Budget).choose();
  std::vector<std::pair<double, OpId>> Roots;
  auto Make = [&](size_t I, const Watch &Here) {
    Bounds X;
    if (Here.passed())
      return X;
    MomentCut Cut(M, Ops[I], MomentCut::sides(M, Ops[I]));
    Cut.findLeast();
    X.LeastBudget = Cut.leastBudget();
    X.Priced = Cut.pricedBound(Budget);
    return X;
  };
  auto Take = [&](size_t I, const Bounds &X) {
    R.LeastBudget = std::max(R.LeastBudget, X.LeastBudget);
    if (std::isfinite(X.Priced.Extra)) {
      R.raise(X.Priced);
      Roots.push_back({-X.Priced.Extra, Ops[I]});
    }
    return !D.passed();
  };
  inOrder(D, Ops.size(), Lead::Certain, Make, Take);
  return Roots;
}

/// Without the gap between prices and whole values, from one op's first run.
double wholeBound(const Model &M, OpId At, int64_t Budget) {
  MomentCut Cut(M, At, MomentCut::sides(M, At));
  Cut.findLeast();
  // Cuts take longer on large problems, where whole values matter less.
  double Extra = Cut.exactBound(Budget, 600'000 / (M.numOps() + 200));
  return std::isfinite(Extra) ? Extra : 0;
}

} // namespace

Bounds remat::solver::momentBounds(const Model &M, int64_t Budget,
                                   const Watch &D, bool Exact) {
  Bounds R;
  R.LeastBudget = M.Resident;
  Descent Of(M);
  for (OpId O = 0; O < M.numOps(); ++O)
    if (M.Seen[O])
      R.LeastBudget = std::max(R.LeastBudget, M.leastBytesAt(O));
  for (OpId O = 0; O < M.numOps(); ++O)
    R.LeastBudget =
        std::max(R.LeastBudget,
                 bytesToMeet(M, Of, Together::inputsOf(M, O), R.LeastBudget));
  if (M.Turn == None)
    return R;
  std::vector<int64_t> Bytes = bytesOf(M, emitKept(M, baseOrder(M)));
  std::vector<std::pair<double, OpId>> Roots =
      rootBounds(M, Bytes, Budget, D, R);
  if (!Exact)
    return R;
  // Each raises the bound by itself, whatever the others find.
  std::sort(Roots.begin(), Roots.end());
  std::optional<Ahead<double>> Whole, Groups;
  std::optional<Ahead<PricedBound>> Several;
  if (!Roots.empty() && R.LeastBudget <= Budget) {
    Whole.emplace(D, [&](const Watch &) {
      return wholeBound(M, Roots[0].second, Budget);
    });
    Several.emplace(D, [&](const Watch &Here) {
      std::vector<OpId> Likely;
      for (auto [Negative, At] : Roots)
        Likely.push_back(At);
      return severalBound(M, Likely, Budget, Here);
    });
    Groups.emplace(D, [&, Known = R.Extra](const Watch &Here) {
      return groupsBound(M, Bytes, Roots, Budget, Here, Known);
    });
  }
  meetingBounds(M, Of, Bytes, Budget, D, R);
  if (D.passed() || R.LeastBudget > Budget || Roots.empty())
    return R;
  R.raise(Several->get());
  R.Extra = std::max({R.Extra, Whole->get(), Groups->get()});
  return R;
}
