//===- Shape.cuh - copies between boxes of two tensors --------------------===//
//
// A box of elements, each of which has a place in the operand and a place in
// the result. Elements that stay neighbours move together, up to 16 bytes. A
// transpose whose innermost dimension changes goes through a tile in shared
// memory.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "Prelude.cuh"

namespace kernels {

// A dimension of a box: its size and the distance of neighbours in operand and
// result. It takes its index off `rest`.
template <int64 size, int64 fromStride, int64 toStride> struct Dimension {
  template <typename Index>
  static __device__ __forceinline__ void step(Index &rest, Index &from,
                                              Index &to, bool &inside) {
    Index i = rest % (Index)size;
    rest /= (Index)size;
    from += i * (Index)fromStride;
    to += i * (Index)toStride;
  }
};

// A dimension of a box that is larger than the operand, which has its elements
// [low, low + valid). The outermost has what is left of `rest`.
template <int64 size, int64 fromStride, int64 toStride, int64 low, int64 valid,
          bool isOutermost>
struct PaddedDimension {
  template <typename Index>
  static __device__ __forceinline__ void step(Index &rest, Index &from,
                                              Index &to, bool &inside) {
    Index i = isOutermost ? rest : rest % (Index)size;
    rest /= (Index)size;
    inside = inside && i >= (Index)low && i < (Index)(low + valid);
    from += (i - (Index)low) * (Index)fromStride;
    to += i * (Index)toStride;
  }
};

// Copies a box of Count units of N elements, from and to places of the tensors.
// Dims are its dimensions, innermost first, but for an outermost one of which
// the strides are given. So the parts of a tensor that differ in their places
// alone, and rows of tensors that differ in length, share a kernel: a network
// of concatenations has hundreds of them. Where the operand has no element,
// zero is written.
template <typename T, typename Index, int64 Count, int N, typename... Dims>
REMAT_KERNEL copyBox(const T *x, T *y, int64 fromPlace, int64 toPlace,
                     int64 fromStride, int64 toStride) {
  Index rest = (Index)blockIdx.x * 256 + threadIdx.x;
  if (rest >= (Index)Count)
    return;
  Index from = (Index)fromPlace, to = (Index)toPlace;
  bool inside = true;
  (Dims::step(rest, from, to, inside), ...);
  from += rest * (Index)fromStride;
  to += rest * (Index)toStride;
  store(y + (int64)to * N, inside ? load<N>(x + (int64)from * N) : Vec<T, N>{});
}

// Transposes tiles: x's innermost dimension has B elements, y's has A. Dims are
// the other dimensions, innermost first; rows of the tile in shared memory are
// Pad elements longer than they need to be, so that its columns lie in
// different banks.
template <typename T, int64 A, int64 B, int64 StrideA, int64 StrideB, int Pad,
          typename... Dims>
REMAT_KERNEL transposeTiles(const T *x, T *y) {
  constexpr int Tile = 32;
  constexpr int64 TilesA = (A + Tile - 1) / Tile;
  constexpr int64 TilesB = (B + Tile - 1) / Tile;
  __shared__ T tile[Tile][Tile + Pad];
  int64 rest = blockIdx.x;
  int64 a = rest % TilesA * Tile;
  rest /= TilesA;
  int64 b = rest % TilesB * Tile;
  rest /= TilesB;
  int64 from = 0, to = 0;
  bool inside = true;
  (Dims::step(rest, from, to, inside), ...);
  int column = threadIdx.x % Tile, row = threadIdx.x / Tile;
#pragma unroll
  for (int i = 0; i < Tile; i += 8)
    if (a + row + i < A && b + column < B)
      tile[row + i][column] = x[from + (a + row + i) * StrideA + b + column];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < Tile; i += 8)
    if (b + row + i < B && a + column < A)
      y[to + (b + row + i) * StrideB + a + column] = tile[column][row + i];
}

} // namespace kernels
