//===- AttentionMma.cuh - attention by tensor cores, forward --------------===//
//
// For 16-bit types and heads of up to 128 elements; AttentionTiles.cuh is for
// the rest and says how the work is split. Scores, their sums and all results
// are f32 until they are rounded; probabilities are rounded to the operands'
// type before they are multiplied, as in FlashAttention-2 (Dao, 2023). Each
// warp has rows of the block's tile to itself, of which it makes the scores
// with `portion` rows of the other side at a time: those are in shared memory,
// and the next ones are on their way.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "AttentionTiles.cuh"
#include "Mma.cuh"

namespace kernels {

// What scores are in base 2 of what `scoreTiles` leaves.
template <typename MaskOf>
__device__ __forceinline__ float factorOfScores(float scale) {
  return !MaskOf::Any && scale > 0.0f ? scale * log2e() : 1.0f;
}

// Products become scores, but for the factor above; those of pairs that do not
// see each other -infinity. Rows are queries from t on and columns keys from s
// on, or the other way round if transposed.
template <typename Shape, typename MaskOf, bool transposed,
          typename MaskElement, int N>
__device__ __forceinline__ void scoreTiles(float (&x)[N][4], float scale,
                                           const MaskElement *mask, int64 head,
                                           int64 t, int64 s) {
  constexpr int Queries = transposed ? 8 * N : 16;
  constexpr int Keys = transposed ? 16 : 8 * N;
  // Tiles begin at multiples of their sizes.
  constexpr bool AllQueries = Shape::T % Queries == 0;
  constexpr bool AllKeys = Shape::S % Keys == 0;
  int apart = (int)(t - s);
  bool whole = (AllQueries || t + Queries <= Shape::T) &&
               (AllKeys || s + Keys <= Shape::S) &&
               Shape::sees(apart - Keys + 1) &&
               Shape::sees(apart + Queries - 1);
  if (whole && !MaskOf::Any && scale > 0.0f)
    return;
  int64 b = head / Shape::H, h = head % Shape::H;
#pragma unroll
  for (int n = 0; n < N; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      int row = rowInTile(i), column = 8 * n + columnInTile(i);
      int64 query = t + (transposed ? column : row);
      int64 key = s + (transposed ? row : column);
      bool seen =
          Shape::sees(apart + (transposed ? column - row : row - column));
      if (!seen || !(AllQueries || query < Shape::T) ||
          !(AllKeys || key < Shape::S) || !MaskOf::seen(mask, b, h, query, key))
        x[n][i] = -infinity();
      else if (MaskOf::Any || !(scale > 0.0f))
        x[n][i] =
            MaskOf::add(x[n][i] * scale, mask, b, h, query, key) * log2e();
    }
}

// Which numbers of a tile dropout keeps, a bit each. Where four neighbours of a
// row are what one call of the generator makes, each thread makes four and
// tells the others.
template <typename Shape, bool transposed>
__device__ __forceinline__ uint32 keepTile(const Dropout<Shape, true> &dropout,
                                           int64 head, int64 t, int64 s) {
  uint32 kept = 0;
  if constexpr (Shape::S % 4 != 0) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      kept |= (uint32)dropout.keeps(
                  head, t + (transposed ? columnInTile(i) : rowInTile(i)),
                  s + (transposed ? rowInTile(i) : columnInTile(i)))
              << i;
  } else {
    constexpr int Fours = transposed ? 4 : 2; // in each row of keys
    int lane = threadIdx.x % 32;
    uint4 words = dropout.four(
        head, dropout.elementOf(head, t + lane / Fours, s + lane % Fours * 4));
    uint32 own = (uint32)dropout.keeps(words.x) |
                 (uint32)dropout.keeps(words.y) << 1 |
                 (uint32)dropout.keeps(words.z) << 2 |
                 (uint32)dropout.keeps(words.w) << 3;
    // Two neighbours of a row of keys are in the same four.
#pragma unroll
    for (int i = 0; i < 4; i += transposed ? 1 : 2) {
      int query = transposed ? columnInTile(i) : rowInTile(i);
      int key = transposed ? rowInTile(i) : columnInTile(i);
      uint32 four =
          __shfl_sync(0xffffffffu, own, query * Fours + key / 4) >> key % 4;
      kept |= (four & (transposed ? 1 : 3)) << i;
    }
  }
  return kept;
}
template <typename Shape, bool transposed>
__device__ __forceinline__ uint32 keepTile(const Dropout<Shape, false> &, int64,
                                           int64, int64) {
  return 15;
}

// Writes a tile's two rows of two neighbours, each times the row's factor, for
// rows of which there are `valid` and `columns` columns.
template <int access, typename E>
__device__ __forceinline__ void
storeTile(E *to, int64 apart, const float (&x)[4], float first, float second,
          int64 valid, int columns) {
#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    int row = rowInTile(i), column = columnInTile(i);
    float factor = i == 0 ? first : second;
    if (row >= valid)
      continue;
    E *place = to + row * apart + column;
    if constexpr (access > 1) {
      if (column < columns)
        *reinterpret_cast<uint32 *>(place) =
            pack<E>(x[i] * factor, x[i + 1] * factor);
    } else {
      if (column < columns)
        place[0] = fromFloat<E>(x[i] * factor);
      if (column + 1 < columns)
        place[1] = fromFloat<E>(x[i + 1] * factor);
    }
  }
}

// What a warp has of 16 queries' results: of each row the maximum of the scores
// in base 2 so far, this thread's part of the sum of probabilities, and the sum
// of values, both relative to the maximum.
template <int tiles> struct MmaSums {
  float high[2], sum[2], value[tiles][4];

  __device__ __forceinline__ MmaSums() : value() {
    high[0] = high[1] = -infinity();
    sum[0] = sum[1] = 0.0f;
  }
  // A row has a score of `top`; gives what its next ones are relative to.
  __device__ __forceinline__ float raise(int row, float top) {
    top = fmaxf(high[row], top);
    float base = top == -infinity() ? 0.0f : top;
    float shrink = fastExp2(high[row] - base);
    high[row] = top;
    sum[row] *= shrink;
#pragma unroll
    for (int c = 0; c < tiles; ++c) {
      value[c][2 * row] *= shrink;
      value[c][2 * row + 1] *= shrink;
    }
    return base;
  }
};

// Makes of the scores of 16 queries from t on and of keys from s on what the
// values are multiplied by.
template <typename Shape, typename MaskOf, typename Weights, typename Sums,
          typename MaskElement, typename DropoutOf, int N>
__device__ __forceinline__ void
softmaxMmaTiles(float (&score)[N][4], Weights &weights, Sums &sums, float scale,
                const MaskElement *mask, const DropoutOf &dropout, int64 head,
                int64 t, int64 s) {
  scoreTiles<Shape, MaskOf, false>(score, scale, mask, head, t, s);
  float factor = factorOfScores<MaskOf>(scale), base[2];
  float top[2] = {-infinity(), -infinity()};
#pragma unroll
  for (int n = 0; n < N; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      top[i / 2] = fmaxf(top[i / 2], score[n][i]);
#pragma unroll
  for (int r = 0; r < 2; ++r)
    base[r] = sums.raise(r, lanesMax<4>(top[r]) * factor);
#pragma unroll
  for (int n = 0; n < N; ++n) {
    uint32 kept = keepTile<Shape, false>(dropout, head, t, s + 8 * n);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float p = fastExp2(score[n][i] * factor - base[i / 2]);
      sums.sum[i / 2] += p;
      score[n][i] = kept >> i & 1 ? p : 0.0f;
    }
    weights.set(n, score[n]);
  }
}

// Writes the results of 16 queries from t on, times what dropout multiplies
// those that it keeps by.
template <typename Shape, int access, typename Sums, typename E>
__device__ __forceinline__ void writeMmaTiles(const Sums &sums, float factor,
                                              E *out, float *lse, int64 head,
                                              int64 t) {
  constexpr int H = Shape::H, D = Shape::D;
  float inverse[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float total = lanesSum<4>(sums.sum[r]);
    inverse[r] = total > 0.0f ? factor / total : 0.0f;
    int64 row = t + rowInTile(2 * r);
    if (threadIdx.x % 4 == 0 && row < Shape::T)
      lse[head * Shape::T + row] =
          total > 0.0f ? sums.high[r] / log2e() + logf(total) : -infinity();
  }
  out += ((head / H * Shape::T + t) * H + head % H) * D;
#pragma unroll
  for (int c = 0; c < 2 * Shape::Columns; ++c)
    storeTile<access>(out + 8 * c, H * D, sums.value[c], inverse[0], inverse[1],
                      Shape::T - t, D - 8 * c);
}

// Of `length` rows those of a tile of `rows` that begins at a multiple of them.
template <int64 length, int rows>
__device__ __forceinline__ int64 validRows(int64 begin) {
  return length % rows == 0 ? rows : length - begin;
}

// Rows of heads in shared memory.
template <typename E, typename Shape, int rows, bool grouped>
using HeadTile = SharedTile<E, rows, Shape::Columns, grouped>;

// The keys and values of a head that a block's tile of queries sees, a portion
// of them at a time: the next one is on its way while this one is read.
template <typename Shape, typename Portion, int threads, int access>
struct KeyPortions {
  typedef typename Portion::Element E;
  Portion keys, values, nextKeys, nextValues;
  const E *k, *v;
  int64 s, end; // where this portion begins, and where the last one ends

  // Of the queries from `first` on; `tiles` is where four portions may lie.
  __device__ __forceinline__ KeyPortions(E *tiles, const E *k, const E *v,
                                         int64 head, int64 first)
      : s(Shape::firstKey(first)), end(Shape::endKey(first)) {
    int64 b = head / Shape::H, keyHead = head % Shape::H / Shape::Group;
    int64 place = b * Shape::S * Shape::KStride + keyHead * Shape::D;
    this->k = k + Shape::KOffset + place;
    this->v = v + Shape::VOffset + place;
    keys = {tiles};
    nextKeys = {tiles + Portion::Elements};
    values = {tiles + 2 * Portion::Elements};
    nextValues = {tiles + 3 * Portion::Elements};
    copy(keys, values, s);
  }
  __device__ __forceinline__ bool isLeft() const { return s < end; }
  // Until this portion is there, and the block has read the one before it.
  __device__ __forceinline__ void wait() {
    waitForBlockCopies<Portion>();
    copy(nextKeys, nextValues, s + Portion::Rows);
  }
  __device__ __forceinline__ void advance() {
    swapTiles(keys, nextKeys);
    swapTiles(values, nextValues);
    s += Portion::Rows;
  }

private:
  __device__ __forceinline__ void copy(Portion toK, Portion toV, int64 from) {
    if (from < end) {
      copyRows<Shape::D, threads, access>(
          toK, k + from * Shape::KStride, Shape::KStride,
          validRows<Shape::S, Portion::Rows>(from));
      copyRows<Shape::D, threads, access>(
          toV, v + from * Shape::KStride, Shape::KStride,
          validRows<Shape::S, Portion::Rows>(from));
    }
    endCopies();
  }
};

// A tile of queries a block, 16 of them a warp; what is passed is as in
// `attention`.
template <typename E, typename MaskElement, typename MaskOf, typename Shape,
          bool HasDropout, int portion, int access, bool grouped>
REMAT_KERNEL attentionMma(const E *q, const E *k, const E *v,
                          const MaskElement *mask, const int64 *seed,
                          const int64 *step, int64 id, E *out, float *lse,
                          float scale, float dropoutP, float keepFactor) {
  constexpr int64 T = Shape::T;
  constexpr int H = Shape::H, D = Shape::D, M = Shape::M, Threads = 2 * M;
  typedef HeadTile<E, Shape, M, grouped> Tile;
  typedef HeadTile<E, Shape, portion, grouped> Portion;
  REMAT_SHARED(memory);
  E *tiles = (E *)(grouped ? alignForTiles(memory) : memory);
  auto [head, first] = Shape::placeOfQueries(blockIdx.x);
  int64 b = head / H, h = head % H;
  Dropout<Shape, HasDropout> dropout(seed, step, id, dropoutP, keepFactor);
  q += Shape::QOffset + (b * T + first) * Shape::QStride + h * D;
  int own = threadIdx.x / 32 * 16; // the warp's first row
  Tile tileQ = {tiles};
  copyRows<D, Threads, access>(tileQ, q, Shape::QStride,
                               validRows<T, M>(first));
  endCopies();
  waitForBlockCopies<Tile>();
  LeftRows<Tile, !grouped> queries(tileQ, own);
  __syncthreads();

  int64 t = first + own, last = first + firstTogether<Tile>(own);
  MmaSums<2 * Shape::Columns> sums;
  KeyPortions<Shape, Portion, Threads, access> seen(
      grouped ? tiles + Tile::Elements : tiles, k, v, head, first);
  for (; seen.isLeft(); seen.advance()) {
    seen.wait();
    if (Shape::Causal && seen.s >= last + Tile::RowsTogether)
      continue;
    float score[portion / 8][4];
    beginIfGrouped<Tile>();
    queries.multiplyByTransposed(score, seen.keys, 0);
    finishIfGrouped<Tile>(score);
    RoundedRows<E, portion / 8> weights;
    softmaxMmaTiles<Shape, MaskOf>(score, weights, sums, scale, mask, dropout,
                                   head, t, seen.s);
    beginIfGrouped<Tile>();
    weights.multiplyBy(sums.value, seen.values, 0);
    finishIfGrouped<Tile>(sums.value);
  }
  writeMmaTiles<Shape, access>(sums, dropout.factor, out, lse, head, t);
}

} // namespace kernels
