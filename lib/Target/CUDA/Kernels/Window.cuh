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
// count positions. Numbers of elements are of type I.
template <typename I, int64 extent, int64 count, int64 size, int64 stride,
          int64 low, int64 dilation>
struct Axis {
  using Index = I;
  static constexpr I Extent = extent, Count = count, Size = size;
  // Elements are cut into tiles of Stride, each of which Seen windows see at
  // most: that of the tile's number, and those before it.
  static constexpr I Stride = stride;
  static constexpr I FirstTile = low / stride;
  static constexpr I Tiles = (extent - 1 + low) / stride - FirstTile + 1;
  static constexpr I Seen = dilation * (size - 1) / stride + 1;
  // Where element `offset` of the window at `position` lies.
  static __device__ __forceinline__ I locate(I position, I offset) {
    return position * (I)stride - (I)low + offset * (I)dilation;
  }
  static __device__ __forceinline__ bool isInside(I element) {
    return element >= 0 && element < Extent;
  }
  // Which element of the window that began `back` tiles before its tile element
  // `step` of the tile is, or -1.
  static __device__ __forceinline__ constexpr I offsetOf(I step, I back) {
    return (back * (I)stride + step) % (I)dilation == 0 &&
                   (back * (I)stride + step) / (I)dilation < Size
               ? (back * (I)stride + step) / (I)dilation
               : -1;
  }
  // The position from which element `offset` of the window is `element`, or -1.
  static __device__ __forceinline__ I find(I element, I offset) {
    I begin = element + (I)low - offset * (I)dilation;
    return begin >= 0 && begin % (I)stride == 0 && begin / (I)stride < Count
               ? begin / (I)stride
               : -1;
  }
};

// Element `step` of a tile, and the position of the window that began `back`
// tiles before it; either may lie outside.
template <typename A>
__device__ __forceinline__ typename A::Index
tileElement(typename A::Index tile, typename A::Index step) {
  return A::locate(tile + A::FirstTile, 0) + step;
}
template <typename A>
__device__ __forceinline__ typename A::Index
tileWindow(typename A::Index tile, typename A::Index back) {
  return tile + A::FirstTile - back;
}

// A window over three axes.
template <typename AxisZ, typename AxisY, typename AxisX> struct Window {
  using Z = AxisZ;
  using Y = AxisY;
  using X = AxisX;
  using Index = typename X::Index;
  static constexpr Index Extent = Z::Extent * Y::Extent * X::Extent;
  static constexpr Index Count = Z::Count * Y::Count * X::Count;
  static constexpr Index Size = Z::Size * Y::Size * X::Size;
  // The element that element `offset` of the window at `position` is, or -1.
  static __device__ __forceinline__ Index locate(Index position, Index offset) {
    Index x = X::locate(position % X::Count, offset % X::Size);
    Index y =
        Y::locate(position / X::Count % Y::Count, offset / X::Size % Y::Size);
    Index z =
        Z::locate(position / X::Count / Y::Count, offset / X::Size / Y::Size);
    return X::isInside(x) && Y::isInside(y) && Z::isInside(z)
               ? (z * Y::Extent + y) * X::Extent + x
               : -1;
  }
  // The position from which element `offset` of the window is `element`, or -1.
  static __device__ __forceinline__ Index find(Index element, Index offset) {
    Index x = X::find(element % X::Extent, offset % X::Size);
    Index y =
        Y::find(element / X::Extent % Y::Extent, offset / X::Size % Y::Size);
    Index z =
        Z::find(element / X::Extent / Y::Extent, offset / X::Size / Y::Size);
    return x >= 0 && y >= 0 && z >= 0 ? (z * Y::Count + y) * X::Count + x : -1;
  }
};

// Where the elements of images lie that have channels channels of size
// elements.
template <int64 channels, int64 size, bool channelsLast> struct Images {
  static __device__ __forceinline__ int64 at(int64 image, int64 channel,
                                             int64 element) {
    return channelsLast ? (image * size + element) * channels + channel
                        : (image * channels + channel) * size + element;
  }
};

// The three products of a convolution with channels input and outputs output
// channels a group. Each is M x N with K terms for each of its groups: the
// places of the factors a and b, -1 for a zero, and of the result.
template <typename W, int64 batch, int64 groups, int64 channels, int64 outputs,
          bool channelsLast>
struct ConvolutionProduct {
  using From = Images<groups * channels, W::Extent, channelsLast>;
  using To = Images<groups * outputs, W::Count, channelsLast>;
  using Weight = Images<channels, W::Size, channelsLast>;
  static constexpr int64 Groups = groups, M = outputs, N = batch * W::Count,
                         K = channels * W::Size;
  static __device__ __forceinline__ int64 a(int64 g, int64 m, int64 k) {
    return Weight::at(g * M + m, k / W::Size, k % W::Size);
  }
  static __device__ __forceinline__ int64 b(int64 g, int64 k, int64 n) {
    int64 element = W::locate(n % W::Count, k % W::Size);
    return element < 0
               ? -1
               : From::at(n / W::Count, g * channels + k / W::Size, element);
  }
  static __device__ __forceinline__ int64 result(int64 g, int64 m, int64 n) {
    return To::at(n / W::Count, g * outputs + m, n % W::Count);
  }
};

// Of weight and the result's gradient: the operand's gradient.
template <typename W, int64 batch, int64 groups, int64 channels, int64 outputs,
          bool channelsLast>
struct InputGradProduct {
  using From = Images<groups * channels, W::Extent, channelsLast>;
  using To = Images<groups * outputs, W::Count, channelsLast>;
  using Weight = Images<channels, W::Size, channelsLast>;
  static constexpr int64 Groups = groups, M = channels, N = batch * W::Extent,
                         K = outputs * W::Size;
  static __device__ __forceinline__ int64 a(int64 g, int64 m, int64 k) {
    return Weight::at(g * outputs + k / W::Size, m, k % W::Size);
  }
  static __device__ __forceinline__ int64 b(int64 g, int64 k, int64 n) {
    int64 position = W::find(n % W::Extent, k % W::Size);
    return position < 0
               ? -1
               : To::at(n / W::Extent, g * outputs + k / W::Size, position);
  }
  static __device__ __forceinline__ int64 result(int64 g, int64 m, int64 n) {
    return From::at(n / W::Extent, g * channels + m, n % W::Extent);
  }
};

// Of the result's gradient and the operand: the weight's gradient.
template <typename W, int64 batch, int64 groups, int64 channels, int64 outputs,
          bool channelsLast>
struct WeightGradProduct {
  using From = Images<groups * channels, W::Extent, channelsLast>;
  using To = Images<groups * outputs, W::Count, channelsLast>;
  using Weight = Images<channels, W::Size, channelsLast>;
  static constexpr int64 Groups = groups, M = outputs, N = channels * W::Size,
                         K = batch * W::Count;
  static __device__ __forceinline__ int64 a(int64 g, int64 m, int64 k) {
    return To::at(k / W::Count, g * outputs + m, k % W::Count);
  }
  static __device__ __forceinline__ int64 b(int64 g, int64 k, int64 n) {
    int64 element = W::locate(k % W::Count, n % W::Size);
    return element < 0
               ? -1
               : From::at(k / W::Count, g * channels + n / W::Size, element);
  }
  static __device__ __forceinline__ int64 result(int64 g, int64 m, int64 n) {
    return Weight::at(g * M + m, n / W::Size, n % W::Size);
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

// The first largest elements that a window sees, for N channels: NaN is larger
// than all others.
template <typename W, int64 channels, int N> struct Largest {
  using Index = typename W::Index;
  float value[N];
  int at[N]; // which of the window's elements, -1 where all is padding

  template <typename T>
  __device__ __forceinline__ Largest(const T *plane, Index position) {
    constexpr int Unrolled = W::Size <= 27 ? W::Size : 1;
#pragma unroll
    for (int k = 0; k < N; ++k) {
      value[k] = -infinity();
      at[k] = -1;
    }
#pragma unroll Unrolled
    for (int offset = 0; offset < W::Size; ++offset) {
      Index element = W::locate(position, offset);
      if (element < 0)
        continue;
      Vec<T, N> v = load<N>(plane + element * (Index)channels);
#pragma unroll
      for (int k = 0; k < N; ++k) {
        float x = toFloat(v[k]);
        if (at[k] < 0 || x > value[k] || (x != x && value[k] == value[k])) {
          value[k] = x;
          at[k] = offset;
        }
      }
    }
  }
};

// Planes of elements of C channels each, of which a thread has N. It has one of
// Count positions in all.
template <typename T, typename W, int64 Count, int64 C, int N>
REMAT_KERNEL maxPool(const T *x, T *y) {
  using I = typename W::Index;
  I i = (I)blockIdx.x * 256 + (I)threadIdx.x;
  if (i >= Count * (C / N))
    return;
  I channel = i % (I)(C / N) * N;
  I position = i / (I)(C / N), plane = position / W::Count;
  Largest<W, C, N> largest(x + plane * W::Extent * (I)C + channel,
                           position % W::Count);
  Vec<T, N> v;
  for (int k = 0; k < N; ++k)
    v[k] = fromFloat<T>(largest.value[k]);
  store(y + position * (I)C + channel, v);
}

// The same for one of Count elements in all: it asks each window that sees the
// element whether it is the largest.
template <typename T, typename W, int64 Count, int64 C, int N>
REMAT_KERNEL maxPoolBackward(const T *grad, const T *x, T *y) {
  using I = typename W::Index;
  I i = (I)blockIdx.x * 256 + (I)threadIdx.x;
  if (i >= Count * (C / N))
    return;
  I channel = i % (I)(C / N) * N;
  I element = i / (I)(C / N), plane = element / W::Extent;
  float sums[N];
  for (int k = 0; k < N; ++k)
    sums[k] = 0.0f;
  // The last element of a window sees the first position: in the order of the
  // positions, as the host sums.
#pragma unroll 1
  for (int offset = W::Size - 1; offset >= 0; --offset) {
    I position = W::find(element % W::Extent, offset);
    if (position < 0)
      continue;
    Largest<W, C, N> largest(x + plane * W::Extent * (I)C + channel, position);
    Vec<T, N> g =
        load<N>(grad + (plane * W::Count + position) * (I)C + channel);
#pragma unroll
    for (int k = 0; k < N; ++k)
      if (largest.at[k] == offset)
        sums[k] += toFloat(g[k]);
  }
  Vec<T, N> v;
  for (int k = 0; k < N; ++k)
    v[k] = fromFloat<T>(sums[k]);
  store(y + element * (I)C + channel, v);
}

// The same where windows are few: a thread has a tile of elements, and asks
// each window that sees some of them once. Count tiles in all.
template <typename T, typename W, int64 Count, int64 C, int N>
REMAT_KERNEL maxPoolBackwardTiles(const T *grad, const T *x, T *y) {
  using I = typename W::Index;
  using Z = typename W::Z;
  using Y = typename W::Y;
  using X = typename W::X;
  constexpr int Elements = Z::Stride * Y::Stride * X::Stride;
  constexpr int Windows = Z::Seen * Y::Seen * X::Seen;
  I i = (I)blockIdx.x * 256 + (I)threadIdx.x;
  if (i >= Count * (C / N))
    return;
  I channel = i % (I)(C / N) * N, tile = i / (I)(C / N);
  I tileX = tile % X::Tiles, tileY = tile / X::Tiles % Y::Tiles;
  I tileZ = tile / (X::Tiles * Y::Tiles) % Z::Tiles;
  I plane = tile / (X::Tiles * Y::Tiles * Z::Tiles);
  const T *from = x + plane * W::Extent * (I)C + channel;
  float sums[Elements][N];
#pragma unroll
  for (int e = 0; e < Elements; ++e)
#pragma unroll
    for (int k = 0; k < N; ++k)
      sums[e][k] = 0.0f;
  // In the order of the positions, as the host sums.
#pragma unroll
  for (int w = Windows - 1; w >= 0; --w) {
    const int backX = w % X::Seen, backY = w / X::Seen % Y::Seen;
    const int backZ = w / (X::Seen * Y::Seen);
    I px = tileWindow<X>(tileX, backX), py = tileWindow<Y>(tileY, backY);
    I pz = tileWindow<Z>(tileZ, backZ);
    if (px < 0 || px >= X::Count || py < 0 || py >= Y::Count || pz < 0 ||
        pz >= Z::Count)
      continue;
    I position = (pz * Y::Count + py) * X::Count + px;
    Largest<W, C, N> largest(from, position);
    Vec<T, N> g =
        load<N>(grad + (plane * W::Count + position) * (I)C + channel);
#pragma unroll
    for (int e = 0; e < Elements; ++e) {
      const int ox = X::offsetOf(e % X::Stride, backX);
      const int oy = Y::offsetOf(e / X::Stride % Y::Stride, backY);
      const int oz = Z::offsetOf(e / (X::Stride * Y::Stride), backZ);
      if (ox < 0 || oy < 0 || oz < 0)
        continue;
#pragma unroll
      for (int k = 0; k < N; ++k)
        if (largest.at[k] == (oz * Y::Size + oy) * X::Size + ox)
          sums[e][k] += toFloat(g[k]);
    }
  }
#pragma unroll
  for (int e = 0; e < Elements; ++e) {
    I ex = tileElement<X>(tileX, e % X::Stride);
    I ey = tileElement<Y>(tileY, e / X::Stride % Y::Stride);
    I ez = tileElement<Z>(tileZ, e / (X::Stride * Y::Stride));
    if (!X::isInside(ex) || !Y::isInside(ey) || !Z::isInside(ez))
      continue;
    Vec<T, N> v;
#pragma unroll
    for (int k = 0; k < N; ++k)
      v[k] = fromFloat<T>(sums[e][k]);
    I element = (ez * Y::Extent + ey) * X::Extent + ex;
    store(y + (plane * W::Extent + element) * (I)C + channel, v);
  }
}

} // namespace kernels
