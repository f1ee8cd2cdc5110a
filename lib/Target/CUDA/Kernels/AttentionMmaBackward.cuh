//===- AttentionMmaBackward.cuh - attention by tensor cores, backward -----===//
//
// AttentionMma.cuh says how the work is split. As in AttentionBackward.cuh the
// scores are made twice, so that every sum has one order. The kernel of the
// gradients of key and value has the transposed scores in registers, where they
// are the left side of the products that follow.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "AttentionMma.cuh"

namespace kernels {

// What the backward needs of each query, [B, H, T, 2]: the logarithm of its sum
// in base 2, and the sum of grad * output. A row is `lanes` threads', each of
// which loads `access` elements at a time.
template <typename E, int64 Rows, int64 T, int64 H, int D, int access,
          int lanes>
REMAT_KERNEL attentionMmaTerms(const E *grad, const E *output, const float *lse,
                               float *terms) {
  int64 row = ((int64)blockIdx.x * 256 + threadIdx.x) / lanes;
  float sum = 0.0f;
  if (row < Rows)
    for (int d = threadIdx.x % lanes * access; d < D; d += lanes * access) {
      float x[access], y[access];
      loadFloats<access>(grad + row * D + d, x);
      loadFloats<access>(output + row * D + d, y);
#pragma unroll
      for (int i = 0; i < access; ++i)
        sum += x[i] * y[i];
    }
#pragma unroll
  for (int mask = lanes / 2; mask > 0; mask >>= 1)
    sum += __shfl_xor_sync(0xffffffffu, sum, mask);
  if (row >= Rows || threadIdx.x % lanes != 0)
    return;
  int64 place = (row / (T * H) * H + row % H) * T + row / H % T;
  Vec<float, 2> out;
  out[0] = lse[place] * log2e();
  if (out[0] == -infinity()) // it sees no key: each probability is 0
    out[0] = infinity();
  out[1] = sum;
  store(terms + 2 * place, out);
}

// Products of query and key, and of the result's gradient and value, become the
// probabilities that dropout keeps and the gradients of the scores, but for the
// scale. lse and delta are the terms of each number's query.
template <typename Shape, typename MaskOf, bool transposed,
          typename MaskElement, typename DropoutOf>
__device__ __forceinline__ void
gradeMmaTile(float (&score)[4], float (&grad)[4], const float (&lse)[4],
             const float (&delta)[4], float scale, bool whole,
             const MaskElement *mask, const DropoutOf &dropout, int64 head,
             int64 t, int64 s) {
  scoreMmaTile<Shape, MaskOf, transposed>(score, scale, whole, mask, head, t,
                                          s);
  uint32 kept = keepTile<Shape, transposed>(dropout, head, t, s);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float p = fastExp2(score[i] * factorOfScores<MaskOf>(scale) - lse[i]);
    bool keeps = kept >> i & 1;
    score[i] = keeps ? p : 0.0f;
    grad[i] = p * ((keeps ? grad[i] * dropout.factor : 0.0f) - delta[i]);
  }
}

// Starts to copy N queries from t on with what belongs to them. q, grad and
// terms are those of a head.
template <int N, typename Shape, int threads, int access, typename E>
__device__ __forceinline__ void copyQueries(E *toQ, E *toG, float *toTerms,
                                            const E *q, const E *grad,
                                            const float *terms, int64 t) {
  constexpr int Stride = Shape::SharedStride, GradStride = Shape::H * Shape::D;
  copyRows<N, Shape::D, Stride, threads, access>(toQ, q + t * Shape::QStride,
                                                 Shape::QStride, Shape::T - t);
  copyRows<N, Shape::D, Stride, threads, access>(toG, grad + t * GradStride,
                                                 GradStride, Shape::T - t);
  int i = threadIdx.x;
  if (i < N && t + i < Shape::T)
    startCopy<8>(toTerms + 2 * i, terms + 2 * (t + i));
  else if (i < N)
    toTerms[2 * i] = toTerms[2 * i + 1] = 0.0f;
}

// Gradients of key and value: a tile of keys a block, 16 of them a warp, to
// which the heads of the queries that read them give their parts one after the
// other, `part` queries at a time. If `held`, a warp's keys and values are in
// registers.
template <typename E, typename MaskElement, typename MaskOf, typename Shape,
          bool HasDropout, int portion, int part, int access, bool held>
REMAT_KERNEL
attentionMmaKeyValue(const E *grad, const E *q, const E *k, const E *v,
                     const float *terms, const MaskElement *mask,
                     const int64 *seed, const int64 *step, int64 id, E *gradK,
                     E *gradV, float scale, float dropoutP, float keepFactor) {
  constexpr int64 T = Shape::T, S = Shape::S;
  constexpr int H = Shape::H, D = Shape::D, M = Shape::M, N = portion;
  constexpr int C = Shape::Columns, Stride = Shape::SharedStride;
  constexpr int Threads = 2 * M, Elements = N * Stride;
  REMAT_SHARED(memory);
  int64 of = blockIdx.x / Shape::Tiles, begin = blockIdx.x % Shape::Tiles * M;
  int64 b = of / Shape::KeyH, keyHead = of % Shape::KeyH;
  Dropout<Shape, HasDropout> dropout(seed, step, id, dropoutP, keepFactor);
  float *rowTerms = (float *)memory;
  E *tileQ = (E *)(rowTerms + 4 * N), *tileG = tileQ + 2 * Elements;
  E *tileK = held ? tileQ : tileG + 2 * Elements, *tileV = tileK + M * Stride;
  q += Shape::QOffset + b * T * Shape::QStride + keyHead * Shape::Group * D;
  grad += b * T * H * D + keyHead * Shape::Group * D;
  terms += 2 * of * Shape::Group * T;
  int64 keyRows = (b * S + begin) * Shape::KStride + keyHead * D;
  copyRows<M, D, Stride, Threads, access>(tileK, k + Shape::KOffset + keyRows,
                                          Shape::KStride, S - begin);
  copyRows<M, D, Stride, Threads, access>(tileV, v + Shape::VOffset + keyRows,
                                          Shape::KStride, S - begin);
  endCopies();
  waitForBlockCopies<0>();
  int own = threadIdx.x / 32 * 16; // the warp's first row
  LeftRows<E, Stride, C, held> keys(tileK + own * Stride);
  LeftRows<E, Stride, C, held> values(tileV + own * Stride);
  __syncthreads();

  // The queries of one head after those of another, N at a time.
  int64 start = Shape::firstQuery(begin), end = Shape::endQuery(begin);
  int count = start < end ? (int)((end - start + N - 1) / N) : 0;
  auto fetch = [&](int at, int half) {
    int member = at / count;
    if (at < count * Shape::Group)
      copyQueries<N, Shape, Threads, access>(
          tileQ + half * Elements, tileG + half * Elements,
          rowTerms + half * 2 * N, q + member * D, grad + member * D,
          terms + 2 * member * T, start + at % count * N);
    endCopies();
  };
  float accK[2 * C][4] = {}, accV[2 * C][4] = {};
  if (count > 0)
    fetch(0, 0);
  for (int at = 0; at < count * Shape::Group; ++at) {
    int half = at % 2;
    fetch(at + 1, half ^ 1);
    waitForBlockCopies<1>();
    int64 from = start + at % count * N, head = of * Shape::Group + at / count;
#pragma unroll 1
    for (int row = 0; row < N; row += part) {
      int64 t = from + row, s = begin + own;
      if (Shape::Causal && t + part <= s)
        continue;
      const E *queries = tileQ + half * Elements + row * Stride;
      const E *grads = tileG + half * Elements + row * Stride;
      float score[part / 8][4] = {}, gradP[part / 8][4] = {};
      keys.multiplyByTransposed(score, queries);
      values.multiplyByTransposed(gradP, grads);
      bool whole = Shape::insideAll(t, part, s, 16);
#pragma unroll
      for (int n = 0; n < part / 8; ++n) {
        int column = half * N + row + 8 * n + columnInTile(0);
        Vec<float, 4> two = load<4>(rowTerms + 2 * column);
        float lse[4] = {two[0], two[2], two[0], two[2]};
        float delta[4] = {two[1], two[3], two[1], two[3]};
        gradeMmaTile<Shape, MaskOf, true>(score[n], gradP[n], lse, delta, scale,
                                          whole, mask, dropout, head, t + 8 * n,
                                          s);
      }
      multiplyBy<E, Stride>(accV, score, grads);
      multiplyBy<E, Stride>(accK, gradP, queries);
    }
    __syncthreads();
  }
  keyRows += own * Shape::KStride;
#pragma unroll
  for (int c = 0; c < 2 * C; ++c) {
    storeTile<access>(gradK + Shape::KOffset + keyRows + 8 * c, Shape::KStride,
                      accK[c], scale, scale, S - begin - own, D - 8 * c);
    storeTile<access>(gradV + Shape::VOffset + keyRows + 8 * c, Shape::KStride,
                      accV[c], dropout.factor, dropout.factor, S - begin - own,
                      D - 8 * c);
  }
}

// Gradient of query: a tile of queries a block, 16 of them a warp, and `part`
// keys at a time.
template <typename E, typename MaskElement, typename MaskOf, typename Shape,
          bool HasDropout, int portion, int part, int access>
REMAT_KERNEL attentionMmaQuery(const E *grad, const E *q, const E *k,
                               const E *v, const float *terms,
                               const MaskElement *mask, const int64 *seed,
                               const int64 *step, int64 id, E *gradQ,
                               float scale, float dropoutP, float keepFactor) {
  constexpr int64 T = Shape::T, S = Shape::S;
  constexpr int H = Shape::H, D = Shape::D, M = Shape::M, N = portion;
  constexpr int C = Shape::Columns, Stride = Shape::SharedStride;
  constexpr int Threads = 2 * M, Elements = N * Stride;
  REMAT_SHARED(memory);
  int64 head = blockIdx.x / Shape::Tiles, b = head / H, h = head % H;
  int64 first = Shape::longestFirst(blockIdx.x % Shape::Tiles) * M;
  Dropout<Shape, HasDropout> dropout(seed, step, id, dropoutP, keepFactor);
  E *tileK = (E *)memory, *tileV = tileK + 2 * Elements;
  E *tileG = tileK + M * Stride;
  int64 queryRows = (b * T + first) * Shape::QStride + h * D;
  k += Shape::KOffset + b * S * Shape::KStride + h / Shape::Group * D;
  v += Shape::VOffset + b * S * Shape::KStride + h / Shape::Group * D;
  copyRows<M, D, Stride, Threads, access>(tileK, q + Shape::QOffset + queryRows,
                                          Shape::QStride, T - first);
  copyRows<M, D, Stride, Threads, access>(
      tileG, grad + ((b * T + first) * H + h) * D, H * D, T - first);
  endCopies();
  waitForBlockCopies<0>();
  int own = threadIdx.x / 32 * 16; // the warp's first row
  LeftRows<E, Stride, C, true> queries(tileK + own * Stride);
  LeftRows<E, Stride, C, true> grads(tileG + own * Stride);
  float lse[4], delta[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    int64 t = first + own + rowInTile(i), place = 2 * (head * T + t);
    lse[i] = t < T ? terms[place] : 0.0f;
    delta[i] = t < T ? terms[place + 1] : 0.0f;
  }
  __syncthreads();

  int64 t = first + own, begin = Shape::firstKey(first);
  int64 end = Shape::endKey(first);
  float acc[2 * C][4] = {};
  copyKeys<N, Shape, Threads, access>(tileK, tileV, k, v, begin, end);
  for (int half = 0; begin < end; begin += N, half ^= 1) {
    copyKeys<N, Shape, Threads, access>(tileK + (half ^ 1) * Elements,
                                        tileV + (half ^ 1) * Elements, k, v,
                                        begin + N, end);
    waitForBlockCopies<1>();
#pragma unroll 1
    for (int row = 0; row < N; row += part) {
      int64 s = begin + row;
      if (Shape::Causal && s >= t + 16)
        break;
      const E *keys = tileK + half * Elements + row * Stride;
      const E *values = tileV + half * Elements + row * Stride;
      float score[part / 8][4] = {}, gradP[part / 8][4] = {};
      queries.multiplyByTransposed(score, keys);
      grads.multiplyByTransposed(gradP, values);
      bool whole = Shape::insideAll(t, 16, s, part);
#pragma unroll
      for (int n = 0; n < part / 8; ++n)
        gradeMmaTile<Shape, MaskOf, false>(score[n], gradP[n], lse, delta,
                                           scale, whole, mask, dropout, head, t,
                                           s + 8 * n);
      multiplyBy<E, Stride>(acc, gradP, keys);
    }
    __syncthreads();
  }
  queryRows += own * Shape::QStride;
#pragma unroll
  for (int c = 0; c < 2 * C; ++c)
    storeTile<access>(gradQ + Shape::QOffset + queryRows + 8 * c,
                      Shape::QStride, acc[c], scale, scale, T - first - own,
                      D - 8 * c);
}

} // namespace kernels
