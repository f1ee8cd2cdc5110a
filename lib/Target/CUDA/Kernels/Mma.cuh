//===- Mma.cuh - products of small tiles by tensor cores ------------------===//
//
// A warp holds a tile of 16 x 16 elements of 16 bits as four words a thread and
// a tile of 16 x 8 numbers of the result as four floats: of row lane / 4 the
// columns lane % 4 * 2 and the next one, and of the row eight further the same
// (PTX ISA, mma.m16n8k16). Two tiles of a result, side by side and rounded, are
// again an operand. The tiles of operands come from shared memory, where eight
// neighbouring rows lie in different banks.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "Wgmma.cuh"

#ifndef REMAT_EMULATION
// Loads four tiles of 8 x 8 elements. Threads 8 i to 8 i + 7 give the addresses
// of the rows of tile i; each thread gets two neighbours of a row of each tile,
// or of a column if transposed.
template <bool transposed>
__device__ __forceinline__ void loadTiles(uint32 (&to)[4], const void *row) {
  uint32 place = (uint32)__cvta_generic_to_shared(row);
  if constexpr (transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 "
                 "{%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(place)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
                 "{%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(place)
                 : "memory");
}

// c += a b, where a has 16 x 16 elements of type T and b 16 x 8.
template <typename T>
__device__ __forceinline__ void
multiplyTiles(float (&c)[4], const uint32 (&a)[4], uint32 b0, uint32 b1);
#define REMAT_MULTIPLY_TILES(type)                                             \
  asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 "           \
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"        \
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                         \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
template <>
__device__ __forceinline__ void
multiplyTiles<bf16>(float (&c)[4], const uint32 (&a)[4], uint32 b0, uint32 b1) {
  REMAT_MULTIPLY_TILES("bf16");
}
template <>
__device__ __forceinline__ void
multiplyTiles<f16>(float (&c)[4], const uint32 (&a)[4], uint32 b0, uint32 b1) {
  REMAT_MULTIPLY_TILES("f16");
}
#undef REMAT_MULTIPLY_TILES
#endif

namespace kernels {

// Where number i of this thread lies in a 16 x 8 tile of a result.
__device__ __forceinline__ int rowInTile(int i) {
  return threadIdx.x % 32 / 4 + i / 2 * 8;
}
__device__ __forceinline__ int columnInTile(int i) {
  return threadIdx.x % 4 * 2 + i % 2;
}

// `rows` rows of C times 16 columns in shared memory: for groups of warps as
// Wgmma.cuh says, the second 64 columns behind all rows of the first.
template <typename T, int rows, int C, bool grouped> struct SharedTile {
  typedef T Element;
  enum : int { Rows = rows, Columns = C, Padded = 16 * C + 8 };
  enum : int { Elements = rows * (grouped ? 16 * C : Padded) };
  enum : int { RowStride = grouped ? 64 : Padded };
  enum : int { RowsTogether = grouped ? 64 : 16 }; // that are multiplied
  enum : bool { Grouped = grouped };
  T *data;

  static __device__ __forceinline__ int place(int row, int column) {
    if constexpr (grouped)
      return (column / 64 * rows + row) * 64 + (column / 8 ^ row) % 8 * 8 +
             column % 8;
    else
      return row * Padded + column;
  }
  __device__ __forceinline__ T *at(int row, int column) const {
    return data + place(row, column);
  }
  // Columns from 16 c on of the rows from `row` on, a multiple of eight.
  __device__ __forceinline__ TileAddress address(int row, int c) const {
    int element = (c / 4 * rows + row) * 64 + c % 4 * 16;
    return addressOfTile(data, element * (int)sizeof(T));
  }
};

// The first of the rows of a tile that are multiplied together, among which a
// warp's `row` is.
template <typename Tile> __device__ __forceinline__ int firstTogether(int row) {
  constexpr int Count = Tile::RowsTogether;
  if constexpr (!Tile::Grouped)
    return row / Count * Count;
  else if constexpr (Tile::Rows <= Count)
    return 0;
  else // by a shuffle, which tells the compiler that all threads have the same
    return __shfl_sync(0xffffffffu, row / Count * Count, 0);
}

template <typename Tile>
__device__ __forceinline__ void swapTiles(Tile &a, Tile &b) {
  Tile c = a;
  a = b;
  b = c;
}

// The left operand: 16 columns from 16 c on of 16 rows.
template <typename Tile>
__device__ __forceinline__ void loadLeft(uint32 (&to)[4], Tile tile, int row,
                                         int c) {
  int lane = threadIdx.x % 32;
  loadTiles<false>(to, tile.at(row + lane % 16, 16 * c + lane / 16 * 8));
}

// Two right operands side by side, words 0 and 1, and 2 and 3.
template <typename Tile>
__device__ __forceinline__ void loadRight(uint32 (&to)[4], Tile tile, int row,
                                          int c) {
  int lane = threadIdx.x % 32;
  loadTiles<true>(to, tile.at(row + lane % 16, 16 * c + lane / 16 * 8));
}

// The same of the transpose.
template <typename Tile>
__device__ __forceinline__ void loadRightTransposed(uint32 (&to)[4], Tile tile,
                                                    int row, int c) {
  int lane = threadIdx.x % 32;
  loadTiles<false>(
      to, tile.at(row + lane / 16 * 8 + lane % 8, 16 * c + lane / 8 % 2 * 8));
}

// 16 rows of each warp as the left side of products: in registers, or, if not
// held, in shared memory. Groups of warps have them there: registers that hold
// them through a loop are overwritten within it (NVRTC 13.0, sm_90a).
template <typename Tile, bool held> struct LeftRows {
  uint32 parts[held ? Tile::Columns : 1][4];
  Tile tile;
  int row;

  // All threads of the block see what it copied to the tile.
  __device__ __forceinline__ LeftRows(Tile tile, int row)
      : tile(tile), row(row) {
    if constexpr (held)
#pragma unroll
      for (int c = 0; c < Tile::Columns; ++c)
        loadLeft(parts[c], tile, row, c);
  }

  __device__ __forceinline__ void take(uint32 (&to)[4], int c) const {
    if constexpr (held)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        to[i] = parts[c][i];
    else
      loadLeft(to, tile, row, c);
  }

  // Makes the product with the transpose of as many rows of another tile, from
  // `first` on, as `to` has columns. For groups `finishIfGrouped` follows.
  template <typename Other, int N>
  __device__ __forceinline__ void
  multiplyByTransposed(float (&to)[N][4], Other right, int first) const {
    typedef typename Tile::Element T;
    if constexpr (Tile::Grouped) {
      static_assert(!held, "a group's left side is in shared memory");
#pragma unroll
      for (int c = 0; c < Tile::Columns; ++c)
        multiplyGroup<T, N>(to, tile.address(firstTogether<Tile>(row), c),
                            right.address(first, c), c > 0);
    } else {
#pragma unroll
      for (int n = 0; n < N; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          to[n][i] = 0.0f;
#pragma unroll
      for (int c = 0; c < Tile::Columns; ++c) {
        uint32 left[4];
        take(left, c);
#pragma unroll
        for (int n = 0; n < N; n += 2) {
          uint32 both[4];
          loadRightTransposed(both, right, first + 8 * n, c);
          multiplyTiles<T>(to[n], left, both[0], both[1]);
          multiplyTiles<T>(to[n + 1], left, both[2], both[3]);
        }
      }
    }
  }
};

// Two and two tiles of a result, rounded, as the left side of a product.
template <typename T, int N> struct RoundedRows {
  uint32 parts[N / 2][4];

  __device__ __forceinline__ void set(int n, const float (&x)[4]) {
    parts[n / 2][n % 2 * 2] = pack<T>(x[0], x[1]);
    parts[n / 2][n % 2 * 2 + 1] = pack<T>(x[2], x[3]);
  }
  // Adds the product with as many rows of a tile, from `first` on, as this has
  // columns. For groups `finishIfGrouped` follows.
  template <typename Tile, int C>
  __device__ __forceinline__ void multiplyBy(float (&to)[C][4], Tile right,
                                             int first) const {
#pragma unroll
    for (int n = 0; n < N / 2; ++n) {
      if constexpr (Tile::Grouped) {
#pragma unroll
        for (int c = 0; c < C; c += 8)
          multiplyGroup<T>(to + c, parts[n],
                           right.address(first + 16 * n, c / 2));
      } else {
#pragma unroll
        for (int c = 0; c < C; c += 2) {
          uint32 both[4];
          loadRight(both, right, first + 16 * n, c / 2);
          multiplyTiles<T>(to[c], parts[n], both[0], both[1]);
          multiplyTiles<T>(to[c + 1], parts[n], both[2], both[3]);
        }
      }
    }
  }
};

// How products begin and end, where warps multiply together. What they made is
// read from `finishIfGrouped` on.
template <typename Tile> __device__ __forceinline__ void beginIfGrouped() {
  if constexpr (Tile::Grouped)
    beginProducts();
}
template <int N>
__device__ __forceinline__ void readTilesFromHereOn(float (&made)[N][4]) {
#pragma unroll
  for (int n = 0; n < N; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      readFromHereOn(made[n][i]);
}
template <typename Tile, typename... Made>
__device__ __forceinline__ void finishIfGrouped(Made &...made) {
  if constexpr (Tile::Grouped) {
    finishProducts();
    (readTilesFromHereOn(made), ...);
  }
}

// Starts to copy `access` elements, or to write as many zeros.
template <int access, typename T>
__device__ __forceinline__ void copyPiece(T *to, const T *from, bool inside) {
  if constexpr (access * sizeof(T) == 16)
    startCopyOrZero(to, from, inside);
  else if constexpr (access == 1)
    *to = inside ? *from : T{0};
  else if (inside)
    startCopy<access * sizeof(T)>(to, from);
  else
    *reinterpret_cast<typename Word<access * sizeof(T)>::Type *>(to) = {};
}

// Starts to copy rows of `columns` elements, `apart` elements apart in memory,
// `access` elements at a time. Rows from `valid` on and what is missing of 16
// columns become zero.
template <int columns, int threads, int access, typename Tile, typename T>
__device__ __forceinline__ void copyRows(Tile to, const T *from, int64 apart,
                                         int64 valid) {
  constexpr int Pieces = 16 * Tile::Columns / access, Pass = threads / Pieces;
  if constexpr (threads % Pieces == 0 && Pass % 8 == 0) {
    // Each thread has a piece of each row that it copies.
    int row = threadIdx.x / Pieces, column = threadIdx.x % Pieces * access;
    int rows = column >= columns ? 0 : valid < Tile::Rows ? valid : Tile::Rows;
    T *place = to.at(row, column);
    from += row * apart + column;
#pragma unroll
    for (int done = 0; done < Tile::Rows; done += Pass)
      if (Tile::Rows % Pass == 0 || row + done < Tile::Rows)
        copyPiece<access>(place + done * Tile::RowStride, from + done * apart,
                          row + done < rows);
  } else {
#pragma unroll
    for (int done = 0; done < Tile::Rows * Pieces; done += threads) {
      int i = done + threadIdx.x, row = i / Pieces;
      int column = i % Pieces * access;
      if (row < Tile::Rows)
        copyPiece<access>(to.at(row, column), from + row * apart + column,
                          row < valid && column < columns);
    }
  }
}

// Until what this thread and the others of the block began to copy to tiles is
// there.
template <typename Tile> __device__ __forceinline__ void waitForBlockCopies() {
  waitForCopies<0>();
  if constexpr (Tile::Grouped)
    shareWithProducts();
  __syncthreads();
}

} // namespace kernels
