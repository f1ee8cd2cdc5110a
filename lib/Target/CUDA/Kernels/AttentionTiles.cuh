//===- AttentionTiles.cuh - what the kernels of attention share -----------===//
//
// For f32, and heads that AttentionMma.cuh does not take. Tiles of the score
// matrix live in shared memory and are never written (FlashAttention, Dao et
// al., 2022); arithmetic is f32. The backward makes the scores twice, once for
// the gradients of key and value and once for that of query, so that every sum
// has one order and no atomics are needed.
//
// 256 threads are a 16 x 16 grid over a tile of M = 16 R queries and M keys:
// thread (ty, tx) has rows ty + 16 a and columns tx + 16 b.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "Prelude.cuh"

namespace kernels {

// Copies a tile of Rows rows, `stride` elements apart, to shared memory as
// float; there rows are Columns + 1 apart. Rows from `valid` on become zero.
template <int Rows, int Columns, int Threads, typename T>
__device__ __forceinline__ void loadTile(float *tile, const T *from,
                                         int64 stride, int64 valid) {
  for (int i = threadIdx.x; i < Rows * Columns; i += Threads) {
    int row = i / Columns, column = i % Columns;
    tile[row * (Columns + 1) + column] =
        row < valid ? toFloat(from[row * stride + column]) : 0.0f;
  }
}

__device__ __forceinline__ float log2e() { return 1.4426950408889634f; }

// No mask; one that says which keys are seen; one that is added to the scores.
enum class MaskKind { None, Seen, Added };

// The mask's element for (b, h, t, s); dimensions that repeat have stride 0.
template <typename Element, MaskKind kind, int64 strideB, int64 strideH,
          int64 strideT, int64 strideS>
struct Mask {
  enum : bool { Any = kind != MaskKind::None };

  static __device__ __forceinline__ int64 at(int64 b, int64 h, int64 t,
                                             int64 s) {
    return s * strideS + t * strideT + h * strideH + b * strideB;
  }
  static __device__ __forceinline__ bool seen(const Element *mask, int64 b,
                                              int64 h, int64 t, int64 s) {
    if constexpr (kind == MaskKind::Seen)
      return mask[at(b, h, t, s)];
    else
      return true;
  }
  static __device__ __forceinline__ float
  add(float score, const Element *mask, int64 b, int64 h, int64 t, int64 s) {
    if constexpr (kind == MaskKind::Added)
      return score + toFloat(mask[at(b, h, t, s)]);
    else
      return score;
  }
};

// `queries` queries of `heads` heads and `keys` keys of `keyHeads` heads, all
// of `width` elements; a block has a tile of 16 * `rows` of the `tiles` tiles
// of a head, those of `together` heads in turn. Query, key and value lie at
// these offsets and strides in their tensors, which may be one. With `causal` a
// query sees the last `window` keys up to its own place.
template <int64 queries, int64 keys, int heads, int keyHeads, int width,
          int rows, int tiles, int together, int64 queryStride, int64 keyStride,
          int64 queryOffset, int64 keyOffset, int64 valueOffset, bool causal,
          int64 window>
struct AttentionShape {
  enum : int64 { T = queries, S = keys };
  enum : int64 { QStride = queryStride, KStride = keyStride };
  enum : int64 { QOffset = queryOffset, KOffset = keyOffset };
  enum : int64 { VOffset = valueOffset };
  enum : int { H = heads, KeyH = keyHeads, Group = heads / keyHeads };
  enum : int { D = width, R = rows, M = 16 * rows };
  enum : int { Tiles = tiles, Columns = (width + 15) / 16 };
  enum : bool { Causal = causal };

  // Whether a query sees a key, by how far the key lies behind it.
  template <typename Integer>
  static __device__ __forceinline__ bool sees(Integer apart) {
    return !Causal || (apart >= 0 && (window >= T || apart < window));
  }
  static __device__ __forceinline__ bool inside(int64 t, int64 s) {
    return t < T && s < S && sees(t - s);
  }
  // Where the tiles of keys begin and end of which the queries of the tile from
  // `first` on see any.
  static __device__ __forceinline__ int64 firstKey(int64 first) {
    int64 begin = first + 1 - window;
    return Causal && begin > 0 ? begin / M * M : 0;
  }
  static __device__ __forceinline__ int64 endKey(int64 first) {
    return Causal && first + M < S ? first + M : (int64)S;
  }
  // The same of the queries that see any key of the tile from `begin` on.
  static __device__ __forceinline__ int64 firstQuery(int64 begin) {
    return Causal ? begin : 0;
  }
  static __device__ __forceinline__ int64 endQuery(int64 begin) {
    int64 end = begin + M - 1 + window;
    return Causal && end < T ? end : (int64)T;
  }
  // A block's head and the first row of its tile. Of heads together the tiles
  // with most to do begin first, so that short ones are left for the end.
  struct Place {
    int64 head, first;
  };
  static __device__ __forceinline__ Place placeOfKeys(unsigned block) {
    unsigned begin = block / (Tiles * together) * together;
    unsigned within = block % (Tiles * together);
    return {begin + within % together, within / together * M};
  }
  static __device__ __forceinline__ Place placeOfQueries(unsigned block) {
    Place place = placeOfKeys(block);
    if (Causal)
      place.first = (Tiles - 1) * M - place.first;
    return place;
  }
};

// What dropout multiplies the probability of (t, s) of a head by, counted over
// all batches. Each head draws with a seed of its own (HeadSeeds.h).
template <typename Shape, bool hasDropout> struct Dropout {
  int64 seed, step, id;
  uint32 least; // word that keeps: its uniformOf is at least probability
  float factor;

  __device__ __forceinline__ Dropout(const int64 *seed, const int64 *step,
                                     int64 id, float probability, float factor)
      : id(id), factor(factor) {
    if constexpr (hasDropout) {
      // By a shuffle, which tells the compiler that all threads have the same.
      this->seed = __shfl_sync(0xffffffffu, *seed, 0);
      this->step = __shfl_sync(0xffffffffu, *step, 0);
      least = probability < 1.0f ? (uint32)ceilf(probability * 16777216.0f) << 8
                                 : 0xffffffffu;
    }
  }
  static __device__ __forceinline__ int64 elementOf(int64 head, int64 t,
                                                    int64 s) {
    return (head / Shape::H * Shape::T + t) * Shape::S + s;
  }
  // The random words of four elements, of which this is one.
  __device__ __forceinline__ uint4 four(int64 head, int64 element) const {
    return philox(seed + head % Shape::H * 0x5851F42D4C95, id, step,
                  element >> 2);
  }
  __device__ __forceinline__ bool keeps(uint32 word) const {
    return word >= least;
  }
  __device__ __forceinline__ bool keeps(int64 head, int64 t, int64 s) const {
    int64 element = elementOf(head, t, s);
    return keeps(wordOf(four(head, element), (int)(element & 3)));
  }
  __device__ __forceinline__ float keep(int64 head, int64 t, int64 s) const {
    if constexpr (hasDropout)
      return keeps(head, t, s) ? factor : 0.0f;
    else
      return 1.0f;
  }
};

} // namespace kernels
