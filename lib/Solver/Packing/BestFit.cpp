//===- BestFit.cpp - Offsets by best fit in several orders ----------------===//
#include "Packing/Pack.h"

#include <algorithm>
#include <bit>
#include <numeric>

using namespace remat::solver;

int64_t remat::solver::alignUp(int64_t N, int64_t Alignment) {
  return (N + Alignment - 1) / Alignment * Alignment;
}

std::vector<int64_t>
remat::solver::timesOf(const std::vector<Buffer> &Buffers) {
  std::vector<int64_t> Times;
  for (const Buffer &B : Buffers) {
    Times.push_back(B.Lower);
    Times.push_back(B.Upper);
  }
  std::sort(Times.begin(), Times.end());
  Times.erase(std::unique(Times.begin(), Times.end()), Times.end());
  return Times;
}

namespace {

struct Span {
  int64_t From, To;
};

struct LiesLower {
  bool operator()(const Span &A, const Span &B) const {
    return A.From < B.From;
  }
};

/// Buffers already placed, found by time: a bucket, a slice of time, knows
/// those that start in it and those that reach into it from before, the lowest
/// first. What overlaps a lifetime starts in one of its slices or reaches into
/// the first. Where it has many slices, most of what is placed overlaps it.
class Shelf {
public:
  Shelf(const std::vector<Buffer> &Buffers) : Buffers(Buffers) {
    Low = Buffers.empty() ? 0 : Buffers.front().Lower;
    int64_t High = Low;
    for (const Buffer &B : Buffers) {
      Low = std::min(Low, B.Lower);
      High = std::max(High, B.Upper);
    }
    int64_t Count = std::clamp<int64_t>(int64_t(Buffers.size()) / 16, 1, 2048);
    Width = std::max<int64_t>(1, (High - Low) / Count + 1);
    Starts.resize(Count);
    Across.resize(Count);
  }

  void clear() {
    for (auto *Buckets : {&Starts, &Across})
      for (std::vector<Entry> &Entries : *Buckets)
        Entries.clear();
    ByOffset.clear();
  }

  void add(int32_t I, int64_t Offset) {
    const Buffer &B = Buffers[I];
    Entry E{{Offset, Offset + B.Size}, B.Lower, B.Upper};
    int64_t K = bucket(B.Lower);
    if (keepsAll())
      insert(ByOffset, E);
    insert(Starts[K], E);
    for (int64_t Last = bucket(B.Upper - 1); ++K <= Last;)
      insert(Across[K], E);
  }

  /// Entries looked at and moved since the shelf was made; about a nanosecond
  /// each.
  int64_t work() const { return Work; }

  /// Offset ranges taken while the buffer lives, sorted.
  const std::vector<Span> &taken(int32_t I) {
    Out.clear();
    const Buffer &B = Buffers[I];
    int64_t K = bucket(B.Lower), Last = bucket(B.Upper - 1);
    bool Few = Last - K < FewSlices;
    if (!Few && keepsAll()) {
      look(ByOffset, B);
      return Out;
    }
    look(Across[K], B);
    for (; K <= Last; ++K) {
      size_t Middle = Out.size();
      look(Starts[K], B);
      if (Few)
        merge(Middle);
    }
    if (!Few) {
      Work += int64_t(Out.size()) * std::bit_width(Out.size());
      std::sort(Out.begin(), Out.end(), LiesLower());
    }
    return Out;
  }

private:
  struct Entry : Span {
    int64_t Lower, Upper;
  };
  /// The sorted parts of so many slices are merged.
  static constexpr int64_t FewSlices = 5;
  /// A list of so many takes longer to add to than to sort what is needed.
  static constexpr size_t MostPlaced = 8192;

  const std::vector<Buffer> &Buffers;
  int64_t Low, Width;
  std::vector<std::vector<Entry>> Starts, Across;
  std::vector<Entry> ByOffset; ///< all that is placed, where it is kept
  std::vector<Span> Out, Merged;
  int64_t Work = 0;

  bool keepsAll() const { return Buffers.size() <= MostPlaced; }
  int64_t bucket(int64_t Time) const { return (Time - Low) / Width; }

  void insert(std::vector<Entry> &Entries, const Entry &E) {
    auto At = std::upper_bound(Entries.begin(), Entries.end(), E, LiesLower());
    Work += 1 + (Entries.end() - At);
    Entries.insert(At, E);
  }

  void look(const std::vector<Entry> &Entries, const Buffer &B) {
    Work += 1 + int64_t(Entries.size());
    for (const Entry &E : Entries)
      if (E.Lower < B.Upper && B.Lower < E.Upper)
        Out.push_back(E);
  }

  /// Both parts of what was found are sorted: makes one of them.
  void merge(size_t Middle) {
    if (Middle == 0 || Middle == Out.size())
      return;
    Merged.resize(Out.size());
    std::merge(Out.begin(), Out.begin() + ptrdiff_t(Middle),
               Out.begin() + ptrdiff_t(Middle), Out.end(), Merged.begin(),
               LiesLower());
    std::swap(Out, Merged);
  }
};

/// The tightest gap that holds the buffer, else the end; of equal ones the
/// lowest.
int64_t bestGap(const std::vector<Span> &Taken, const Buffer &B) {
  int64_t Best = -1, BestRoom = INT64_MAX, Top = 0;
  for (const Span &S : Taken) {
    int64_t Start = alignUp(Top, B.Alignment);
    int64_t Room = S.From - Top;
    if (S.From - Start >= B.Size && Room < BestRoom) {
      Best = Start;
      BestRoom = Room;
    }
    Top = std::max(Top, S.To);
  }
  return Best >= 0 ? Best : alignUp(Top, B.Alignment);
}

int64_t firstGap(const std::vector<Span> &Taken, const Buffer &B) {
  int64_t Top = 0;
  for (const Span &S : Taken) {
    int64_t Start = alignUp(Top, B.Alignment);
    if (S.From - Start >= B.Size)
      return Start;
    Top = std::max(Top, S.To);
  }
  return alignUp(Top, B.Alignment);
}

} // namespace

class Placer::Impl {
public:
  Impl(const std::vector<Buffer> &Buffers)
      : Buffers(Buffers), Placed(Buffers) {}

  const std::vector<Buffer> &Buffers;
  Shelf Placed;
};

Placer::Placer(const std::vector<Buffer> &Buffers)
    : Of(std::make_unique<Impl>(Buffers)) {}

Placer::~Placer() = default;

int64_t Placer::work() const { return Of->Placed.work(); }

Placement Placer::place(const std::vector<int32_t> &Order, bool Tightest) {
  const std::vector<Buffer> &Buffers = Of->Buffers;
  Shelf &Placed = Of->Placed;
  Placed.clear();
  Placement R;
  R.Offsets.assign(Buffers.size(), 0);
  auto Put = [&](int32_t I, int64_t Offset) {
    R.Offsets[I] = Offset;
    R.Height = std::max(R.Height, Offset + Buffers[I].Size);
    if (Buffers[I].Size > 0)
      Placed.add(I, Offset);
  };
  for (int32_t I : Order)
    if (Buffers[I].Fixed)
      Put(I, *Buffers[I].Fixed);
  for (int32_t I : Order)
    if (!Buffers[I].Fixed) {
      const std::vector<Span> &Taken = Placed.taken(I);
      Put(I, Buffers[I].Size == 0 ? 0
             : Tightest           ? bestGap(Taken, Buffers[I])
                                  : firstGap(Taken, Buffers[I]));
    }
  return R;
}

namespace {

/// Larger keys first, the second where the first ties, then as given.
std::vector<int32_t> sorted(const std::vector<Buffer> &Buffers,
                            std::pair<double, double> (*Key)(const Buffer &)) {
  std::vector<int32_t> Order(Buffers.size());
  std::iota(Order.begin(), Order.end(), 0);
  sortLargestFirst(Order, [&](int32_t I) { return Key(Buffers[I]); });
  return Order;
}

double length(const Buffer &B) { return double(B.Upper - B.Lower); }

struct Way {
  std::pair<double, double> (*Key)(const Buffer &);
  bool Tightest;
};

constexpr Way Ways[] = {
    // Sizes of one power of two form rows, filled from left to right.
    {[](const Buffer &B) {
       return std::pair(double(std::bit_width(uint64_t(B.Size))),
                        -double(B.Lower));
     },
     false},
    {[](const Buffer &B) { return std::pair(double(B.Size), 0.0); }, false},
    {[](const Buffer &B) { return std::pair(double(B.Size) * length(B), 0.0); },
     true},
    {[](const Buffer &B) { return std::pair(double(B.Size), 0.0); }, true},
    {[](const Buffer &B) { return std::pair(double(B.Size) * length(B), 0.0); },
     false},
    {[](const Buffer &B) { return std::pair(length(B), 0.0); }, true},
    {[](const Buffer &B) { return std::pair(length(B), 0.0); }, false},
    {[](const Buffer &B) { return std::pair(-double(B.Lower), 0.0); }, true},
    {[](const Buffer &B) { return std::pair(double(B.Upper), 0.0); }, true},
};

} // namespace

int64_t remat::solver::workOfPass(const std::vector<Buffer> &Buffers) {
  std::vector<std::pair<int64_t, int>> Events;
  for (const Buffer &B : Buffers) {
    Events.push_back({B.Lower, 1});
    Events.push_back({B.Upper, -1});
  }
  std::sort(Events.begin(), Events.end());
  int64_t Live = 0, Pairs = 0;
  for (auto [Time, Change] : Events) {
    Pairs += Change > 0 ? Live : 0;
    Live += Change;
  }
  return Pairs + int64_t(Buffers.size()) + 1;
}

/// By offset, as far down as the holes below allow: nothing gets higher.
static Placement compact(Placer &All, const Placement &P) {
  std::vector<int32_t> Order(P.Offsets.size());
  std::iota(Order.begin(), Order.end(), 0);
  sortLargestFirst(Order, [&](int32_t I) { return -P.Offsets[I]; });
  return All.place(Order, /*Tightest=*/false);
}

Placement remat::solver::bestFit(const std::vector<Buffer> &Buffers,
                                 int64_t Target, const Deadline &Until) {
  constexpr int64_t MaxPairs = 30'000'000;
  int64_t NumPasses = MaxPairs / workOfPass(Buffers);
  Placement Best;
  Best.Height = INT64_MAX;
  auto KeepLower = [&](Placement P) {
    if (P.Height < Best.Height)
      Best = std::move(P);
    return Best.Height <= Target || Until.passed();
  };
  for (double Factor : {0.98, 0.96, 0.93, 0.9, 0.8, 0.7})
    for (bool Backward : {false, true})
      if (KeepLower(placeInRows(Buffers, Factor, Backward)))
        return Best;
  Placer All(Buffers);
  if (NumPasses > 0 && KeepLower(compact(All, Best)))
    return Best;
  for (size_t K = 0; K < std::size(Ways) && int64_t(K) + 1 < NumPasses; ++K)
    if (KeepLower(All.place(sorted(Buffers, Ways[K].Key), Ways[K].Tightest)))
      return Best;
  return Best;
}
