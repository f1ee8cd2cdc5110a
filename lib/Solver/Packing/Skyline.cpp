//===- Skyline.cpp - What a partial packing leaves possible ---------------===//
#include "Packing/Skyline.h"

#include <algorithm>

using namespace remat::solver;

Skyline::Skyline(const std::vector<Buffer> &Buffers, int64_t Capacity)
    : Capacity(Capacity) {
  std::vector<int64_t> Times = timesOf(Buffers);
  auto SectionOf = [&](int64_t T) {
    return int32_t(std::lower_bound(Times.begin(), Times.end(), T) -
                   Times.begin());
  };
  size_t N = Times.empty() ? 0 : Times.size() - 1;
  for (size_t I = 0; I < Buffers.size(); ++I) {
    const Buffer &B = Buffers[I];
    int32_t From = SectionOf(B.Lower), To = SectionOf(B.Upper);
    if (B.Size > 0 && B.Fixed)
      Fixtures.push_back({From, To, *B.Fixed, *B.Fixed + B.Size});
    else if (B.Size > 0)
      Items.push_back({From, To, B.Size, B.Alignment, int32_t(I)});
  }
  std::sort(
      Fixtures.begin(), Fixtures.end(),
      [](const Fixture &A, const Fixture &B) { return A.Bottom < B.Bottom; });
  std::sort(Items.begin(), Items.end(), [](const Item &A, const Item &B) {
    return A.From != B.From ? A.From < B.From : A.Buffer < B.Buffer;
  });
  ItemsAt.resize(N);
  LeftAtStart.assign(N, 0);
  JoinsAtStart.assign(N, 0);
  FirstItem.assign(N + 1, int32_t(Items.size()));
  for (int32_t I = int32_t(Items.size()); I-- > 0;) {
    const Item &X = Items[I];
    LowAtStart.push_back(0);
    FirstItem[X.From] = I;
    for (int32_t S = X.From; S < X.To; ++S) {
      ItemsAt[S].push_back(I);
      LeftAtStart[S] += X.Size;
      JoinsAtStart[S] += S + 1 < X.To;
    }
  }
  for (size_t S = N; S-- > 0;)
    FirstItem[S] = std::min(FirstItem[S], FirstItem[S + 1]);
  for (size_t I = 0; I < Items.size(); ++I)
    LowAtStart[I] = raise(Items[I], 0);
}

bool Skyline::reset() {
  for (const Fixture &F : Fixtures)
    if (F.Top > Capacity)
      return false;
  Trail.clear();
  Low = Solid = LowAtStart;
  Left = LeftAtStart;
  Joins = JoinsAtStart;
  Lowest.assign(Left.size(), 0);
  Floor.assign(Left.size(), Never);
  for (size_t S = 0; S < Floor.size(); ++S)
    if (!ItemsAt[S].empty())
      Floor[S] = -1;
  for (size_t I = 0; I < Items.size(); ++I)
    if (Low[I] + Items[I].Size > Capacity)
      return false;
  return settle(0, numSections(), Never, 0, numSections());
}

/// The lowest offset from `To` on that is aligned and clear of the fixtures.
int64_t Skyline::raise(const Item &X, int64_t To) const {
  To = alignUp(To, X.Alignment);
  for (const Fixture &F : Fixtures)
    if (F.From < X.To && X.From < F.To && F.Bottom < To + X.Size && To < F.Top)
      To = alignUp(F.Top, X.Alignment);
  return To;
}

int64_t Skyline::fixedAbove(int32_t Section, int64_t Offset) const {
  int64_t Sum = 0;
  for (const Fixture &F : Fixtures)
    if (F.From <= Section && Section < F.To && F.Bottom >= Offset)
      Sum += F.Top - F.Bottom;
  return Sum;
}

/// Lifts an item to lie at `To` or above, because of what is placed or because
/// of empty space. False when it sticks out then.
bool Skyline::lift(int32_t I, int64_t To, bool Placed) {
  const Item &X = Items[I];
  To = raise(X, To);
  Trail.push_back({Change::Item, I, Low[I], Solid[I]});
  Low[I] = std::max(Low[I], To);
  if (Placed)
    Solid[I] = std::max(Solid[I], To);
  return Low[I] + X.Size <= Capacity;
}

/// Brings the floors of the sections [From, To) that are below `Below` up to
/// the items left there.
bool Skyline::settle(int32_t From, int32_t To, int64_t Below, int32_t A,
                     int32_t B) {
  for (int32_t S = From; S < To; ++S) {
    if (Floor[S] >= Below)
      continue;
    // Floors only rise, so an item at the old floor settles it.
    if (Low[Lowest[S]] == Floor[S])
      continue;
    int64_t Least = Never;
    for (int32_t I : ItemsAt[S]) {
      ++Work;
      if (Low[I] >= Least)
        continue;
      Least = Low[I];
      Lowest[S] = I;
      if (Least == Floor[S])
        break;
    }
    if (Least == Floor[S])
      continue;
    Trail.push_back({Change::Floor, S, Floor[S], 0});
    Floor[S] = Least;
    if (Least != Never && slack(S) < 0)
      return false;
  }
  return !hasHole(A, B);
}

/// An item would fit between what is placed and the floors: a packing with it
/// there exists as well, and is found elsewhere.
bool Skyline::hasHole(int32_t A, int32_t B) const {
  for (int32_t I = FirstItem[A], End = FirstItem[B]; I < End; ++I) {
    int64_t Top = Solid[I] + Items[I].Size;
    if (Top > Low[I] || Low[I] == Never)
      continue;
    bool Fits = true;
    for (int32_t S = Items[I].From; S < Items[I].To && Fits; ++S)
      Fits = Floor[S] >= Top;
    if (Fits)
      return true;
  }
  return false;
}

bool Skyline::place(int32_t I, int32_t A, int32_t B) {
  const Item &X = Items[I];
  int64_t Top = Low[I] + X.Size;
  Trail.push_back({Change::Placed, I, Low[I], 0});
  Low[I] = Never;
  for (int32_t S = X.From; S < X.To; ++S) {
    Left[S] -= X.Size;
    Joins[S] -= S + 1 < X.To;
  }
  int32_t From = X.From, To = X.To;
  for (int32_t J = FirstItem[A], End = FirstItem[std::min(B, X.To)]; J < End;
       ++J)
    if (Items[J].To > X.From && Solid[J] < Top && Low[J] != Never) {
      if (Low[J] < Top) {
        From = std::min(From, Items[J].From);
        To = std::max(To, Items[J].To);
      }
      if (!lift(J, Top, /*Placed=*/true))
        return false;
    }
  return settle(From, To, Top, A, B);
}

/// The lowest offset of an item that is the lowest of its section but cannot
/// lie at the floor: in a packing where nothing can move down it rests on an
/// item that does not live in that section, or on a fixture.
int64_t Skyline::restsOn(int32_t I, int32_t Section) const {
  const Item &X = Items[I];
  int64_t Top = Never;
  for (int32_t S = X.From; S < X.To; ++S)
    for (int32_t J : ItemsAt[S])
      if (Low[J] != Never &&
          (Items[J].To <= Section || Section < Items[J].From))
        Top = std::min(Top, Low[J] + Items[J].Size);
  for (const Fixture &F : Fixtures)
    if (F.From < X.To && X.From < F.To && F.Top > Low[I])
      Top = std::min(Top, F.Top);
  return Top == Never ? Never : raise(X, Top);
}

bool Skyline::skip(int32_t Section, int32_t A, int32_t B) {
  int64_t Next = Never, At = Floor[Section], Most = At + slack(Section);
  for (int32_t I : ItemsAt[Section])
    if (Low[I] != Never && Low[I] > At)
      Next = std::min(Next, Low[I]);
  for (int32_t I : ItemsAt[Section])
    if (Low[I] == At && Next > At + 1)
      Next = std::min(Next, restsOn(I, Section));
  if (Next > Most)
    return false;
  int32_t From = Section, To = Section + 1;
  for (int32_t I : ItemsAt[Section])
    if (Low[I] == At) {
      From = std::min(From, Items[I].From);
      To = std::max(To, Items[I].To);
      if (!lift(I, Next, /*Placed=*/false))
        return false;
    }
  return settle(From, To, Next, A, B);
}

void Skyline::undo(size_t Mark) {
  while (Trail.size() > Mark) {
    const Change &C = Trail.back();
    switch (C.What) {
    case Change::Item:
      Low[C.Index] = C.Old;
      Solid[C.Index] = C.OldSolid;
      break;
    case Change::Floor:
      Floor[C.Index] = C.Old;
      break;
    case Change::Placed: {
      const Item &X = Items[C.Index];
      Low[C.Index] = C.Old;
      for (int32_t S = X.From; S < X.To; ++S) {
        Left[S] += X.Size;
        Joins[S] += S + 1 < X.To;
      }
      break;
    }
    }
    Trail.pop_back();
  }
}

bool Skyline::inNobodysWay(int32_t I) const {
  const Item &X = Items[I];
  int64_t Top = Low[I] + X.Size;
  for (int32_t S = X.From; S < X.To; ++S)
    for (int32_t J : ItemsAt[S])
      if (J != I && Low[J] < Top)
        return false;
  return true;
}
