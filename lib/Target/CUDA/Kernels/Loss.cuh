//===- Loss.cuh - cross entropy and mean squared error --------------------===//
//
// Cross entropy reads the logits once forward and once backward. Sums over rows
// are made in a fixed order.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "Prelude.cuh"

namespace kernels {

// Log-sum-exp and loss of each row of C logits, whose targets are of type I. A
// thread keeps the maximum of what it saw and the sum relative to it.
template <typename T, typename I, int64 Rows, int C, int Threads,
          int RowsPerBlock, int N, int64 Ignore>
REMAT_KERNEL crossEntropyRows(const T *logits, const I *targets, float *lse,
                              float *losses) {
  int64 row = (int64)blockIdx.x * RowsPerBlock + threadIdx.x / Threads;
  if (row >= Rows)
    return;
  const T *x = logits + row * C;
  float high = -infinity(), sum = 0.0f;
#pragma unroll 4
  for (int i = threadIdx.x % Threads * N; i < C; i += Threads * N) {
    Vec<T, N> v = load<N>(x + i);
    float local = toFloat(v[0]);
    for (int k = 1; k < N; ++k)
      local = fmaxf(local, toFloat(v[k]));
    if (local > high) {
      sum *= expf(high - local);
      high = local;
    }
    if (high > -infinity())
      for (int k = 0; k < N; ++k)
        sum += expf(toFloat(v[k]) - high);
  }
  float top = groupMax<Threads>(high);
  sum = groupSum<Threads>(high > -infinity() ? sum * expf(high - top) : 0.0f);
  if (threadIdx.x % Threads != 0)
    return;
  float result = top + logf(sum);
  lse[row] = result;
  int64 target = targets[row];
  bool known = target >= 0 && target < C;
  losses[row] = target == Ignore ? 0.0f
                : known          ? result - toFloat(x[known ? target : 0])
                                 : infinity() - infinity();
}

// The mean of the losses over the rows that count.
template <typename I, int64 Rows, int64 Ignore>
REMAT_KERNEL crossEntropyMean(const float *losses, const I *targets,
                              float *loss) {
  float sum = 0.0f;
  int64 count = 0;
  for (int64 i = threadIdx.x; i < Rows; i += 1024) {
    sum += losses[i];
    count += targets[i] != Ignore;
  }
  sum = blockSum<1024>(sum);
  count = blockSum<1024>(count);
  if (threadIdx.x == 0)
    *loss = count == 0 ? 0.0f : sum / (float)count;
}

// The gradient of the loss over the number of rows that count.
template <typename I, int64 Rows, int64 Ignore>
REMAT_KERNEL crossEntropyScale(const float *grad, const I *targets,
                               float *scale) {
  int64 count = 0;
  for (int64 i = threadIdx.x; i < Rows; i += 1024)
    count += targets[i] != Ignore;
  count = blockSum<1024>(count);
  if (threadIdx.x == 0)
    *scale = count == 0 ? 0.0f : *grad / (float)count;
}

// (softmax(logits) - one_hot(target)) * scale for rows of C; may lie over the
// logits.
template <typename T, typename I, int64 Rows, int C, int Threads,
          int RowsPerBlock, int N, int64 Ignore>
REMAT_KERNEL crossEntropyBackward(const T *logits, const I *targets,
                                  const float *lse, const float *scale,
                                  T *logitsGrad) {
  constexpr int Unroll = 4;
  int64 row = (int64)blockIdx.x * RowsPerBlock + threadIdx.x / Threads;
  if (row >= Rows)
    return;
  const T *x = logits + row * C;
  T *dx = logitsGrad + row * C;
  int64 target = targets[row];
  float factor = target == Ignore ? 0.0f : *scale, offset = lse[row];
  int begin = threadIdx.x % Threads * N;
  for (; begin < C; begin += Unroll * Threads * N) {
    Vec<T, N> v[Unroll];
#pragma unroll
    for (int u = 0; u < Unroll; ++u)
      if (begin + u * Threads * N < C)
        v[u] = load<N>(x + begin + u * Threads * N);
#pragma unroll
    for (int u = 0; u < Unroll; ++u) {
      int i = begin + u * Threads * N;
      if (i >= C)
        continue;
      for (int k = 0; k < N; ++k) {
        float p =
            expf(toFloat(v[u][k]) - offset) - (i + k == target ? 1.0f : 0.0f);
        v[u][k] = fromFloat<T>(factor == 0.0f ? 0.0f : p * factor);
      }
      store(dx + i, v[u]);
    }
  }
}

// Sums of squared differences of Count elements, in parts of Part.
template <typename T, typename U, int64 Count, int64 Part, int N>
REMAT_KERNEL squaredDifferences(const T *x, const U *y, float *partial) {
  int64 begin = (int64)blockIdx.x * Part;
  int64 end = begin + Part < Count ? begin + Part : Count;
  float sum = 0.0f;
#pragma unroll 4
  for (int64 i = begin + threadIdx.x * N; i < end; i += 256 * N) {
    Vec<T, N> a = load<N>(x + i);
    Vec<U, N> b = load<N>(y + i);
    for (int k = 0; k < N; ++k) {
      float d = toFloat(a[k]) - toFloat(b[k]);
      sum += d * d;
    }
  }
  sum = blockSum<256>(sum);
  if (threadIdx.x == 0)
    partial[blockIdx.x] = sum;
}

// The mean of Count elements from the partial sums of Chunks blocks.
template <int64 Count, int Chunks>
REMAT_KERNEL meanOfParts(const float *partial, float *loss) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < Chunks; i += 256)
    sum += partial[i];
  sum = blockSum<256>(sum);
  if (threadIdx.x == 0)
    *loss = sum / (float)Count;
}

} // namespace kernels
