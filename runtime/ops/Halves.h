//===- Halves.h - an f32 as a bf16 and what is missing to it ----*- C++ -*-===//
//
// A tensor in halves has all its elements rounded to bf16 first, then for each
// what its 32 bits, as an integer, are above those of the rounded one.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_OPS_HALVES_H
#define REMAT_RUNTIME_OPS_HALVES_H

#include "ops/Numeric.h"
#include <algorithm>
#include <bit>
#include <cstdint>

namespace remat::runtime {

inline float joinHalves(BFloat16 Upper, int16_t Lower) {
  return std::bit_cast<float>((uint32_t(Upper.Bits) << 16) +
                              static_cast<uint32_t>(int32_t(Lower)));
}

/// What is missing to `X`, of which `Upper` is the rounded one. It is 32768
/// where `X` is half-way between two bf16 and the lower one was taken: then one
/// less. A NaN stays some NaN.
inline int16_t getLowerHalf(float X, BFloat16 Upper) {
  int64_t Missing =
      int64_t(std::bit_cast<uint32_t>(X)) - (int64_t(Upper.Bits) << 16);
  return static_cast<int16_t>(std::clamp<int64_t>(Missing, -32768, 32767));
}

/// The number that `X` is once it has been stored in halves.
inline float roundAsHalves(float X) {
  auto Upper = narrow<BFloat16>(X);
  return joinHalves(Upper, getLowerHalf(X, Upper));
}

} // namespace remat::runtime

#endif // REMAT_RUNTIME_OPS_HALVES_H
