//===- Attention.cuh - own attention, forward -----------------------------===//
//
// AttentionTiles.cuh says how the work is split.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "AttentionTiles.cuh"

namespace kernels {

// A tile of queries a block; lse gets the logarithm of each row's sum. Without
// a mask, and without dropout, what belongs to them is not read.
template <typename E, typename MaskElement, typename MaskOf, typename Shape,
          bool HasDropout>
REMAT_KERNEL attention(const E *q, const E *k, const E *v,
                       const MaskElement *mask, const int64 *seed,
                       const int64 *step, int64 id, E *out, float *lse,
                       float scale, float dropoutP, float keepFactor) {
  constexpr int64 T = Shape::T, S = Shape::S;
  constexpr int H = Shape::H, D = Shape::D, R = Shape::R, M = Shape::M;
  constexpr int Columns = Shape::Columns;
  REMAT_SHARED(memory);
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  auto [head, first] = Shape::placeOfQueries(blockIdx.x);
  int64 b = head / H, h = head % H;
  Dropout<Shape, HasDropout> dropout(seed, step, id, dropoutP, keepFactor);
  float *tileQ = (float *)memory, *tileK = tileQ + M * (D + 1);
  float *tileV = tileK + M * (D + 1), *tileP = tileV + M * (D + 1);
  q += Shape::QOffset + (b * T + first) * Shape::QStride + h * D;
  k += Shape::KOffset + b * S * Shape::KStride + h / Shape::Group * D;
  v += Shape::VOffset + b * S * Shape::KStride + h / Shape::Group * D;
  loadTile<M, D, 256>(tileQ, q, Shape::QStride, T - first);
  float sum[R], high[R], acc[R][Columns];
#pragma unroll
  for (int a = 0; a < R; ++a) {
    sum[a] = 0.0f;
    high[a] = -infinity();
#pragma unroll
    for (int j = 0; j < Columns; ++j)
      acc[a][j] = 0.0f;
  }
  int64 end = Shape::endKey(first);
  for (int64 begin = Shape::firstKey(first); begin < end; begin += M) {
    __syncthreads();
    loadTile<M, D, 256>(tileK, k + begin * Shape::KStride, Shape::KStride,
                        S - begin);
    loadTile<M, D, 256>(tileV, v + begin * Shape::KStride, Shape::KStride,
                        S - begin);
    __syncthreads();
    float score[R][R] = {};
    for (int d = 0; d < D; ++d) {
      float x[R], y[R];
#pragma unroll
      for (int a = 0; a < R; ++a) {
        x[a] = tileQ[(ty + 16 * a) * (D + 1) + d];
        y[a] = tileK[(tx + 16 * a) * (D + 1) + d];
      }
#pragma unroll
      for (int a = 0; a < R; ++a)
#pragma unroll
        for (int c = 0; c < R; ++c)
          score[a][c] += x[a] * y[c];
    }
#pragma unroll
    for (int a = 0; a < R; ++a) {
      int64 t = first + ty + 16 * a;
      float top = -infinity();
#pragma unroll
      for (int c = 0; c < R; ++c) {
        int64 s = begin + tx + 16 * c;
        bool seen = Shape::inside(t, s) && MaskOf::seen(mask, b, h, t, s);
        score[a][c] = seen ? MaskOf::add(score[a][c] * scale, mask, b, h, t, s)
                           : -infinity();
        top = fmaxf(top, score[a][c]);
      }
      top = fmaxf(high[a], lanesMax<16>(top));
      float shrink = top == -infinity() ? 1.0f : expf(high[a] - top);
      float total = 0.0f;
#pragma unroll
      for (int c = 0; c < R; ++c) {
        int64 s = begin + tx + 16 * c;
        float p = score[a][c] == -infinity() ? 0.0f : expf(score[a][c] - top);
        total += p;
        tileP[(ty + 16 * a) * (M + 1) + tx + 16 * c] =
            p * dropout.keep(head, t, s);
      }
      sum[a] = sum[a] * shrink + lanesSum<16>(total);
      high[a] = top;
#pragma unroll
      for (int j = 0; j < Columns; ++j)
        acc[a][j] *= shrink;
    }
    __syncthreads();
    for (int c = 0; c < M; ++c) {
      float p[R];
#pragma unroll
      for (int a = 0; a < R; ++a)
        p[a] = tileP[(ty + 16 * a) * (M + 1) + c];
#pragma unroll
      for (int j = 0; j < Columns; ++j) {
        float value = tx + 16 * j < D ? tileV[c * (D + 1) + tx + 16 * j] : 0.0f;
#pragma unroll
        for (int a = 0; a < R; ++a)
          acc[a][j] += p[a] * value;
      }
    }
  }
#pragma unroll
  for (int a = 0; a < R; ++a) {
    int64 t = first + ty + 16 * a;
    if (t >= T)
      continue;
    float inverse = sum[a] > 0.0f ? 1.0f / sum[a] : 0.0f;
#pragma unroll
    for (int j = 0; j < Columns; ++j)
      if (tx + 16 * j < D)
        out[((b * T + t) * H + h) * D + tx + 16 * j] =
            fromFloat<E>(acc[a][j] * inverse);
    if (tx == 0)
      lse[head * T + t] = sum[a] > 0.0f ? high[a] + logf(sum[a]) : -infinity();
  }
}

} // namespace kernels
