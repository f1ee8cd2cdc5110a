//===- Loss.cuh - cross entropy and mean squared error --------------------===//
//
// Cross entropy reads the logits once forward and once backward. Sums over rows
// are made in a fixed order.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "Prelude.cuh"

namespace kernels {

// How rows of C logits are shared out: `threads` to a row, `access` elements at
// a time in `Steps` steps.
template <int64 rows, int columns, int threads, int rowsPerBlock, int access>
struct LossShape {
  enum : int64 { Rows = rows };
  enum : int { C = columns, Threads = threads, N = access };
  enum : int { RowsPerBlock = rowsPerBlock };
  enum : int { Steps = (columns + threads * access - 1) / (threads * access) };

  static __device__ __forceinline__ int64 getRow() {
    return (int64)blockIdx.x * RowsPerBlock + threadIdx.x / Threads;
  }
  // Where the elements of this thread begin that it has at a step.
  static __device__ __forceinline__ int getColumn(int step) {
    return (step * Threads + threadIdx.x % Threads) * N;
  }
};

// A row as it lies in memory.
template <typename Shape, typename T> struct RowInMemory {
  enum : int { Unroll = 4 };
  enum : bool { Whole = false };
  const T *x;
  __device__ __forceinline__ Vec<T, Shape::N> get(int step) const {
    return load<Shape::N>(x + Shape::getColumn(step));
  }
};

// A row on its way to shared memory: each thread copies what it reads itself, a
// group of copies a step. Loops over the steps of a whole row are unrolled.
template <typename Shape, typename T> struct RowOnItsWay {
  enum : int { Unroll = Shape::Steps };
  enum : bool { Whole = true };
  T *x;
  __device__ __forceinline__ RowOnItsWay(T *place, const T *row) : x(place) {
#pragma unroll
    for (int s = 0; s < Shape::Steps; ++s) {
      int i = Shape::getColumn(s);
      if (i < Shape::C)
        startCopy<Shape::N * sizeof(T)>(x + i, row + i);
      endCopies();
    }
  }
  template <int Left = Shape::Steps - 1>
  __device__ __forceinline__ Vec<T, Shape::N> get(int step) const {
    if constexpr (Left > 0)
      if (Shape::Steps - 1 - step < Left)
        return get<Left - 1>(step);
    waitForCopies<Left>();
    return load<Shape::N>(x + Shape::getColumn(step));
  }
};

// Of exponentials; powers of 2 are what a GPU computes.
constexpr float Log2E = 1.4426950408889634f, Ln2 = 0.6931471805599453f;

// The exponent that all terms of a row with this maximum have less.
__device__ __forceinline__ float getOffset(float high) {
  return __fmul_rn(high, Log2E);
}

// The largest logit of a row, and the sum of 2^(x * Log2E - offset) over all.
struct PowerSum {
  float Top, Sum;

  // Log-sum-exp less a logit. What rounding of the offset did to the sum it
  // did to this logit too: where that one makes nearly all of the sum, what is
  // left of the others.
  __device__ __forceinline__ float above(float logit) const {
    return logf(Sum) - fmaf(logit, Log2E, -getOffset(Top)) * Ln2;
  }
  __device__ __forceinline__ float logSumExp() const {
    return Top > -infinity() ? Top + above(Top) : Top;
  }
};

// Of a row, for every thread of it. A thread keeps the maximum of what it saw
// and the sum relative to it.
template <typename Shape, typename Row>
__device__ __forceinline__ PowerSum sumPowers(const Row &row) {
  constexpr int Threads = Shape::Threads, N = Shape::N, Unroll = Row::Unroll;
  float high = -infinity(), sum = 0.0f;
#pragma unroll Unroll
  for (int s = 0;
       Row::Whole ? s < Shape::Steps : Shape::getColumn(s) < Shape::C; ++s) {
    if (Row::Whole && Shape::getColumn(s) >= Shape::C)
      break;
    auto v = row.get(s);
    float local = toFloat(v[0]);
    for (int k = 1; k < N; ++k)
      local = fmaxf(local, toFloat(v[k]));
    if (local > high) {
      sum *= fastExp2(getOffset(high) - getOffset(local));
      high = local;
    }
    if (high > -infinity())
      for (int k = 0; k < N; ++k)
        sum += fastExp2(fmaf(toFloat(v[k]), Log2E, -getOffset(high)));
  }
  float top = groupMax<Threads>(high);
  sum = groupSum<Threads>(high > -infinity()
                              ? sum * fastExp2(getOffset(high) - getOffset(top))
                              : 0.0f);
  return {top, sum};
}

// The logit of a row's target; what is no class has none.
template <typename Shape, typename T>
__device__ __forceinline__ float targetLogit(const T *x, int64 target) {
  return target >= 0 && target < Shape::C ? toFloat(x[target])
                                          : infinity() - infinity();
}

// Log-sum-exp and loss of each row, whose targets are of type I.
template <typename T, typename I, typename Shape, int64 Ignore>
REMAT_KERNEL crossEntropyRows(const T *logits, const I *targets, float *lse,
                              float *losses) {
  int64 row = Shape::getRow();
  if (row >= Shape::Rows)
    return;
  const T *x = logits + row * Shape::C;
  PowerSum powers = sumPowers<Shape>(RowInMemory<Shape, T>{x});
  if (threadIdx.x % Shape::Threads != 0)
    return;
  lse[row] = powers.logSumExp();
  int64 target = targets[row];
  losses[row] =
      target == Ignore ? 0.0f : powers.above(targetLogit<Shape>(x, target));
}

// The mean of the losses over the rows that count.
template <typename I, int64 Rows, int64 Ignore>
REMAT_KERNEL crossEntropyMean(const float *losses, const I *targets,
                              float *loss) {
  float sum = 0.0f;
  int64 count = 0;
  for (int64 i = threadIdx.x; i < Rows; i += 1024) {
    sum += losses[i];
    count += targets[i] != Ignore;
  }
  sum = blockSum<1024>(sum);
  count = blockSum<1024>(count);
  if (threadIdx.x == 0)
    *loss = count == 0 ? 0.0f : sum / (float)count;
}

// The gradient of the loss over the number of rows that count.
template <typename I, int64 Rows, int64 Ignore>
REMAT_KERNEL crossEntropyScale(const float *grad, const I *targets,
                               float *scale) {
  int64 count = 0;
  for (int64 i = threadIdx.x; i < Rows; i += 1024)
    count += targets[i] != Ignore;
  count = blockSum<1024>(count);
  if (threadIdx.x == 0)
    *scale = count == 0 ? 0.0f : *grad / (float)count;
}

// Zeros in all of a row.
template <typename Shape, typename T>
__device__ __forceinline__ void clearRow(T *dx) {
  constexpr int N = Shape::N;
  Vec<T, N> zeros;
  for (int k = 0; k < N; ++k)
    zeros[k] = fromFloat<T>(0.0f);
  for (int i = threadIdx.x % Shape::Threads * N; i < Shape::C;
       i += Shape::Threads * N)
    store(dx + i, zeros);
}

// From this probability of the target on its gradient is made of the others'.
constexpr float NearlyCertain = 0.9f;

// As `crossEntropyGradient` where the target's probability is nearly one: that
// less one would cancel, and lse is rounded as large logits are. The others'
// sum is the same and does not.
template <typename Shape, typename T>
__device__ __forceinline__ void
certainGradient(const T *x, int64 target, float offset, float factor, T *dx) {
  constexpr int Threads = Shape::Threads, N = Shape::N;
  float others = 0.0f;
  for (int i = threadIdx.x % Threads * N; i < Shape::C; i += Threads * N) {
    Vec<T, N> v = load<N>(x + i);
    float out[N];
    for (int k = 0; k < N; ++k) {
      float p = fastExp2(toFloat(v[k]) * Log2E - offset);
      others += i + k == target ? 0.0f : p;
      out[k] = p * factor;
    }
    fromFloats(out, v);
    store(dx + i, v);
  }
  others = groupSum<Threads>(others);
  // By the thread that wrote there before.
  if (target / N % Threads == threadIdx.x % Threads)
    dx[target] = fromFloat<T>(-others * factor);
}

// (softmax(logits) - one_hot(target)) * factor for a row with this log-sum-exp
// whose target's logit is `own`; dx may be x. With a factor of 0 the gradient
// is 0, whatever the logits.
template <typename Shape, typename T>
__device__ __forceinline__ void crossEntropyGradient(const T *x, int64 target,
                                                     float own, float lse,
                                                     float factor, T *dx) {
  constexpr int C = Shape::C, Threads = Shape::Threads, N = Shape::N;
  constexpr int Unroll = Threads == 1024 ? 2 : 4; // what registers hold
  if (factor == 0.0f)
    return clearRow<Shape>(dx);
  float offset = lse * Log2E;
  if (fastExp2(own * Log2E - offset) > NearlyCertain)
    return certainGradient<Shape>(x, target, offset, factor, dx);
  int begin = threadIdx.x % Threads * N;
  for (; begin < C; begin += Unroll * Threads * N) {
    Vec<T, N> v[Unroll];
#pragma unroll
    for (int u = 0; u < Unroll; ++u)
      if (begin + u * Threads * N < C)
        v[u] = load<N>(x + begin + u * Threads * N);
#pragma unroll
    for (int u = 0; u < Unroll; ++u) {
      int i = begin + u * Threads * N;
      if (i >= C)
        continue;
      float out[N];
      for (int k = 0; k < N; ++k)
        out[k] = fastExp2(toFloat(v[u][k]) * Log2E - offset);
      // One run of the row has the target in it.
      if (target >= i && target < i + N)
        for (int k = 0; k < N; ++k)
          out[k] -= i + k == target ? 1.0f : 0.0f;
      for (int k = 0; k < N; ++k)
        out[k] *= factor;
      fromFloats(out, v[u]);
      store(dx + i, v[u]);
    }
  }
}

// The gradients of all rows; they may lie over the logits.
template <typename T, typename I, typename Shape, int64 Ignore>
REMAT_KERNEL crossEntropyBackward(const T *logits, const I *targets,
                                  const float *lse, const float *scale,
                                  T *logitsGrad) {
  int64 row = Shape::getRow();
  if (row >= Shape::Rows)
    return;
  const T *x = logits + row * Shape::C;
  int64 target = targets[row];
  // Before a thread writes the gradient over it.
  float own = targetLogit<Shape>(x, target);
  groupWait<Shape::Threads>();
  crossEntropyGradient<Shape>(x, target, own, lse[row],
                              target == Ignore ? 0.0f : *scale,
                              logitsGrad + row * Shape::C);
}

// Both for each row. A row that fits is kept in shared memory between the two;
// else it is in the cache when it is read again, since few rows are worked on
// at a time.
template <typename T, typename I, typename Shape, int64 Ignore, bool Kept>
REMAT_KERNEL crossEntropyWithGrad(const T *logits, const I *targets,
                                  const float *scale, float *lse, float *losses,
                                  T *logitsGrad) {
  int64 row = Shape::getRow();
  if (row >= Shape::Rows)
    return;
  const T *x = logits + row * Shape::C;
  int64 target = targets[row];
  bool first = threadIdx.x % Shape::Threads == 0;
  // Before a thread writes the gradient over it.
  float own = targetLogit<Shape>(x, target);
  PowerSum powers;
  if constexpr (Kept) {
    REMAT_SHARED(rows);
    T *place = (T *)rows + threadIdx.x / Shape::Threads * Shape::C;
    RowOnItsWay<Shape, T> kept(place, x);
    powers = sumPowers<Shape>(kept);
    x = place;
  } else {
    powers = sumPowers<Shape>(RowInMemory<Shape, T>{x});
  }
  groupWait<Shape::Threads>();
  float result = powers.logSumExp();
  if (first) {
    lse[row] = result;
    losses[row] = target == Ignore ? 0.0f : powers.above(own);
  }
  crossEntropyGradient<Shape>(x, target, own, result,
                              target == Ignore ? 0.0f : *scale,
                              logitsGrad + row * Shape::C);
}

// Sums of squared differences of Count elements, in parts of Part.
template <typename T, typename U, int64 Count, int64 Part, int N>
REMAT_KERNEL squaredDifferences(const T *x, const U *y, float *partial) {
  int64 begin = (int64)blockIdx.x * Part;
  int64 end = begin + Part < Count ? begin + Part : Count;
  float sum = 0.0f;
#pragma unroll 4
  for (int64 i = begin + threadIdx.x * N; i < end; i += 256 * N) {
    Vec<T, N> a = load<N>(x + i);
    Vec<U, N> b = load<N>(y + i);
    for (int k = 0; k < N; ++k) {
      float d = toFloat(a[k]) - toFloat(b[k]);
      sum += d * d;
    }
  }
  sum = blockSum<256>(sum);
  if (threadIdx.x == 0)
    partial[blockIdx.x] = sum;
}

// The mean of Count elements from the partial sums of Chunks blocks.
template <int64 Count, int Chunks>
REMAT_KERNEL meanOfParts(const float *partial, float *loss) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < Chunks; i += 256)
    sum += partial[i];
  sum = blockSum<256>(sum);
  if (threadIdx.x == 0)
    *loss = sum / (float)Count;
}

} // namespace kernels
