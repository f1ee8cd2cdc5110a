//===- Optimizer.cuh - SGD, AdamW and the gradient norm -------------------===//
//
// Parameters and states are updated in place, a few elements a thread.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "Prelude.cuh"

namespace kernels {

// Stochastic gradient descent on Count elements. Without momentum there is no
// buffer, without clipping no scale.
template <typename T, typename G, int64 Count, int N, bool HasBuffer,
          bool HasScale>
REMAT_KERNEL sgd(const T *p, const G *grad, const float *buffer,
                 const float *rate, const float *scale, T *newP,
                 float *newBuffer, float weightDecay, float momentum) {
  int64 i = ((int64)blockIdx.x * 256 + threadIdx.x) * N;
  if (i >= Count)
    return;
  float lr = *rate, gradScale = 1.0f;
  if constexpr (HasScale)
    gradScale = *scale;
  Vec<T, N> vp = load<N>(p + i);
  Vec<G, N> vg = load<N>(grad + i);
  Vec<float, HasBuffer ? N : 1> vb;
  if constexpr (HasBuffer)
    vb = load<N>(buffer + i);
  for (int k = 0; k < N; ++k) {
    float w = toFloat(vp[k]);
    float g = toFloat(vg[k]) * gradScale + weightDecay * w;
    if constexpr (HasBuffer)
      g = vb[k] = momentum * vb[k] + g;
    vp[k] = fromFloat<T>(w - lr * g);
  }
  store(newP + i, vp);
  if constexpr (HasBuffer)
    store(newBuffer + i, vb);
}

// A number in halves is its rounded bf16, and what its bits, as an integer, are
// above those: where that is 32768, for a number half-way between two bf16, one
// less. A NaN may be far from its rounded one; it stays some NaN.
__device__ __forceinline__ short getLowerHalf(float x, bf16 upper) {
  int missing = __float_as_int(x) - __float_as_int(toFloat(upper));
  missing = missing > 32767 ? 32767 : missing;
  return (short)(missing < -32768 ? -32768 : missing);
}
__device__ __forceinline__ float joinHalf(bf16 upper, short lower) {
  return __int_as_float(__float_as_int(toFloat(upper)) + lower);
}

// The number that x is once it has been stored in halves.
__device__ __forceinline__ float roundAsHalves(float x) {
  bf16 upper = toBF16(x);
  return joinHalf(upper, getLowerHalf(x, upper));
}

// N elements of a parameter of Count elements, from element i on. In halves it
// has the upper ones of all elements first, then the lower ones.
template <bool InHalves, int64 Count, typename T, int N>
__device__ __forceinline__ void loadParameters(const T *from, int64 i,
                                               float (&x)[N]) {
  if constexpr (InHalves) {
    const bf16 *upper = (const bf16 *)from;
    const short *lower = (const short *)from + Count;
    Vec<bf16, N> vu = load<N>(upper + i);
    Vec<short, N> vl = load<N>(lower + i);
    for (int k = 0; k < N; ++k)
      x[k] = joinHalf(vu[k], vl[k]);
  } else {
    Vec<T, N> v = load<N>(from + i);
    for (int k = 0; k < N; ++k)
      x[k] = toFloat(v[k]);
  }
}
template <bool InHalves, int64 Count, typename T, int N>
__device__ __forceinline__ void storeParameters(T *to, int64 i,
                                                const float (&x)[N]) {
  if constexpr (InHalves) {
    bf16 *upper = (bf16 *)to;
    short *lower = (short *)to + Count;
    Vec<bf16, N> vu;
    Vec<short, N> vl;
    for (int k = 0; k < N; ++k) {
      vu[k] = toBF16(x[k]);
      vl[k] = getLowerHalf(x[k], vu[k]);
    }
    store(upper + i, vu);
    store(lower + i, vl);
  } else {
    Vec<T, N> v;
    for (int k = 0; k < N; ++k)
      v[k] = fromFloat<T>(x[k]);
    store(to + i, v);
  }
}

// The elements of a parameter in halves.
template <int64 Count, int N>
REMAT_KERNEL joinHalves(const float *x, float *y) {
  int64 i = ((int64)blockIdx.x * 256 + threadIdx.x) * N;
  if (i >= Count)
    return;
  float joined[N];
  loadParameters<true, Count>(x, i, joined);
  Vec<float, N> v;
  for (int k = 0; k < N; ++k)
    v[k] = joined[k];
  store(y + i, v);
}

// AdamW on Count elements. The bias corrections 1 - beta^t are made in double,
// from the logarithms of the betas.
template <typename T, typename G, int64 Count, int N, bool HasScale,
          bool InHalves, bool AsHalves>
REMAT_KERNEL adamW(const T *p, const G *grad, const float *moment1,
                   const float *moment2, const float *rate, const int64 *step,
                   const float *scale, T *newP, float *newMoment1,
                   float *newMoment2, float beta1, float oneMinusBeta1,
                   double logBeta1, float beta2, float oneMinusBeta2,
                   double logBeta2, float weightDecay, float epsilon) {
  __shared__ float corrections[2];
  int64 i = ((int64)blockIdx.x * 256 + threadIdx.x) * N;
  float w[N];
  Vec<G, N> vg;
  Vec<float, N> vm, vv;
  if (i < Count) {
    loadParameters<InHalves, Count>(p, i, w);
    vg = load<N>(grad + i);
    vm = load<N>(moment1 + i);
    vv = load<N>(moment2 + i);
  }
  if (threadIdx.x < 2)
    corrections[threadIdx.x] = (float)-expm1(
        (double)(*step + 1) * (threadIdx.x == 0 ? logBeta1 : logBeta2));
  __syncthreads();
  if (i >= Count)
    return;
  float lr = *rate, gradScale = 1.0f;
  if constexpr (HasScale)
    gradScale = *scale;
  float correction1 = corrections[0], correction2 = corrections[1];
  for (int k = 0; k < N; ++k) {
    float g = toFloat(vg[k]) * gradScale;
    if constexpr (AsHalves)
      w[k] = roundAsHalves(w[k]);
    vm[k] = beta1 * vm[k] + oneMinusBeta1 * g;
    vv[k] = beta2 * vv[k] + oneMinusBeta2 * g * g;
    w[k] -= lr * weightDecay * w[k];
    w[k] -= lr * (vm[k] / correction1) / (sqrtf(vv[k] / correction2) + epsilon);
    if constexpr (AsHalves)
      w[k] = roundAsHalves(w[k]);
  }
  storeParameters<InHalves, Count>(newP, i, w);
  store(newMoment1 + i, vm);
  store(newMoment2 + i, vv);
}

// Sums of squares of Count elements, in parts of Part.
template <typename T, int64 Count, int64 Part, int N>
REMAT_KERNEL sumOfSquares(const T *x, float *partial) {
  int64 begin = (int64)blockIdx.x * Part;
  int64 end = begin + Part < Count ? begin + Part : Count;
  float sum = 0.0f;
#pragma unroll 4
  for (int64 i = begin + threadIdx.x * N; i < end; i += 256 * N) {
    Vec<T, N> v = load<N>(x + i);
    for (int k = 0; k < N; ++k)
      sum += toFloat(v[k]) * toFloat(v[k]);
  }
  sum = blockSum<256>(sum);
  if (threadIdx.x == 0)
    partial[blockIdx.x] = sum;
}

// The square root of the sum of Count partial sums.
template <int64 Count>
REMAT_KERNEL rootOfSum(const float *partial, float *norm) {
  float sum = 0.0f;
  for (int64 i = threadIdx.x; i < Count; i += 1024)
    sum += partial[i];
  sum = blockSum<1024>(sum);
  if (threadIdx.x == 0)
    *norm = sqrtf(sum);
}

} // namespace kernels
