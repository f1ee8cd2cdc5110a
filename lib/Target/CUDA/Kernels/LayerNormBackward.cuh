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

// How rows are shared out: each block of `block` threads has `rowsPerBlock` of
// them, and each group of `threads` one at a time, `access` elements at a time
// in `steps` steps.
template <int64 rows, int64 rowsPerBlock, int columns, int block, int threads,
          int access, int steps>
struct GradientShape {
  enum : int64 { Rows = rows, RowsPerBlock = rowsPerBlock };
  enum : int { C = columns, Threads = threads, Groups = block / threads };
  enum : int { N = access, Steps = steps };
};

// Adds in float and rounds.
template <typename T, int N>
__device__ __forceinline__ void addTo(Vec<T, N> &to, const Vec<T, N> &x) {
  for (int k = 0; k < N; ++k)
    to[k] = fromFloat<T>(toFloat(to[k]) + toFloat(x[k]));
}

// dx of layer norm, and a partial sum a block of the gradients of scale and
// bias: partial is [2, blocks, C]. Scale is read M elements at a time. An
// addend is added to dx after that is rounded. While a row is worked on, the
// next one of the same threads is on its way to the cache: registers have no
// room for it.
template <typename T, typename S, typename Shape, int M, bool HasAddend>
REMAT_KERNEL layerNormBackward(const T *dy, const T *x, const S *scale,
                               const float *mean, const float *rstd,
                               const T *addend, T *dx, float *partial) {
  constexpr int C = Shape::C, Threads = Shape::Threads, N = Shape::N;
  constexpr int Groups = Shape::Groups, Steps = Shape::Steps;
  int group = threadIdx.x / Threads, lane = threadIdx.x % Threads;
  float sumScale[Steps * N], sumBias[Steps * N];
#pragma unroll
  for (int e = 0; e < Steps * N; ++e)
    sumScale[e] = sumBias[e] = 0.0f;
  int64 begin = blockIdx.x * Shape::RowsPerBlock;
  int64 end = begin + Shape::RowsPerBlock < Shape::Rows
                  ? begin + Shape::RowsPerBlock
                  : Shape::Rows;
  for (int64 row = begin + group; row < end; row += Groups) {
    const T *rowX = x + row * C, *rowG = dy + row * C;
    float m = mean[row], r = rstd[row];
    Vec<T, N> cacheX[Steps], cacheG[Steps];
    float sumG = 0.0f, sumGX = 0.0f;
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
    }
#pragma unroll
    for (int s = 0; s < Steps; ++s) {
      int i = (s * Threads + lane) * N;
      if (i >= C)
        continue;
      float factor[N];
      loadFloats<M>(scale + i, factor);
      for (int k = 0; k < N; ++k) {
        float normal = (toFloat(cacheX[s][k]) - m) * r;
        float g = toFloat(cacheG[s][k]);
        sumScale[s * N + k] += g * normal;
        sumBias[s * N + k] += g;
        float scaled = g * factor[k];
        sumG += scaled;
        sumGX += scaled * normal;
      }
    }
    sumG = groupSum<Threads>(sumG) * (1.0f / C);
    sumGX = groupSum<Threads>(sumGX) * (1.0f / C);
#pragma unroll
    for (int s = 0; s < Steps; ++s) {
      int i = (s * Threads + lane) * N;
      if (i >= C)
        continue;
      float factor[N];
      loadFloats<M>(scale + i, factor);
      for (int k = 0; k < N; ++k) {
        float normal = (toFloat(cacheX[s][k]) - m) * r;
        float scaled = toFloat(cacheG[s][k]) * factor[k];
        cacheX[s][k] = fromFloat<T>((scaled - sumG - normal * sumGX) * r);
      }
      if constexpr (HasAddend)
        addTo(cacheX[s], load<N>(addend + row * C + i));
      store(dx + row * C + i, cacheX[s]);
    }
  }
  float *partialScale = partial + (int64)blockIdx.x * C;
  float *partialBias = partial + ((int64)gridDim.x + blockIdx.x) * C;
  // The groups of a block add their sums one after the other.
  __shared__ float sharedScale[Groups > 1 ? C : 1];
  __shared__ float sharedBias[Groups > 1 ? C : 1];
#pragma unroll 1
  for (int turn = 0; turn < Groups; ++turn) {
    if (group == turn) {
#pragma unroll
      for (int e = 0; e < Steps * N; ++e) {
        int i = ((e / N) * Threads + lane) * N + e % N;
        if (i >= C)
          continue;
        float s = sumScale[e], b = sumBias[e];
        if (turn > 0) {
          s += sharedScale[i];
          b += sharedBias[i];
        }
        if (turn == Groups - 1) {
          partialScale[i] = s;
          partialBias[i] = b;
        } else {
          sharedScale[i] = s;
          sharedBias[i] = b;
        }
      }
    }
    __syncthreads();
  }
}

// Adds up the partial sums of Blocks blocks: gradients of scale and bias.
template <typename S, int C, int Blocks>
REMAT_KERNEL layerNormBackwardColumns(const float *partial, S *scaleGrad,
                                      S *biasGrad) {
  constexpr int Lanes = 32, Parts = 256 / Lanes;
  __shared__ float sums[Parts][Lanes];
  int lane = threadIdx.x % Lanes, part = threadIdx.x / Lanes;
  int column = blockIdx.x * Lanes + lane;
  const float *from = partial + (int64)blockIdx.y * Blocks * C;
  float sum = 0.0f;
  if (column < C)
#pragma unroll 4
    for (int b = part; b < Blocks; b += Parts)
      sum += from[(int64)b * C + column];
  sums[part][lane] = sum;
  __syncthreads();
  if (part == 0 && column < C) {
    for (int p = 1; p < Parts; ++p)
      sum += sums[p][lane];
    (blockIdx.y == 0 ? scaleGrad : biasGrad)[column] = fromFloat<S>(sum);
  }
}

} // namespace kernels
