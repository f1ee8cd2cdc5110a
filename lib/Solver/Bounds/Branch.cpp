//===- Branch.cpp - Branch and bound on what is kept at a moment ----------===//
#include "Bounds/Cut.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <limits>
#include <queue>

using namespace remat::solver;

/// Sets the rulings and weights of a branch. Returns the room that it leaves:
/// negative when what it keeps is too much.
int64_t MomentCut::weigh(const Branch &B, int64_t Room) {
  std::fill(Rulings.begin(), Rulings.end(), Ruling::Open);
  for (size_t K = 0; K < Items.size(); ++K)
    Weights[K] = Items[K].Bytes;
  for (const Tilt &T : B.Tilts) {
    for (int32_t I : T.Group)
      Weights[I] += T.Extra;
    Room += T.Extra * T.Count;
  }
  for (auto [I, R] : B.Ruled) {
    Rulings[I] = R;
    if (R == Ruling::Keep)
      Room -= Weights[I];
  }
  return Room;
}

/// What to branch on: the largest class on which a cut that keeps too much and
/// one that fits disagree, with those of the same bytes. Layers that repeat
/// have many such, and to branch on them one by one never ends.
void MomentCut::chooseNext(Branch &B, int64_t Room, const Point &Over,
                           const Point *Under) const {
  auto Disagree = [&](size_t K) {
    ValueId C = Items[K].Class;
    return Rulings[K] == Ruling::Open &&
           (!Under || Over.Dropped[C] != Under->Dropped[C]);
  };
  int64_t Largest = 0, Total = 0;
  int32_t First = -1;
  for (size_t K = 0; K < Items.size(); ++K) {
    Total += Items[K].Bytes;
    if (Items[K].Bytes > Largest && Disagree(K)) {
      Largest = Items[K].Bytes;
      First = int32_t(K);
    }
  }
  if (First < 0)
    return;
  B.Next = {First};
  // All bytes of a problem are below 2^56; nothing here may reach 2^63.
  constexpr int64_t MostBytes = int64_t(1) << 52;
  if (!Under || B.Tilts.size() >= MostTilts || Total >= MostBytes)
    return;
  int64_t InOver = 0, InUnder = 0;
  std::vector<int32_t> Group;
  for (size_t K = 0; K < Items.size(); ++K)
    if (Items[K].Bytes == Largest && Disagree(K)) {
      Group.push_back(int32_t(K));
      InOver += !Over.Dropped[Items[K].Class];
      InUnder += !Under->Dropped[Items[K].Class];
    }
  if (Group.size() < SmallestGroup)
    return;
  B.Next = std::move(Group);
  double Share = double(Room - Under->Kept) / double(Over.Kept - Under->Kept);
  double Kept = double(InUnder) + Share * double(InOver - InUnder);
  B.NextKept = std::clamp<int64_t>(int64_t(std::floor(Kept)), 0,
                                   int64_t(B.Next.size()) - 1);
}

/// Finds the price that bounds a branch best, by the secant between a cut that
/// keeps too much and one that fits.
void MomentCut::bisect(Branch &B, int64_t Room) {
  constexpr double Infinity = std::numeric_limits<double>::infinity();
  int64_t OwnRoom = Room;
  Room = weigh(B, Room);
  B.Next.clear();
  B.Whole = Infinity;
  Point Over = cut(0, true), Under;
  B.Bound = std::max(B.Bound, Over.Value);
  if (Room < 0)
    B.Bound = Infinity;
  if (Over.Value == Infinity || Room < 0 || Net.stopped())
    return;
  if (Over.Kept <= Room) {
    if (Over.Own <= OwnRoom)
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
    if (Net.stopped())
      return;
    if (X.Kept <= Room) {
      bool Same = HasUnder && X.Kept == Under.Kept;
      Under = std::move(X);
      HasUnder = true;
      if (Under.Own <= OwnRoom)
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
  chooseNext(B, Room, Over, HasUnder ? &Under : nullptr);
}

/// The branch of `B` in which fewer of `Next` are kept, or more: the one item
/// dropped or kept, at most `NextKept` of the group or at least one more.
MomentCut::Branch MomentCut::childOf(const Branch &B, bool Fewer,
                                     int64_t Room) {
  Branch Child;
  Child.Ruled = B.Ruled;
  Child.Tilts = B.Tilts;
  Child.Bound = B.Bound;
  Child.Price = B.Price;
  if (B.Next.size() == 1) {
    Child.Ruled.push_back({B.Next[0], Fewer ? Ruling::Drop : Ruling::Keep});
    bisect(Child, Room);
    return Child;
  }
  // Which multiple of the inequality bounds best is tried. No weight may
  // become negative: a cut has no such edges.
  weigh(B, Room);
  int64_t Bytes = Items[B.Next[0]].Bytes, Least = Bytes;
  for (int32_t I : B.Next)
    Least = std::min(Least, Weights[I]);
  std::vector<int64_t> Extras = {Bytes, 4 * Bytes, 16 * Bytes, 64 * Bytes};
  if (!Fewer)
    Extras = {-Least, -Least / 2};
  Branch Best;
  bool Has = false;
  for (int64_t Extra : Extras) {
    Branch X = Child;
    X.Tilts.push_back({B.Next, Extra, B.NextKept + !Fewer});
    bisect(X, Room);
    if (!Has || X.Bound > Best.Bound)
      Best = std::move(X);
    Has = true;
  }
  return Best;
}

PricedBound MomentCut::pricedBound(int64_t Budget) {
  if (Budget < leastBudget())
    return {Budget, std::numeric_limits<double>::infinity(), 0};
  CutsLeft = INT_MAX;
  Branch Root;
  Root.Price = M.BaseTime / double(std::max<int64_t>(Budget, 1));
  bisect(Root, Budget - Fixed);
  // The scaled times are exact, the product of price and bytes is rounded.
  double Extra = Root.Bound - 1e-9 * M.BaseTime;
  // Where no price helps, that of the root is only the first one tried.
  if (Extra <= 0)
    return {Budget, 0, 0};
  return {Budget, Extra, Root.Price};
}

/// Best first. `Closed` tells whether nothing is left to gain.
double MomentCut::branchAndBound(int64_t Room, double Hull, bool &Closed) {
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
  Closed = true;
  while (!Open.empty()) {
    Branch B = Open.top();
    Proven = std::max(Proven, std::min(B.Bound, Whole));
    Closed = B.Bound >= Whole;
    if (CutsLeft <= 0 || Closed || B.Next.empty())
      break;
    Open.pop();
    for (bool Fewer : {false, true}) {
      Branch Child = childOf(B, Fewer, Room);
      Whole = std::min(Whole, Child.Whole);
      if (Child.Bound < Whole)
        Open.push(std::move(Child));
    }
    if (Open.empty())
      Proven = std::max(Proven, Whole);
  }
  weigh({}, Room);
  return Proven;
}

double MomentCut::exactBound(int64_t Budget, int MaxCuts) {
  double Proven = rootBound(Budget), Hull = Proven;
  int64_t Room = Budget - Fixed;
  if (Hull <= 0 || Budget < leastBudget() || M.sizeFactor() > 1)
    return Hull;
  bool Closed = false;
  // Either way of branching ends where the other does not.
  for (size_t Smallest : {SIZE_MAX, size_t(3)}) {
    SmallestGroup = Smallest;
    CutsLeft = MaxCuts;
    if (!Closed)
      Proven = std::max(Proven, branchAndBound(Room, Hull, Closed));
  }
  return std::max(Hull, Proven - 1e-9 * M.BaseTime);
}
