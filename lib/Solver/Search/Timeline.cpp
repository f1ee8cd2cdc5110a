//===- Timeline.cpp - A sequence with bytes, cut into blocks --------------===//
#include "Search/Timeline.h"

#include <algorithm>
#include <cmath>

using namespace remat::solver;

/// Less than all bytes, even where more is added.
static constexpr int64_t Least = INT64_MIN / 2;

Timeline::Timeline(int32_t ExpectedLength, int64_t Limit) : Limit(Limit) {
  Capacity =
      std::clamp(int32_t(2 * std::sqrt(double(ExpectedLength))), 16, 128);
  newBlock(0);
}

/// An empty block, before the one that stands there now.
void Timeline::newBlock(size_t At) {
  if (FreeRows.empty()) {
    FreeRows.push_back(Nodes.size());
    Nodes.resize(Nodes.size() + Capacity + 1);
    Bytes.resize(Nodes.size());
  }
  Sizes.insert(Sizes.begin() + At, 0);
  Rows.insert(Rows.begin() + At, FreeRows.back());
  Added.insert(Added.begin() + At, 0);
  Peaks.insert(Peaks.begin() + At, Least);
  FreeRows.pop_back();
}

/// What the nodes of a block are found by, from a slot on.
void Timeline::number(size_t Block, size_t FromSlot) {
  uint32_t Key = uint32_t(Block) << SlotBits;
  const int32_t *Here = &Nodes[Rows[Block]];
  for (size_t I = FromSlot, E = Sizes[Block]; I < E; ++I)
    Keys[Here[I]] = Key | uint32_t(I);
}

/// Where processors differ in how many of these they add at once, one version
/// for each: most of a search's time is here.
#if defined(__x86_64__) && defined(__GLIBC__)
#define REMAT_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define REMAT_WIDE
#endif

/// Adds to each, and gives the largest sum.
REMAT_WIDE static int64_t addToAll(int64_t *Values, size_t Count,
                                   int64_t Bytes) {
  int64_t Most = Least;
  for (size_t I = 0; I < Count; ++I) {
    Values[I] += Bytes;
    Most = std::max(Most, Values[I]);
  }
  return Most;
}

/// What a peak exceeds the limit by, however far it is below.
static int64_t beyond(int64_t Peak, int64_t Limit) {
  return std::max(Peak, Limit) - Limit;
}

/// Adds to whole blocks, and gives how much more their peaks are over.
REMAT_WIDE static int64_t addToBlocks(int64_t *Added, int64_t *Peaks,
                                      size_t Count, int64_t Bytes,
                                      int64_t Limit) {
  int64_t More = 0;
  for (size_t I = 0; I < Count; ++I) {
    int64_t Before = beyond(Peaks[I], Limit);
    Added[I] += Bytes;
    Peaks[I] += Bytes;
    More += beyond(Peaks[I], Limit) - Before;
  }
  return More;
}

REMAT_WIDE static int64_t largestOf(const int64_t *Values, size_t Count) {
  int64_t Most = Least;
  for (size_t I = 0; I < Count; ++I)
    Most = std::max(Most, Values[I]);
  return Most;
}

void Timeline::setPeak(size_t Block, int64_t Peak) {
  Over += beyond(Peak, Limit) - beyond(Peaks[Block], Limit);
  Peaks[Block] = Peak;
}

void Timeline::findPeak(size_t Block) {
  setPeak(Block, largestOf(&Bytes[Rows[Block]], Sizes[Block]) + Added[Block]);
}

/// A row has room for one more than a block may have.
void Timeline::insertAt(size_t Block, size_t Slot, int32_t Node, int64_t Here) {
  if (size_t(Node) >= Keys.size())
    Keys.resize(Node + 1);
  size_t Size = Sizes[Block]++, Row = Rows[Block];
  auto Insert = [&](auto &Of, auto X) {
    auto Begin = Of.begin() + Row;
    std::copy_backward(Begin + Slot, Begin + Size, Begin + Size + 1);
    Begin[Slot] = X;
  };
  Insert(Nodes, Node);
  Insert(Bytes, Here - Added[Block]);
  number(Block, Slot);
  setPeak(Block, Size == 0 ? Here : std::max(Peaks[Block], Here));
  Area += double(Here);
  ++Count;
  if (Sizes[Block] > Capacity)
    split(Block);
}

void Timeline::split(size_t Block) {
  newBlock(Block + 1);
  size_t Half = Sizes[Block] / 2, Rest = Sizes[Block] - Half;
  auto Halve = [&](auto &Of) {
    std::copy_n(Of.begin() + Rows[Block] + Half, Rest,
                Of.begin() + Rows[Block + 1]);
  };
  Halve(Nodes);
  Halve(Bytes);
  Sizes[Block] = int32_t(Half);
  Sizes[Block + 1] = int32_t(Rest);
  Added[Block + 1] = Added[Block];
  for (size_t I = Block + 1; I < Sizes.size(); ++I)
    number(I, 0);
  findPeak(Block);
  findPeak(Block + 1);
}

void Timeline::pushBack(int32_t Node, int64_t Here) {
  insertAt(Sizes.size() - 1, Sizes.back(), Node, Here);
}

void Timeline::insertBefore(int32_t Node, int32_t Next, int64_t Here) {
  insertAt(blockOf(Next), slotOf(Next), Node, Here);
}

void Timeline::erase(int32_t Node) {
  size_t Block = blockOf(Node), Slot = slotOf(Node);
  int64_t Here = bytesAt(Node);
  Area -= double(Here);
  --Count;
  size_t Size = Sizes[Block]--;
  auto Erase = [&](auto &Of) {
    auto Begin = Of.begin() + Rows[Block];
    std::copy(Begin + Slot + 1, Begin + Size, Begin + Slot);
  };
  Erase(Nodes);
  Erase(Bytes);
  number(Block, Slot);
  if (Here == Peaks[Block])
    findPeak(Block);
  if (Size > 1 || Sizes.size() == 1)
    return;
  FreeRows.push_back(Rows[Block]);
  Sizes.erase(Sizes.begin() + Block);
  Rows.erase(Rows.begin() + Block);
  Added.erase(Added.begin() + Block);
  Peaks.erase(Peaks.begin() + Block);
  for (size_t I = Block; I < Sizes.size(); ++I)
    number(I, 0);
}

/// Adds to the slots of a block from `Start` to before `End`.
void Timeline::addToSome(size_t Block, size_t Start, size_t End, int64_t More) {
  // The peak is among what changed, or where it was, unless it was lowered.
  int64_t Here =
      addToAll(&Bytes[Rows[Block] + Start], End - Start, More) + Added[Block];
  if (More >= 0 && Here > Peaks[Block])
    setPeak(Block, Here);
  else if (More < 0 && Here - More == Peaks[Block])
    findPeak(Block);
}

void Timeline::add(int32_t First, int32_t Last, int64_t More) {
  size_t From = blockOf(First), To = blockOf(Last);
  size_t Start = slotOf(First), End = slotOf(Last) + 1;
  int64_t Nodes = 0;
  if (From == To) {
    Nodes = int64_t(End - Start);
    addToSome(From, Start, End, More);
  } else {
    Nodes = int64_t(Sizes[From] - Start + End);
    addToSome(From, Start, Sizes[From], More);
    addToSome(To, 0, End, More);
    for (size_t I = From + 1; I < To; ++I)
      Nodes += Sizes[I];
    Over += addToBlocks(&Added[From + 1], &Peaks[From + 1], To - From - 1, More,
                        Limit);
  }
  Area += double(More) * double(Nodes);
}

int64_t Timeline::maxBetween(int32_t First, int32_t Last) const {
  size_t From = blockOf(First), To = blockOf(Last);
  auto Part = [&](size_t Block, size_t Start, size_t End) {
    return largestOf(&Bytes[Rows[Block] + Start], End - Start) + Added[Block];
  };
  size_t Start = slotOf(First), End = slotOf(Last) + 1;
  if (From == To)
    return Part(From, Start, End);
  return std::max({Part(From, Start, Sizes[From]), Part(To, 0, End),
                   largestOf(&Peaks[From + 1], To - From - 1)});
}

int32_t Timeline::fullestBetween(int32_t First, int32_t Last) const {
  int64_t Most = maxBetween(First, Last);
  size_t From = blockOf(First), To = blockOf(Last);
  for (size_t I = From; I <= To; ++I) {
    if (Peaks[I] < Most)
      continue;
    auto Row = Bytes.begin() + Rows[I];
    auto End = Row + (I == To ? slotOf(Last) + 1 : Sizes[I]);
    auto At =
        std::find(Row + (I == From ? slotOf(First) : 0), End, Most - Added[I]);
    if (At != End)
      return Nodes[At - Bytes.begin()];
  }
  return First;
}

int32_t Timeline::quietest(int32_t Node, bool Later, size_t Reach) const {
  int64_t Fewest = INT64_MAX;
  int32_t Quietest = -1;
  auto Look = [&](size_t Block, const auto &Begin, const auto &End) {
    if (Begin == End)
      return;
    auto At = std::min_element(Begin, End);
    if (*At + Added[Block] >= Fewest)
      return;
    Fewest = *At + Added[Block];
    Quietest = Nodes[&*At - Bytes.data()];
  };
  size_t Here = blockOf(Node), Last = Sizes.size() - 1;
  if (Later) {
    for (size_t I = Here; I <= Last && Reach > 0; ++I) {
      size_t Start = I == Here ? slotOf(Node) + 1 : 0;
      size_t End = std::max<size_t>(Start, Sizes[I] - size_t(I == Last));
      End = std::min(End, Start + Reach);
      Reach -= End - Start;
      auto Row = Bytes.begin() + Rows[I];
      Look(I, Row + Start, Row + End);
    }
    return Quietest;
  }
  for (size_t I = Here + 1; I > 0 && Reach > 0; --I) {
    size_t Block = I - 1;
    size_t End = Block == Here ? slotOf(Node) : Sizes[Block];
    size_t Start = std::min<size_t>(End, Block == 0);
    Start = std::max(Start, End - std::min(End, Reach));
    Reach -= End - Start;
    auto Row = std::make_reverse_iterator(Bytes.begin() + Rows[Block]);
    Look(Block, Row - End, Row - Start);
  }
  return Quietest;
}

int32_t Timeline::next(int32_t Node) const {
  size_t B = blockOf(Node), Slot = slotOf(Node) + 1;
  if (Slot < size_t(Sizes[B]))
    return Nodes[Rows[B] + Slot];
  return B + 1 < Sizes.size() ? Nodes[Rows[B + 1]] : -1;
}

int32_t Timeline::prev(int32_t Node) const {
  size_t B = blockOf(Node), Slot = slotOf(Node);
  if (Slot > 0)
    return Nodes[Rows[B] + Slot - 1];
  return B > 0 ? Nodes[Rows[B - 1] + Sizes[B - 1] - 1] : -1;
}

void Timeline::setLimit(int64_t NewLimit) {
  Limit = NewLimit;
  Over = 0;
  for (int64_t Peak : Peaks)
    Over += beyond(Peak, Limit);
}

int64_t Timeline::peak() const { return largestOf(Peaks.data(), Peaks.size()); }

/// The first node of a block with its most bytes.
int32_t Timeline::peakNodeOf(size_t Block) const {
  auto Begin = Bytes.begin() + Rows[Block];
  auto At = std::find(Begin, Begin + Sizes[Block], Peaks[Block] - Added[Block]);
  return Nodes[At - Bytes.begin()];
}

int32_t Timeline::peakNode() const {
  if (Count == 0)
    return -1;
  return peakNodeOf(std::max_element(Peaks.begin(), Peaks.end()) -
                    Peaks.begin());
}

int32_t Timeline::overNode(uint32_t Skip) const {
  size_t N = Sizes.size();
  for (size_t I = 0; I < N; ++I)
    if (size_t Block = (I + Skip) % N; Peaks[Block] > Limit)
      return peakNodeOf(Block);
  return -1;
}

int64_t Timeline::overWithin(int32_t First, int32_t Last, int64_t Less) const {
  int64_t Sum = 0;
  for (size_t I = blockOf(First), E = blockOf(Last); I <= E; ++I)
    Sum += std::min(Less, beyond(Peaks[I], Limit));
  return Sum;
}

std::vector<int32_t> Timeline::nodes() const {
  std::vector<int32_t> Out;
  Out.reserve(Count);
  for (size_t I = 0; I < Sizes.size(); ++I)
    Out.insert(Out.end(), Nodes.begin() + Rows[I],
               Nodes.begin() + Rows[I] + Sizes[I]);
  return Out;
}
