//===- Exact.cpp - Depth-first search for offsets -------------------------===//
#include "Exact.h"

#include <algorithm>
#include <numeric>

using namespace remat::solver;

ExactPacker::ExactPacker(const std::vector<Buffer> &Buffers, int64_t Capacity,
                         const PackOptions &Options)
    : Capacity(Capacity), Options(Options),
      Start(std::chrono::steady_clock::now()), Offset(Buffers.size(), 0) {
  std::vector<int64_t> Times;
  for (const Buffer &B : Buffers) {
    Times.push_back(B.Lower);
    Times.push_back(B.Upper);
  }
  std::sort(Times.begin(), Times.end());
  Times.erase(std::unique(Times.begin(), Times.end()), Times.end());
  auto section = [&](int64_t T) {
    return int32_t(std::lower_bound(Times.begin(), Times.end(), T) -
                   Times.begin());
  };
  Left.assign(Times.size(), 0);
  Base.assign(Times.size(), 0);
  for (size_t I = 0; I < Buffers.size(); ++I) {
    const Buffer &B = Buffers[I];
    int32_t From = section(B.Lower), To = section(B.Upper);
    if (B.Fixed) {
      Offset[I] = *B.Fixed;
      if (B.Size > 0)
        Fixtures.push_back({From, To, *B.Fixed, *B.Fixed + B.Size});
      continue;
    }
    if (B.Size == 0)
      continue;
    Movable.push_back(int32_t(I));
    Items.push_back({From, To, B.Size, B.Alignment});
    for (int32_t S = From; S < To; ++S)
      Left[S] += B.Size;
  }
  std::sort(
      Fixtures.begin(), Fixtures.end(),
      [](const Fixture &A, const Fixture &B) { return A.Bottom < B.Bottom; });
  for (const Item &I : Items)
    Low.push_back(raise(I, 0));
}

bool ExactPacker::outOfTime() const {
  if (Options.Interrupt && Options.Interrupt->load(std::memory_order_relaxed))
    return true;
  if (Options.TimeLimit <= 0)
    return false;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - Start)
             .count() > Options.TimeLimit;
}

/// The lowest offset from `To` on that is aligned and clear of the fixtures.
int64_t ExactPacker::raise(const Item &I, int64_t To) const {
  To = alignUp(To, I.Alignment);
  for (const Fixture &F : Fixtures)
    if (F.From < I.To && I.From < F.To && F.Bottom < To + I.Size && To < F.Top)
      To = alignUp(F.Top, I.Alignment);
  return To;
}

double ExactPacker::random() {
  State ^= State << 13;
  State ^= State >> 7;
  State ^= State << 17;
  return double(State >> 11) * 0x1p-53;
}

/// Which buffers to try first among those of equal lowest offset. A good order
/// finishes in a moment, a bad one never: so there are many, tried in turn.
void ExactPacker::rank(int Attempt) {
  size_t N = Items.size();
  enum Key { Width, Area, Total, Size, Upper, Lower };
  constexpr int NumKeys = 6;
  auto key = [&](size_t I, int Which) -> double {
    const Item &X = Items[I];
    double W = X.To - X.From;
    int64_t Most = 0;
    switch (Which) {
    case Width:
      return W;
    case Area:
      return W * double(X.Size);
    case Size:
      return double(X.Size);
    case Upper:
      return X.To;
    case Lower:
      return -double(X.From);
    default:
      for (int32_t S = X.From; S < X.To; ++S)
        Most = std::max(Most, Left[S]);
      return double(Most);
    }
  };
  struct Order {
    int First, Second;
    bool Dynamic;
  };
  constexpr Order Orders[] = {{Width, Area, true},   {Area, Size, false},
                              {Area, Total, false},  {Lower, Width, true},
                              {Total, Width, false}, {Total, Area, false},
                              {Upper, Width, false}, {Width, Total, false}};
  constexpr int Count = int(std::size(Orders));
  Order O = Orders[Attempt % Count];
  double Noise = 0;
  if (Attempt >= Count) {
    int First = int(random() * NumKeys), Second = int(random() * NumKeys);
    O = {First, Second, random() < 0.5};
    Noise = random();
  }
  Dynamic = O.Dynamic;
  std::vector<std::pair<double, double>> Keys(N);
  for (size_t I = 0; I < N; ++I) {
    double A = key(I, O.First), B = key(I, O.Second);
    Keys[I] = {A * (1 + Noise * random()), B};
  }
  std::vector<int32_t> Ids(N);
  std::iota(Ids.begin(), Ids.end(), 0);
  std::sort(Ids.begin(), Ids.end(), [&](int32_t A, int32_t B) {
    return Keys[A] != Keys[B] ? Keys[A] > Keys[B] : A < B;
  });
  Rank.assign(N, 0);
  for (size_t K = 0; K < N; ++K)
    Rank[Ids[K]] = int32_t(K);
}

void ExactPacker::measureTightness(const std::vector<int32_t> &Group) {
  Tight.resize(Items.size());
  for (int32_t I : Group)
    for (int32_t S = Items[I].From; S < Items[I].To; ++S)
      Base[S] = INT64_MAX;
  for (int32_t I : Group)
    for (int32_t S = Items[I].From; S < Items[I].To; ++S)
      Base[S] = std::min(Base[S], Low[I]);
  for (int32_t I : Group) {
    Tight[I] = 0;
    for (int32_t S = Items[I].From; S < Items[I].To; ++S)
      Tight[I] = std::max(Tight[I], Base[S] + Left[S]);
  }
}

/// In every section: what is left must fit above the lowest offset at which
/// anything left there can still start.
bool ExactPacker::sectionsFit(const std::vector<int32_t> &Group) {
  for (int32_t I : Group)
    for (int32_t S = Items[I].From; S < Items[I].To; ++S)
      Base[S] = INT64_MAX;
  for (int32_t I : Group) {
    const Item &X = Items[I];
    for (int32_t S = X.From; S < X.To; ++S)
      Base[S] = std::min(Base[S], Low[I]);
  }
  for (int32_t I : Group) {
    const Item &X = Items[I];
    if (Low[I] + X.Size > Capacity)
      return false;
    for (int32_t S = X.From; S < X.To; ++S)
      if (Base[S] + Left[S] > Capacity)
        return false;
  }
  for (const Fixture &F : Fixtures)
    for (int32_t S = F.From; S < F.To; ++S)
      if (Left[S] > 0 && F.Bottom >= Base[S] && Base[S] != INT64_MAX &&
          Base[S] + Left[S] + (F.Top - F.Bottom) > Capacity)
        return false;
  return true;
}

void ExactPacker::lift(int32_t Index, int64_t To) {
  if (To <= Low[Index])
    return;
  Trail.push_back({Index, Low[Index]});
  Low[Index] = raise(Items[Index], To);
}

/// True when everything left that overlaps it must lie above it anyway.
bool ExactPacker::inNobodysWay(int32_t Index,
                               const std::vector<int32_t> &Group) const {
  int64_t Top = Low[Index] + Items[Index].Size;
  for (int32_t I : Group)
    if (I != Index && Low[I] < Top && overlap(I, Index))
      return false;
  return true;
}

/// Places an item at its lowest offset and lifts what is left; false when that
/// cannot succeed. The first `NumTried` items of the group were tried before.
bool ExactPacker::place(int32_t Index, std::vector<int32_t> &Group,
                        size_t NumTried, bool Free) {
  const Item &X = Items[Index];
  int64_t At = Low[Index];
  Offset[Movable[Index]] = At;
  for (int32_t S = X.From; S < X.To; ++S)
    Left[S] -= X.Size;
  std::vector<int32_t> Waiting;
  for (size_t K = 0; K < Group.size(); ++K) {
    int32_t I = Group[K];
    if (I == Index || Free)
      continue;
    if (overlap(I, Index))
      lift(I, At + X.Size);
    else if (K < NumTried && Low[I] == At)
      Waiting.push_back(I);
    else
      lift(I, At);
  }
  std::erase(Group, Index);
  for (int32_t I : Waiting) {
    int64_t Top = INT64_MAX;
    for (int32_t J : Group)
      if (J != I && overlap(I, J))
        Top = std::min(Top, Low[J] + Items[J].Size);
    // It may also rest on a fixture.
    if (!Fixtures.empty())
      Top = At + 1;
    if (Top > Capacity)
      return false;
    lift(I, std::max(Top, At + 1));
  }
  return sectionsFit(Group);
}

void ExactPacker::undo(int32_t Index, size_t Mark) {
  while (Trail.size() > Mark) {
    Low[Trail.back().Item] = Trail.back().Low;
    Trail.pop_back();
  }
  for (int32_t S = Items[Index].From; S < Items[Index].To; ++S)
    Left[S] += Items[Index].Size;
}

/// Groups that no unplaced buffer connects.
std::vector<std::vector<int32_t>>
ExactPacker::split(std::vector<int32_t> Group) const {
  std::sort(Group.begin(), Group.end(), [&](int32_t A, int32_t B) {
    return Items[A].From != Items[B].From ? Items[A].From < Items[B].From
                                          : A < B;
  });
  std::vector<std::vector<int32_t>> Out;
  int32_t Reach = -1;
  for (int32_t I : Group) {
    if (Items[I].From >= Reach)
      Out.emplace_back();
    Out.back().push_back(I);
    Reach = std::max(Reach, Items[I].To);
  }
  // Small groups fail fast.
  std::sort(Out.begin(), Out.end(), [](const auto &A, const auto &B) {
    return A.size() != B.size() ? A.size() < B.size() : A[0] < B[0];
  });
  return Out;
}

bool ExactPacker::same(int32_t A, int32_t B) const {
  const Item &X = Items[A], &Y = Items[B];
  return X.From == Y.From && X.To == Y.To && X.Size == Y.Size &&
         X.Alignment == Y.Alignment;
}

Verdict ExactPacker::solveGroup(std::vector<int32_t> Group) {
  if (Group.empty())
    return Verdict::Fits;
  if (Dynamic)
    measureTightness(Group);
  std::sort(Group.begin(), Group.end(), [&](int32_t A, int32_t B) {
    if (Low[A] != Low[B])
      return Low[A] < Low[B];
    if (Dynamic && Tight[A] != Tight[B])
      return Tight[A] > Tight[B];
    return Rank[A] < Rank[B];
  });
  // What starts no lower than this could have another buffer below it.
  int64_t Hat = INT64_MAX;
  for (int32_t I : Group)
    Hat = std::min(Hat, Low[I] + Items[I].Size);
  for (int32_t Index : Group)
    if (inNobodysWay(Index, Group))
      return branch(Index, Group, 0, /*Free=*/true);
  for (size_t K = 0; K < Group.size() && Low[Group[K]] < Hat; ++K) {
    bool Again = false;
    for (size_t J = 0; J < K; ++J)
      Again |= Low[Group[J]] == Low[Group[K]] && same(Group[J], Group[K]);
    if (Again)
      continue;
    Verdict Result = branch(Group[K], Group, K, /*Free=*/false);
    if (Result != Verdict::CannotFit)
      return Result;
  }
  return Verdict::CannotFit;
}

/// Places one item, then solves what is left, part by part.
Verdict ExactPacker::branch(int32_t Index, std::vector<int32_t> Group,
                            size_t NumTried, bool Free) {
  if (++Nodes > Budget || (Nodes % 256 == 0 && outOfTime()))
    return Verdict::Unknown;
  size_t Mark = Trail.size();
  Verdict Result = Verdict::CannotFit;
  if (place(Index, Group, NumTried, Free)) {
    Result = Verdict::Fits;
    for (std::vector<int32_t> &Part : split(std::move(Group))) {
      Result = solveGroup(std::move(Part));
      if (Result != Verdict::Fits)
        break;
    }
  }
  if (Result != Verdict::Fits)
    undo(Index, Mark);
  return Result;
}

Verdict ExactPacker::solve(int64_t MaxNodes) {
  if (Items.size() > MaxItems)
    return Verdict::Unknown;
  for (const Fixture &F : Fixtures)
    if (F.Top > Capacity)
      return Verdict::CannotFit;
  std::vector<int32_t> All(Items.size());
  std::iota(All.begin(), All.end(), 0);
  if (!sectionsFit(All))
    return Verdict::CannotFit;
  // A node looks at every section of every item and at all pairs: large
  // problems get as much work, not as many nodes.
  int64_t Work = int64_t(Items.size()) * int64_t(Items.size());
  for (const Item &I : Items)
    Work += I.To - I.From;
  constexpr int64_t SmallWork = 60'000;
  if (Work > SmallWork)
    MaxNodes = std::max<int64_t>(
        100, int64_t(double(MaxNodes) * double(SmallWork) / double(Work)));
  std::vector<int64_t> LowAtStart = Low, LeftAtStart = Left;
  double Share = 3000;
  for (int Attempt = 0; Nodes < MaxNodes; ++Attempt) {
    Low = LowAtStart;
    Left = LeftAtStart;
    Trail.clear();
    rank(Attempt);
    // Twice as many nodes after every sixteen attempts.
    if (Attempt % 16 == 15)
      Share *= 2;
    Budget = std::min(MaxNodes, Nodes + int64_t(Share));
    Verdict Result = Verdict::Fits;
    for (std::vector<int32_t> &Part : split(All)) {
      Result = solveGroup(std::move(Part));
      if (Result != Verdict::Fits)
        break;
    }
    if (Result != Verdict::Unknown || outOfTime())
      return Result;
  }
  return Verdict::Unknown;
}
