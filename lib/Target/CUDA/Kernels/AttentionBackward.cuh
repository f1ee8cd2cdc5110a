//===- AttentionBackward.cuh - own attention, backward --------------------===//
//
// AttentionTiles.cuh says how the work is split.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "AttentionTiles.cuh"

namespace kernels {

// The probabilities of the tile of queries from `first` and keys from `begin`
// on, and the gradients of its scores: tileP gets the former after dropout,
// tileS the latter.
template <typename Shape, typename MaskOf, typename MaskElement,
          typename DropoutOf>
__device__ __forceinline__ void
scoreTile(const float *tileQ, const float *tileK, const float *tileV,
          const float *tileG, float *tileP, float *tileS, const float *lse,
          const float *delta, const MaskElement *mask, const DropoutOf &dropout,
          float scale, int64 head, int64 first, int64 begin) {
  constexpr int64 T = Shape::T;
  constexpr int H = Shape::H, D = Shape::D, R = Shape::R, M = Shape::M;
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  int64 b = head / H, h = head % H;
  float score[R][R] = {}, gradP[R][R] = {};
  for (int d = 0; d < D; ++d) {
    float x[R], y[R], g[R], w[R];
#pragma unroll
    for (int a = 0; a < R; ++a) {
      x[a] = tileQ[(ty + 16 * a) * (D + 1) + d];
      g[a] = tileG[(ty + 16 * a) * (D + 1) + d];
      y[a] = tileK[(tx + 16 * a) * (D + 1) + d];
      w[a] = tileV[(tx + 16 * a) * (D + 1) + d];
    }
#pragma unroll
    for (int a = 0; a < R; ++a)
#pragma unroll
      for (int c = 0; c < R; ++c) {
        score[a][c] += x[a] * y[c];
        gradP[a][c] += g[a] * w[c];
      }
  }
#pragma unroll
  for (int a = 0; a < R; ++a) {
    int64 t = first + ty + 16 * a;
    float rowLse = t < T ? lse[head * T + t] : -infinity();
    float rowDelta = t < T ? delta[head * T + t] : 0.0f;
#pragma unroll
    for (int c = 0; c < R; ++c) {
      int64 s = begin + tx + 16 * c;
      bool seen = rowLse > -infinity() && Shape::inside(t, s) &&
                  MaskOf::seen(mask, b, h, t, s);
      float p = seen ? expf(MaskOf::add(score[a][c] * scale, mask, b, h, t, s) -
                            rowLse)
                     : 0.0f;
      float keep = dropout.keep(head, t, s);
      int at = (ty + 16 * a) * (M + 1) + tx + 16 * c;
      tileP[at] = p * keep;
      tileS[at] = p * (gradP[a][c] * keep - rowDelta) * scale;
    }
  }
  __syncthreads();
}

// Gradients of key and value: a tile of keys a block, to which the heads of the
// queries that read them give their parts one after the other.
template <typename E, typename MaskElement, typename MaskOf, typename Shape,
          bool HasDropout>
REMAT_KERNEL
attentionBackwardKeyValue(const E *grad, const E *q, const E *k, const E *v,
                          const float *lse, const float *delta,
                          const MaskElement *mask, const int64 *seed,
                          const int64 *step, int64 id, E *gradK, E *gradV,
                          float scale, float dropoutP, float keepFactor) {
  constexpr int64 T = Shape::T, S = Shape::S;
  constexpr int H = Shape::H, D = Shape::D, R = Shape::R, M = Shape::M;
  constexpr int Columns = Shape::Columns;
  REMAT_SHARED(memory);
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  auto [of, begin] = Shape::placeOfKeys(blockIdx.x);
  int64 b = of / Shape::KeyH, keyHead = of % Shape::KeyH;
  Dropout<Shape, HasDropout> dropout(seed, step, id, dropoutP, keepFactor);
  float *tileQ = (float *)memory, *tileK = tileQ + M * (D + 1);
  float *tileV = tileK + M * (D + 1), *tileG = tileV + M * (D + 1);
  float *tileP = tileG + M * (D + 1), *tileS = tileP + M * (M + 1);
  q += Shape::QOffset + b * T * Shape::QStride + keyHead * Shape::Group * D;
  k += Shape::KOffset + b * S * Shape::KStride + keyHead * D;
  v += Shape::VOffset + b * S * Shape::KStride + keyHead * D;
  grad += b * T * H * D + keyHead * Shape::Group * D;
  loadTile<M, D, 256>(tileK, k + begin * Shape::KStride, Shape::KStride,
                      S - begin);
  loadTile<M, D, 256>(tileV, v + begin * Shape::KStride, Shape::KStride,
                      S - begin);
  float accK[R][Columns] = {}, accV[R][Columns] = {};
  int64 end = Shape::endQuery(begin), endHead = (of + 1) * Shape::Group;
  for (int64 head = of * Shape::Group; head < endHead;
       ++head, q += D, grad += D)
    for (int64 first = Shape::firstQuery(begin); first < end; first += M) {
      __syncthreads();
      loadTile<M, D, 256>(tileQ, q + first * Shape::QStride, Shape::QStride,
                          T - first);
      loadTile<M, D, 256>(tileG, grad + first * H * D, H * D, T - first);
      __syncthreads();
      scoreTile<Shape, MaskOf>(tileQ, tileK, tileV, tileG, tileP, tileS, lse,
                               delta, mask, dropout, scale, head, first, begin);
      for (int r = 0; r < M; ++r) {
        float p[R], s[R];
#pragma unroll
        for (int a = 0; a < R; ++a) {
          p[a] = tileP[r * (M + 1) + ty + 16 * a];
          s[a] = tileS[r * (M + 1) + ty + 16 * a];
        }
#pragma unroll
        for (int j = 0; j < Columns; ++j) {
          bool inside = tx + 16 * j < D;
          float x = inside ? tileQ[r * (D + 1) + tx + 16 * j] : 0.0f;
          float g = inside ? tileG[r * (D + 1) + tx + 16 * j] : 0.0f;
#pragma unroll
          for (int a = 0; a < R; ++a) {
            accV[a][j] += p[a] * g;
            accK[a][j] += s[a] * x;
          }
        }
      }
    }
#pragma unroll
  for (int a = 0; a < R; ++a) {
    int64 s = begin + ty + 16 * a;
#pragma unroll
    for (int j = 0; j < Columns; ++j)
      if (s < S && tx + 16 * j < D) {
        int64 at = (b * S + s) * Shape::KStride + keyHead * D + tx + 16 * j;
        gradK[Shape::KOffset + at] = fromFloat<E>(accK[a][j]);
        gradV[Shape::VOffset + at] = fromFloat<E>(accV[a][j]);
      }
  }
}

// Gradient of query: a tile of queries a block.
template <typename E, typename MaskElement, typename MaskOf, typename Shape,
          bool HasDropout>
REMAT_KERNEL attentionBackwardQuery(const E *grad, const E *q, const E *k,
                                    const E *v, const float *lse,
                                    const float *delta, const MaskElement *mask,
                                    const int64 *seed, const int64 *step,
                                    int64 id, E *gradQ, float scale,
                                    float dropoutP, float keepFactor) {
  constexpr int64 T = Shape::T, S = Shape::S;
  constexpr int H = Shape::H, D = Shape::D, R = Shape::R, M = Shape::M;
  constexpr int Columns = Shape::Columns;
  REMAT_SHARED(memory);
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  auto [head, first] = Shape::placeOfQueries(blockIdx.x);
  int64 b = head / H, h = head % H;
  Dropout<Shape, HasDropout> dropout(seed, step, id, dropoutP, keepFactor);
  float *tileQ = (float *)memory, *tileK = tileQ + M * (D + 1);
  float *tileV = tileK + M * (D + 1), *tileG = tileV + M * (D + 1);
  float *tileP = tileG + M * (D + 1), *tileS = tileP + M * (M + 1);
  q += Shape::QOffset + b * T * Shape::QStride + h * D;
  k += Shape::KOffset + b * S * Shape::KStride + h / Shape::Group * D;
  v += Shape::VOffset + b * S * Shape::KStride + h / Shape::Group * D;
  grad += b * T * H * D + h * D;
  loadTile<M, D, 256>(tileQ, q + first * Shape::QStride, Shape::QStride,
                      T - first);
  loadTile<M, D, 256>(tileG, grad + first * H * D, H * D, T - first);
  float acc[R][Columns] = {};
  int64 end = Shape::endKey(first);
  for (int64 begin = Shape::firstKey(first); begin < end; begin += M) {
    __syncthreads();
    loadTile<M, D, 256>(tileK, k + begin * Shape::KStride, Shape::KStride,
                        S - begin);
    loadTile<M, D, 256>(tileV, v + begin * Shape::KStride, Shape::KStride,
                        S - begin);
    __syncthreads();
    scoreTile<Shape, MaskOf>(tileQ, tileK, tileV, tileG, tileP, tileS, lse,
                             delta, mask, dropout, scale, head, first, begin);
    for (int c = 0; c < M; ++c) {
      float s[R];
#pragma unroll
      for (int a = 0; a < R; ++a)
        s[a] = tileS[(ty + 16 * a) * (M + 1) + c];
#pragma unroll
      for (int j = 0; j < Columns; ++j) {
        float x = tx + 16 * j < D ? tileK[c * (D + 1) + tx + 16 * j] : 0.0f;
#pragma unroll
        for (int a = 0; a < R; ++a)
          acc[a][j] += s[a] * x;
      }
    }
  }
#pragma unroll
  for (int a = 0; a < R; ++a) {
    int64 t = first + ty + 16 * a;
#pragma unroll
    for (int j = 0; j < Columns; ++j)
      if (t < T && tx + 16 * j < D)
        gradQ[Shape::QOffset + (b * T + t) * Shape::QStride + h * D + tx +
              16 * j] = fromFloat<E>(acc[a][j]);
  }
}

} // namespace kernels
