//===- Window.cuh - convolution and pooling -------------------------------===//
//
// A convolution and its gradients are matrix products whose right factor is
// never laid out: its elements are found as they are read. Sums run in one
// order; where few results are wanted of many products, parts of each result go
// to the workspace and a second launch joins them.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "Prelude.cuh"

namespace kernels {

// A dimension of extent elements over which a window of size elements takes
// count positions.
template <int64 extent, int64 count, int64 size, int64 stride, int64 low,
          int64 dilation>
struct Axis {
  static constexpr int64 Extent = extent, Count = count, Size = size;
  // Where element `offset` of the window at `position` lies.
  static __device__ __forceinline__ int64 locate(int64 position, int64 offset) {
    return position * stride - low + offset * dilation;
  }
  static __device__ __forceinline__ bool isInside(int64 element) {
    return element >= 0 && element < extent;
  }
  // The position from which element `offset` of the window is `element`, or -1.
  static __device__ __forceinline__ int64 find(int64 element, int64 offset) {
    int64 begin = element + low - offset * dilation;
    return begin >= 0 && begin % stride == 0 && begin / stride < count
               ? begin / stride
               : -1;
  }
};

// A window over three axes.
template <typename AxisZ, typename AxisY, typename AxisX> struct Window {
  using Z = AxisZ;
  using Y = AxisY;
  using X = AxisX;
  static constexpr int64 Extent = Z::Extent * Y::Extent * X::Extent;
  static constexpr int64 Count = Z::Count * Y::Count * X::Count;
  static constexpr int64 Size = Z::Size * Y::Size * X::Size;
  // The element that element `offset` of the window at `position` is, or -1.
  static __device__ __forceinline__ int64 locate(int64 position, int64 offset) {
    int64 x = X::locate(position % X::Count, offset % X::Size);
    int64 y =
        Y::locate(position / X::Count % Y::Count, offset / X::Size % Y::Size);
    int64 z =
        Z::locate(position / X::Count / Y::Count, offset / X::Size / Y::Size);
    return X::isInside(x) && Y::isInside(y) && Z::isInside(z)
               ? (z * Y::Extent + y) * X::Extent + x
               : -1;
  }
  // The position from which element `offset` of the window is `element`, or -1.
  static __device__ __forceinline__ int64 find(int64 element, int64 offset) {
    int64 x = X::find(element % X::Extent, offset % X::Size);
    int64 y =
        Y::find(element / X::Extent % Y::Extent, offset / X::Size % Y::Size);
    int64 z =
        Z::find(element / X::Extent / Y::Extent, offset / X::Size / Y::Size);
    return x >= 0 && y >= 0 && z >= 0 ? (z * Y::Count + y) * X::Count + x : -1;
  }
};

// The three products of a convolution with channels input and outputs output
// channels a group. Each is M x N with K terms for each of its groups: the
// places of the factors a and b, -1 for a zero, and of the result.
template <typename W, int64 batch, int64 groups, int64 channels, int64 outputs>
struct ConvolutionProduct {
  static constexpr int64 Groups = groups, M = outputs, N = batch * W::Count,
                         K = channels * W::Size;
  static __device__ __forceinline__ int64 a(int64 g, int64 m, int64 k) {
    return (g * M + m) * K + k;
  }
  static __device__ __forceinline__ int64 b(int64 g, int64 k, int64 n) {
    int64 element = W::locate(n % W::Count, k % W::Size);
    int64 plane = (n / W::Count * groups + g) * channels + k / W::Size;
    return element < 0 ? -1 : plane * W::Extent + element;
  }
  static __device__ __forceinline__ int64 result(int64 g, int64 m, int64 n) {
    return ((n / W::Count * groups + g) * outputs + m) * W::Count +
           n % W::Count;
  }
};

// Of weight and the result's gradient: the operand's gradient.
template <typename W, int64 batch, int64 groups, int64 channels, int64 outputs>
struct InputGradProduct {
  static constexpr int64 Groups = groups, M = channels, N = batch * W::Extent,
                         K = outputs * W::Size;
  static __device__ __forceinline__ int64 a(int64 g, int64 m, int64 k) {
    return ((g * outputs + k / W::Size) * channels + m) * W::Size + k % W::Size;
  }
  static __device__ __forceinline__ int64 b(int64 g, int64 k, int64 n) {
    int64 position = W::find(n % W::Extent, k % W::Size);
    int64 plane = (n / W::Extent * groups + g) * outputs + k / W::Size;
    return position < 0 ? -1 : plane * W::Count + position;
  }
  static __device__ __forceinline__ int64 result(int64 g, int64 m, int64 n) {
    return ((n / W::Extent * groups + g) * channels + m) * W::Extent +
           n % W::Extent;
  }
};

// Of the result's gradient and the operand: the weight's gradient.
template <typename W, int64 batch, int64 groups, int64 channels, int64 outputs>
struct WeightGradProduct {
  static constexpr int64 Groups = groups, M = outputs, N = channels * W::Size,
                         K = batch * W::Count;
  static __device__ __forceinline__ int64 a(int64 g, int64 m, int64 k) {
    return ((k / W::Count * groups + g) * outputs + m) * W::Count +
           k % W::Count;
  }
  static __device__ __forceinline__ int64 b(int64 g, int64 k, int64 n) {
    int64 element = W::locate(k % W::Count, n % W::Size);
    int64 plane = (k / W::Count * groups + g) * channels + n / W::Size;
    return element < 0 ? -1 : plane * W::Extent + element;
  }
  static __device__ __forceinline__ int64 result(int64 g, int64 m, int64 n) {
    return (g * M + m) * N + n;
  }
};

// Tiles of 64 x 64 results a block of 256 threads, each with 4 x 4: the terms
// of a result are cut into Chunks parts of Part terms, whose sums lie behind
// each other.
template <typename T, typename Out, typename Product, int64 Part, int64 Chunks>
REMAT_KERNEL convolutionTiles(const T *a, const T *b, Out *y) {
  using P = Product;
  constexpr int Tile = 64, Step = 16, Each = 4;
  constexpr int64 TilesM = (P::M + Tile - 1) / Tile;
  constexpr int64 TilesN = (P::N + Tile - 1) / Tile;
  __shared__ float sharedA[Step][Tile + 1], sharedB[Step][Tile];
  int64 rest = blockIdx.x;
  int64 beginN = rest % TilesN * Tile;
  rest /= TilesN;
  int64 beginM = rest % TilesM * Tile;
  rest /= TilesM;
  int64 chunk = rest % Chunks, g = rest / Chunks;
  int64 end = (chunk + 1) * Part < P::K ? (chunk + 1) * Part : P::K;
  int row = threadIdx.x / (Tile / Each), column = threadIdx.x % (Tile / Each);
  float sums[Each][Each];
  for (int i = 0; i < Each; ++i)
    for (int j = 0; j < Each; ++j)
      sums[i][j] = 0.0f;
  for (int64 begin = chunk * Part; begin < end; begin += Step) {
    for (int e = threadIdx.x; e < Tile * Step; e += 256) {
      int64 k = begin + e % Step, m = beginM + e / Step;
      sharedA[e % Step][e / Step] =
          k < end && m < P::M ? toFloat(a[P::a(g, m, k)]) : 0.0f;
    }
    for (int e = threadIdx.x; e < Tile * Step; e += 256) {
      int64 k = begin + e / Tile, n = beginN + e % Tile;
      int64 place = k < end && n < P::N ? P::b(g, k, n) : -1;
      sharedB[e / Tile][e % Tile] = place < 0 ? 0.0f : toFloat(b[place]);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < Step; ++k)
#pragma unroll
      for (int i = 0; i < Each; ++i)
#pragma unroll
        for (int j = 0; j < Each; ++j)
          sums[i][j] += sharedA[k][row * Each + i] *
                        sharedB[k][column + j * (Tile / Each)];
    __syncthreads();
  }
  for (int i = 0; i < Each; ++i)
    for (int j = 0; j < Each; ++j) {
      int64 m = beginM + row * Each + i;
      int64 n = beginN + column + j * (Tile / Each);
      if (m < P::M && n < P::N)
        y[chunk * P::Groups * P::M * P::N + P::result(g, m, n)] =
            fromFloat<Out>(sums[i][j]);
    }
}

// Adds up Chunks parts of each of Count results.
template <typename T, int64 Count, int64 Chunks>
REMAT_KERNEL convolutionJoin(const float *partial, T *y) {
  int64 i = (int64)blockIdx.x * 256 + threadIdx.x;
  if (i >= Count)
    return;
  float sum = 0.0f;
  for (int64 chunk = 0; chunk < Chunks; ++chunk)
    sum += partial[chunk * Count + i];
  y[i] = fromFloat<T>(sum);
}

// Groups of few channels: Threads threads a result.
template <typename T, typename Product, int Threads>
REMAT_KERNEL convolutionElements(const T *a, const T *b, T *y) {
  using P = Product;
  int64 rest = ((int64)blockIdx.x * 256 + threadIdx.x) / Threads;
  int lane = threadIdx.x % Threads;
  if (rest >= P::Groups * P::M * P::N)
    return;
  int64 n = rest % P::N;
  rest /= P::N;
  int64 m = rest % P::M, g = rest / P::M;
  float sum = 0.0f;
  for (int64 k = lane; k < P::K; k += Threads) {
    int64 place = P::b(g, k, n);
    if (place >= 0)
      sum += toFloat(a[P::a(g, m, k)]) * toFloat(b[place]);
  }
  if constexpr (Threads > 1)
    sum = groupSum<Threads>(sum);
  if (lane == 0)
    y[P::result(g, m, n)] = fromFloat<T>(sum);
}

// The first largest element that the window sees at a position of a plane:
// -1 where it sees padding alone. NaN is larger than all others.
template <typename W, typename T>
__device__ __forceinline__ int64 findLargest(const T *plane, int64 position,
                                             float &largest) {
  int64 at = -1;
  largest = -infinity();
  for (int64 offset = 0; offset < W::Size; ++offset) {
    int64 element = W::locate(position, offset);
    if (element < 0)
      continue;
    float x = toFloat(plane[element]);
    if (at < 0 || x > largest || (x != x && largest == largest)) {
      largest = x;
      at = element;
    }
  }
  return at;
}

// A thread a position of Count of them in all.
template <typename T, typename W, int64 Count>
REMAT_KERNEL maxPool(const T *x, T *y) {
  int64 i = (int64)blockIdx.x * 256 + threadIdx.x;
  if (i >= Count)
    return;
  float largest;
  findLargest<W>(x + i / W::Count * W::Extent, i % W::Count, largest);
  y[i] = fromFloat<T>(largest);
}

// A thread an element of Count of them in all: it asks each window that sees
// the element whether it is the largest.
template <typename T, typename W, int64 Count>
REMAT_KERNEL maxPoolBackward(const T *grad, const T *x, T *y) {
  int64 i = (int64)blockIdx.x * 256 + threadIdx.x;
  if (i >= Count)
    return;
  int64 plane = i / W::Extent, element = i % W::Extent;
  float sum = 0.0f;
  // The last element of a window sees the first position: in the order of the
  // positions, as the host sums.
  for (int64 offset = W::Size - 1; offset >= 0; --offset) {
    int64 position = W::find(element, offset);
    float largest;
    if (position >= 0 &&
        findLargest<W>(x + plane * W::Extent, position, largest) == element)
      sum += toFloat(grad[plane * W::Count + position]);
  }
  y[i] = fromFloat<T>(sum);
}

} // namespace kernels
