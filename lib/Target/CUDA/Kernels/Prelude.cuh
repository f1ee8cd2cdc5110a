//===- Prelude.cuh - what every kernel uses -------------------------------===//
//
// Types, conversions, vector accesses, reductions and random numbers. Nothing
// else is included: NVRTC compiles programs without an include path.
// Conversions to and from the 16-bit types, the declaration of dynamic shared
// memory and copies to it in the background, barriers of some warps,
// approximations and hints for the cache are the only parts that only CUDA can
// run; a host emulation that defines REMAT_EMULATION brings its own.
//
//===----------------------------------------------------------------------===//

#pragma once

typedef long long int64;
typedef unsigned long long uint64;
typedef unsigned int uint32;

// Begins a kernel's code: a template over its types and sizes. A program has,
// for each that it uses, a __global__ function that calls it with those.
#define REMAT_KERNEL __device__ __forceinline__ void

#ifndef REMAT_EMULATION
#define REMAT_SHARED(name) extern __shared__ __align__(16) unsigned char name[]
struct bf16 {
  unsigned short bits;
};
struct f16 {
  unsigned short bits;
};

__device__ __forceinline__ float toFloat(bf16 x) {
  return __uint_as_float((uint32)x.bits << 16);
}
__device__ __forceinline__ float toFloat(f16 x) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x.bits));
  return r;
}
__device__ __forceinline__ bf16 toBF16(float x) {
  bf16 r;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r.bits) : "f"(x));
  return r;
}
__device__ __forceinline__ f16 toF16(float x) {
  f16 r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(x));
  return r;
}
__device__ __forceinline__ uint32 packBF16(float first, float second) {
  uint32 r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(second), "f"(first));
  return r;
}
// x as it is once it is a bf16, which is the upper half of a float.
__device__ __forceinline__ float roundToBF16(float x) {
  return __uint_as_float(packBF16(0.0f, x));
}
__device__ __forceinline__ uint32 packF16(float first, float second) {
  uint32 r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(second), "f"(first));
  return r;
}

// 2 to the power of x within 2 units of the last place; tiny results are 0.
__device__ __forceinline__ float fastExp2(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
// 1 / x within a unit of the last place; tiny results are 0.
__device__ __forceinline__ float fastReciprocal(float x) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

// Begins every kernel. From Hopper on, one is started while the last blocks of
// the one before it run, and waits here until what came before is done.
__device__ __forceinline__ void beginKernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// Starts to bring what lies at p into the cache.
__device__ __forceinline__ void prefetch(const void *p) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
}

// A barrier for some of a block's warps: Threads threads that give the same
// number, 1 to 15.
__device__ __forceinline__ void partBarrier(int number, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

// Starts to copy 4, 8 or 16 bytes to shared memory, as part of this thread's
// next group of copies.
template <int Bytes>
__device__ __forceinline__ void startCopy(void *to, const void *from) {
  uint32 place = (uint32)__cvta_generic_to_shared(to);
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place),
                 "l"(from)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(place),
                 "l"(from), "n"(Bytes)
                 : "memory");
}
// The same of 16 bytes of which none are read, and zeros written, unless
// `inside`.
__device__ __forceinline__ void startCopyOrZero(void *to, const void *from,
                                                bool inside) {
  uint32 place = (uint32)__cvta_generic_to_shared(to);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place),
               "l"(from), "r"(inside ? 16 : 0)
               : "memory");
}
// Ends a group of copies of this thread.
__device__ __forceinline__ void endCopies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
// Waits until at most Left of this thread's groups are under way.
template <int Left> __device__ __forceinline__ void waitForCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Left) : "memory");
}
#endif

// Eight bits: four of exponent, three of mantissa, no infinity. Not all
// supported GPUs convert it, so it is plain arithmetic.
struct f8e4m3 {
  unsigned char bits;
};
__device__ __forceinline__ float toFloat(f8e4m3 x) {
  // Scaling by 2^120 puts the exponent right, for subnormal numbers too.
  int magnitude = (x.bits & 0x7f) << 20;
  float r = __int_as_float(magnitude) * 1.329227995784916e+36f;
  if ((x.bits & 0x7f) == 0x7f)
    r = __int_as_float(0x7ff00000);
  return x.bits & 0x80 ? -r : r;
}
// What is larger than 448 becomes 448.
__device__ __forceinline__ f8e4m3 toF8E4M3(float x) {
  int all = __float_as_int(x), bits = all & 0x7fffffff, code;
  if (bits > 0x7f800000)
    code = 0x7f;
  else if (bits > 0x43e00000) // 448, the largest
    code = 0x7e;
  else if (bits < 0x3c800000)
    // Subnormal: adding 2^14 leaves the rounded multiple of 2^-9 in the lowest
    // bits.
    code = __float_as_int(__int_as_float(bits) + 16384.0f) - 0x46800000;
  else
    code = (bits + 0x7ffff + ((bits >> 20) & 1) - (120 << 23)) >> 20;
  f8e4m3 r;
  r.bits = (unsigned char)(code | (all < 0 ? 0x80 : 0));
  return r;
}

__device__ __forceinline__ float infinity() {
  return __int_as_float(0x7f800000);
}

__device__ __forceinline__ float toFloat(float x) { return x; }
__device__ __forceinline__ float toFloat(int x) { return (float)x; }
__device__ __forceinline__ float toFloat(int64 x) { return (float)x; }
__device__ __forceinline__ float toFloat(bool x) { return x ? 1.0f : 0.0f; }

// Rounds to nearest even.
template <typename T> __device__ __forceinline__ T fromFloat(float x);
template <> __device__ __forceinline__ float fromFloat<float>(float x) {
  return x;
}
template <> __device__ __forceinline__ bf16 fromFloat<bf16>(float x) {
  return toBF16(x);
}
template <> __device__ __forceinline__ f16 fromFloat<f16>(float x) {
  return toF16(x);
}
template <> __device__ __forceinline__ f8e4m3 fromFloat<f8e4m3>(float x) {
  return toF8E4M3(x);
}

// Two numbers, each rounded to 16 bits, the first one in the lower half.
template <typename T>
__device__ __forceinline__ uint32 pack(float first, float second);
template <>
__device__ __forceinline__ uint32 pack<bf16>(float first, float second) {
  return packBF16(first, second);
}
template <>
__device__ __forceinline__ uint32 pack<f16>(float first, float second) {
  return packF16(first, second);
}

// The machine word of a given width: what one load or store moves.
template <int Bytes> struct Word;
template <> struct Word<1> {
  typedef unsigned char Type;
};
template <> struct Word<2> {
  typedef unsigned short Type;
};
template <> struct Word<4> {
  typedef unsigned int Type;
};
template <> struct Word<8> {
  typedef uint2 Type;
};
template <> struct Word<16> {
  typedef uint4 Type;
};

// N elements of type T that one access moves: N * sizeof(T) is 1, 2, 4, 8
// or 16.
template <typename T, int N> union Vec {
  typename Word<N * sizeof(T)>::Type word;
  uint32 pairs[(N * sizeof(T) + 3) / 4]; // where T has 16 bits
  T data[N];
  __device__ __forceinline__ T &operator[](int i) { return data[i]; }
  __device__ __forceinline__ const T &operator[](int i) const {
    return data[i];
  }
};

// Rounds N numbers to nearest even: of 16 bits two at a time.
template <typename T, int N>
__device__ __forceinline__ void fromFloats(const float (&x)[N], Vec<T, N> &to) {
  if constexpr (sizeof(T) == 2 && N > 1)
#pragma unroll
    for (int k = 0; k < N; k += 2)
      to.pairs[k / 2] = pack<T>(x[k], x[k + 1]);
  else
#pragma unroll
    for (int k = 0; k < N; ++k)
      to[k] = fromFloat<T>(x[k]);
}

// Loads or stores N elements at p, which is aligned to N * sizeof(T) bytes.
template <int N, typename T>
__device__ __forceinline__ Vec<T, N> load(const T *p) {
  Vec<T, N> v;
  v.word = *reinterpret_cast<const typename Word<N * sizeof(T)>::Type *>(p);
  return v;
}
template <typename T, int N>
__device__ __forceinline__ void store(T *p, const Vec<T, N> &v) {
  *reinterpret_cast<typename Word<N * sizeof(T)>::Type *>(p) = v.word;
}

// Loads N elements in accesses of M as float; p is aligned to M elements.
template <int M, int N, typename T>
__device__ __forceinline__ void loadFloats(const T *p, float (&out)[N]) {
#pragma unroll
  for (int i = 0; i < N; i += M) {
    Vec<T, M> v = load<M>(p + i);
#pragma unroll
    for (int k = 0; k < M; ++k)
      out[i + k] = toFloat(v[k]);
  }
}

// The larger value; a NaN wins.
template <typename T> __device__ __forceinline__ T maximum(T a, T b) {
  return a > b || a != a ? a : b;
}

// Sum and maximum over `lanes` neighbouring threads of a warp, a power of two:
// every thread gets the result, the same bits in each.
template <int lanes, typename T> __device__ __forceinline__ T lanesSum(T x) {
#pragma unroll
  for (int mask = lanes / 2; mask > 0; mask >>= 1)
    x += __shfl_xor_sync(0xffffffffu, x, mask);
  return x;
}
template <int lanes, typename T> __device__ __forceinline__ T lanesMax(T x) {
#pragma unroll
  for (int mask = lanes / 2; mask > 0; mask >>= 1)
    x = maximum(x, __shfl_xor_sync(0xffffffffu, x, mask));
  return x;
}
template <typename T> __device__ __forceinline__ T warpSum(T x) {
  return lanesSum<32>(x);
}
template <typename T> __device__ __forceinline__ T warpMax(T x) {
  return lanesMax<32>(x);
}

// Sum and maximum over a block of Threads threads, a multiple of 32: every
// thread gets the result. All threads of the block must call.
template <int Threads, typename T> __device__ __forceinline__ T blockSum(T x) {
  x = warpSum(x);
  if (Threads == 32)
    return x;
  __shared__ T partial[32];
  __syncthreads();
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = x;
  __syncthreads();
  x = threadIdx.x % 32 < Threads / 32 ? partial[threadIdx.x % 32] : T(0);
  return warpSum(x);
}
template <int Threads, typename T> __device__ __forceinline__ T blockMax(T x) {
  x = warpMax(x);
  if (Threads == 32)
    return x;
  __shared__ T partial[32];
  __syncthreads();
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = x;
  __syncthreads();
  x = partial[threadIdx.x % 32 < Threads / 32 ? threadIdx.x % 32 : 0];
  return warpMax(x);
}

// Sum and maximum over the threads that share a row: a warp or a whole block.
template <int Threads, typename T> __device__ __forceinline__ T groupSum(T x) {
  if constexpr (Threads == 32)
    return warpSum(x);
  else
    return blockSum<Threads>(x);
}
template <int Threads, typename T> __device__ __forceinline__ T groupMax(T x) {
  if constexpr (Threads == 32)
    return warpMax(x);
  else
    return blockMax<Threads>(x);
}

// Until all of them are here, and see what the others wrote.
template <int Threads> __device__ __forceinline__ void groupWait() {
  if constexpr (Threads == 32)
    __syncwarp();
  else
    __syncthreads();
}

// Philox 4x32-10 (Salmon et al., 2011): four random words for elements
// 4 * block .. 4 * block + 3 of the stream (seed, id, step).
__device__ __forceinline__ uint4 philox(int64 seed, int64 id, int64 step,
                                        int64 block) {
  uint32 k0 = (uint32)seed, k1 = (uint32)((uint64)seed >> 32);
  uint32 x = (uint32)block;
  uint32 y = (uint32)((uint64)block >> 32) ^ (uint32)((uint64)id >> 32);
  uint32 z = (uint32)id, w = (uint32)step;
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    uint64 p = (uint64)0xD2511F53u * x, q = (uint64)0xCD9E8D57u * z;
    x = (uint32)(q >> 32) ^ y ^ k0;
    z = (uint32)(p >> 32) ^ w ^ k1;
    y = (uint32)q;
    w = (uint32)p;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return make_uint4(x, y, z, w);
}
__device__ __forceinline__ uint32 wordOf(uint4 words, int i) {
  return i == 0 ? words.x : i == 1 ? words.y : i == 2 ? words.z : words.w;
}

// A word as a number in [0, 1).
__device__ __forceinline__ float uniformOf(uint32 word) {
  return (float)(word >> 8) * 5.9604644775390625e-8f;
}

// Element i of the uniform or normal stream (seed, id, step).
__device__ __forceinline__ float randomUniform(int64 seed, int64 id, int64 step,
                                               int64 i) {
  return uniformOf(wordOf(philox(seed, id, step, i >> 2), (int)(i & 3)));
}
__device__ __forceinline__ float randomNormal(int64 seed, int64 id, int64 step,
                                              int64 i) {
  uint4 words = philox(seed, id, step, i >> 2);
  bool second = (i & 2) != 0;
  float u0 = uniformOf(second ? words.z : words.x);
  float u1 = uniformOf(second ? words.w : words.y);
  float r = sqrtf(-2.0f * logf(1.0f - u0)), angle = 6.283185307179586f * u1;
  return (i & 1) != 0 ? r * sinf(angle) : r * cosf(angle);
}
