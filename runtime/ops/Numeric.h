//===- Numeric.h - element types on the host --------------------*- C++ -*-===//
//
// Arithmetic on narrower floats is made in f32: elements are widened exactly
// when loaded and rounded once, to nearest even, when stored.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_OPS_NUMERIC_H
#define REMAT_RUNTIME_OPS_NUMERIC_H

#include "remat/runtime/Program.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace remat::runtime {

using remat::BFloat16;
using remat::Float16;
using remat::Float8E4M3FN;

inline float widen(float X) { return X; }
inline float widen(BFloat16 X) {
  return std::bit_cast<float>(uint32_t(X.Bits) << 16);
}
inline float widen(Float16 X) {
  // Scaling by 2^112 puts the exponent right, for subnormal numbers too.
  uint32_t Magnitude = uint32_t(X.Bits & 0x7fff) << 13;
  float Scaled = std::bit_cast<float>(Magnitude) * 0x1p112f;
  uint32_t Bits = std::bit_cast<uint32_t>(Scaled);
  if ((X.Bits & 0x7c00) == 0x7c00)
    Bits = 0x7f800000 | Magnitude;
  return std::bit_cast<float>(Bits | uint32_t(X.Bits & 0x8000) << 16);
}

inline float widen(Float8E4M3FN X) {
  // Scaling by 2^120 puts the exponent right, for subnormal numbers too.
  uint32_t Magnitude = uint32_t(X.Bits & 0x7f) << 20;
  float Scaled = std::bit_cast<float>(Magnitude) * 0x1p120f;
  uint32_t Bits = std::bit_cast<uint32_t>(Scaled);
  if ((X.Bits & 0x7f) == 0x7f)
    Bits = 0x7ff00000;
  return std::bit_cast<float>(Bits | uint32_t(X.Bits & 0x80) << 24);
}

template <typename T> T narrow(float X);
template <> inline float narrow<float>(float X) { return X; }
template <> inline BFloat16 narrow<BFloat16>(float X) {
  uint32_t Bits = std::bit_cast<uint32_t>(X);
  uint32_t Rounded = (Bits + 0x7fff + ((Bits >> 16) & 1)) >> 16;
  uint32_t Quiet = (Bits >> 16) | 0x40;
  return {uint16_t((Bits & 0x7fffffff) > 0x7f800000 ? Quiet : Rounded)};
}
template <> inline Float16 narrow<Float16>(float X) {
  uint32_t Bits = std::bit_cast<uint32_t>(X);
  uint16_t Sign = uint16_t((Bits >> 16) & 0x8000);
  Bits &= 0x7fffffff;
  if (Bits > 0x7f800000)
    return {uint16_t(Sign | 0x7e00)};
  if (Bits >= 0x477ff000) // rounds to 65536 or more
    return {uint16_t(Sign | 0x7c00)};
  if (Bits < 0x38800000) {
    // Subnormal: adding 1/2 leaves the rounded multiple of 2^-24 in the lowest
    // bits.
    float Shifted = std::bit_cast<float>(Bits) + 0.5f;
    return {uint16_t(Sign | (std::bit_cast<uint32_t>(Shifted) - 0x3f000000))};
  }
  uint32_t Rounded = Bits + 0xfff + ((Bits >> 13) & 1);
  return {uint16_t(Sign | ((Rounded - (uint32_t(112) << 23)) >> 13))};
}

/// There is no infinity: what is larger than 448 becomes 448, as in
/// PyTorch 2.13 and in NVIDIA's conversion instructions.
template <> inline Float8E4M3FN narrow<Float8E4M3FN>(float X) {
  uint32_t Bits = std::bit_cast<uint32_t>(X);
  uint8_t Sign = uint8_t((Bits >> 24) & 0x80);
  Bits &= 0x7fffffff;
  if (Bits > 0x7f800000)
    return {uint8_t(Sign | 0x7f)};
  if (Bits > 0x43e00000) // 448, the largest
    return {uint8_t(Sign | 0x7e)};
  if (Bits < 0x3c800000) {
    // Subnormal: adding 2^14 leaves the rounded multiple of 2^-9 in the lowest
    // bits.
    float Shifted = std::bit_cast<float>(Bits) + 0x1p14f;
    return {uint8_t(Sign | (std::bit_cast<uint32_t>(Shifted) - 0x46800000))};
  }
  uint32_t Rounded = Bits + 0x7ffff + ((Bits >> 20) & 1);
  return {uint8_t(Sign | ((Rounded - (uint32_t(120) << 23)) >> 20))};
}

/// Calls `F` with a null pointer of the C++ type that a float type is stored
/// as, with `OrStorage` also one that nothing computes with.
template <bool OrStorage = false, typename Function>
auto dispatchFloat(DType Type, Function F) {
  using Returned = decltype(F(static_cast<float *>(nullptr)));
  return dispatchElement(Type, [&](auto Row) -> Returned {
    if constexpr (OrStorage ? Row.HoldsFloats : Row.IsFloat)
      return F(static_cast<typename decltype(Row)::Stored *>(nullptr));
    else
      __builtin_unreachable();
  });
}

/// Calls `F` with a null pointer of the C++ type that any type of floats is
/// stored as.
template <typename Function> auto dispatchStored(DType Type, Function F) {
  return dispatchFloat</*OrStorage=*/true>(Type, F);
}

/// The loops over elements have all that they need by value. A dispatched
/// lambda reaches it through references, and what they refer to could change
/// with each element that is stored: such a loop does not use vectors.
template <typename T>
void widenElements(const T *From, int64_t Count, float *Out) {
  for (int64_t I = 0; I < Count; ++I)
    Out[I] = widen(From[I]);
}
template <typename T>
void narrowElements(const float *In, int64_t Count, T *To) {
  for (int64_t I = 0; I < Count; ++I)
    To[I] = narrow<T>(In[I]);
}

/// `Count` elements of a float type from element `First` of `Data`, as f32.
inline void loadFloats(DType Type, const char *Data, int64_t First,
                       int64_t Count, float *Out) {
  dispatchStored(Type, [&](auto *Null) {
    auto *From = reinterpret_cast<decltype(Null)>(const_cast<char *>(Data));
    widenElements(From + First, Count, Out);
  });
}

inline void storeFloats(DType Type, char *Data, int64_t First, int64_t Count,
                        const float *In) {
  dispatchStored(Type, [&](auto *Null) {
    narrowElements(In, Count, reinterpret_cast<decltype(Null)>(Data) + First);
  });
}

inline float loadFloat(DType Type, const char *Data, int64_t Index) {
  float X;
  loadFloats(Type, Data, Index, 1, &X);
  return X;
}

/// An i32 or i64 element.
inline int64_t loadInteger(DType Type, const char *Data, int64_t Index) {
  if (Type == DType::I32)
    return reinterpret_cast<const int32_t *>(Data)[Index];
  return reinterpret_cast<const int64_t *>(Data)[Index];
}

/// Elements that a sum adds up before it goes on with the next run of them:
/// long sums can be made in parallel and keep their bits.
inline constexpr int64_t SumChunk = 1 << 16;

/// The sum of F(0) .. F(Count - 1) in f64: eight interleaved partial sums,
/// added in order. Count is at most SumChunk.
template <typename Function> double sumChunk(int64_t Count, Function F) {
  double Lane[8] = {};
  int64_t I = 0;
  for (; I + 8 <= Count; I += 8)
    for (int64_t J = 0; J < 8; ++J)
      Lane[J] += F(I + J);
  for (int64_t J = 0; I < Count; ++I, ++J)
    Lane[J] += F(I);
  return ((Lane[0] + Lane[1]) + (Lane[2] + Lane[3])) +
         ((Lane[4] + Lane[5]) + (Lane[6] + Lane[7]));
}

/// The sum of F(0) .. F(Count - 1) in f64, chunk after chunk.
template <typename Function> double sum(int64_t Count, Function F) {
  double Total = 0;
  for (int64_t First = 0; First < Count; First += SumChunk)
    Total += sumChunk(std::min(SumChunk, Count - First),
                      [&](int64_t I) { return F(First + I); });
  return Total;
}

/// The larger number; a NaN wins.
inline float maximum(float A, float B) { return A > B || A != A ? A : B; }

} // namespace remat::runtime

#endif // REMAT_RUNTIME_OPS_NUMERIC_H
