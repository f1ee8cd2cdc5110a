//===- Rows.cuh - softmax and layer norm over rows ------------------------===//
//
// A row is handled by 32 threads or by a block. A short row stays in registers
// between its passes, a long one is read again from the cache. Each thread
// writes only elements that it alone has read, so that results may lie over
// operands.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "Prelude.cuh"

namespace kernels {

// How rows are shared out: `threads` threads have one row, `access` elements
// at a time, in `steps` steps; if `cached`, the row stays in registers.
template <int64 rows, int columns, int threads, int rowsPerBlock, int access,
          int steps, bool cached>
struct RowShape {
  enum : int64 { Rows = rows };
  enum : int { C = columns, Threads = threads, RowsPerBlock = rowsPerBlock };
  enum : int { N = access, Steps = steps };
  enum : int { Kept = cached ? steps : 1, Unroll = cached ? steps : 2 };
  enum : bool { Cached = cached };
};

// y = exp(x - max) / sum
template <typename T, typename Shape> REMAT_KERNEL softmax(const T *x, T *y) {
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
  float high = -infinity();
#pragma unroll Unroll
  for (int s = 0; s < Steps; ++s) {
    int i = (s * Threads + lane) * N;
    if (i >= C)
      continue;
    Vec<T, N> v = load<N>(x + i);
    for (int k = 0; k < N; ++k)
      high = maximum(high, toFloat(v[k]));
    if (Cached)
      cache[s] = v;
  }
  high = groupMax<Threads>(high);
  float sum = 0.0f;
#pragma unroll Unroll
  for (int s = 0; s < Steps; ++s) {
    int i = (s * Threads + lane) * N;
    if (i >= C)
      continue;
    Vec<T, N> v = Cached ? cache[Cached ? s : 0] : load<N>(x + i);
    for (int k = 0; k < N; ++k)
      sum += expf(toFloat(v[k]) - high);
  }
  float scale = 1.0f / groupSum<Threads>(sum);
#pragma unroll Unroll
  for (int s = 0; s < Steps; ++s) {
    int i = (s * Threads + lane) * N;
    if (i >= C)
      continue;
    Vec<T, N> v = Cached ? cache[Cached ? s : 0] : load<N>(x + i);
    float out[N];
    for (int k = 0; k < N; ++k)
      out[k] = expf(toFloat(v[k]) - high) * scale;
    fromFloats(out, v);
    store(y + i, v);
  }
}

// dx = y * (dy - sum(y * dy))
template <typename T, typename Shape>
REMAT_KERNEL softmaxBackward(const T *y, const T *dy, T *dx) {
  constexpr int C = Shape::C, Threads = Shape::Threads, N = Shape::N;
  constexpr int Steps = Shape::Steps, Kept = Shape::Kept;
  constexpr int Unroll = Shape::Unroll;
  constexpr bool Cached = Shape::Cached;
  int64 row = (int64)blockIdx.x * Shape::RowsPerBlock + threadIdx.x / Threads;
  int lane = threadIdx.x % Threads;
  if (row >= Shape::Rows)
    return;
  y += row * C;
  dy += row * C;
  dx += row * C;
  Vec<T, N> cacheY[Kept], cacheG[Kept];
  float sum = 0.0f;
#pragma unroll Unroll
  for (int s = 0; s < Steps; ++s) {
    int i = (s * Threads + lane) * N;
    if (i >= C)
      continue;
    Vec<T, N> v = load<N>(y + i), g = load<N>(dy + i);
    for (int k = 0; k < N; ++k)
      sum += toFloat(v[k]) * toFloat(g[k]);
    if (Cached) {
      cacheY[s] = v;
      cacheG[s] = g;
    }
  }
  sum = groupSum<Threads>(sum);
#pragma unroll Unroll
  for (int s = 0; s < Steps; ++s) {
    int i = (s * Threads + lane) * N;
    if (i >= C)
      continue;
    Vec<T, N> v = Cached ? cacheY[Cached ? s : 0] : load<N>(y + i);
    Vec<T, N> g = Cached ? cacheG[Cached ? s : 0] : load<N>(dy + i);
    float out[N];
    for (int k = 0; k < N; ++k)
      out[k] = toFloat(v[k]) * (toFloat(g[k]) - sum);
    fromFloats(out, v);
    store(dx + i, v);
  }
}

// y = (x - mean) * rstd * scale + bias; scale and bias, of type S, are read M
// elements at a time.
template <typename T, typename S, typename Shape, int M>
REMAT_KERNEL layerNorm(const T *x, const S *scale, const S *bias, T *y,
                       float *mean, float *rstd, float epsilon) {
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
  float sum = 0.0f;
#pragma unroll Unroll
  for (int s = 0; s < Steps; ++s) {
    int i = (s * Threads + lane) * N;
    if (i >= C)
      continue;
    Vec<T, N> v = load<N>(x + i);
    for (int k = 0; k < N; ++k)
      sum += toFloat(v[k]);
    if (Cached)
      cache[s] = v;
  }
  float m = groupSum<Threads>(sum) * (1.0f / C);
  float square = 0.0f;
#pragma unroll Unroll
  for (int s = 0; s < Steps; ++s) {
    int i = (s * Threads + lane) * N;
    if (i >= C)
      continue;
    Vec<T, N> v = Cached ? cache[Cached ? s : 0] : load<N>(x + i);
    for (int k = 0; k < N; ++k)
      square += (toFloat(v[k]) - m) * (toFloat(v[k]) - m);
  }
  float r = 1.0f / sqrtf(groupSum<Threads>(square) * (1.0f / C) + epsilon);
#pragma unroll Unroll
  for (int s = 0; s < Steps; ++s) {
    int i = (s * Threads + lane) * N;
    if (i >= C)
      continue;
    Vec<T, N> v = Cached ? cache[Cached ? s : 0] : load<N>(x + i);
    float factor[N], shift[N], out[N];
    loadFloats<M>(scale + i, factor);
    loadFloats<M>(bias + i, shift);
    for (int k = 0; k < N; ++k)
      out[k] = (toFloat(v[k]) - m) * r * factor[k] + shift[k];
    fromFloats(out, v);
    store(y + i, v);
  }
  if (lane == 0) {
    mean[row] = m;
    rstd[row] = r;
  }
}

} // namespace kernels
