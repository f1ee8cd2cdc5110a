//===- emulation.h - CUDA kernels on the host, for tests ------------------===//
//
// Enough of CUDA to compile the kernels that this project prints as C++ and run
// them block by block: each thread of a block is a fiber that runs until it
// waits for its warp or its block. A barrier that not every thread reaches ends
// the process with a message. Compiled with sanitizers, it finds misaligned
// accesses without a GPU.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_TARGET_CUDAKERNELS_EMULATION_H
#define REMAT_TEST_TARGET_CUDAKERNELS_EMULATION_H

#define REMAT_EMULATION 1

#include <algorithm>
#include <array>
#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <ucontext.h>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static
#define __align__(n) alignas(n)
#define REMAT_SHARED(name) unsigned char *name = emulation::Shared

struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
  return {x, y, z, w};
}
inline float __int_as_float(int x) {
  float r;
  memcpy(&r, &x, 4);
  return r;
}
inline int __float_as_int(float x) {
  int r;
  memcpy(&r, &x, 4);
  return r;
}
// Never contracted, as on a GPU.
inline float __fadd_rn(float a, float b) {
#pragma clang fp contract(off)
  return a + b;
}
inline float __fsub_rn(float a, float b) {
#pragma clang fp contract(off)
  return a - b;
}
inline float __fmul_rn(float a, float b) {
#pragma clang fp contract(off)
  return a * b;
}
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }

struct bf16 {
  unsigned short bits;
};
struct f16 {
  unsigned short bits;
};
inline float toFloat(bf16 x) {
  return __int_as_float(int(unsigned(x.bits) << 16));
}
inline bf16 toBF16(float x) {
  if (x != x)
    return {0x7fff};
  unsigned u;
  memcpy(&u, &x, 4);
  return {static_cast<unsigned short>((u + 0x7fff + ((u >> 16) & 1)) >> 16)};
}
inline float roundToBF16(float x) { return toFloat(toBF16(x)); }
inline float toFloat(f16 x) {
  _Float16 h;
  memcpy(&h, &x.bits, 2);
  return h;
}
inline f16 toF16(float x) {
  _Float16 h = x;
  f16 r;
  memcpy(&r.bits, &h, 2);
  return r;
}

inline unsigned packBF16(float first, float second) {
  return toBF16(first).bits | unsigned(toBF16(second).bits) << 16;
}
inline unsigned packF16(float first, float second) {
  return toF16(first).bits | unsigned(toF16(second).bits) << 16;
}

inline float fastExp2(float x) { return exp2f(x); }
inline float fastReciprocal(float x) { return 1.0f / x; }
inline void beginKernel() {}
inline void prefetch(const void *) {}
template <int Bytes> void startCopy(void *to, const void *from) {
  memcpy(to, from, Bytes);
}
inline void startCopyOrZero(void *to, const void *from, bool inside) {
  if (inside)
    memcpy(to, from, 16);
  else
    memset(to, 0, 16);
}
inline void endCopies() {}
template <int Left> void waitForCopies() {}

inline dim3 blockIdx, gridDim, blockDim, threadIdx;

namespace emulation {
/// A thread of a block. `Start` makes its stack; from then on it is left and
/// entered by jumps, which, other than `swapcontext`, ask the system nothing.
struct Fiber {
  ucontext_t Start;
  jmp_buf Here;
  std::vector<char> Stack = std::vector<char>(1 << 17);
  bool Started = false, Done = false;
};
struct Barrier {
  unsigned Arrived = 0, Generation = 0;
};
inline unsigned char *Shared;
inline std::vector<Fiber> Fibers;
inline jmp_buf Scheduler;
inline unsigned Now;
inline void (*Body)(void **);
inline void **Arguments;
inline uint64_t Progress;
inline Barrier Block, Parts[16];
inline std::vector<Barrier> Warps;
inline std::vector<uint64_t> Slots;
inline std::vector<std::array<unsigned, 6>> Operands; ///< of products of tiles

__attribute__((noinline)) inline void yield() {
  if (!_setjmp(Fibers[Now].Here))
    _longjmp(Scheduler, 1);
}

/// Runs fiber `Now` until it yields.
__attribute__((noinline)) inline void resume() {
  Fiber &F = Fibers[Now];
  if (_setjmp(Scheduler))
    return;
  if (F.Started)
    _longjmp(F.Here, 1);
  F.Started = true;
  setcontext(&F.Start);
}

inline void wait(Barrier &B, unsigned Count) {
  ++Progress;
  unsigned Generation = B.Generation;
  if (++B.Arrived == Count) {
    B.Arrived = 0;
    ++B.Generation;
    return;
  }
  while (B.Generation == Generation)
    yield();
}
inline void waitWarp() { wait(Warps[Now / 32], 32); }

inline void runFiber() {
  Body(Arguments);
  Fibers[Now].Done = true;
  ++Progress;
  yield();
}

/// The value that lane `From` of the warp passed.
template <typename T> T exchange(T Value, unsigned From) {
  static_assert(sizeof(T) <= 8);
  memcpy(&Slots[Now], &Value, sizeof(T));
  waitWarp();
  T Result;
  memcpy(&Result, &Slots[Now / 32 * 32 + From], sizeof(T));
  waitWarp();
  return Result;
}
} // namespace emulation

inline void __syncthreads() { emulation::wait(emulation::Block, blockDim.x); }
inline void __syncwarp() { emulation::waitWarp(); }
inline void partBarrier(int Number, int Threads) {
  emulation::wait(emulation::Parts[Number], Threads);
}
template <typename T> T __shfl_xor_sync(unsigned, T Value, int Mask) {
  return emulation::exchange(Value, (emulation::Now % 32) ^ unsigned(Mask));
}
template <typename T> T __shfl_up_sync(unsigned, T Value, unsigned Delta) {
  unsigned Lane = emulation::Now % 32;
  return emulation::exchange(Value, Lane < Delta ? Lane : Lane - Delta);
}
template <typename T> T __shfl_sync(unsigned, T Value, unsigned Lane) {
  return emulation::exchange(Value, Lane);
}
template <typename T> unsigned __match_any_sync(unsigned, T Value) {
  using namespace emulation;
  Slots[Now] = uint64_t(Value);
  waitWarp();
  unsigned Same = 0;
  for (unsigned Lane = 0; Lane < 32; ++Lane)
    Same |= unsigned(Slots[Now / 32 * 32 + Lane] == uint64_t(Value)) << Lane;
  waitWarp();
  return Same;
}
// As Mma.cuh says.
template <bool Transposed> void loadTiles(unsigned (&To)[4], const void *Row) {
  using namespace emulation;
  Slots[Now] = reinterpret_cast<uintptr_t>(Row);
  waitWarp();
  unsigned Lane = Now % 32, Along = Lane / 4, Across = Lane % 4 * 2;
  for (unsigned I = 0; I < 4; ++I) {
    unsigned short Pair[2];
    for (unsigned K = 0; K < 2; ++K) {
      unsigned OfRow = Transposed ? Across + K : Along;
      unsigned Column = Transposed ? Along : Across + K;
      auto *At =
          reinterpret_cast<const uint4 *>(Slots[Now / 32 * 32 + 8 * I + OfRow]);
      uint4 Words = *At; // 16 bytes that must be aligned
      memcpy(&Pair[K], reinterpret_cast<char *>(&Words) + 2 * Column, 2);
    }
    To[I] = Pair[0] | unsigned(Pair[1]) << 16;
  }
  waitWarp();
}
template <typename T>
void multiplyTiles(float (&C)[4], const unsigned (&A)[4], unsigned B0,
                   unsigned B1) {
  using namespace emulation;
  Operands[Now] = {A[0], A[1], A[2], A[3], B0, B1};
  waitWarp();
  auto Element = [](unsigned Lane, unsigned Word, unsigned Half) {
    unsigned Bits = Operands[Now / 32 * 32 + Lane][Word] >> 16 * Half;
    return toFloat(T{static_cast<unsigned short>(Bits)});
  };
  unsigned Lane = Now % 32;
  for (unsigned I = 0; I < 4; ++I) {
    unsigned Row = Lane / 4, Column = Lane % 4 * 2 + I % 2;
    for (unsigned K = 0; K < 16; ++K)
      C[I] += Element(Row * 4 + K % 8 / 2, I / 2 + K / 8 * 2, K % 2) *
              Element(Column * 4 + K % 8 / 2, 4 + K / 8, K % 2);
  }
  waitWarp();
}
// As Wgmma.cuh says.
typedef const char *TileAddress;
inline TileAddress addressOfTile(const void *P, int Bytes) {
  return static_cast<const char *>(P) + Bytes;
}
inline unsigned char *alignForTiles(unsigned char *P) {
  return P + (0 - reinterpret_cast<uintptr_t>(P)) % 1024;
}
inline void beginProducts() {}
inline void finishProducts() {}
inline void readFromHereOn(float &) {}
inline void shareWithProducts() {}
/// Element `Column` of row `Row` of a tile.
template <typename T>
float elementOfTile(TileAddress Tile, unsigned Row, unsigned Column) {
  auto Place = reinterpret_cast<uintptr_t>(Tile) + Row * 128 + Column * 2;
  T Element;
  memcpy(&Element, reinterpret_cast<char *>(Place ^ Place / 128 % 8 * 16), 2);
  return toFloat(Element);
}
template <typename T, int N>
void multiplyGroup(float (&C)[N][4], TileAddress A, TileAddress B, bool Add) {
  unsigned Lane = emulation::Now % 32, First = emulation::Now / 32 % 4 * 16;
  for (unsigned I = 0; I < 4 * N; ++I) {
    float Sum = Add ? C[I / 4][I % 4] : 0;
    for (unsigned K = 0; K < 16; ++K)
      Sum += elementOfTile<T>(A, First + Lane / 4 + I / 2 % 2 * 8, K) *
             elementOfTile<T>(B, I / 4 * 8 + Lane % 4 * 2 + I % 2, K);
    C[I / 4][I % 4] = Sum;
  }
}
template <typename T>
void multiplyGroup(float (*C)[4], const unsigned (&A)[4], TileAddress B) {
  using namespace emulation;
  Operands[Now] = {A[0], A[1], A[2], A[3]};
  waitWarp();
  unsigned Lane = Now % 32;
  for (unsigned I = 0; I < 32; ++I)
    for (unsigned K = 0; K < 16; ++K) {
      unsigned From = Now / 32 * 32 + Lane / 4 * 4 + K % 8 / 2;
      unsigned Word = Operands[From][I / 2 % 2 + K / 8 * 2] >> K % 2 * 16;
      C[I / 4][I % 4] +=
          toFloat(T{static_cast<unsigned short>(Word)}) *
          elementOfTile<T>(B, K, I / 4 * 8 + Lane % 4 * 2 + I % 2);
    }
  waitWarp();
}
inline unsigned __ballot_sync(unsigned Mask, bool Value) {
  unsigned Same = __match_any_sync(Mask, Value);
  return Value ? Same : ~Same;
}
inline int atomicAdd(int *Address, int Value) {
  int Old = *Address;
  *Address += Value;
  return Old;
}

namespace emulation {
inline void runBlock(unsigned Threads) {
  Block = {};
  std::fill(std::begin(Parts), std::end(Parts), Barrier());
  Warps.assign((Threads + 31) / 32, {});
  Slots.assign((Threads + 31) / 32 * 32, 0);
  Operands.resize(Slots.size());
  for (unsigned I = 0; I < Threads; ++I) {
    Fiber &F = Fibers[I];
    F.Started = F.Done = false;
    getcontext(&F.Start);
    F.Start.uc_stack.ss_sp = F.Stack.data();
    F.Start.uc_stack.ss_size = F.Stack.size();
    F.Start.uc_link = nullptr;
    makecontext(&F.Start, runFiber, 0);
  }
  for (unsigned Left = Threads; Left > 0;) {
    uint64_t Before = Progress;
    for (Now = 0; Now < Threads; ++Now) {
      if (Fibers[Now].Done)
        continue;
      threadIdx.x = Now;
      threadIdx.y = threadIdx.z = 0;
      resume();
      Left -= Fibers[Now].Done;
    }
    if (Left > 0 && Progress == Before) {
      fprintf(stderr, "a barrier that not every thread reaches\n");
      abort();
    }
  }
}

/// Runs `Kernel` over the grid, with the addresses of its arguments.
inline void launch(const unsigned *Grid, unsigned Threads, unsigned SharedBytes,
                   void (*Kernel)(void **), void **Of) {
  std::vector<uint4> Memory((SharedBytes + 15) / 16 + 1);
  Shared = reinterpret_cast<unsigned char *>(Memory.data());
  Body = Kernel;
  Arguments = Of;
  gridDim = {Grid[0], Grid[1], Grid[2]};
  blockDim = {Threads, 1, 1};
  if (Fibers.size() < Threads)
    Fibers.resize(Threads);
  for (blockIdx.z = 0; blockIdx.z < Grid[2]; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < Grid[1]; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < Grid[0]; ++blockIdx.x)
        runBlock(Threads);
}

template <typename... A, size_t... I>
void call(void (*Kernel)(A...), void **Of, std::index_sequence<I...>) {
  Kernel((A)(uintptr_t)Of[I]...);
}
template <typename... A> void call(void (*Kernel)(A...), void **Of) {
  call(Kernel, Of, std::index_sequence_for<A...>());
}

/// The same of a kernel as it is declared: each argument is an address or a
/// whole number.
template <auto Kernel>
void launch(const unsigned *Grid, unsigned Threads, unsigned SharedBytes,
            void **Of) {
  launch(Grid, Threads, SharedBytes, [](void **X) { call(Kernel, X); }, Of);
}
} // namespace emulation

#endif // REMAT_TEST_TARGET_CUDAKERNELS_EMULATION_H
