//===- Exact.cpp - Depth-first search for offsets -------------------------===//
#include "Packing/Exact.h"

#include <algorithm>

using namespace remat::solver;

ExactPacker::ExactPacker(const std::vector<Buffer> &Buffers, int64_t Capacity,
                         const Deadline &Until)
    : State(Buffers, Capacity), Capacity(Capacity), Until(Until),
      Offset(Buffers.size(), 0) {
  for (size_t I = 0; I < Buffers.size(); ++I)
    if (Buffers[I].Fixed)
      Offset[I] = *Buffers[I].Fixed;
  Exhausted.assign(State.numSections(), INT32_MIN);
  Count.assign(State.numSections() + 1, 0);
  Run.assign(State.numSections(), 0);
}

ExactPacker::Key ExactPacker::keyOf(int32_t A, int32_t B) const {
  Key K;
  for (int32_t I = State.first(A), End = State.first(B); I < End; ++I) {
    if (State.low(I) == Skyline::Never)
      continue;
    uint64_t X = uint64_t(State.low(I)) * 0x9E3779B97F4A7C15u +
                 uint64_t(State.solid(I)) * 0xC2B2AE3D27D4EB4Fu +
                 uint64_t(I + 1) * 0x165667B19E3779F9u;
    X = (X ^ X >> 32) * 0xD6E8FEB86659FD93u;
    X ^= X >> 29;
    K.First += X;
    X *= 0xFF51AFD7ED558CCDu;
    K.Second += X ^ X >> 33;
  }
  return K;
}

/// In a valley, that is where it can be placed at once.
bool ExactPacker::startsAtFloor(int32_t I) const {
  const Skyline::Item &X = State.items()[I];
  return State.low(I) == State.floor(X.From) && Run[X.From] == Run[X.To - 1];
}

/// Finds runs of equal floors, each named by its first section, and counts per
/// section the items that can lie at its floor.
void ExactPacker::countWays(int32_t A, int32_t B) {
  for (int32_t S = A; S < B; ++S) {
    Count[S] = 0;
    Run[S] = S > A && State.floor(S) == State.floor(S - 1) ? Run[S - 1] : S;
  }
  Count[B] = 0;
  for (int32_t I = State.first(A), End = State.first(B); I < End; ++I)
    if (startsAtFloor(I)) {
      ++Count[State.items()[I].From];
      --Count[State.items()[I].To];
    }
  for (int32_t S = A + 1; S < B; ++S)
    Count[S] += Count[S - 1];
}

/// The fewest ways first; of those, tight sections, low ones, and ones that
/// failed lately (Gay et al., "Conflict Ordering Search for Scheduling
/// Problems", 2015).
double ExactPacker::cost(int32_t S) const {
  int64_t Slack = State.slack(S);
  double Cost = Count[S] + (Slack > 0);
  Cost += (15.0 * double(Slack) + double(State.floor(S))) / double(Capacity);
  double Recent = 0.5;
  for (int64_t Age = Clock - Exhausted[S]; Age > 0 && Recent > 1e-3; --Age)
    Recent *= 0.8;
  return Cost - Recent;
}

int32_t ExactPacker::sectionToBranchOn(int32_t A, int32_t B) const {
  int32_t Best = -1;
  double Least = 0;
  for (int32_t S = A, End = A; S < B; S = End) {
    while (End < B && Run[End] == S)
      ++End;
    if ((S > A && State.floor(S - 1) < State.floor(S)) ||
        (End < B && State.floor(End) < State.floor(S)))
      continue;
    for (int32_t T = S; T < End; ++T) {
      double Cost = cost(T);
      if (Best < 0 || Cost < Least) {
        Best = T;
        Least = Cost;
      }
    }
  }
  return Best;
}

int32_t ExactPacker::itemInNobodysWay(int32_t A, int32_t B) const {
  for (int32_t I = State.first(A), End = State.first(B); I < End; ++I)
    if (State.low(I) != Skyline::Never && startsAtFloor(I) &&
        State.inNobodysWay(I))
      return I;
  return -1;
}

void ExactPacker::open(int32_t A, int32_t B) {
  ++Nodes;
  Work += State.first(B) - State.first(A) + B - A;
  Node N{A,          B, B, -1, false, Candidates.size(), 0, 0, State.mark(),
         keyOf(A, B)};
  N.Next = N.Last = N.First;
  if (Failed[N.Id.First % Failed.size()] != N.Id) {
    countWays(A, B);
    if (int32_t Free = itemInNobodysWay(A, B); Free >= 0) {
      Candidates.push_back(Free);
    } else {
      N.Section = sectionToBranchOn(A, B);
      N.MaySkip = State.slack(N.Section) > 0;
      for (int32_t I : State.itemsAt(N.Section))
        if (State.low(I) == State.floor(N.Section) &&
            std::none_of(Candidates.begin() + N.First, Candidates.end(),
                         [&](int32_t J) { return State.same(I, J); }))
          Candidates.push_back(I);
      std::sort(Candidates.begin() + N.First, Candidates.end(),
                [&](int32_t X, int32_t Y) { return Rank[X] < Rank[Y]; });
    }
    N.Last = Candidates.size();
  }
  Open.push_back(N);
}

/// Takes the next alternative of the last open node; false when none is left.
bool ExactPacker::advance() {
  Node &N = Open.back();
  for (;;) {
    State.undo(N.Mark);
    if (N.Next < N.Last) {
      int32_t I = Candidates[N.Next++];
      Offset[State.items()[I].Buffer] = State.low(I);
      if (State.place(I, N.A, N.B))
        break;
    } else if (N.MaySkip) {
      N.MaySkip = false;
      if (State.skip(N.Section, N.A, N.B))
        break;
    } else {
      return false;
    }
  }
  N.Scan = N.A;
  return true;
}

void ExactPacker::close(bool Exhaustive) {
  const Node &N = Open.back();
  if (Exhaustive) {
    Failed[N.Id.First % Failed.size()] = N.Id;
    if (N.Section >= 0)
      Exhausted[N.Section] = ++Clock;
  }
  Candidates.resize(N.First);
  Open.pop_back();
}

/// Solves the parts of the last open node one after another. When one fails the
/// node's next alternative is taken; what was chosen in its other parts does
/// not matter.
Verdict ExactPacker::search(int64_t MaxNodes, int64_t MaxWork) {
  Open.clear();
  Candidates.clear();
  // The root has no alternative but to solve its parts.
  int32_t All = State.numSections();
  Open.push_back({0, All, 0, -1, false, 0, 0, 0, State.mark(), {}});
  for (;;) {
    Node &N = Open.back();
    int32_t A = N.Scan;
    while (A < N.B && State.floor(A) == Skyline::Never)
      ++A;
    if (A == N.B) {
      if (Open.size() == 1)
        return Verdict::Fits;
      close(/*Exhaustive=*/false);
      continue;
    }
    int32_t B = A + 1;
    while (B < N.B && State.joined(B - 1))
      ++B;
    N.Scan = B;
    if (Nodes >= MaxNodes || Work + State.work() >= MaxWork ||
        (Nodes % 64 == 0 && Until.passed()))
      return Verdict::Unknown;
    open(A, B);
    while (!advance()) {
      close(/*Exhaustive=*/true);
      if (Open.size() == 1)
        return Verdict::CannotFit;
    }
  }
}

Verdict ExactPacker::solve(int64_t MaxNodes) {
  if (State.items().size() > MaxItems)
    return Verdict::Unknown;
  // A usual node of a problem with 200 items looks at so many of them.
  constexpr int64_t WorkOfNode = 2000;
  int64_t MaxWork = std::min(MaxNodes, INT64_MAX / WorkOfNode) * WorkOfNode;
  int64_t Size = int64_t(State.items().size()) + State.numSections();
  Failed.assign(std::clamp<int64_t>(MaxNodes, 1 << 10, 1 << 18), Key());
  int64_t Share = std::max<int64_t>(3000, Size);
  for (int Attempt = 0; Nodes < MaxNodes; ++Attempt) {
    if (!State.reset())
      return Verdict::CannotFit;
    rank(Attempt);
    // Twice as many nodes after every sixteen attempts.
    if (Attempt % 16 == 15)
      Share *= 2;
    Verdict Result = search(std::min(MaxNodes, Nodes + Share), MaxWork);
    if (Result != Verdict::Unknown || Work + State.work() >= MaxWork ||
        Until.passed())
      return Result;
  }
  return Verdict::Unknown;
}
