//===- Exact.h - Depth-first search for offsets ---------------------------===//
#ifndef REMAT_LIB_SOLVER_EXACT_H
#define REMAT_LIB_SOLVER_EXACT_H

#include "Pack.h"

#include <chrono>
#include <optional>

namespace remat::solver {

enum class Verdict { Fits, CannotFit, Unknown };

/// Searches for offsets within a capacity, after Moffitt, "MiniMalloc: A
/// Lightweight Memory Allocator for Hardware-Accelerated Machine Learning"
/// (2023). Buffers are placed bottom up, each at its lowest offset, offsets
/// never falling (every packing can be brought into that form). A branch is cut
///  - where in some slice of time what is left cannot fit above the lowest
///    offset still possible there (sections),
///  - where another buffer would fit wholly below the one placed (dominance),
///  - where buffers of equal offset would only come in another order: one that
///    was tried at an offset and failed must rest on a buffer still to come.
/// A buffer that is in nobody's way is placed without a choice. Where no buffer
/// left crosses a moment the two sides are solved apart.
class ExactPacker {
public:
  /// The search goes as deep as there are buffers; more are not tried.
  static constexpr size_t MaxItems = 5000;

  ExactPacker(const std::vector<Buffer> &Buffers, int64_t Capacity,
              const PackOptions &Options);

  /// Tries several orders of branching in turn, each with more nodes than
  /// before, at most MaxNodes altogether.
  Verdict solve(int64_t MaxNodes);
  const std::vector<int64_t> &offsets() const { return Offset; }
  int64_t nodes() const { return Nodes; }

private:
  struct Item {
    int32_t From, To; // sections [From, To)
    int64_t Size, Alignment;
  };
  /// A buffer at a given place: an obstacle to the others.
  struct Fixture {
    int32_t From, To;
    int64_t Bottom, Top;
  };
  struct Saved {
    int32_t Item;
    int64_t Low;
  };

  int64_t Capacity;
  const PackOptions &Options;
  std::chrono::steady_clock::time_point Start;
  std::vector<int32_t> Movable; // index of the buffer of an item
  std::vector<Item> Items;
  std::vector<Fixture> Fixtures;
  std::vector<int64_t> Offset; // per buffer
  std::vector<int64_t> Low;    // per item: lowest offset still possible
  std::vector<int32_t> Rank;   // per item: place in the order of branching
  /// Per item, when branching looks at it: how full its fullest section is.
  std::vector<int64_t> Tight;
  bool Dynamic = false;
  uint64_t State = 0x9E3779B97F4A7C15u;
  std::vector<int64_t> Left; // per section: bytes of unplaced items
  std::vector<int64_t> Base; // scratch per section
  std::vector<Saved> Trail;
  int64_t Nodes = 0, Budget = 0;

  bool outOfTime() const;
  int64_t raise(const Item &I, int64_t To) const;
  void rank(int Attempt);
  void measureTightness(const std::vector<int32_t> &Group);
  double random();
  bool sectionsFit(const std::vector<int32_t> &Group);
  bool place(int32_t Index, std::vector<int32_t> &Group, size_t NumTried,
             bool Free);
  bool inNobodysWay(int32_t Index, const std::vector<int32_t> &Group) const;
  bool overlap(int32_t A, int32_t B) const {
    return Items[A].From < Items[B].To && Items[B].From < Items[A].To;
  }
  void lift(int32_t Index, int64_t To);
  void undo(int32_t Index, size_t Mark);
  Verdict solveGroup(std::vector<int32_t> Group);
  Verdict branch(int32_t Index, std::vector<int32_t> Group, size_t NumTried,
                 bool Free);
  std::vector<std::vector<int32_t>> split(std::vector<int32_t> Group) const;
  bool same(int32_t A, int32_t B) const;
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_EXACT_H
