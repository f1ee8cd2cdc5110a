//===- Pool.h - a caching allocator over an upstream ------------*- C++ -*-===//
//
// Device memory is asked for in segments, which are cut into blocks. What is
// always true:
//  - the blocks of a segment cover it without gap or overlap, in address order;
//  - two free neighbours of one segment never exist: they are merged;
//  - a block's size is a multiple of 512 bytes;
//  - `allocated` is the sum of the used blocks' sizes, `requested` the sum of
//    the bytes asked for, `reserved` the sum of the segments' sizes.
//
// Size classes: a request is rounded up to a multiple of 512 bytes. Up to 1 MiB
// it is served from 2 MiB segments (small), below 10 MiB from 20 MiB segments
// (large), else from a segment of its size rounded up to 2 MiB. The smallest
// free block of the same stream and class that fits is taken (of equals, the
// one at the lowest address); it is split when the rest is at least 512 bytes
// (small) or more than 1 MiB (large).
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_POOL_H
#define REMAT_RUNTIME_POOL_H

#include "remat/runtime/Result.h"
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace remat::runtime {

/// Where a pool's segments come from. Device implements it.
class UpstreamAllocator {
public:
  virtual ~UpstreamAllocator() = default;

  /// Memory of at least `Bytes` bytes aligned to 512; the caller owns it until
  /// it gives it to `deallocate`. Fails with OutOfMemory.
  virtual Result<void *> allocate(uint64_t Bytes) = 0;

  /// Takes back what `allocate` gave for the same number of bytes.
  virtual void deallocate(void *Address, uint64_t Bytes) = 0;
};

/// What a byte is for. The first nine are those of the program format.
enum class MemoryClass : uint8_t {
  Parameters,
  Gradients,
  OptimizerState,
  Activations,
  Temporaries,
  Workspaces,
  Inputs,
  Outputs,
  Constants,
  Arena, ///< a whole program's memory in one allocation
};
inline constexpr unsigned NumMemoryClasses = 10;

/// "parameters", "optimizer_state", ...
std::string_view getName(MemoryClass Class);

/// Who asks for memory, for statistics, history and messages.
struct AllocationInfo {
  MemoryClass Class = MemoryClass::Temporaries;
  std::string Op;       ///< "" where no single op is meant
  std::string Location; ///< source location, "" where unknown
  uint64_t Stream = 0;  ///< blocks are reused on the same stream only
};

struct PoolOptions {
  uint64_t LimitBytes = UINT64_MAX; ///< `reserved` never exceeds it
  bool RecordHistory = false;
};

/// A number of bytes now and the most that it has been.
struct Gauge {
  uint64_t Current = 0;
  uint64_t Peak = 0;
};

struct PoolStatistics {
  Gauge Allocated, Requested, Reserved;
  std::array<Gauge, NumMemoryClasses> AllocatedByClass;
  uint64_t NumAllocations = 0, NumFrees = 0;
  uint64_t NumSegments = 0; ///< now
  uint64_t NumOutOfMemory = 0;
};

struct PoolEvent {
  enum class Kind { Allocate, Free, SegmentAllocate, SegmentFree, OutOfMemory };
  Kind Kind;
  uint64_t Address = 0, Bytes = 0, Requested = 0;
  AllocationInfo Info;
};

class Pool {
public:
  /// `Upstream` is not owned and outlives the pool.
  explicit Pool(UpstreamAllocator &Upstream, PoolOptions Options = {});
  /// Gives every segment back, used or not.
  ~Pool();
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;

  /// Memory of `Bytes` bytes (0 takes a block too), aligned to 512, until
  /// `free`. When the limit or the upstream refuses, cached segments are given
  /// back and it is tried once more; then OutOfMemory, which names op, bytes
  /// and the largest holders, and changes nothing that is in use.
  Result<void *> allocate(uint64_t Bytes, const AllocationInfo &Info = {});

  /// Takes back what `allocate` gave. Any other address is InvalidArgument.
  /// Needs no memory.
  Status free(void *Address);

  /// Gives wholly free segments back to the upstream.
  void releaseCached();

  void setLimit(uint64_t Bytes) { Options.LimitBytes = Bytes; }
  const PoolStatistics &getStatistics() const { return Statistics; }
  /// Sets every peak to the current number.
  void resetPeaks();
  const std::vector<PoolEvent> &getHistory() const { return History; }

  /// One run of bytes of a segment, for tests and snapshots.
  struct BlockView {
    uint64_t Segment, Address, Bytes, Requested;
    bool Used;
    AllocationInfo Info;
  };
  /// All blocks, by address.
  std::vector<BlockView> getBlocks() const;

  /// Bytes that a request takes: rounded up to a multiple of 512, 512 at
  /// least. UINT64_MAX when that does not fit.
  static uint64_t roundSize(uint64_t Bytes);
  /// Bytes of the segment that is asked for when no block serves `Rounded`.
  static uint64_t getSegmentSize(uint64_t Rounded);

private:
  struct Block;
  struct FreeOrder {
    bool operator()(const Block *A, const Block *B) const;
  };
  using FreeSet = std::set<Block *, FreeOrder>;

  using BlockMap = std::map<uint64_t, std::unique_ptr<Block>>;

  static bool isSmall(uint64_t Rounded);
  void prepareBlocks();
  Block &addBlock(uint64_t Address);
  Result<void *> allocateUnguarded(uint64_t Bytes, AllocationInfo Info);
  FreeSet &getFreeSet(const Block &B);
  Block *findFree(uint64_t Rounded, uint64_t Stream);
  Block *addSegment(uint64_t Rounded, const AllocationInfo &Info,
                    std::string &Refusal);
  void split(Block &B, uint64_t Rounded);
  Block *merge(Block *B);
  Error makeOutOfMemory(uint64_t Bytes, const AllocationInfo &Info,
                        const std::string &Refusal) const;
  void record(enum PoolEvent::Kind Kind, uint64_t Address, uint64_t Bytes,
              uint64_t Requested, const AllocationInfo &Info);

  UpstreamAllocator &Upstream;
  PoolOptions Options;
  BlockMap Blocks; ///< by address
  /// Blocks ready to be added: one for a segment, one for what is cut off it.
  /// All memory of a call is allocated here first, so that none is missing once
  /// it has begun to change something.
  BlockMap::node_type Spare[2];
  FreeSet FreeSmall, FreeLarge;
  PoolStatistics Statistics;
  std::vector<PoolEvent> History;
};

} // namespace remat::runtime

#endif // REMAT_RUNTIME_POOL_H
