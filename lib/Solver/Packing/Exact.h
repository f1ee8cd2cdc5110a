//===- Exact.h - Depth-first search for offsets ---------------------------===//
#ifndef REMAT_LIB_SOLVER_EXACT_H
#define REMAT_LIB_SOLVER_EXACT_H

#include "Packing/Skyline.h"

namespace remat::solver {

enum class Verdict { Fits, CannotFit, Unknown };

/// Searches for offsets within a capacity, with the bounds of Moffitt,
/// "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine
/// Learning" (2023), but branching on sections of time, not on buffers: what
/// lies at the floor of one section, each item that can, or nothing. So no two
/// branches hold the same packing, and the section with the fewest ways goes
/// first. A section is branched on only in a valley, a run of equal floors
/// between higher ones: what starts at its floor lies wholly in the valley.
///
/// A branch is cut
///  - where a section cannot hold what is left above its floor,
///  - where an item would fit into a hole below the floors,
///  - where the same items with the same lowest offsets failed before.
/// An item that no other can lie below is placed without alternatives. Sections
/// that no item left connects are solved apart.
class ExactPacker {
public:
  /// More would take too long for even one descent.
  static constexpr size_t MaxItems = 5000;

  ExactPacker(const std::vector<Buffer> &Buffers, int64_t Capacity,
              const Deadline &Until);

  /// Tries several orders of branching in turn, each with more nodes than
  /// before. MaxNodes is for a small problem: a large one, where a node is more
  /// work, gets fewer.
  Verdict solve(int64_t MaxNodes);
  const std::vector<int64_t> &offsets() const { return Offset; }

private:
  /// What identifies the part of a problem that is left.
  struct Key {
    uint64_t First = 0, Second = 0;
    bool operator==(const Key &) const = default;
  };
  /// An open node: sections [A, B), all connected. Its alternatives are the
  /// candidates [Next, Last), then nothing at the floor of the section.
  struct Node {
    int32_t A, B;
    int32_t Scan;    // parts that end by here are solved
    int32_t Section; // what is branched on; -1 when nothing is
    bool MaySkip;
    size_t First, Next, Last, Mark;
    Key Id;
  };

  Skyline State;
  int64_t Capacity;
  const Deadline &Until;
  std::vector<int64_t> Offset;    // per buffer
  std::vector<int32_t> Rank;      // per item: place in the order of branching
  std::vector<int64_t> Exhausted; // per section: when it last failed
  int64_t Clock = 0;              // counts such failures
  std::vector<Node> Open;
  std::vector<int32_t> Candidates; // of the open nodes
  std::vector<Key> Failed;         // hashed; the newest stays
  std::vector<int32_t> Count, Run; // scratch per section
  int64_t Nodes = 0, Work = 0;
  uint64_t Seed = 0x9E3779B97F4A7C15u;

  double random();
  void rank(int Attempt);
  Key keyOf(int32_t A, int32_t B) const;
  bool startsAtFloor(int32_t I) const;
  void countWays(int32_t A, int32_t B);
  double cost(int32_t Section) const;
  int32_t sectionToBranchOn(int32_t A, int32_t B) const;
  int32_t itemInNobodysWay(int32_t A, int32_t B) const;
  void open(int32_t A, int32_t B);
  bool advance();
  void close(bool Exhaustive);
  Verdict search(int64_t MaxNodes, int64_t MaxWork);
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_EXACT_H
