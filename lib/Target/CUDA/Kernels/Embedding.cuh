//===- Embedding.cuh - rows of a table and their gradient -----------------===//
//
// The gradient sorts the positions by id with a stable radix sort (integer
// counts, no atomics on global memory) and then sums each table row's positions
// in order.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "Prelude.cuh"

namespace kernels {

// Row ids[i] of a table of V rows of C elements, Count elements in all; zeros
// for an id outside.
template <typename T, typename I, int64 V, int64 C, int64 Count, int N>
REMAT_KERNEL embedding(const I *ids, const T *table, T *y) {
  int64 i = ((int64)blockIdx.x * 256 + threadIdx.x) * N;
  if (i >= Count)
    return;
  int64 id = ids[i / C];
  Vec<T, N> v = {};
  if (id >= 0 && id < V)
    v = load<N>(table + id * C + i % C);
  store(y + i, v);
}

// One pass of the sort of `ids` ids of a table of `rows` rows: by the eight
// bits from `shift` on, in `tiles` tiles of `tile` ids.
template <int ids, int64 rows, int shift, int tile, int tiles> struct SortPass {
  enum : int { Ids = ids, Tile = tile, Tiles = tiles, Digits = 256 };
  // An id outside the table is sorted behind all others.
  static __device__ __forceinline__ uint32 key(int64 id) {
    return id >= 0 && id < rows ? (uint32)id : (uint32)rows;
  }
  static __device__ __forceinline__ uint32 digit(uint32 key) {
    return key >> shift & (Digits - 1);
  }
};

// Counts how often each value of the sort's digit occurs in a tile of keys:
// counts is [digits, tiles].
template <typename I, typename Pass>
REMAT_KERNEL sortCount(const I *ids, int *counts) {
  __shared__ int sums[Pass::Digits];
  int i = blockIdx.x * Pass::Tile + threadIdx.x;
  if (threadIdx.x < Pass::Digits)
    sums[threadIdx.x] = 0;
  __syncthreads();
  if (i < Pass::Ids) {
    int64 id = ids[i];
    atomicAdd(&sums[Pass::digit(Pass::key(id))], 1);
  }
  __syncthreads();
  if (threadIdx.x < Pass::Digits)
    counts[threadIdx.x * Pass::Tiles + blockIdx.x] = sums[threadIdx.x];
}

// Replaces Count counts by the sum of those before each.
template <int Count> REMAT_KERNEL sortScan(int *counts) {
  constexpr int Run = (Count + 1023) / 1024;
  __shared__ int sums[32];
  int begin = threadIdx.x * Run;
  int end = begin + Run < Count ? begin + Run : Count;
  int own = 0;
  for (int i = begin; i < end; ++i)
    own += counts[i];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, sum = own;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    int before = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step)
      sum += before;
  }
  if (lane == 31)
    sums[warp] = sum;
  __syncthreads();
  sum -= own;
  for (int w = 0; w < warp; ++w)
    sum += sums[w];
  for (int i = begin; i < end; ++i) {
    int count = counts[i];
    counts[i] = sum;
    sum += count;
  }
}

// Puts each key and position of a tile at its place in the order of the sort's
// digit; equal digits keep their order. In the first pass the position of an id
// is its index.
template <typename I, typename Pass, bool IsFirst>
REMAT_KERNEL sortScatter(const I *ids, const int *positions, const int *begins,
                         uint32 *toKeys, int *toPositions) {
  constexpr int Warps = Pass::Tile / 32, Digits = Pass::Digits;
  __shared__ int counts[Warps][Digits];
  int i = blockIdx.x * Pass::Tile + threadIdx.x;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int d = lane; d < Digits; d += 32)
    counts[warp][d] = 0;
  __syncthreads();
  bool valid = i < Pass::Ids;
  int64 id = valid ? (int64)ids[i] : 0;
  uint32 key = Pass::key(id);
  // Threads behind the end have a digit of their own.
  uint32 digit = valid ? Pass::digit(key) : Digits;
  uint32 same = __match_any_sync(0xffffffffu, digit);
  int rank = __popc(same & ((1u << lane) - 1));
  if (valid && rank == 0)
    counts[warp][digit] = __popc(same);
  __syncthreads();
  if (!valid)
    return;
  int place = begins[digit * Pass::Tiles + blockIdx.x] + rank;
  for (int w = 0; w < warp; ++w)
    place += counts[w][digit];
  toKeys[place] = key;
  toPositions[place] = IsFirst ? i : positions[i];
}

// Where the keys of `row`, and of the row behind it, begin among Ids sorted
// keys. The lanes of a warp cut what is left into 32 parts at a time, so that
// it waits three times for one of 32,768 keys.
template <int Ids>
__device__ __forceinline__ void findBounds(const uint32 *keys, uint32 row,
                                           int (&low)[2]) {
  int lane = threadIdx.x % 32;
  int high[2] = {Ids, Ids};
  low[0] = low[1] = 0;
  while (low[0] < high[0] || low[1] < high[1]) {
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      int part = (high[side] - low[side] + 31) / 32;
      int last = low[side] + (lane + 1) * part - 1;
      bool below =
          last >= low[side] && last < high[side] && keys[last] < row + side;
      low[side] += __popc(__ballot_sync(0xffffffffu, below)) * part;
      int end = low[side] + part - 1;
      high[side] = end < high[side] ? end : high[side];
    }
  }
}

// The gradient of each table row of C elements: the sum, in order, of the
// gradient rows of those of the Ids positions that named it. A block of Block
// threads has a row or a part of one.
template <typename T, typename G, int Ids, int C, int Block, int N>
REMAT_KERNEL embeddingBackward(const uint32 *keys, const int *positions,
                               const G *grad, T *tableGrad) {
  constexpr int Unroll = 8;
  uint32 row = blockIdx.x;
  int bounds[2];
  findBounds<Ids>(keys, row, bounds);
  int i = (blockIdx.y * Block + threadIdx.x) * N;
  if (i >= C)
    return;
  float sum[N];
  for (int k = 0; k < N; ++k)
    sum[k] = 0.0f;
  int p = bounds[0];
  for (; p + Unroll <= bounds[1]; p += Unroll) {
    Vec<G, N> v[Unroll];
#pragma unroll
    for (int u = 0; u < Unroll; ++u)
      v[u] = load<N>(grad + (int64)positions[p + u] * C + i);
#pragma unroll
    for (int u = 0; u < Unroll; ++u)
      for (int k = 0; k < N; ++k)
        sum[k] += toFloat(v[u][k]);
  }
  for (; p < bounds[1]; ++p) {
    Vec<G, N> v = load<N>(grad + (int64)positions[p] * C + i);
    for (int k = 0; k < N; ++k)
      sum[k] += toFloat(v[k]);
  }
  Vec<T, N> rounded;
  for (int k = 0; k < N; ++k)
    rounded[k] = fromFloat<T>(sum[k]);
  store(tableGrad + (int64)row * C + i, rounded);
}

} // namespace kernels
