//===- Exact.cuh - arithmetic of elementwise kernels ----------------------===//
//
// Values must not depend on how operations were grouped: the memory budget
// decides that. The compiler contracts a * b + c to one fused operation, with
// another rounding, wherever both end up in one kernel. So sums and products
// here are intrinsics that are never contracted. What is lost is small: these
// kernels wait for memory, some ten operations an element and 8 to 16 bytes,
// where a Hopper GPU does 9 unfused operations in the time of one byte. The
// option -fmad=false would do the same but also halve the rate of the
// hand-written kernels that live on fused products.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "Prelude.cuh"

// A float whose sums, differences and products are rounded one by one.
struct Exact {
  float value;
  __device__ __forceinline__ Exact() {}
  __device__ __forceinline__ Exact(float x) : value(x) {}
  __device__ __forceinline__ explicit operator float() const { return value; }
  __device__ __forceinline__ explicit operator int() const {
    return (int)value;
  }
  __device__ __forceinline__ explicit operator int64() const {
    return (int64)value;
  }
  __device__ __forceinline__ explicit operator bool() const {
    return value != 0.0f;
  }
  __device__ __forceinline__ Exact operator-() const { return -value; }
  friend __device__ __forceinline__ Exact operator+(Exact a, Exact b) {
    return __fadd_rn(a.value, b.value);
  }
  friend __device__ __forceinline__ Exact operator-(Exact a, Exact b) {
    return __fsub_rn(a.value, b.value);
  }
  friend __device__ __forceinline__ Exact operator*(Exact a, Exact b) {
    return __fmul_rn(a.value, b.value);
  }
  friend __device__ __forceinline__ Exact operator/(Exact a, Exact b) {
    return __fdiv_rn(a.value, b.value);
  }
  friend __device__ __forceinline__ bool operator<(Exact a, Exact b) {
    return a.value < b.value;
  }
  friend __device__ __forceinline__ bool operator<=(Exact a, Exact b) {
    return a.value <= b.value;
  }
  friend __device__ __forceinline__ bool operator>(Exact a, Exact b) {
    return a.value > b.value;
  }
  friend __device__ __forceinline__ bool operator>=(Exact a, Exact b) {
    return a.value >= b.value;
  }
  friend __device__ __forceinline__ bool operator==(Exact a, Exact b) {
    return a.value == b.value;
  }
  friend __device__ __forceinline__ bool operator!=(Exact a, Exact b) {
    return a.value != b.value;
  }
};
__device__ __forceinline__ Exact fabsf(Exact x) { return fabsf(x.value); }
__device__ __forceinline__ Exact expf(Exact x) { return expf(x.value); }
__device__ __forceinline__ Exact logf(Exact x) { return logf(x.value); }
__device__ __forceinline__ Exact log1pf(Exact x) { return log1pf(x.value); }
__device__ __forceinline__ Exact expm1f(Exact x) { return expm1f(x.value); }
__device__ __forceinline__ Exact sqrtf(Exact x) { return __fsqrt_rn(x.value); }
__device__ __forceinline__ Exact sinf(Exact x) { return sinf(x.value); }
__device__ __forceinline__ Exact cosf(Exact x) { return cosf(x.value); }
__device__ __forceinline__ Exact tanf(Exact x) { return tanf(x.value); }
__device__ __forceinline__ Exact atanf(Exact x) { return atanf(x.value); }
__device__ __forceinline__ Exact floorf(Exact x) { return floorf(x.value); }
__device__ __forceinline__ Exact ceilf(Exact x) { return ceilf(x.value); }
__device__ __forceinline__ Exact rintf(Exact x) { return rintf(x.value); }
__device__ __forceinline__ Exact tanhf(Exact x) { return tanhf(x.value); }
// 1 / (1 + exp(-x)): 0.5 (1 + tanh(x / 2)) in half the instructions.
__device__ __forceinline__ Exact sigmoidOf(Exact x) {
  return fastReciprocal(1.0f + expf(-x.value));
}
// s(x) = sigmoid(u(x)) with u(x) = sqrt(8 / pi) (x + 0.044715 x^3), which is
// 0.5 (1 + tanh(u(x) / 2)): GELU by tanh is x s(x). Inside one operation it is
// for us to fuse products, and a GPU's exponential is one of 2: with more
// instructions these, not memory, would bound the kernel.
__device__ __forceinline__ Exact geluSigmoid(Exact x) {
  float u = __fmaf_rn(__fmul_rn(x.value, x.value), -0.10294324f, -2.3022082f);
  return fastReciprocal(1.0f + fastExp2(__fmul_rn(x.value, u)));
}
// Its derivative: s + x s (1 - s) u'(x).
__device__ __forceinline__ Exact geluSlope(Exact x) {
  float s = geluSigmoid(x).value, square = __fmul_rn(x.value, x.value);
  float slope = __fmul_rn(x.value, __fmaf_rn(square, 0.21406445f, 1.5957691f));
  return __fmaf_rn(__fmaf_rn(-s, slope, slope), s, s);
}
__device__ __forceinline__ Exact erff(Exact x) { return erff(x.value); }
__device__ __forceinline__ Exact powf(Exact x, Exact y) {
  return powf(x.value, y.value);
}
__device__ __forceinline__ Exact atan2f(Exact y, Exact x) {
  return atan2f(y.value, x.value);
}
// With the sign of y.
__device__ __forceinline__ Exact remainderOf(Exact x, Exact y) {
  float r = fmodf(x.value, y.value);
  return r != 0.0f && (r < 0.0f) != (y.value < 0.0f) ? __fadd_rn(r, y.value)
                                                     : r;
}
template <typename T> __device__ __forceinline__ T remainderOf(T x, T y) {
  if (y == 0 || y == -1)
    return 0;
  T r = x % y;
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
// Zeros come in; nothing is left of a number that moves by its width or more.
__device__ __forceinline__ int shiftLeft(int x, int by) {
  return (unsigned)by < 32u ? (int)((unsigned)x << by) : 0;
}
__device__ __forceinline__ int64 shiftLeft(int64 x, int64 by) {
  return (unsigned long long)by < 64u ? (int64)((unsigned long long)x << by)
                                      : 0;
}
__device__ __forceinline__ int shiftRight(int x, int by) {
  return (unsigned)by < 32u ? (int)((unsigned)x >> by) : 0;
}
__device__ __forceinline__ int64 shiftRight(int64 x, int64 by) {
  return (unsigned long long)by < 64u ? (int64)((unsigned long long)x >> by)
                                      : 0;
}
// N neighbouring elements, moved by accesses of up to 16 bytes.
template <typename T, int N> struct Run {
  static constexpr int Part = N * sizeof(T) > 16 ? 16 / sizeof(T) : N;
  Vec<T, Part> parts[N / Part];
  __device__ __forceinline__ Run() {}
  __device__ __forceinline__ explicit Run(const T *p) {
#pragma unroll
    for (int q = 0; q < N / Part; ++q)
      parts[q] = load<Part>(p + q * Part);
  }
  __device__ __forceinline__ void store(T *p) const {
#pragma unroll
    for (int q = 0; q < N / Part; ++q)
      ::store(p + q * Part, parts[q]);
  }
  __device__ __forceinline__ T &operator[](int k) {
    return parts[k / Part].data[k % Part];
  }
};
// x as it is once stored as a T.
template <typename T> __device__ __forceinline__ Exact rounded(Exact x) {
  return toFloat(fromFloat<T>(x.value));
}
template <> __device__ __forceinline__ Exact rounded<bf16>(Exact x) {
  return roundToBF16(x.value);
}
// x, which is rounded to a T, as one.
template <typename T> __device__ __forceinline__ T stored(Exact x) {
  return fromFloat<T>(x.value);
}
template <> __device__ __forceinline__ bf16 stored<bf16>(Exact x) {
  bf16 r;
  r.bits = (unsigned short)((uint32)__float_as_int(x.value) >> 16);
  return r;
}
