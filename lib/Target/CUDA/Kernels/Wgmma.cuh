//===- Wgmma.cuh - products of tiles by Hopper's tensor cores -------------===//
//
// Four warps, a group, multiply 64 rows by rows in shared memory, which they
// read together (PTX ISA, wgmma.mma_async). What a warp holds of its 16 rows
// and of the result is as Mma.cuh says. Rows in shared memory have 64 elements,
// 128 bytes, whose eight pieces of 16 are swapped: piece i of row r is where i
// ^ r % 8 would be; eight rows begin at a multiple of 1,024 bytes.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "Prelude.cuh"

#ifndef REMAT_EMULATION
typedef uint64 TileAddress;
// What an instruction takes for the rows from `bytes` behind `p` on: eight
// follow eight. What is the same for all `bytes` stands by itself, so that a
// loop adds no more than these.
__device__ __forceinline__ TileAddress addressOfTile(const void *p, int bytes) {
  uint32 place = (uint32)__cvta_generic_to_shared(p) >> 4 | 1u << 16;
  constexpr uint64 Form = (uint64)(1024 / 16) << 32 | (uint64)1 << 62;
  return Form | (place + bytes / 16);
}
// The first place from `p` on where tiles may begin.
__device__ __forceinline__ unsigned char *alignForTiles(unsigned char *p) {
  return p + (0u - (uint32)__cvta_generic_to_shared(p)) % 1024;
}

// Before the first of some products: they see what registers hold.
__device__ __forceinline__ void beginProducts() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
// Waits for all of them. Until then nothing may read or change what a product
// reads or makes.
__device__ __forceinline__ void finishProducts() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}
// Keeps the compiler from reading what a product makes before it waits.
__device__ __forceinline__ void readFromHereOn(float &x) {
  asm volatile("" : "+f"(x)::"memory");
}
// Products behind the next barrier see what this thread wrote to shared memory.
__device__ __forceinline__ void shareWithProducts() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

template <typename T> struct IsBF16 {
  enum : bool { Value = false };
};
template <> struct IsBF16<bf16> {
  enum : bool { Value = true };
};

// c += a b if `add`, else c = a b: a has 64 rows of 16 columns, and c 8 N
// columns; b lies transposed. Both are in shared memory.
#define REMAT_TILE(i) "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])
#define REMAT_TILES_4 REMAT_TILE(0), REMAT_TILE(1), REMAT_TILE(2), REMAT_TILE(3)
#define REMAT_TILES_8                                                          \
  REMAT_TILES_4, REMAT_TILE(4), REMAT_TILE(5), REMAT_TILE(6), REMAT_TILE(7)
#define REMAT_NUMBERS_4                                                        \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
#define REMAT_NUMBERS_8                                                        \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "    \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, "     \
  "%30, %31}, "
#define REMAT_PRODUCT(type, columns, tiles, left, right, add, transpositions,  \
                      ...)                                                     \
  asm volatile(                                                                \
      "{.reg .pred p; setp.ne.b32 p, " add ", 0; wgmma.mma_async.sync.aligned" \
      ".m64n" columns "k16.f32." type "." type " " REMAT_NUMBERS_##tiles left  \
      ", " right ", p, 1, 1, " transpositions ";}"                             \
      : REMAT_TILES_##tiles                                                    \
      : __VA_ARGS__)
#define REMAT_PRODUCTS(columns, tiles, left, right, add, transpositions, ...)  \
  if constexpr (IsBF16<T>::Value)                                              \
    REMAT_PRODUCT("bf16", columns, tiles, left, right, add, transpositions,    \
                  __VA_ARGS__);                                                \
  else                                                                         \
    REMAT_PRODUCT("f16", columns, tiles, left, right, add, transpositions,     \
                  __VA_ARGS__)

template <typename T, int N>
__device__ __forceinline__ void multiplyGroup(float (&c)[N][4], TileAddress a,
                                              TileAddress b, int add) {
  static_assert(N == 4 || N == 8, "32 or 64 columns");
  if constexpr (N == 4)
    REMAT_PRODUCTS("32", 4, "%16", "%17", "%18", "0, 0", "l"(a), "l"(b),
                   "r"(add));
  else
    REMAT_PRODUCTS("64", 8, "%32", "%33", "%34", "0, 0", "l"(a), "l"(b),
                   "r"(add));
}
// c += a b, where c has 64 columns; a is in registers, and b lies as it is.
template <typename T>
__device__ __forceinline__ void
multiplyGroup(float (*c)[4], const uint32 (&a)[4], TileAddress b) {
  REMAT_PRODUCTS("64", 8, "{%32, %33, %34, %35}", "%36", "%37", "1", "r"(a[0]),
                 "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(1));
}
#undef REMAT_TILE
#undef REMAT_TILES_4
#undef REMAT_TILES_8
#undef REMAT_NUMBERS_4
#undef REMAT_NUMBERS_8
#undef REMAT_PRODUCT
#undef REMAT_PRODUCTS
#endif
