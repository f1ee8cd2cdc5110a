//===- Shuffle.h - seeded orders of records ---------------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_LIB_DATA_SHUFFLE_H
#define REMAT_RUNTIME_LIB_DATA_SHUFFLE_H

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace remat::runtime {

/// For each epoch an order of the numbers below `Count`, drawn from (seed, id,
/// epoch). Several threads may ask at once.
///
/// Few numbers are shuffled in a list (Durstenfeld, 1964). For more than
/// `MaxListed` no list is made: a number is found from its position by a
/// Feistel network of Philox over the next power of two, taken again until the
/// result is below `Count` (Black and Rogaway, "Ciphers with arbitrary
/// finite domains", 2002).
class Shuffle {
public:
  static constexpr uint64_t MaxListed = uint64_t(1) << 22;

  Shuffle(uint64_t Count, uint64_t Seed, uint64_t Id)
      : Count(Count), Seed(Seed), Id(Id) {}

  /// The numbers at positions [First, First + Numbers.size()) of an epoch.
  void get(uint64_t Epoch, uint64_t First, std::span<uint64_t> Numbers) const;

private:
  using List = std::vector<uint64_t>;
  struct Known {
    uint64_t Epoch = 0;
    std::shared_ptr<const List> Order;
  };

  std::shared_ptr<const List> getList(uint64_t Epoch) const;
  uint64_t permute(uint64_t Epoch, uint64_t Position) const;

  uint64_t Count, Seed, Id;
  /// Two epochs: near the end of one, some threads read the next already.
  mutable std::array<Known, 2> Lists;
  mutable std::mutex Lock;
};

} // namespace remat::runtime

#endif // REMAT_RUNTIME_LIB_DATA_SHUFFLE_H
