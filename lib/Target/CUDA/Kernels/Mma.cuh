//===- Mma.cuh - products of small tiles by tensor cores ------------------===//
//
// A warp holds a tile of 16 x 16 elements of 16 bits as four words a thread and
// a tile of 16 x 8 numbers of the result as four floats: of row lane / 4 the
// columns lane % 4 * 2 and the next one, and of the row eight further the same
// (PTX ISA, mma.m16n8k16). Two tiles of a result, side by side and rounded, are
// again an operand. The tiles of operands come from shared memory, where rows
// are `stride` elements apart: a multiple of 8 whose eighth is odd, so that
// eight rows lie in different banks.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "Prelude.cuh"

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

// The left operand: 16 rows of 16 columns.
template <int stride, typename T>
__device__ __forceinline__ void loadLeft(uint32 (&to)[4], const T *tile) {
  int lane = threadIdx.x % 32;
  loadTiles<false>(to, tile + lane % 16 * stride + lane / 16 * 8);
}

// Two right operands side by side, words 0 and 1, and 2 and 3: 16 rows of 16
// columns.
template <int stride, typename T>
__device__ __forceinline__ void loadRight(uint32 (&to)[4], const T *tile) {
  int lane = threadIdx.x % 32;
  loadTiles<true>(to, tile + lane % 16 * stride + lane / 16 * 8);
}

// The same of the transpose of 16 rows of 16 columns.
template <int stride, typename T>
__device__ __forceinline__ void loadRightTransposed(uint32 (&to)[4],
                                                    const T *tile) {
  int lane = threadIdx.x % 32;
  loadTiles<false>(to, tile + (lane / 16 * 8 + lane % 8) * stride +
                           lane / 8 % 2 * 8);
}

// Adds the product of 16 rows, of which `left` has 16 columns, and the
// transpose of those columns of rows in shared memory, as many as `to` has
// columns.
template <typename T, int stride, int N>
__device__ __forceinline__ void
multiplyPartByTransposed(float (&to)[N][4], const uint32 (&left)[4],
                         const T *rows) {
#pragma unroll
  for (int n = 0; n < N; n += 2) {
    uint32 right[4];
    loadRightTransposed<stride>(right, rows + 8 * n * stride);
    multiplyTiles<T>(to[n], left, right[0], right[1]);
    multiplyTiles<T>(to[n + 1], left, right[2], right[3]);
  }
}

// The left side of a product, a warp's 16 rows of C times 16 columns: in
// registers, or, if not held, in shared memory.
template <typename T, int stride, int C, bool held> struct LeftRows {
  uint32 parts[held ? C : 1][4];
  const T *rows;

  // All threads of the block see what it copied to `from`.
  __device__ __forceinline__ explicit LeftRows(const T *from) : rows(from) {
    if constexpr (held)
#pragma unroll
      for (int c = 0; c < C; ++c)
        loadLeft<stride>(parts[c], rows + 16 * c);
  }
  // Adds the product with the transpose of rows in shared memory.
  template <int N>
  __device__ __forceinline__ void multiplyByTransposed(float (&to)[N][4],
                                                       const T *right) const {
#pragma unroll
    for (int c = 0; c < C; ++c)
      if constexpr (held) {
        multiplyPartByTransposed<T, stride>(to, parts[c], right + 16 * c);
      } else {
        uint32 part[4];
        loadLeft<stride>(part, rows + 16 * c);
        multiplyPartByTransposed<T, stride>(to, part, right + 16 * c);
      }
  }
};

// Adds the product of `left`, rounded, and rows in shared memory.
template <typename T, int stride, int C, int N>
__device__ __forceinline__ void
multiplyBy(float (&to)[C][4], const float (&left)[N][4], const T *rows) {
#pragma unroll
  for (int n = 0; n < N; n += 2) {
    uint32 rounded[4] = {pack<T>(left[n][0], left[n][1]),
                         pack<T>(left[n][2], left[n][3]),
                         pack<T>(left[n + 1][0], left[n + 1][1]),
                         pack<T>(left[n + 1][2], left[n + 1][3])};
#pragma unroll
    for (int c = 0; c < C; c += 2) {
      uint32 right[4];
      loadRight<stride>(right, rows + 8 * n * stride + 8 * c);
      multiplyTiles<T>(to[c], rounded, right[0], right[1]);
      multiplyTiles<T>(to[c + 1], rounded, right[2], right[3]);
    }
  }
}

// Starts to copy `rows` rows of `columns` elements, `from` apart in memory and
// `stride` in shared memory, `access` elements at a time. Rows from `valid` on
// and what is missing of 16 columns become zero.
template <int rows, int columns, int stride, int threads, int access,
          typename T>
__device__ __forceinline__ void copyRows(T *to, const T *from, int64 apart,
                                         int64 valid) {
  constexpr int Padded = (columns + 15) / 16 * 16, Parts = Padded / access;
#pragma unroll
  for (int done = 0; done < rows * Parts; done += threads) {
    int i = done + threadIdx.x, row = i / Parts, column = i % Parts * access;
    if (row >= rows)
      break;
    T *place = to + row * stride + column;
    bool inside = row < valid && column < columns;
    if constexpr (access == 1)
      *place = inside ? from[row * apart + column] : T{0};
    else if (inside)
      startCopy<access * sizeof(T)>(place, from + row * apart + column);
    else
      *reinterpret_cast<typename Word<access * sizeof(T)>::Type *>(place) = {};
  }
}

// Until what this thread and the others of the block began to copy, but for
// `left` groups of each, is there.
template <int left> __device__ __forceinline__ void waitForBlockCopies() {
  waitForCopies<left>();
  __syncthreads();
}

} // namespace kernels
