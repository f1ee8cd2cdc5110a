//===- Philox.h - counter-based random numbers ------------------*- C++ -*-===//
//
// Philox 4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
// easy as 1, 2, 3", 2011), with the counter that remat.random documents.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_PHILOX_H
#define REMAT_RUNTIME_PHILOX_H

#include <array>
#include <cmath>
#include <cstdint>

namespace remat::runtime {

/// The ten rounds: four words from a counter of four and a key of two.
inline std::array<uint32_t, 4> runPhilox(std::array<uint32_t, 4> Counter,
                                         uint32_t Key0, uint32_t Key1) {
  for (int Round = 0; Round < 10; ++Round) {
    uint64_t Product0 = uint64_t(0xD2511F53) * Counter[0];
    uint64_t Product1 = uint64_t(0xCD9E8D57) * Counter[2];
    Counter = {uint32_t(Product1 >> 32) ^ Counter[1] ^ Key0, uint32_t(Product1),
               uint32_t(Product0 >> 32) ^ Counter[3] ^ Key1,
               uint32_t(Product0)};
    Key0 += 0x9E3779B9;
    Key1 += 0xBB67AE85;
  }
  return Counter;
}

/// The stream of random numbers of one op at one step.
class PhiloxStream {
public:
  PhiloxStream(uint64_t Seed, uint64_t Id, uint64_t Step)
      : Seed(Seed), Id(Id), Step(Step) {}

  /// The four words of elements 4 * Block .. 4 * Block + 3.
  std::array<uint32_t, 4> getBlock(uint64_t Block) const {
    return runPhilox({uint32_t(Block),
                      uint32_t(Block >> 32) ^ uint32_t(Id >> 32), uint32_t(Id),
                      uint32_t(Step)},
                     uint32_t(Seed), uint32_t(Seed >> 32));
  }

  /// In [0, 1), a multiple of 2^-24.
  static float toUniform(uint32_t Word) { return float(Word >> 8) * 0x1p-24f; }

  /// Standard normal numbers 2j and 2j + 1 from their two words (Box and
  /// Muller, 1958).
  static std::array<float, 2> toNormal(uint32_t Word0, uint32_t Word1) {
    float Radius = std::sqrt(-2.0f * std::log(1.0f - toUniform(Word0)));
    float Angle = 6.283185307179586f * toUniform(Word1);
    return {Radius * std::cos(Angle), Radius * std::sin(Angle)};
  }

private:
  uint64_t Seed, Id, Step;
};

} // namespace remat::runtime

#endif // REMAT_RUNTIME_PHILOX_H
