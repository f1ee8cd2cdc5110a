//===- Pool.cpp - a caching allocator over an upstream --------------------===//

#include "remat/runtime/Pool.h"
#include "lib/Guard.h"
#include <algorithm>

using namespace remat::runtime;

static constexpr uint64_t MiB = 1 << 20;
static constexpr uint64_t BlockUnit = 512;
static constexpr uint64_t SmallLimit = 1 * MiB; ///< largest small request
static constexpr uint64_t SmallSegment = 2 * MiB;
static constexpr uint64_t LargeLimit = 10 * MiB; ///< below it: shared segments
static constexpr uint64_t LargeSegment = 20 * MiB;
static constexpr uint64_t HugeUnit = 2 * MiB;

struct Pool::Block {
  uint64_t Address = 0, Bytes = 0, Requested = 0;
  uint64_t Segment = 0; ///< address of the segment's first byte
  uint64_t SegmentBytes = 0;
  bool Small = false, Used = false;
  AllocationInfo Info;
  FreeSet::node_type Place; ///< in a free set, while it is in none
};

std::string_view remat::runtime::getName(MemoryClass Class) {
  static constexpr std::string_view Names[NumMemoryClasses] = {
      "parameters",  "gradients",  "optimizer_state", "activations",
      "temporaries", "workspaces", "inputs",          "outputs",
      "constants",   "arena"};
  return Names[static_cast<unsigned>(Class)];
}

bool Pool::FreeOrder::operator()(const Block *A, const Block *B) const {
  if (A->Info.Stream != B->Info.Stream)
    return A->Info.Stream < B->Info.Stream;
  if (A->Bytes != B->Bytes)
    return A->Bytes < B->Bytes;
  return A->Address < B->Address;
}

static void raise(Gauge &G, uint64_t Bytes) {
  G.Current += Bytes;
  G.Peak = std::max(G.Peak, G.Current);
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

uint64_t Pool::roundSize(uint64_t Bytes) {
  if (Bytes > UINT64_MAX - (BlockUnit - 1))
    return UINT64_MAX;
  return std::max(BlockUnit, (Bytes + BlockUnit - 1) / BlockUnit * BlockUnit);
}

bool Pool::isSmall(uint64_t Rounded) { return Rounded <= SmallLimit; }

uint64_t Pool::getSegmentSize(uint64_t Rounded) {
  if (isSmall(Rounded))
    return SmallSegment;
  if (Rounded < LargeLimit)
    return LargeSegment;
  if (Rounded > UINT64_MAX - (HugeUnit - 1))
    return UINT64_MAX;
  return (Rounded + HugeUnit - 1) / HugeUnit * HugeUnit;
}

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

Pool::Pool(UpstreamAllocator &Upstream, PoolOptions Options)
    : Upstream(Upstream), Options(Options) {}

Pool::~Pool() {
  for (auto &[Address, B] : Blocks)
    if (Address == B->Segment)
      Upstream.deallocate(reinterpret_cast<void *>(Address), B->SegmentBytes);
}

Pool::FreeSet &Pool::getFreeSet(const Block &B) {
  return B.Small ? FreeSmall : FreeLarge;
}

Pool::Block *Pool::findFree(uint64_t Rounded, uint64_t Stream) {
  Block Key;
  Key.Bytes = Rounded;
  Key.Info.Stream = Stream;
  FreeSet &Free = isSmall(Rounded) ? FreeSmall : FreeLarge;
  auto It = Free.lower_bound(&Key);
  if (It == Free.end() || (*It)->Info.Stream != Stream)
    return nullptr;
  Block *Found = *It;
  Found->Place = Free.extract(It);
  return Found;
}

void Pool::prepareBlocks() {
  for (BlockMap::node_type &Node : Spare) {
    if (!Node.empty())
      continue;
    auto B = std::make_unique<Block>();
    FreeSet Own;
    Own.insert(B.get());
    B->Place = Own.extract(Own.begin());
    BlockMap One;
    One.emplace(0, std::move(B));
    Node = One.extract(One.begin());
  }
}

/// Adds a block that was prepared; it is in no free set.
Pool::Block &Pool::addBlock(uint64_t Address) {
  BlockMap::node_type &Node = Spare[0].empty() ? Spare[1] : Spare[0];
  Block &B = *Node.mapped();
  Node.key() = B.Address = Address;
  Blocks.insert(std::move(Node));
  return B;
}

/// A segment for a request of `Rounded` bytes as one block, or null with the
/// reason in `Refusal`.
Pool::Block *Pool::addSegment(uint64_t Rounded, const AllocationInfo &Info,
                              std::string &Refusal) {
  uint64_t Bytes = getSegmentSize(Rounded);
  uint64_t Reserved = Statistics.Reserved.Current;
  if (Reserved > Options.LimitBytes || Bytes > Options.LimitBytes - Reserved) {
    Refusal = "the pool's limit is " + std::to_string(Options.LimitBytes) +
              " bytes, of which " + std::to_string(Reserved) +
              " are reserved, and a segment of " + std::to_string(Bytes) +
              " is needed";
    return nullptr;
  }
  Result<void *> Memory = Upstream.allocate(Bytes);
  if (!Memory) {
    Refusal = Memory.getError().getMessage();
    return nullptr;
  }
  Block &B = addBlock(reinterpret_cast<uint64_t>(*Memory));
  B.Segment = B.Address;
  B.Bytes = B.SegmentBytes = Bytes;
  B.Small = isSmall(Rounded);
  B.Info.Stream = Info.Stream;
  raise(Statistics.Reserved, Bytes);
  ++Statistics.NumSegments;
  record(PoolEvent::Kind::SegmentAllocate, B.Address, Bytes, 0, Info);
  return &B;
}

/// Cuts `B` down to `Rounded` bytes where the rest is worth keeping.
void Pool::split(Block &B, uint64_t Rounded) {
  uint64_t Rest = B.Bytes - Rounded;
  if (B.Small ? Rest < BlockUnit : Rest <= SmallLimit)
    return;
  Block &Tail = addBlock(B.Address + Rounded);
  Tail.Bytes = Rest;
  Tail.Segment = B.Segment;
  Tail.SegmentBytes = B.SegmentBytes;
  Tail.Small = B.Small;
  Tail.Info.Stream = B.Info.Stream;
  B.Bytes = Rounded;
  getFreeSet(B).insert(std::move(Tail.Place));
}

Result<void *> Pool::allocate(uint64_t Bytes, const AllocationInfo &Info) {
  return guard([&] { return allocateUnguarded(Bytes, Info); });
}

/// `Info` is a copy that can be moved from.
Result<void *> Pool::allocateUnguarded(uint64_t Bytes, AllocationInfo Info) {
  prepareBlocks();
  uint64_t Rounded = roundSize(Bytes);
  std::string Refusal;
  Block *B = findFree(Rounded, Info.Stream);
  if (!B)
    B = addSegment(Rounded, Info, Refusal);
  if (!B) {
    releaseCached();
    B = addSegment(Rounded, Info, Refusal);
  }
  if (!B) {
    ++Statistics.NumOutOfMemory;
    record(PoolEvent::Kind::OutOfMemory, 0, Rounded, Bytes, Info);
    return makeOutOfMemory(Bytes, Info, Refusal);
  }
  split(*B, Rounded);
  B->Used = true;
  B->Requested = Bytes;
  B->Info = std::move(Info);
  raise(Statistics.Allocated, B->Bytes);
  raise(Statistics.Requested, Bytes);
  raise(Statistics.AllocatedByClass[static_cast<unsigned>(B->Info.Class)],
        B->Bytes);
  ++Statistics.NumAllocations;
  record(PoolEvent::Kind::Allocate, B->Address, B->Bytes, Bytes, B->Info);
  return reinterpret_cast<void *>(B->Address);
}

//===----------------------------------------------------------------------===//
// Release
//===----------------------------------------------------------------------===//

Status Pool::free(void *Address) {
  auto It = Blocks.find(reinterpret_cast<uint64_t>(Address));
  if (It == Blocks.end() || !It->second->Used)
    return Error(ErrorCode::InvalidArgument,
                 "freed an address that the pool has not given out");
  Block *B = It->second.get();
  Statistics.Allocated.Current -= B->Bytes;
  Statistics.Requested.Current -= B->Requested;
  Statistics.AllocatedByClass[static_cast<unsigned>(B->Info.Class)].Current -=
      B->Bytes;
  ++Statistics.NumFrees;
  record(PoolEvent::Kind::Free, B->Address, B->Bytes, B->Requested, B->Info);
  uint64_t Stream = B->Info.Stream;
  B->Used = false;
  B->Requested = 0;
  B->Info = AllocationInfo();
  B->Info.Stream = Stream;
  Block *Joined = merge(B);
  getFreeSet(*Joined).insert(std::move(Joined->Place));
  return {};
}

/// Joins a free block, which is in no free set, with its free neighbours.
Pool::Block *Pool::merge(Block *B) {
  auto It = Blocks.find(B->Address);
  auto IsFreeNeighbour = [&](Block &Other) {
    return !Other.Used && Other.Segment == B->Segment;
  };
  if (auto Next = std::next(It);
      Next != Blocks.end() && IsFreeNeighbour(*Next->second)) {
    getFreeSet(*B).erase(Next->second.get());
    B->Bytes += Next->second->Bytes;
    Blocks.erase(Next);
  }
  if (It != Blocks.begin() && IsFreeNeighbour(*std::prev(It)->second)) {
    Block *Previous = std::prev(It)->second.get();
    Previous->Place = getFreeSet(*B).extract(Previous);
    Previous->Bytes += B->Bytes;
    Blocks.erase(It);
    return Previous;
  }
  return B;
}

void Pool::releaseCached() {
  for (auto It = Blocks.begin(); It != Blocks.end();) {
    Block &B = *It->second;
    if (B.Used || B.Bytes != B.SegmentBytes) {
      ++It;
      continue;
    }
    getFreeSet(B).erase(&B);
    Statistics.Reserved.Current -= B.Bytes;
    --Statistics.NumSegments;
    record(PoolEvent::Kind::SegmentFree, B.Address, B.Bytes, 0, B.Info);
    Upstream.deallocate(reinterpret_cast<void *>(B.Address), B.Bytes);
    It = Blocks.erase(It);
  }
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

Error Pool::makeOutOfMemory(uint64_t Bytes, const AllocationInfo &Info,
                            const std::string &Refusal) const {
  std::string Message =
      "out of memory: " + std::to_string(Bytes) + " bytes asked for by " +
      (Info.Op.empty() ? std::string("the program") : Info.Op);
  if (!Info.Location.empty())
    Message += " at " + Info.Location;
  Message += ": " + Refusal;
  std::vector<const Block *> Holders;
  for (auto &[Address, B] : Blocks)
    if (B->Used)
      Holders.push_back(B.get());
  std::sort(Holders.begin(), Holders.end(), [](const Block *A, const Block *B) {
    return std::pair(B->Bytes, A->Address) < std::pair(A->Bytes, B->Address);
  });
  if (Holders.size() > 3)
    Holders.resize(3);
  for (const Block *B : Holders) {
    Message += "; " + std::to_string(B->Bytes) + " bytes are held as " +
               std::string(getName(B->Info.Class));
    if (!B->Info.Op.empty())
      Message += " by " + B->Info.Op;
  }
  return Error(ErrorCode::OutOfMemory, Message);
}

void Pool::record(enum PoolEvent::Kind Kind, uint64_t Address, uint64_t Bytes,
                  uint64_t Requested, const AllocationInfo &Info) {
  if (!Options.RecordHistory)
    return;
  try {
    History.push_back({Kind, Address, Bytes, Requested, Info});
  } catch (const std::bad_alloc &) {
    // A history with a hole is none.
    Options.RecordHistory = false;
    History.clear();
  }
}

void Pool::resetPeaks() {
  auto Reset = [](Gauge &G) { G.Peak = G.Current; };
  Reset(Statistics.Allocated);
  Reset(Statistics.Requested);
  Reset(Statistics.Reserved);
  for (Gauge &G : Statistics.AllocatedByClass)
    Reset(G);
}

std::vector<Pool::BlockView> Pool::getBlocks() const {
  std::vector<BlockView> Views;
  for (auto &[Address, B] : Blocks)
    Views.push_back(
        {B->Segment, B->Address, B->Bytes, B->Requested, B->Used, B->Info});
  return Views;
}
