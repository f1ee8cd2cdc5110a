//===- ExchangeTable.h - Changes that pay together ------------------------===//
#ifndef REMAT_LIB_SOLVER_EXCHANGETABLE_H
#define REMAT_LIB_SOLVER_EXCHANGETABLE_H

#include "remat/Solver/Problem.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace remat::solver {

/// Ops of a problem, one bit each.
class OpSet {
public:
  explicit OpSet(OpId NumOps) : Words(size_t(NumOps + 63) / 64, 0) {}
  void insert(OpId O) { Words[O / 64] |= uint64_t(1) << (O % 64); }
  bool meets(const std::vector<OpId> &Few) const {
    for (OpId O : Few)
      if (Words[O / 64] >> (O % 64) & 1)
        return true;
    return false;
  }

private:
  std::vector<uint64_t> Words;
};

/// Tells which of many changes to a plan to make together. Which values to drop
/// is a knapsack at heart: a plan near the optimum becomes cheaper where one or
/// two recomputations, or moves, make room to leave out a few others. Each step
/// on the way there is dearer or does not fit. What changes do together is
/// taken to be the sum of what each does; those that have ops in common are
/// never put together. A knapsack in as many dimensions as there are places,
/// searched depth first with a bound on what is left to save.
class ExchangeTable {
public:
  struct Item {
    /// Time: less than zero for what saves.
    double Cost = 0;
    /// What stands more at each place.
    std::vector<int64_t> Bytes;
    /// What runs once more or less or elsewhere, and that with what makes its
    /// inputs.
    std::vector<OpId> Changed;
    OpSet Touched;
  };
  struct Offer {
    double Gain = 0;
    /// Those that make room first.
    std::vector<int32_t> Items;
  };

  /// Room at each place, none below zero.
  explicit ExchangeTable(std::vector<int64_t> Room) : Room(std::move(Room)) {}
  void add(Item X) { Items.push_back(std::move(X)); }
  /// The exchanges found that save something, at most so many, the best first.
  std::vector<Offer> find(size_t Most);
  /// Comparisons made, 64 places each.
  int64_t work() const { return Work; }

private:
  std::vector<int64_t> Room;
  std::vector<Item> Items;
  /// What saves, most first. At `Place` it is furthest beyond the room.
  struct Saving {
    int32_t Item, Place;
    int64_t Bytes;
  };
  std::vector<Saving> Savings;
  std::vector<Offer> Offers;
  int64_t Work = 0;

  struct Filling {
    std::vector<Saving> From;
    std::vector<int32_t> Now, Best;
    double Most = 0;
    int Left = 0;
  };
  void findSavings();
  std::vector<int32_t> worthPairing() const;
  void fill(const std::vector<int32_t> &Given);
  void fillFrom(Filling &F, size_t First, double Saved,
                const std::vector<int64_t> &Free);
  bool fits(const Saving &X, const std::vector<int64_t> &Free);
  bool apart(int32_t I, const std::vector<int32_t> &Others) const;
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_EXCHANGETABLE_H
