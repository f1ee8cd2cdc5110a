//===- Moments.cuh - two sums of each result in one read ------------------===//
//
// Mean and variance, or the sums that the gradients of normalize are made of. A
// first launch leaves the sums of parts in the workspace, a second one joins
// them in order. Each order is the shapes' alone.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "Reduce.cuh"

namespace kernels {

// Distances from an element of the result and their squares, from which a large
// mean has been taken away; or a gradient and its products with the distances
// from the mean.
template <bool isMoments>
__device__ __forceinline__ void addTerms(float x, float grad, float centre,
                                         float &first, float &second) {
  float distance = x - centre;
  first += isMoments ? distance : grad;
  second += (isMoments ? distance : grad) * distance;
}

// What relu(normalize(x)) makes of one group's elements, as far as its gradient
// asks: whether it is positive. Not contracted, as normalize is not.
struct Affine {
  float rstd, scale, bias;
  template <typename T>
  __device__ __forceinline__ bool isPositive(float x, float mean, T) const {
    float normal = __fmul_rn(__fmul_rn(__fsub_rn(x, mean), rstd), scale);
    return toFloat(fromFloat<T>(__fadd_rn(normal, bias))) > 0.0f;
  }
};

// Over dimension 0 of [R, C], in Chunks parts of Part: a thread has W columns,
// of which it reads N at a time, and a block has Lanes * W of them.
template <typename T, bool isMoments, bool isMasked, int64 R, int64 C,
          int64 Part, int64 Chunks, int64 Tiles, int Lanes, int W, int N>
REMAT_KERNEL pairColumns(const T *x, const T *grad, const float *mean,
                         const float *rstd, const float *scale,
                         const float *bias, float *partial) {
  constexpr int Parts = 256 / Lanes, Columns = Lanes * W;
  __shared__ float totals[Parts][2][Columns];
  int lane = threadIdx.x % Lanes, part = threadIdx.x / Lanes;
  int64 first = (int64)blockIdx.x % Tiles * Columns;
  int64 column = first + lane * W, chunk = blockIdx.x / Tiles;
  int64 end = (chunk + 1) * Part < R ? (chunk + 1) * Part : R;
  float sums[2][W], centre[W];
  Affine affine[W];
  for (int k = 0; k < W; ++k) {
    sums[0][k] = sums[1][k] = 0.0f;
    if (column < C)
      centre[k] = isMoments ? toFloat(x[column + k]) : mean[column + k];
    if (isMasked && column < C)
      affine[k] = {rstd[column + k], scale[column + k], bias[column + k]};
  }
  if (column < C)
#pragma unroll 4
    for (int64 r = chunk * Part + part; r < end; r += Parts)
#pragma unroll
      for (int q = 0; q < W; q += N) {
        Vec<T, N> v = load<N>(x + r * C + column + q), g = v;
        if constexpr (!isMoments)
          g = load<N>(grad + r * C + column + q);
#pragma unroll
        for (int k = 0; k < N; ++k) {
          float element = toFloat(v[k]), own = toFloat(g[k]);
          if (isMasked &&
              !affine[q + k].isPositive(element, centre[q + k], T()))
            own = 0.0f;
          addTerms<isMoments>(element, own, centre[q + k], sums[0][q + k],
                              sums[1][q + k]);
        }
      }
  for (int k = 0; k < W; ++k) {
    totals[part][0][k * Lanes + lane] = sums[0][k];
    totals[part][1][k * Lanes + lane] = sums[1][k];
  }
  __syncthreads();
  for (int e = threadIdx.x; e < 2 * Columns; e += 256) {
    int which = e / Columns, place = e % Columns;
    int64 own = first + place % Lanes * W + place / Lanes;
    float total = 0.0f;
    for (int p = 0; p < Parts; ++p)
      total += totals[p][which][place];
    if (own < C)
      partial[(which * Chunks + chunk) * C + own] = total;
  }
}

// Over Count elements a result, wherever they lie, in Chunks parts of Part: a
// block a part. Kept are the dimensions of the Results results, Reduced the
// others.
template <typename T, bool isMoments, bool isMasked, int64 Results, int64 Count,
          int64 Part, int64 Chunks, typename Kept, typename Reduced>
REMAT_KERNEL pairStrided(const T *x, const T *grad, const float *mean,
                         const float *rstd, const float *scale,
                         const float *bias, float *partial) {
  int64 result = blockIdx.x % Results, chunk = blockIdx.x / Results;
  int64 end = (chunk + 1) * Part < Count ? (chunk + 1) * Part : Count;
  const T *begin = x;
  Kept::step(result, begin);
  float centre = isMoments ? toFloat(*begin) : mean[result];
  Affine affine;
  if (isMasked)
    affine = {rstd[result], scale[result], bias[result]};
  float first = 0.0f, second = 0.0f;
#pragma unroll 4
  for (int64 i = chunk * Part + threadIdx.x; i < end; i += 256) {
    const T *at = begin;
    Reduced::step(i, at);
    float element = toFloat(*at), own = 0.0f;
    if (!isMoments && (!isMasked || affine.isPositive(element, centre, T())))
      own = toFloat(grad[at - x]);
    addTerms<isMoments>(element, own, centre, first, second);
  }
  first = groupSum<256>(first);
  second = groupSum<256>(second);
  if (threadIdx.x == 0) {
    partial[chunk * Results + result] = first;
    partial[(Chunks + chunk) * Results + result] = second;
  }
}

// 32 threads a result of Count elements: adds up its parts.
template <typename T, bool isMoments, int64 Results, int64 Count, int64 Chunks,
          typename Kept>
REMAT_KERNEL pairJoin(const T *x, const float *partial, float *one,
                      float *two) {
  int64 result = (int64)blockIdx.x * 8 + threadIdx.x / 32;
  if (result >= Results)
    return;
  float first = 0.0f, second = 0.0f;
#pragma unroll 4
  for (int64 chunk = threadIdx.x % 32; chunk < Chunks; chunk += 32) {
    first += partial[chunk * Results + result];
    second += partial[(Chunks + chunk) * Results + result];
  }
  first = groupSum<32>(first);
  second = groupSum<32>(second);
  if (threadIdx.x % 32 != 0)
    return;
  if constexpr (isMoments) {
    Kept::step(result, x);
    float mean = first / (float)Count;
    float variance = second / (float)Count - mean * mean;
    first = toFloat(*x) + mean;
    second = variance < 0.0f ? 0.0f : variance;
  }
  one[result] = first;
  two[result] = second;
}

} // namespace kernels
