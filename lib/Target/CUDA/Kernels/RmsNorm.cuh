//===- RmsNorm.cuh - division of rows by their root mean square -----------===//
//
// Rows are shared out as in Rows.cuh, those of the gradient as in
// LayerNormBackward.cuh, whose second kernel adds up the partial sums. A row is
// read whole before it is written, so that results may lie over operands.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "LayerNormBackward.cuh"
#include "Rows.cuh"

namespace kernels {

// y = x * rstd * weight; the weight, of type S, is read M elements at a time.
template <typename T, typename S, typename Shape, int M>
REMAT_KERNEL rmsNorm(const T *x, const S *weight, T *y, float *rstd,
                     float epsilon) {
  constexpr int C = Shape::C, Threads = Shape::Threads, N = Shape::N;
  constexpr int Steps = Shape::Steps, Kept = Shape::Kept;
  constexpr int Unroll = Shape::Unroll;
  constexpr bool Cached = Shape::Cached;
  int64 row = (int64)blockIdx.x * Shape::RowsPerBlock + threadIdx.x / Threads;
  int lane = threadIdx.x % Threads;
  if (row >= Shape::Rows)
    return;
  x += row * C;
  y += row * C;
  Vec<T, N> cache[Kept];
  float square = 0.0f;
#pragma unroll Unroll
  for (int s = 0; s < Steps; ++s) {
    int i = (s * Threads + lane) * N;
    if (i >= C)
      continue;
    Vec<T, N> v = load<N>(x + i);
    for (int k = 0; k < N; ++k)
      square += toFloat(v[k]) * toFloat(v[k]);
    if (Cached)
      cache[s] = v;
  }
  float r = 1.0f / sqrtf(groupSum<Threads>(square) * (1.0f / C) + epsilon);
#pragma unroll Unroll
  for (int s = 0; s < Steps; ++s) {
    int i = (s * Threads + lane) * N;
    if (i >= C)
      continue;
    Vec<T, N> v = Cached ? cache[Cached ? s : 0] : load<N>(x + i);
    float factor[N];
    loadFloats<M>(weight + i, factor);
    for (int k = 0; k < N; ++k)
      v[k] = fromFloat<T>(toFloat(v[k]) * r * factor[k]);
    store(y + i, v);
  }
  if (lane == 0)
    rstd[row] = r;
}

// dx, and a partial sum a block of the gradient of the weight: partial is
// [blocks, C]. The weight is read M elements at a time. An addend is added to
// dx after that is rounded.
template <typename T, typename S, typename Shape, int M, bool HasAddend>
REMAT_KERNEL rmsNormBackward(const T *dy, const T *x, const S *weight,
                             const float *rstd, const T *addend, T *dx,
                             float *partial) {
  constexpr int C = Shape::C, Threads = Shape::Threads, N = Shape::N;
  constexpr int Groups = Shape::Groups, Steps = Shape::Steps;
  int group = threadIdx.x / Threads, lane = threadIdx.x % Threads;
  float sums[Steps * N];
#pragma unroll
  for (int e = 0; e < Steps * N; ++e)
    sums[e] = 0.0f;
  int64 begin = blockIdx.x * Shape::RowsPerBlock;
  int64 end = begin + Shape::RowsPerBlock < Shape::Rows
                  ? begin + Shape::RowsPerBlock
                  : Shape::Rows;
  for (int64 row = begin + group; row < end; row += Groups) {
    const T *rowX = x + row * C, *rowG = dy + row * C;
    float r = rstd[row], dot = 0.0f;
    Vec<T, N> cacheX[Steps], cacheG[Steps];
#pragma unroll
    for (int s = 0; s < Steps; ++s) {
      int i = (s * Threads + lane) * N;
      if (i >= C)
        continue;
      cacheX[s] = load<N>(rowX + i);
      cacheG[s] = load<N>(rowG + i);
      if (row + Groups < end) {
        prefetch(rowX + (int64)Groups * C + i);
        prefetch(rowG + (int64)Groups * C + i);
      }
      if (HasAddend)
        prefetch(addend + row * C + i);
      float factor[N];
      loadFloats<M>(weight + i, factor);
      for (int k = 0; k < N; ++k) {
        float product = toFloat(cacheG[s][k]) * (toFloat(cacheX[s][k]) * r);
        sums[s * N + k] += product;
        dot += product * factor[k];
      }
    }
    dot = groupSum<Threads>(dot) * (1.0f / C);
#pragma unroll
    for (int s = 0; s < Steps; ++s) {
      int i = (s * Threads + lane) * N;
      if (i >= C)
        continue;
      float factor[N];
      loadFloats<M>(weight + i, factor);
      for (int k = 0; k < N; ++k) {
        float weighted = toFloat(cacheG[s][k]) * factor[k];
        float normal = toFloat(cacheX[s][k]) * r;
        cacheX[s][k] = fromFloat<T>((weighted - normal * dot) * r);
      }
      if constexpr (HasAddend)
        addTo(cacheX[s], load<N>(addend + row * C + i));
      store(dx + row * C + i, cacheX[s]);
    }
  }
  // The groups of a block add their sums one after the other.
  __shared__ float shared[Groups > 1 ? C : 1];
#pragma unroll 1
  for (int turn = 0; turn < Groups; ++turn) {
    if (group == turn) {
#pragma unroll
      for (int e = 0; e < Steps * N; ++e) {
        int i = ((e / N) * Threads + lane) * N + e % N;
        if (i >= C)
          continue;
        float s = turn > 0 ? sums[e] + shared[i] : sums[e];
        if (turn == Groups - 1)
          partial[(int64)blockIdx.x * C + i] = s;
        else
          shared[i] = s;
      }
    }
    __syncthreads();
  }
}

} // namespace kernels
