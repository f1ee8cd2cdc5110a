//===- Reduce.cuh - sums, means and maxima over dimensions ----------------===//
//
// Over the last dimensions: 32 threads or a block a result. Over others: a
// thread a column. Where few results are wanted of many elements, parts of each
// result go to the workspace and a second launch joins them in order.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "Prelude.cuh"

namespace kernels {

// A sum or maximum of elements of type In, made in float or int64. A mean is
// the sum over `divisor`, which is 1 for all else.
template <typename In, typename Out, bool isMax, int64 divisor>
struct Reduction {
  static __device__ __forceinline__ float widen(float x) { return x; }
  static __device__ __forceinline__ float widen(bf16 x) { return toFloat(x); }
  static __device__ __forceinline__ float widen(f16 x) { return toFloat(x); }
  static __device__ __forceinline__ int64 widen(int x) { return x; }
  static __device__ __forceinline__ int64 widen(int64 x) { return x; }
  using Total = decltype(widen(In()));

  static __device__ __forceinline__ Total begin() { return begin(Total()); }
  static __device__ __forceinline__ Total join(Total total, Total x) {
    return isMax ? maximum(total, x) : total + x;
  }
  template <int Threads>
  static __device__ __forceinline__ Total joinGroup(Total total) {
    if constexpr (isMax)
      return groupMax<Threads>(total);
    else
      return groupSum<Threads>(total);
  }
  static __device__ __forceinline__ Out finish(Total total) {
    return finish(total, Out());
  }

private:
  static __device__ __forceinline__ float begin(float) {
    return isMax ? -infinity() : 0.0f;
  }
  static __device__ __forceinline__ int64 begin(int64) {
    return isMax ? -0x7fffffffffffffffll - 1 : 0;
  }
  template <typename T>
  static __device__ __forceinline__ T finish(float total, T) {
    return fromFloat<T>(divisor == 1 ? total : total / (float)divisor);
  }
  template <typename T>
  static __device__ __forceinline__ T finish(int64 total, T) {
    return (T)(divisor == 1 ? total : total / divisor);
  }
};

// Over rows of R elements, in Chunks parts of Part: Results results in all.
template <typename In, typename Out, typename Kind, int64 Results, int64 R,
          int64 Part, int64 Chunks, int Threads, int RowsPerBlock, int N>
REMAT_KERNEL reduceRows(const In *x, Out *y) {
  int64 result = (int64)blockIdx.x * RowsPerBlock + threadIdx.x / Threads;
  if (result >= Results)
    return;
  int64 begin = result % Chunks * Part;
  int64 end = begin + Part < R ? begin + Part : R;
  x += result / Chunks * R;
  auto total = Kind::begin();
#pragma unroll 4
  for (int64 i = begin + threadIdx.x % Threads * N; i < end; i += Threads * N) {
    Vec<In, N> v = load<N>(x + i);
    for (int k = 0; k < N; ++k)
      total = Kind::join(total, Kind::widen(v[k]));
  }
  total = Kind::template joinGroup<Threads>(total);
  if (threadIdx.x % Threads == 0)
    y[result] = Kind::finish(total);
}

// Over dimension 1 of [outer, R, C], in Chunks parts of Part; a block has 32 *
// N of C columns, of which there are Tiles. Threads load several rows at a
// time: what little is joined at the end waits for nothing else.
template <typename In, typename Out, typename Kind, int64 R, int64 C,
          int64 Part, int64 Chunks, int64 Tiles, int N>
REMAT_KERNEL reduceColumns(const In *x, Out *y) {
  constexpr int Lanes = 32, Parts = 8, Unroll = N == 1 ? 16 : 4;
  __shared__ typename Kind::Total totals[Parts][Lanes * N];
  int lane = threadIdx.x % Lanes, part = threadIdx.x / Lanes;
  int64 column = ((int64)blockIdx.x % Tiles * Lanes + lane) * N;
  int64 result = blockIdx.x / Tiles;
  int64 begin = result % Chunks * Part;
  int64 end = begin + Part < R ? begin + Part : R;
  x += result / Chunks * R * C + column;
  typename Kind::Total total[N];
  for (int k = 0; k < N; ++k)
    total[k] = Kind::begin();
  if (column < C)
    for (int64 first = begin + part; first < end; first += Unroll * Parts) {
      Vec<In, N> v[Unroll];
#pragma unroll
      for (int u = 0; u < Unroll; ++u)
        if (first + u * Parts < end)
          v[u] = load<N>(x + (first + u * Parts) * C);
#pragma unroll
      for (int u = 0; u < Unroll; ++u)
        if (first + u * Parts < end)
          for (int k = 0; k < N; ++k)
            total[k] = Kind::join(total[k], Kind::widen(v[u][k]));
    }
  for (int k = 0; k < N; ++k)
    totals[part][k * Lanes + lane] = total[k];
  __syncthreads();
  if (part == 0 && column < C)
    for (int k = 0; k < N; ++k) {
      auto total = totals[0][k * Lanes + lane];
      for (int p = 1; p < Parts; ++p)
        total = Kind::join(total, totals[p][k * Lanes + lane]);
      y[result * C + column + k] = Kind::finish(total);
    }
}

// Dimensions of the operand, innermost first: each takes its index off `rest`
// and steps a pointer on.
template <int64 size, int64 stride> struct Stride {
  template <typename T>
  static __device__ __forceinline__ void step(int64 &rest, const T *&x) {
    x += rest % size * stride;
    rest /= size;
  }
};
template <typename... Strides> struct StrideList {
  template <typename T>
  static __device__ __forceinline__ void step(int64 rest, const T *&x) {
    (Strides::step(rest, x), ...);
  }
};

// Over Count elements a result; dimensions that are not neighbours. Kept are
// the dimensions of the Results results, Reduced the others.
template <typename In, typename Out, typename Kind, int64 Results, int64 Count,
          typename Kept, typename Reduced>
REMAT_KERNEL reduceStrided(const In *x, Out *y) {
  int64 result = (int64)blockIdx.x * 8 + threadIdx.x / 32;
  if (result >= Results)
    return;
  Kept::step(result, x);
  auto total = Kind::begin();
  for (int64 i = threadIdx.x % 32; i < Count; i += 32) {
    const In *from = x;
    Reduced::step(i, from);
    total = Kind::join(total, Kind::widen(*from));
  }
  total = Kind::template joinGroup<32>(total);
  if (threadIdx.x % 32 == 0)
    y[result] = Kind::finish(total);
}

} // namespace kernels
