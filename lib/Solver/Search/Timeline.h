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
/// over contiguous memory. Blocks are known by their place among all.
///
/// Always true: a block is not empty unless it is the only one, `Peaks` has the
/// largest bytes of each, `overflow` is the sum over blocks of what their peak
/// exceeds the limit by.
class Timeline {
public:
  Timeline(int32_t ExpectedLength, int64_t Limit);

  /// Sorts after every node of the list and before none.
  void pushBack(int32_t Node, int64_t Here);
  void insertBefore(int32_t Node, int32_t Next, int64_t Here);
  void erase(int32_t Node);

  /// Adds to every node from First to Last, both included.
  void add(int32_t First, int32_t Last, int64_t More);
  int64_t bytesAt(int32_t Node) const {
    size_t B = blockOf(Node);
    return Bytes[Rows[B] + slotOf(Node)] + Added[B];
  }
  /// The most bytes of a node from First to Last, both included, and the first
  /// node that has them.
  int64_t maxBetween(int32_t First, int32_t Last) const;
  int32_t fullestBetween(int32_t First, int32_t Last) const;

  /// The node with the fewest bytes among up to `Reach` after this one, or
  /// before it, the nearest such; never the first or the last of all. -1 where
  /// there is none.
  int32_t quietest(int32_t Node, bool Later, size_t Reach) const;

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
  /// What `overflow` is less at most where each node from First to Last has up
  /// to so many bytes less.
  int64_t overWithin(int32_t First, int32_t Last, int64_t Less) const;
  /// Sum of bytes over all nodes.
  double area() const { return Area; }
  int32_t size() const { return Count; }
  /// All nodes in order.
  std::vector<int32_t> nodes() const;
  size_t numBlocks() const { return Sizes.size(); }

private:
  int32_t Capacity;
  int64_t Limit;
  int64_t Over = 0;
  double Area = 0;
  int32_t Count = 0;
  /// Of each block, in order: how many nodes it has, where its row of `Nodes`
  /// and `Bytes` begins, what is to be added to all its bytes, and the largest.
  std::vector<int32_t> Sizes;
  std::vector<size_t> Rows;
  std::vector<int64_t> Added, Peaks;
  /// A row for each block, in any order, and rows that no block has now.
  std::vector<int32_t> Nodes;
  std::vector<int64_t> Bytes;
  std::vector<size_t> FreeRows;
  /// Per node: its block, then its slot there.
  std::vector<uint32_t> Keys;
  /// Bits of a slot: a block holds up to 129 nodes before it is split.
  static constexpr int SlotBits = 8;

  size_t blockOf(int32_t Node) const { return Keys[Node] >> SlotBits; }
  size_t slotOf(int32_t Node) const {
    return Keys[Node] & ((1U << SlotBits) - 1);
  }
  void setPeak(size_t Block, int64_t Peak);
  void findPeak(size_t Block);
  int32_t peakNodeOf(size_t Block) const;
  void addToSome(size_t Block, size_t Start, size_t End, int64_t More);
  void insertAt(size_t Block, size_t Slot, int32_t Node, int64_t Here);
  void newBlock(size_t At);
  void split(size_t Block);
  void number(size_t Block, size_t FromSlot);
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_TIMELINE_H
