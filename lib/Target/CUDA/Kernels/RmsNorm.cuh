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
    float factor[N], out[N];
    loadFloats<M>(weight + i, factor);
    for (int k = 0; k < N; ++k)
      out[k] = toFloat(v[k]) * r * factor[k];
    fromFloats(out, v);
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
  constexpr int C = Shape::C, N = Shape::N, Steps = Shape::Steps;
  float sums[Steps * N], factor[Steps][N];
#pragma unroll
  for (int e = 0; e < Steps * N; ++e)
    sums[e] = 0.0f;
  if (Shape::Ahead && Shape::getColumn(0) < C)
    loadFloats<M>(weight + Shape::getColumn(0), factor[0]);
  const float *known[] = {rstd};
  auto work = [&](GradientRow<Shape, T, HasAddend> &now,
                  typename Shape::Count row, const float (&of)[1], int turn) {
    float r = of[0], dot[1] = {0.0f};
#pragma unroll
    for (int s = 0; s < Steps; ++s) {
      if (Shape::getColumn(s) >= C)
        continue;
      if (!Shape::Ahead)
        loadFloats<M>(weight + Shape::getColumn(s), factor[s]);
      for (int k = 0; k < N; ++k) {
        float product = toFloat(now.g[s][k]) * (toFloat(now.x[s][k]) * r);
        sums[s * N + k] += product;
        dot[0] += product * factor[s][k];
      }
    }
    sumRow<Shape>(dot, turn);
    dot[0] *= 1.0f / C;
#pragma unroll
    for (int s = 0; s < Steps; ++s) {
      if (Shape::getColumn(s) >= C)
        continue;
      if (!Shape::Ahead)
        loadFloats<M>(weight + Shape::getColumn(s), factor[s]);
      float out[N];
      for (int k = 0; k < N; ++k) {
        float weighted = toFloat(now.g[s][k]) * factor[s][k];
        float normal = toFloat(now.x[s][k]) * r;
        out[k] = (weighted - normal * dot[0]) * r;
      }
      fromFloats(out, now.x[s]);
    }
    now.store(addend, dx, row);
  };
  forGradientRows<Shape, T, HasAddend>(x, dy, addend, known, work);
  joinGroups<Shape>(sums, partial + (int64)blockIdx.x * C);
}

} // namespace kernels
