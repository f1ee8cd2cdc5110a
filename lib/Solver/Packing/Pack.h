//===- Pack.h - Parts of the packing solver -------------------------------===//
#ifndef REMAT_LIB_SOLVER_PACK_H
#define REMAT_LIB_SOLVER_PACK_H

#include "Deadline.h"
#include "remat/Solver/Packing.h"

#include <algorithm>
#include <memory>

namespace remat::solver {

int64_t alignUp(int64_t N, int64_t Alignment);

/// All times at which a buffer begins or ends, in order, each once.
std::vector<int64_t> timesOf(const std::vector<Buffer> &Buffers);

struct Placement {
  std::vector<int64_t> Offsets;
  int64_t Height = 0;
};

/// Places buffers one after another; fixed ones first, at their offsets. Does
/// so as often as it is asked to, in the memory of the first time.
class Placer {
public:
  /// `Buffers` lives as long as this.
  Placer(const std::vector<Buffer> &Buffers);
  ~Placer();

  /// In the tightest gap, or in the lowest one that holds a buffer.
  Placement place(const std::vector<int32_t> &Order, bool Tightest);
  /// Of all placements so far; about a nanosecond each.
  int64_t work() const;

private:
  class Impl;
  std::unique_ptr<Impl> Of;
};

/// For many buffers, in O(n log n) whatever their overlaps: rows of similar
/// sizes (no smaller than `Factor` times the largest), filled from the first
/// moment on or from the last, then gravity.
Placement placeInRows(const std::vector<Buffer> &Buffers, double Factor,
                      bool Backward);

/// The lowest of rows and of several orders by size, area, length, start and
/// end; stops at the first that is at most Target, and when the time is over.
Placement bestFit(const std::vector<Buffer> &Buffers, int64_t Target,
                  const Deadline &Until);

/// Work of placing all buffers one by one: pairs that live at the same time,
/// about, and the buffers themselves. More than 0.
int64_t workOfPass(const std::vector<Buffer> &Buffers);

/// Larger keys first, of equal ones the smaller index.
template <typename KeyOf>
void sortLargestFirst(std::vector<int32_t> &Ids, KeyOf Key) {
  std::sort(Ids.begin(), Ids.end(), [&](int32_t A, int32_t B) {
    auto X = Key(A), Y = Key(B);
    return X != Y ? X > Y : A < B;
  });
}

/// Looks for a placement lower than `Best`: places buffers in the order of
/// their priorities, raises that of each that lies high, and places again
/// (squeaky wheel optimization, Joslin and Clements, 1999). `Load` is the most
/// bytes that live at one time; stops at `Target`, and when the time is over.
void squeakyWheel(const std::vector<Buffer> &Buffers, int64_t Load,
                  int64_t Target, const Deadline &Until, Placement &Best);

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_PACK_H
