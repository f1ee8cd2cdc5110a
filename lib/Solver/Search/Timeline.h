//===- Timeline.h - A sequence with bytes, cut into blocks ----------------===//
#ifndef REMAT_LIB_SOLVER_TIMELINE_H
#define REMAT_LIB_SOLVER_TIMELINE_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace remat::solver {

/// An ordered list of nodes, each with a number of bytes. Nodes come and go
/// anywhere; bytes are added over ranges; the largest is known at any time.
/// Square-root decomposition: every operation is O(block + number of blocks),
/// over contiguous memory.
///
/// Always true: a block is not empty unless it is the only one, `Peak` of a
/// block is the largest of its bytes, `overflow` is the sum over blocks of what
/// their peak exceeds the limit by.
class Timeline {
public:
  Timeline(int32_t ExpectedLength, int64_t Limit);

  /// Sorts after every node of the list and before none.
  void pushBack(int32_t Node, int64_t Bytes);
  void insertBefore(int32_t Node, int32_t Next, int64_t Bytes);
  void erase(int32_t Node);

  /// Adds to every node from First to Last, both included.
  void add(int32_t First, int32_t Last, int64_t Bytes);
  int64_t bytesAt(int32_t Node) const {
    const Place &P = Places[Node];
    const Block &B = Blocks[P.Block];
    return B.Bytes[P.Slot] + B.Lazy;
  }
  /// The first node with the most bytes from First to Last, both included.
  int32_t fullestBetween(int32_t First, int32_t Last) const;
  int64_t maxBetween(int32_t First, int32_t Last) const {
    return bytesAt(fullestBetween(First, Last));
  }

  /// Larger for later nodes. Changes when nodes come and go.
  uint32_t key(int32_t Node) const { return Keys[Node]; }
  bool before(int32_t A, int32_t B) const { return key(A) < key(B); }

  /// Neighbours; -1 beyond the ends.
  int32_t next(int32_t Node) const;
  int32_t prev(int32_t Node) const;

  void setLimit(int64_t NewLimit);
  int64_t limit() const { return Limit; }
  int64_t peak() const;
  /// A node with the most bytes, the first such.
  int32_t peakNode() const;
  /// The first node with the most bytes of a block that is over the limit;
  /// blocks counted from `Skip`, cyclically. -1 when nothing is over.
  int32_t overNode(uint32_t Skip) const;
  double overflow() const { return double(Over); }
  /// Sum of bytes over all nodes.
  double area() const { return Area; }
  int32_t size() const { return Count; }
  /// All nodes in order.
  std::vector<int32_t> nodes() const;
  size_t numBlocks() const { return Sequence.size(); }

private:
  struct Place {
    int32_t Block = -1;
    int32_t Slot = 0;
  };
  struct Block {
    std::vector<int32_t> Nodes;
    std::vector<int64_t> Bytes;
    int64_t Lazy = 0;
    int64_t Peak = 0;
    int32_t Ordinal = 0;
  };
  int32_t Capacity;
  int64_t Limit;
  int64_t Over = 0;
  double Area = 0;
  int32_t Count = 0;
  std::vector<Block> Blocks;
  std::vector<int32_t> Free, Sequence;
  std::vector<Place> Places;
  /// Per node: the ordinal of its block, then its slot. Apart from `Places`,
  /// for nothing is read more often.
  std::vector<uint32_t> Keys;
  /// Bits of a slot: a block holds up to 129 nodes before it is split.
  static constexpr int SlotBits = 8;

  int64_t over(const Block &B) const {
    return B.Peak > Limit ? B.Peak - Limit : 0;
  }
  void findPeak(Block &B);
  void insertAt(int32_t BlockId, int32_t Slot, int32_t Node, int64_t Bytes);
  void split(int32_t BlockId);
  void renumber(size_t From);
  int32_t newBlock();
  void place(int32_t BlockId, size_t From);
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_TIMELINE_H
