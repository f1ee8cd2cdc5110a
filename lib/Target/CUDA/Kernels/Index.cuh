//===- Index.cuh - elements by index, order and scans ---------------------===//
//
// A tensor is lines of Size elements at distance Inner from each other.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "Reduce.cuh"

namespace kernels {

// Count elements, of lines of Taken each, of lines of Size; zero for an index
// outside.
template <typename T, typename I, int64 Size, int64 Taken, int64 Inner,
          int64 Count>
REMAT_KERNEL gather(const T *x, const I *indices, T *y) {
  int64 i = (int64)blockIdx.x * 256 + threadIdx.x;
  if (i >= Count)
    return;
  int64 index = indices[i], outer = i / Inner / Taken;
  T v = {};
  if (index >= 0 && index < Size)
    v = x[(outer * Size + index) * Inner + i % Inner];
  y[i] = v;
}

// A thread an element of Count of them in all: it adds up, in order, those of
// the Taken updates of its line that are for it.
template <typename T, typename I, int64 Size, int64 Taken, int64 Inner,
          int64 Count>
REMAT_KERNEL scatterAdd(const I *indices, const T *updates, T *y) {
  int64 i = (int64)blockIdx.x * 256 + threadIdx.x;
  if (i >= Count)
    return;
  int64 own = i / Inner % Size;
  int64 begin = i / Inner / Size * Taken * Inner + i % Inner;
  float sum = 0.0f;
  for (int64 k = 0; k < Taken; ++k)
    if ((int64)indices[begin + k * Inner] == own)
      sum += toFloat(updates[begin + k * Inner]);
  y[i] = fromFloat<T>(sum);
}

// Whether element x at place `at` of a line is before y at place `other` in
// descending, or smallest first in ascending order. NaN is the largest.
template <bool smallest> struct SortOrder {
  template <typename T>
  static __device__ __forceinline__ bool isBefore(T x, int64 at, T y,
                                                  int64 other) {
    bool xIsNaN = x != x, yIsNaN = y != y;
    if (xIsNaN != yIsNaN)
      return xIsNaN != smallest;
    if (xIsNaN || x == y)
      return at < other;
    return smallest ? x < y : x > y;
  }
};

// A block of 256 threads a line: in each of K rounds it finds the first of the
// elements behind the one before.
template <typename T, typename Order, int64 Size, int64 K, int64 Inner>
REMAT_KERNEL topK(const T *x, T *values, int64 *indices) {
  using Sum = Reduction<T, T, false, 1>;
  using Key = typename Sum::Total;
  constexpr int Warps = 8;
  __shared__ Key keys[Warps];
  __shared__ int64 places[Warps];
  int64 outer = blockIdx.x / Inner, inner = blockIdx.x % Inner;
  const T *line = x + outer * Size * Inner + inner;
  Key last = 0;
  int64 lastAt = -1;
  for (int64 round = 0; round < K; ++round) {
    Key key = 0;
    int64 at = -1;
    for (int64 i = threadIdx.x; i < Size; i += 256) {
      Key other = Sum::widen(line[i * Inner]);
      bool isLeft = round == 0 || Order::isBefore(last, lastAt, other, i);
      if (isLeft && (at < 0 || Order::isBefore(other, i, key, at))) {
        key = other;
        at = i;
      }
    }
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) {
      Key other = __shfl_xor_sync(0xffffffffu, key, mask);
      int64 place = __shfl_xor_sync(0xffffffffu, at, mask);
      if (place >= 0 && (at < 0 || Order::isBefore(other, place, key, at))) {
        key = other;
        at = place;
      }
    }
    if (threadIdx.x % 32 == 0) {
      keys[threadIdx.x / 32] = key;
      places[threadIdx.x / 32] = at;
    }
    __syncthreads();
    last = keys[0];
    lastAt = places[0];
    for (int w = 1; w < Warps; ++w)
      if (places[w] >= 0 &&
          (lastAt < 0 || Order::isBefore(keys[w], places[w], last, lastAt))) {
        last = keys[w];
        lastAt = places[w];
      }
    __syncthreads();
    if (threadIdx.x == 0) {
      int64 to = (outer * K + round) * Inner + inner;
      values[to] = line[lastAt * Inner];
      indices[to] = lastAt;
    }
  }
}

// A warp a line of Lines of them.
template <typename T, int64 Lines, int64 Size, int64 Inner, bool Reverse>
REMAT_KERNEL cumsum(const T *x, T *y) {
  using Sum = Reduction<T, T, false, 1>;
  int64 line = (int64)blockIdx.x * 8 + threadIdx.x / 32;
  int lane = threadIdx.x % 32;
  if (line >= Lines)
    return;
  int64 first = line / Inner * Size * Inner + line % Inner;
  typename Sum::Total before = 0;
  for (int64 begin = 0; begin < Size; begin += 32) {
    int64 i = begin + lane;
    int64 place = first + (Reverse ? Size - 1 - i : i) * Inner;
    typename Sum::Total sum = 0;
    if (i < Size)
      sum = Sum::widen(x[place]);
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      typename Sum::Total other = __shfl_up_sync(0xffffffffu, sum, step);
      if (lane >= step)
        sum += other;
    }
    sum += before;
    if (i < Size)
      y[place] = Sum::finish(sum);
    before = __shfl_sync(0xffffffffu, sum, 31);
  }
}

} // namespace kernels
