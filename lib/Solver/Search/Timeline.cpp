//===- Timeline.cpp - A sequence with bytes, cut into blocks --------------===//
#include "Search/Timeline.h"

#include <algorithm>
#include <cmath>

using namespace remat::solver;

Timeline::Timeline(int32_t ExpectedLength, int64_t Limit) : Limit(Limit) {
  Capacity =
      std::clamp(int32_t(2 * std::sqrt(double(ExpectedLength))), 16, 128);
  Sequence.push_back(newBlock());
}

int32_t Timeline::newBlock() {
  if (!Free.empty()) {
    int32_t Id = Free.back();
    Free.pop_back();
    return Id;
  }
  Blocks.emplace_back();
  Blocks.back().Nodes.reserve(Capacity + 1);
  Blocks.back().Bytes.reserve(Capacity + 1);
  return int32_t(Blocks.size() - 1);
}

void Timeline::place(int32_t BlockId, size_t From) {
  const Block &B = Blocks[BlockId];
  uint32_t Key = uint32_t(B.Ordinal) << SlotBits;
  for (size_t I = From; I < B.Nodes.size(); ++I) {
    Places[B.Nodes[I]] = {BlockId, int32_t(I)};
    Keys[B.Nodes[I]] = Key | uint32_t(I);
  }
}

void Timeline::renumber(size_t From) {
  for (size_t I = From; I < Sequence.size(); ++I) {
    Blocks[Sequence[I]].Ordinal = int32_t(I);
    place(Sequence[I], 0);
  }
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
  int64_t Most = INT64_MIN / 2;
  for (size_t I = 0; I < Count; ++I) {
    Values[I] += Bytes;
    Most = std::max(Most, Values[I]);
  }
  return Most;
}

void Timeline::findPeak(Block &B) {
  Over -= over(B);
  B.Peak = addToAll(B.Bytes.data(), B.Bytes.size(), 0) + B.Lazy;
  Over += over(B);
}

void Timeline::insertAt(int32_t BlockId, int32_t Slot, int32_t Node,
                        int64_t Bytes) {
  if (size_t(Node) >= Places.size()) {
    Places.resize(Node + 1);
    Keys.resize(Node + 1);
  }
  Block &B = Blocks[BlockId];
  B.Nodes.insert(B.Nodes.begin() + Slot, Node);
  B.Bytes.insert(B.Bytes.begin() + Slot, Bytes - B.Lazy);
  place(BlockId, Slot);
  Over -= over(B);
  B.Peak = B.Nodes.size() == 1 ? Bytes : std::max(B.Peak, Bytes);
  Over += over(B);
  Area += double(Bytes);
  ++Count;
  if (int32_t(B.Nodes.size()) > Capacity)
    split(BlockId);
}

void Timeline::split(int32_t BlockId) {
  int32_t NewId = newBlock();
  Block &B = Blocks[BlockId];
  Block &C = Blocks[NewId];
  size_t Half = B.Nodes.size() / 2;
  C.Nodes.assign(B.Nodes.begin() + Half, B.Nodes.end());
  C.Bytes.assign(B.Bytes.begin() + Half, B.Bytes.end());
  C.Lazy = B.Lazy;
  C.Peak = INT64_MIN / 2;
  B.Nodes.resize(Half);
  B.Bytes.resize(Half);
  Sequence.insert(Sequence.begin() + B.Ordinal + 1, NewId);
  renumber(B.Ordinal + 1);
  findPeak(B);
  findPeak(C);
}

void Timeline::pushBack(int32_t Node, int64_t Bytes) {
  int32_t Last = Sequence.back();
  insertAt(Last, int32_t(Blocks[Last].Nodes.size()), Node, Bytes);
}

void Timeline::insertBefore(int32_t Node, int32_t Next, int64_t Bytes) {
  Place P = Places[Next];
  insertAt(P.Block, P.Slot, Node, Bytes);
}

void Timeline::erase(int32_t Node) {
  Place P = Places[Node];
  Block &B = Blocks[P.Block];
  Area -= double(bytesAt(Node));
  --Count;
  B.Nodes.erase(B.Nodes.begin() + P.Slot);
  B.Bytes.erase(B.Bytes.begin() + P.Slot);
  Places[Node].Block = -1;
  place(P.Block, P.Slot);
  findPeak(B);
  if (!B.Nodes.empty() || Sequence.size() == 1)
    return;
  B.Lazy = 0;
  Sequence.erase(Sequence.begin() + B.Ordinal);
  Free.push_back(P.Block);
  renumber(B.Ordinal);
}

void Timeline::add(int32_t First, int32_t Last, int64_t Bytes) {
  Place F = Places[First], L = Places[Last];
  int32_t From = Blocks[F.Block].Ordinal, To = Blocks[L.Block].Ordinal;
  int64_t Nodes = 0;
  for (int32_t I = From; I <= To; ++I) {
    Block &B = Blocks[Sequence[I]];
    size_t Start = I == From ? F.Slot : 0;
    size_t End = I == To ? L.Slot + 1 : B.Nodes.size();
    Nodes += int64_t(End - Start);
    if (End - Start == B.Nodes.size()) {
      Over -= over(B);
      B.Lazy += Bytes;
      B.Peak += Bytes;
      Over += over(B);
      continue;
    }
    // The peak is among what changed, or where it was, unless it was lowered.
    int64_t Here = addToAll(&B.Bytes[Start], End - Start, Bytes) + B.Lazy;
    if (Bytes >= 0 && Here > B.Peak) {
      Over -= over(B);
      B.Peak = Here;
      Over += over(B);
    } else if (Bytes < 0 && Here - Bytes == B.Peak)
      findPeak(B);
  }
  Area += double(Bytes) * double(Nodes);
}

int32_t Timeline::fullestBetween(int32_t First, int32_t Last) const {
  Place F = Places[First], L = Places[Last];
  int32_t From = Blocks[F.Block].Ordinal, To = Blocks[L.Block].Ordinal;
  int64_t Most = INT64_MIN / 2;
  int32_t Fullest = First;
  for (int32_t I = From; I <= To; ++I) {
    const Block &B = Blocks[Sequence[I]];
    if (B.Peak <= Most)
      continue;
    auto Begin = B.Bytes.begin();
    auto At = std::max_element(Begin + (I == From ? F.Slot : 0),
                               I == To ? Begin + L.Slot + 1 : B.Bytes.end());
    if (*At + B.Lazy <= Most)
      continue;
    Most = *At + B.Lazy;
    Fullest = B.Nodes[At - Begin];
  }
  return Fullest;
}

int32_t Timeline::next(int32_t Node) const {
  Place P = Places[Node];
  const Block &B = Blocks[P.Block];
  if (size_t(P.Slot) + 1 < B.Nodes.size())
    return B.Nodes[P.Slot + 1];
  if (size_t(B.Ordinal) + 1 < Sequence.size())
    return Blocks[Sequence[B.Ordinal + 1]].Nodes.front();
  return -1;
}

int32_t Timeline::prev(int32_t Node) const {
  Place P = Places[Node];
  const Block &B = Blocks[P.Block];
  if (P.Slot > 0)
    return B.Nodes[P.Slot - 1];
  if (B.Ordinal > 0)
    return Blocks[Sequence[B.Ordinal - 1]].Nodes.back();
  return -1;
}

void Timeline::setLimit(int64_t NewLimit) {
  Limit = NewLimit;
  Over = 0;
  for (int32_t Id : Sequence)
    Over += over(Blocks[Id]);
}

int64_t Timeline::peak() const {
  int64_t Most = INT64_MIN / 2;
  for (int32_t Id : Sequence)
    Most = std::max(Most, Blocks[Id].Peak);
  return Most;
}

static int32_t firstAt(const std::vector<int32_t> &Nodes,
                       const std::vector<int64_t> &Bytes, int64_t Most) {
  return Nodes[std::find(Bytes.begin(), Bytes.end(), Most) - Bytes.begin()];
}

int32_t Timeline::peakNode() const {
  int64_t Most = peak();
  for (int32_t Id : Sequence)
    if (const Block &B = Blocks[Id]; B.Peak == Most && !B.Nodes.empty())
      return firstAt(B.Nodes, B.Bytes, Most - B.Lazy);
  return -1;
}

int32_t Timeline::overNode(uint32_t Skip) const {
  size_t N = Sequence.size();
  for (size_t I = 0; I < N; ++I)
    if (const Block &B = Blocks[Sequence[(I + Skip) % N]]; B.Peak > Limit)
      return firstAt(B.Nodes, B.Bytes, B.Peak - B.Lazy);
  return -1;
}

std::vector<int32_t> Timeline::nodes() const {
  std::vector<int32_t> Out;
  Out.reserve(Count);
  for (int32_t Id : Sequence)
    Out.insert(Out.end(), Blocks[Id].Nodes.begin(), Blocks[Id].Nodes.end());
  return Out;
}
