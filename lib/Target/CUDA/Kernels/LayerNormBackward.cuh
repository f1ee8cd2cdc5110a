//===- LayerNormBackward.cuh - gradients of layer norm --------------------===//
//
// One pass over grad and operand: each block takes a run of rows, writes the
// operand's gradient row by row and keeps the sums for scale and bias in
// registers; a second kernel adds up the blocks' partial sums in order. A row
// is read whole before it is written, so that the gradient may lie over grad or
// operand.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "Prelude.cuh"

namespace kernels {

// Zero of the type that counts elements: an int where that is enough, to save
// registers.
template <bool IsLarge> __device__ __forceinline__ auto countFromZero() {
  if constexpr (IsLarge)
    return int64(0);
  else
    return 0;
}

// How rows are shared out: each block of `block` threads has `rowsPerBlock` of
// them, and each group of `threads` one at a time, `access` elements at a time
// in `steps` steps. Where that is one step, registers have room for the next
// row of the group, which is loaded while one is worked on.
template <int64 rows, int64 rowsPerBlock, int columns, int block, int threads,
          int access, int steps>
struct GradientShape {
  typedef decltype(countFromZero<(rows * columns > 0x7fffffff)>()) Count;
  enum : Count { Rows = rows, RowsPerBlock = rowsPerBlock };
  enum : int { C = columns, Threads = threads, Groups = block / threads };
  enum : int { N = access, Steps = steps, Warps = threads / 32 };
  enum : bool { Ahead = steps == 1 };

  static __device__ __forceinline__ int getGroup() {
    return threadIdx.x / Threads;
  }
  // Where the elements of this thread begin that it has at a step.
  static __device__ __forceinline__ int getColumn(int step) {
    return (step * Threads + threadIdx.x % Threads) * N;
  }
  static __device__ __forceinline__ Count getBegin() {
    return blockIdx.x * RowsPerBlock;
  }
  static __device__ __forceinline__ Count getEnd() {
    return getBegin() + RowsPerBlock < Rows ? getBegin() + RowsPerBlock : Rows;
  }
};

// What a thread has of a row.
template <typename Shape, typename T, bool HasAddend> struct GradientRow {
  typedef typename Shape::Count Count;
  Vec<T, Shape::N> x[Shape::Steps], g[Shape::Steps], added[Shape::Steps];

  __device__ __forceinline__ void load(const T *from, const T *grad,
                                       const T *addend, Count row) {
#pragma unroll
    for (int s = 0; s < Shape::Steps; ++s) {
      Count i = row * Shape::C + Shape::getColumn(s);
      if (Shape::getColumn(s) >= Shape::C)
        continue;
      x[s] = ::load<Shape::N>(from + i);
      g[s] = ::load<Shape::N>(grad + i);
      if (HasAddend && Shape::Ahead)
        added[s] = ::load<Shape::N>(addend + i);
      else if (HasAddend)
        prefetch(addend + i);
    }
  }
  // Starts to bring a row into the cache, for which registers have no room.
  static __device__ __forceinline__ void announce(const T *from, const T *grad,
                                                  Count row) {
#pragma unroll
    for (int s = 0; s < Shape::Steps; ++s)
      if (int i = Shape::getColumn(s); i < Shape::C) {
        prefetch(from + row * Shape::C + i);
        prefetch(grad + row * Shape::C + i);
      }
  }
  // Writes what x has become, with the addend, which is added in float. What is
  // written remains in x.
  __device__ __forceinline__ void store(const T *addend, T *to, Count row) {
#pragma unroll
    for (int s = 0; s < Shape::Steps; ++s) {
      Count i = row * Shape::C + Shape::getColumn(s);
      if (Shape::getColumn(s) >= Shape::C)
        continue;
      if (HasAddend && !Shape::Ahead)
        added[s] = ::load<Shape::N>(addend + i);
      if (HasAddend) {
        float sum[Shape::N];
        for (int k = 0; k < Shape::N; ++k)
          sum[k] = toFloat(x[s][k]) + toFloat(added[s][k]);
        fromFloats(sum, x[s]);
      }
      ::store(to + i, x[s]);
    }
  }
};

// Sums over the threads that share a row, for each of them: the same bits.
// `turn` alternates between 0 and 1, so that one barrier will do.
template <typename Shape, int Count>
__device__ __forceinline__ void sumRow(float (&x)[Count], int turn) {
  for (int c = 0; c < Count; ++c)
    x[c] = warpSum(x[c]);
  if constexpr (Shape::Warps > 1) {
    __shared__ float shares[2][Shape::Groups][Count][Shape::Warps];
    auto &mine = shares[turn][Shape::getGroup()];
    int lane = threadIdx.x % 32;
    if (lane == 0)
      for (int c = 0; c < Count; ++c)
        mine[c][threadIdx.x % Shape::Threads / 32] = x[c];
    partBarrier(1 + Shape::getGroup(), Shape::Threads);
    for (int c = 0; c < Count; ++c)
      if constexpr (Shape::Warps <= 8) {
        x[c] = mine[c][0];
        for (int w = 1; w < Shape::Warps; ++w)
          x[c] += mine[c][w];
      } else {
        x[c] = warpSum(lane < Shape::Warps ? mine[c][lane] : 0.0f);
      }
  }
}

// Adds what the groups of a block have summed, one after the other: a row of
// the partial sums. All threads call it.
template <typename Shape>
__device__ __forceinline__ void
joinGroups(const float (&sums)[Shape::Steps * Shape::N], float *out) {
  constexpr int C = Shape::C, N = Shape::N, Groups = Shape::Groups;
  __shared__ float all[Groups > 1 ? Groups : 1][Groups > 1 ? C : 1];
#pragma unroll
  for (int e = 0; e < Shape::Steps * N; ++e)
    if (int i = Shape::getColumn(e / N) + e % N; i < C) {
      if (Groups > 1)
        all[Shape::getGroup()][i] = sums[e];
      else
        out[i] = sums[e];
    }
  if (Groups == 1)
    return;
  __syncthreads();
#pragma unroll 1 // it runs once, and code that runs once is read from memory
  for (int i = threadIdx.x; i < C; i += Groups * Shape::Threads) {
    float sum = all[0][i];
    for (int group = 1; group < Groups; ++group)
      sum += all[group][i];
    out[i] = sum;
  }
  __syncthreads();
}

// Calls `work` with each row of a group, with what is known of the row as
// numbers, one of each of `known`, and with a turn for `sumRow`. The next row
// is loaded before, where registers have room; the first one that is not is
// announced.
template <typename Shape, typename T, bool HasAddend, int Count, typename Work>
__device__ __forceinline__ void
forGradientRows(const T *x, const T *dy, const T *addend,
                const float *const (&known)[Count], Work work) {
  GradientRow<Shape, T, HasAddend> next;
  float nextKnown[Count] = {};
  typename Shape::Count row = Shape::getBegin() + Shape::getGroup(),
                        end = Shape::getEnd();
  auto loadNext = [&](typename Shape::Count which) {
    if (which >= end)
      return;
    next.load(x, dy, addend, which);
    for (int c = 0; c < Count; ++c)
      nextKnown[c] = known[c][which];
  };
  if (Shape::Ahead)
    loadNext(row);
#pragma unroll 1 // registers have room for one row more, not for two
  for (int turn = 0; row < end; row += Shape::Groups, turn ^= 1) {
    if (!Shape::Ahead)
      loadNext(row);
    auto now = next;
    float nowKnown[Count];
    for (int c = 0; c < Count; ++c)
      nowKnown[c] = nextKnown[c];
    if (Shape::Ahead)
      loadNext(row + Shape::Groups);
    // The first row that is not loaded yet.
    typename Shape::Count later = row + (Shape::Ahead ? 2 : 1) * Shape::Groups;
    if (later < end)
      next.announce(x, dy, later);
    work(now, row, nowKnown, turn);
  }
}

// dx of layer norm, and a partial sum a block of the gradients of scale and
// bias, and of dx where that is asked for: partial is [2 or 3, blocks, C].
// Scale is read M elements at a time. An addend is added to dx after that is
// rounded.
template <typename T, typename S, typename Shape, int M, bool HasAddend,
          bool HasSum>
REMAT_KERNEL layerNormBackward(const T *dy, const T *x, const S *scale,
                               const float *mean, const float *rstd,
                               const T *addend, T *dx, float *partial) {
  constexpr int C = Shape::C, N = Shape::N, Steps = Shape::Steps;
  float sumScale[Steps * N], sumBias[Steps * N], factor[Steps][N];
  float sumWritten[HasSum ? Steps * N : 1];
#pragma unroll
  for (int e = 0; e < Steps * N; ++e)
    sumScale[e] = sumBias[e] = sumWritten[HasSum ? e : 0] = 0.0f;
  if (Shape::Ahead && Shape::getColumn(0) < C)
    loadFloats<M>(scale + Shape::getColumn(0), factor[0]);
  const float *known[] = {mean, rstd};
  auto work = [&](GradientRow<Shape, T, HasAddend> &now,
                  typename Shape::Count row, const float (&of)[2], int turn) {
    float m = of[0], r = of[1], sums[2] = {0.0f, 0.0f};
#pragma unroll
    for (int s = 0; s < Steps; ++s) {
      if (Shape::getColumn(s) >= C)
        continue;
      if (!Shape::Ahead)
        loadFloats<M>(scale + Shape::getColumn(s), factor[s]);
      for (int k = 0; k < N; ++k) {
        float normal = (toFloat(now.x[s][k]) - m) * r;
        float g = toFloat(now.g[s][k]);
        sumScale[s * N + k] += g * normal;
        sumBias[s * N + k] += g;
        float scaled = g * factor[s][k];
        sums[0] += scaled;
        sums[1] += scaled * normal;
      }
    }
    sumRow<Shape>(sums, turn);
    float sumG = sums[0] * (1.0f / C), sumGX = sums[1] * (1.0f / C) * r;
#pragma unroll
    for (int s = 0; s < Steps; ++s) {
      if (Shape::getColumn(s) >= C)
        continue;
      if (!Shape::Ahead)
        loadFloats<M>(scale + Shape::getColumn(s), factor[s]);
      float out[N];
      for (int k = 0; k < N; ++k) {
        float scaled = toFloat(now.g[s][k]) * factor[s][k];
        out[k] = (scaled - sumG - (toFloat(now.x[s][k]) - m) * sumGX) * r;
      }
      fromFloats(out, now.x[s]);
    }
    now.store(addend, dx, row);
    if constexpr (HasSum)
#pragma unroll
      for (int e = 0; e < Steps * N; ++e)
        if (Shape::getColumn(e / N) < C)
          sumWritten[e] += toFloat(now.x[e / N][e % N]);
  };
  forGradientRows<Shape, T, HasAddend>(x, dy, addend, known, work);
  joinGroups<Shape>(sumScale, partial + (int64)blockIdx.x * C);
  joinGroups<Shape>(sumBias, partial + ((int64)gridDim.x + blockIdx.x) * C);
  if constexpr (HasSum)
    joinGroups<Shape>(sumWritten,
                      partial + ((int64)2 * gridDim.x + blockIdx.x) * C);
}

// Adds up the partial sums of Blocks blocks: gradients of scale and bias, and
// the sum of dx, of type T. Few threads run, so that each loads many at a time.
template <typename T, typename S, int C, int Blocks>
REMAT_KERNEL layerNormBackwardColumns(const float *partial, S *scaleGrad,
                                      S *biasGrad, T *written) {
  constexpr int Lanes = 32, Parts = 256 / Lanes, Unroll = 16;
  __shared__ float sums[Parts][Lanes];
  int lane = threadIdx.x % Lanes, part = threadIdx.x / Lanes;
  int column = blockIdx.x * Lanes + lane;
  const float *from = partial + (int64)blockIdx.y * Blocks * C;
  float sum = 0.0f;
  if (column < C)
    for (int begin = part; begin < Blocks; begin += Unroll * Parts) {
      float loaded[Unroll];
#pragma unroll
      for (int u = 0; u < Unroll; ++u) {
        int b = begin + u * Parts;
        loaded[u] = b < Blocks ? from[(int64)b * C + column] : 0.0f;
      }
#pragma unroll
      for (int u = 0; u < Unroll; ++u)
        sum += loaded[u];
    }
  sums[part][lane] = sum;
  __syncthreads();
  if (part == 0 && column < C) {
    for (int p = 1; p < Parts; ++p)
      sum += sums[p][lane];
    if (blockIdx.y == 2)
      written[column] = fromFloat<T>(sum);
    else
      (blockIdx.y == 0 ? scaleGrad : biasGrad)[column] = fromFloat<S>(sum);
  }
}

} // namespace kernels
