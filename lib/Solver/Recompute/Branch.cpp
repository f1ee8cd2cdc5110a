//===- Branch.cpp - Branch and bound on what is kept at a moment ----------===//
#include "Cut.h"

#include <algorithm>
#include <climits>
#include <limits>
#include <queue>

using namespace remat::solver;

/// Finds the price that bounds a branch best, by the secant between a cut that
/// keeps too much and one that fits. `Next` is the largest class on which the
/// two disagree: it is branched on.
void MomentCut::bisect(Branch &B, int64_t Room) {
  constexpr double Infinity = std::numeric_limits<double>::infinity();
  std::fill(Rulings.begin(), Rulings.end(), Ruling::Open);
  for (auto [I, R] : B.Ruled) {
    Rulings[I] = R;
    if (R == Ruling::Keep)
      Room -= Items[I].Bytes;
  }
  B.Next = -1;
  B.Whole = Infinity;
  Point Over = cut(0, true), Under;
  B.Bound = std::max(B.Bound, Over.Value);
  if (Room < 0)
    B.Bound = Infinity;
  if (Over.Value == Infinity || Room < 0)
    return;
  if (Over.Kept <= Room) {
    B.Whole = Over.Time;
    return;
  }
  bool HasUnder = false;
  double Price = B.Price;
  for (int Step = 0; Step < 24; ++Step) {
    if (HasUnder)
      Price = (Under.Time - Over.Time) / double(Over.Kept - Under.Kept);
    Point X = cut(Price, true);
    double Bound = X.Value - Price * double(Room);
    bool Better = Bound > B.Bound * (1 + 1e-12);
    if (Better) {
      B.Bound = Bound;
      B.Price = Price;
    }
    if (X.Kept <= Room) {
      bool Same = HasUnder && X.Kept == Under.Kept;
      Under = std::move(X);
      HasUnder = true;
      B.Whole = std::min(B.Whole, Under.Time);
      if (Same)
        break;
    } else {
      bool Same = X.Kept == Over.Kept;
      Over = std::move(X);
      if (Same && HasUnder)
        break;
    }
    if (!HasUnder)
      Price *= 4;
  }
  int64_t Largest = 0;
  for (size_t K = 0; K < Items.size(); ++K)
    if (Rulings[K] == Ruling::Open && Items[K].Bytes > Largest &&
        (!HasUnder ||
         Over.Dropped[Items[K].Class] != Under.Dropped[Items[K].Class])) {
      Largest = Items[K].Bytes;
      B.Next = int32_t(K);
    }
}

double MomentCut::rootBound(int64_t Budget) {
  if (Budget < leastBudget())
    return std::numeric_limits<double>::infinity();
  CutsLeft = INT_MAX;
  Branch Root;
  Root.Price = M.BaseTime / double(std::max<int64_t>(Budget, 1));
  bisect(Root, Budget - Fixed);
  // The scaled times are exact, the product of price and bytes is rounded.
  return std::max(0.0, Root.Bound - 1e-9 * M.BaseTime);
}

double MomentCut::exactBound(int64_t Budget, int MaxCuts) {
  double Hull = rootBound(Budget);
  int64_t Room = Budget - Fixed;
  if (Hull <= 0 || Budget < leastBudget())
    return Hull;
  CutsLeft = MaxCuts;
  auto Later = [](const Branch &A, const Branch &B) {
    return A.Bound > B.Bound;
  };
  std::priority_queue<Branch, std::vector<Branch>, decltype(Later)> Open(Later);
  Branch Root;
  Root.Price = Hull / double(std::max<int64_t>(Room, 1));
  bisect(Root, Room);
  double Whole = Root.Whole;
  Open.push(std::move(Root));
  // The least bound of all open branches holds for every plan.
  double Proven = Hull;
  while (!Open.empty()) {
    Branch B = Open.top();
    Proven = std::max(Proven, std::min(B.Bound, Whole));
    if (CutsLeft <= 0 || B.Bound >= Whole || B.Next < 0)
      break;
    Open.pop();
    for (Ruling R : {Ruling::Keep, Ruling::Drop}) {
      Branch Child;
      Child.Ruled = B.Ruled;
      Child.Ruled.push_back({B.Next, R});
      Child.Bound = B.Bound;
      Child.Price = B.Price;
      bisect(Child, Room);
      Whole = std::min(Whole, Child.Whole);
      if (Child.Bound < Whole)
        Open.push(std::move(Child));
    }
    if (Open.empty())
      Proven = std::max(Proven, Whole);
  }
  std::fill(Rulings.begin(), Rulings.end(), Ruling::Open);
  return std::max(Hull, Proven - 1e-9 * M.BaseTime);
}
