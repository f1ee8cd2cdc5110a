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

// A tile of scores, but for the factor, becomes probabilities, and one of
// products of the result's gradient and value the gradients of the scores, but
// for the scale. `kept` has a bit of each number that dropout keeps, and lse
// and delta are those of its query.
__device__ __forceinline__ void gradeTile(float (&p)[4], float (&grad)[4],
                                          float factor, const float (&lse)[4],
                                          const float (&delta)[4], uint32 kept,
                                          float keepFactor) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    p[i] = fastExp2(p[i] * factor - lse[i]);
    float own = kept >> i & 1 ? grad[i] * keepFactor : 0.0f;
    grad[i] = p[i] * (own - delta[i]);
  }
}

// Starts to copy a portion of queries from t on with what belongs to them. q,
// grad and terms are those of a head.
template <typename Shape, int threads, int access, typename Tile, typename E>
__device__ __forceinline__ void copyQueries(Tile toQ, Tile toG, float *toTerms,
                                            const E *q, const E *grad,
                                            const float *terms, int64 t) {
  constexpr int GradStride = Shape::H * Shape::D;
  int64 valid = validRows<Shape::T, Tile::Rows>(t);
  copyRows<Shape::D, threads, access>(toQ, q + t * Shape::QStride,
                                      Shape::QStride, valid);
  copyRows<Shape::D, threads, access>(toG, grad + t * GradStride, GradStride,
                                      valid);
  int i = threadIdx.x;
  if (i < Tile::Rows && i < valid)
    startCopy<8>(toTerms + 2 * i, terms + 2 * (t + i));
  else if (i < Tile::Rows)
    toTerms[2 * i] = toTerms[2 * i + 1] = 0.0f;
}

// Gradients of key and value: a tile of keys a block, 16 of them a warp, to
// which the heads of the queries that read them give their parts one after the
// other, `part` queries at a time. If `held`, a warp's keys and values are in
// registers.
template <typename E, typename MaskElement, typename MaskOf, typename Shape,
          bool HasDropout, int portion, int part, int access, bool held,
          bool grouped>
REMAT_KERNEL
attentionMmaKeyValue(const E *grad, const E *q, const E *k, const E *v,
                     const float *terms, const MaskElement *mask,
                     const int64 *seed, const int64 *step, int64 id, E *gradK,
                     E *gradV, float scale, float dropoutP, float keepFactor) {
  constexpr int64 T = Shape::T, S = Shape::S;
  constexpr int H = Shape::H, D = Shape::D, M = Shape::M, N = portion;
  constexpr int C = Shape::Columns, Threads = 2 * M;
  typedef HeadTile<E, Shape, M, grouped> Tile;
  typedef HeadTile<E, Shape, N, grouped> Portion;
  REMAT_SHARED(memory);
  E *tiles = (E *)(grouped ? alignForTiles(memory) : memory);
  auto [of, begin] = Shape::placeOfKeys(blockIdx.x);
  int64 b = of / Shape::KeyH, keyHead = of % Shape::KeyH;
  Dropout<Shape, HasDropout> dropout(seed, step, id, dropoutP, keepFactor);
  Portion tileQ = {tiles}, tileG = {tiles + 2 * Portion::Elements};
  Tile tileK = {held ? tiles : tiles + 4 * Portion::Elements};
  Tile tileV = {tileK.data + Tile::Elements};
  constexpr int Held = held ? 0 : 2 * Tile::Elements;
  float *rowTerms = (float *)(tiles + 4 * Portion::Elements + Held);
  q += Shape::QOffset + b * T * Shape::QStride + keyHead * Shape::Group * D;
  grad += b * T * H * D + keyHead * Shape::Group * D;
  terms += 2 * of * Shape::Group * T;
  int64 keyRows = (b * S + begin) * Shape::KStride + keyHead * D;
  copyRows<D, Threads, access>(tileK, k + Shape::KOffset + keyRows,
                               Shape::KStride, validRows<S, M>(begin));
  copyRows<D, Threads, access>(tileV, v + Shape::VOffset + keyRows,
                               Shape::KStride, validRows<S, M>(begin));
  endCopies();
  waitForBlockCopies<Tile>();
  int own = threadIdx.x / 32 * 16; // the warp's first row
  LeftRows<Tile, held> keys(tileK, own), values(tileV, own);
  __syncthreads();

  // The queries of one head after those of another, N at a time.
  int64 start = Shape::firstQuery(begin), end = Shape::endQuery(begin);
  int count = start < end ? (int)((end - start + N - 1) / N) : 0;
  auto memberOf = [&](int at) { return Shape::Group == 1 ? 0 : at / count; };
  auto fetch = [&](int at, int half) {
    int member = memberOf(at);
    if (at < count * Shape::Group)
      copyQueries<Shape, Threads, access>(
          Portion{tileQ.data + half * Portion::Elements},
          Portion{tileG.data + half * Portion::Elements},
          rowTerms + half * 2 * N, q + member * D, grad + member * D,
          terms + 2 * member * T, start + (at - member * count) * N);
    endCopies();
  };
  float accK[2 * C][4] = {}, accV[2 * C][4] = {};
  if (count > 0)
    fetch(0, 0);
  for (int at = 0; at < count * Shape::Group; ++at) {
    // The other half is free once all have come here.
    int half = at % 2;
    waitForBlockCopies<Portion>();
    fetch(at + 1, half ^ 1);
    Portion queries = {tileQ.data + half * Portion::Elements};
    Portion grads = {tileG.data + half * Portion::Elements};
    int member = memberOf(at);
    int64 from = start + (at - member * count) * N;
    int64 head = of * Shape::Group + member;
#pragma unroll 1
    for (int row = 0; row < N; row += part) {
      int64 t = from + row, s = begin + own;
      if (Shape::Causal && t + part <= begin + firstTogether<Tile>(own))
        continue;
      float score[part / 8][4], gradP[part / 8][4];
      beginIfGrouped<Tile>();
      keys.multiplyByTransposed(score, queries, row);
      values.multiplyByTransposed(gradP, grads, row);
      finishIfGrouped<Tile>(score, gradP);
      scoreTiles<Shape, MaskOf, true>(score, scale, mask, head, t, s);
      RoundedRows<E, part / 8> weights, gradS;
#pragma unroll
      for (int n = 0; n < part / 8; ++n) {
        int column = half * N + row + 8 * n + columnInTile(0);
        Vec<float, 4> two = load<4>(rowTerms + 2 * column);
        float lse[4] = {two[0], two[2], two[0], two[2]};
        float delta[4] = {two[1], two[3], two[1], two[3]};
        uint32 kept = keepTile<Shape, true>(dropout, head, t + 8 * n, s);
        gradeTile(score[n], gradP[n], factorOfScores<MaskOf>(scale), lse, delta,
                  kept, dropout.factor);
#pragma unroll
        for (int i = 0; i < 4; ++i)
          score[n][i] = kept >> i & 1 ? score[n][i] : 0.0f;
        weights.set(n, score[n]);
        gradS.set(n, gradP[n]);
      }
      beginIfGrouped<Tile>();
      weights.multiplyBy(accV, grads, row);
      gradS.multiplyBy(accK, queries, row);
      finishIfGrouped<Tile>(accV, accK);
    }
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
          bool HasDropout, int portion, int part, int access, bool grouped>
REMAT_KERNEL attentionMmaQuery(const E *grad, const E *q, const E *k,
                               const E *v, const float *terms,
                               const MaskElement *mask, const int64 *seed,
                               const int64 *step, int64 id, E *gradQ,
                               float scale, float dropoutP, float keepFactor) {
  constexpr int64 T = Shape::T;
  constexpr int H = Shape::H, D = Shape::D, M = Shape::M, Threads = 2 * M;
  constexpr int C = Shape::Columns;
  typedef HeadTile<E, Shape, M, grouped> Tile;
  typedef HeadTile<E, Shape, portion, grouped> Portion;
  REMAT_SHARED(memory);
  E *tiles = (E *)(grouped ? alignForTiles(memory) : memory);
  auto [head, first] = Shape::placeOfQueries(blockIdx.x);
  int64 b = head / H, h = head % H;
  Dropout<Shape, HasDropout> dropout(seed, step, id, dropoutP, keepFactor);
  int64 queryRows = (b * T + first) * Shape::QStride + h * D;
  Tile tileQ = {tiles}, tileG = {tiles + Tile::Elements};
  copyRows<D, Threads, access>(tileQ, q + Shape::QOffset + queryRows,
                               Shape::QStride, validRows<T, M>(first));
  copyRows<D, Threads, access>(tileG, grad + ((b * T + first) * H + h) * D,
                               H * D, validRows<T, M>(first));
  endCopies();
  waitForBlockCopies<Tile>();
  int own = threadIdx.x / 32 * 16; // the warp's first row
  LeftRows<Tile, !grouped> queries(tileQ, own), grads(tileG, own);
  float lse[4], delta[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    int64 t = first + own + rowInTile(i), place = 2 * (head * T + t);
    lse[i] = t < T ? terms[place] : 0.0f;
    delta[i] = t < T ? terms[place + 1] : 0.0f;
  }
  __syncthreads();

  int64 t = first + own, last = first + firstTogether<Tile>(own);
  float acc[2 * C][4] = {};
  KeyPortions<Shape, Portion, Threads, access> seen(
      grouped ? tiles + 2 * Tile::Elements : tiles, k, v, head, first);
  for (; seen.isLeft(); seen.advance()) {
    seen.wait();
#pragma unroll 1
    for (int row = 0; row < portion; row += part) {
      int64 s = seen.s + row;
      if (Shape::Causal && s >= last + Tile::RowsTogether)
        break;
      float score[part / 8][4], gradP[part / 8][4];
      beginIfGrouped<Tile>();
      queries.multiplyByTransposed(score, seen.keys, row);
      grads.multiplyByTransposed(gradP, seen.values, row);
      finishIfGrouped<Tile>(score, gradP);
      scoreTiles<Shape, MaskOf, false>(score, scale, mask, head, t, s);
      RoundedRows<E, part / 8> gradS;
#pragma unroll
      for (int n = 0; n < part / 8; ++n) {
        uint32 kept = keepTile<Shape, false>(dropout, head, t, s + 8 * n);
        gradeTile(score[n], gradP[n], factorOfScores<MaskOf>(scale), lse, delta,
                  kept, dropout.factor);
        gradS.set(n, gradP[n]);
      }
      beginIfGrouped<Tile>();
      gradS.multiplyBy(acc, seen.keys, row);
      finishIfGrouped<Tile>(acc);
    }
  }
  queryRows += own * Shape::QStride;
#pragma unroll
  for (int c = 0; c < 2 * C; ++c)
    storeTile<access>(gradQ + Shape::QOffset + queryRows + 8 * c,
                      Shape::QStride, acc[c], scale, scale, T - first - own,
                      D - 8 * c);
}

} // namespace kernels
