//===- Skyline.h - What a partial packing leaves possible -----------------===//
#ifndef REMAT_LIB_SOLVER_SKYLINE_H
#define REMAT_LIB_SOLVER_SKYLINE_H

#include "Packing/Pack.h"

namespace remat::solver {

/// The state of the exact search. Time is cut into sections, in each of which
/// the same buffers live. Every buffer that is not placed has a lowest offset
/// at which it can still lie, every section a floor: the least of these.
/// Always true: no more is left in a section than fits above its floor.
class Skyline {
public:
  static constexpr int64_t Never = INT64_MAX;

  struct Item {
    int32_t From, To; // sections [From, To)
    int64_t Size, Alignment;
    int32_t Buffer; // its index in the input
  };

  /// Buffers of size 0 and fixed ones are no items.
  Skyline(const std::vector<Buffer> &Buffers, int64_t Capacity);

  /// Items by increasing start; those that start in the sections [A, B) are
  /// [first(A), first(B)).
  const std::vector<Item> &items() const { return Items; }
  int32_t first(int32_t Section) const { return FirstItem[Section]; }
  int32_t numSections() const { return int32_t(ItemsAt.size()); }

  /// False when no packing exists from the start.
  bool reset();
  /// Places an item at its lowest offset, where no other item can lie below
  /// it. False when no packing is left; undo is needed then, too. Only items of
  /// sections [A, B) may be touched: all that are connected to it.
  bool place(int32_t I, int32_t A, int32_t B);
  /// Leaves the section empty from its floor to where the next item can start.
  bool skip(int32_t Section, int32_t A, int32_t B);
  /// Counts what was looked at, since the start.
  int64_t work() const { return Work; }
  size_t mark() const { return Trail.size(); }
  void undo(size_t Mark);

  /// Lowest offset still possible; Never when placed.
  int64_t low(int32_t I) const { return Low[I]; }
  /// Lowest offset clear of what is placed: no more than low().
  int64_t solid(int32_t I) const { return Solid[I]; }
  int64_t floor(int32_t Section) const { return Floor[Section]; }
  int64_t left(int32_t Section) const { return Left[Section]; }
  /// Bytes of the section that may stay empty.
  int64_t slack(int32_t S) const {
    return Capacity - Floor[S] - Left[S] - fixedAbove(S, Floor[S]);
  }
  /// Some item that is not placed lives in this section and the next.
  bool joined(int32_t Section) const { return Joins[Section] > 0; }
  bool inNobodysWay(int32_t I) const;
  /// Either can take the other's place.
  bool same(int32_t A, int32_t B) const {
    const Item &X = Items[A], &Y = Items[B];
    return X.From == Y.From && X.To == Y.To && X.Size == Y.Size &&
           X.Alignment == Y.Alignment;
  }
  const std::vector<int32_t> &itemsAt(int32_t Section) const {
    return ItemsAt[Section];
  }

private:
  /// A buffer at a given place: an obstacle to the others.
  struct Fixture {
    int32_t From, To;
    int64_t Bottom, Top;
  };
  struct Change {
    enum { Item, Floor, Placed } What;
    int32_t Index;
    int64_t Old, OldSolid;
  };

  int64_t Capacity;
  std::vector<Item> Items;
  std::vector<Fixture> Fixtures;
  std::vector<int32_t> FirstItem;
  std::vector<std::vector<int32_t>> ItemsAt;
  std::vector<int64_t> Low, Solid;  // per item
  std::vector<int64_t> Floor, Left; // per section
  std::vector<int32_t> Joins;       // per section
  std::vector<int64_t> LowAtStart, LeftAtStart;
  std::vector<int32_t> JoinsAtStart;
  std::vector<Change> Trail;
  int64_t Work = 0;
  std::vector<int32_t> Lowest; // per section: an item at its floor, mostly

  int64_t raise(const Item &X, int64_t To) const;
  int64_t fixedAbove(int32_t Section, int64_t Offset) const;
  int64_t restsOn(int32_t I, int32_t Section) const;
  bool lift(int32_t I, int64_t To, bool Placed);
  bool settle(int32_t From, int32_t To, int64_t Below, int32_t A, int32_t B);
  bool hasHole(int32_t A, int32_t B) const;
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_SKYLINE_H
