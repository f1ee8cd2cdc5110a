//===- Embedding.cuh - rows of a table and their gradient -----------------===//
//
// The gradient sorts the positions by id with a stable radix sort (Satish et
// al., 2009; atomics count integers only), finds where each table row's
// positions begin, and sums these in order.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "Prelude.cuh"

namespace kernels {

// Row ids[i] of a table of V rows of C elements, Count elements in all; zeros
// for an id outside.
template <typename T, typename I, int64 V, int64 C, int64 Count, int N>
REMAT_KERNEL embedding(const I *ids, const T *table, T *y) {
  int64 i = ((int64)blockIdx.x * 256 + threadIdx.x) * N;
  if (i >= Count)
    return;
  int64 id = ids[i / C];
  Vec<T, N> v = {};
  if (id >= 0 && id < V)
    v = load<N>(table + id * C + i % C);
  store(y + i, v);
}

// One pass of the sort of `ids` ids of a table of `rows` rows: by the eight
// bits from `shift` on, in `tiles` tiles of `tile` ids. A block of `block`
// threads has a tile, of which it takes as many ids at a time.
template <int ids, int64 rows, int shift, int tile, int tiles, int block>
struct SortPass {
  enum : int { Ids = ids, Tile = tile, Tiles = tiles, Digits = 256 };
  enum : int { Block = block };
  // An id outside the table is sorted behind all others.
  static __device__ __forceinline__ uint32 key(int64 id) {
    return id >= 0 && id < rows ? (uint32)id : (uint32)rows;
  }
  static __device__ __forceinline__ uint32 digit(uint32 key) {
    return key >> shift & (Digits - 1);
  }
  static __device__ __forceinline__ int getEnd() {
    int end = ((int)blockIdx.x + 1) * Tile;
    return end < Ids ? end : Ids;
  }
};

// Counts how often each value of the first digit occurs in a tile of keys:
// counts is [tiles, digits]. Those of the other passes, behind it, are cleared.
template <typename I, typename Pass, int Passes>
REMAT_KERNEL sortCount(const I *ids, int *counts) {
  constexpr int Digits = Pass::Digits;
  __shared__ int sums[Digits];
  if (threadIdx.x < Digits)
    sums[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * Pass::Tile + threadIdx.x; i < Pass::getEnd();
       i += Pass::Block)
    atomicAdd(&sums[Pass::digit(Pass::key(ids[i]))], 1);
  __syncthreads();
  if (threadIdx.x >= Digits)
    return;
  counts += blockIdx.x * Digits + threadIdx.x;
  *counts = sums[threadIdx.x];
  for (int pass = 1; pass < Passes; ++pass)
    counts[pass * Pass::Tiles * Digits] = 0;
}

// Where the first key of a tile with each digit goes: behind all keys of
// smaller digits and those of the same digit in the tiles before.
template <typename Pass>
__device__ __forceinline__ void findBegins(const int *counts,
                                           int (&begins)[Pass::Digits]) {
  constexpr int Digits = Pass::Digits, Parts = Pass::Block / Digits;
  __shared__ int all[Digits], before[Digits], warps[Digits / 32];
  int digit = threadIdx.x % Digits, lane = threadIdx.x % 32;
  if (threadIdx.x < Digits)
    all[digit] = before[digit] = 0;
  __syncthreads();
  int sum = 0, sumBefore = 0;
#pragma unroll 8
  for (int t = threadIdx.x / Digits; t < Pass::Tiles; t += Parts) {
    int count = counts[t * Digits + digit];
    sum += count;
    sumBefore += t < (int)blockIdx.x ? count : 0;
  }
  atomicAdd(&all[digit], sum);
  atomicAdd(&before[digit], sumBefore);
  __syncthreads();
  int own = all[digit];
  sum = own;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    int other = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step)
      sum += other;
  }
  if (threadIdx.x < Digits && lane == 31)
    warps[digit / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= Digits)
    return;
  sum += before[digit] - own;
  for (int w = 0; w < digit / 32; ++w)
    sum += warps[w];
  begins[digit] = sum;
}

// Puts each key and position of a tile at its place in the order of the pass's
// digit; equal digits keep their order. In the first pass the position of an id
// is its index. Counts the digits of the pass behind it, if there is one.
template <typename I, typename Pass, bool IsFirst, typename Next, bool IsLast>
REMAT_KERNEL sortScatter(const I *ids, const int *positions, const int *counts,
                         uint32 *toKeys, int *toPositions, int *nextCounts) {
  constexpr int Warps = Pass::Block / 32, Digits = Pass::Digits;
  __shared__ int begins[Digits], shares[Warps][Digits];
  findBegins<Pass>(counts, begins);
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int begin = blockIdx.x * Pass::Tile; begin < Pass::getEnd();
       begin += Pass::Block) {
    for (int d = lane; d < Digits; d += 32)
      shares[warp][d] = 0;
    __syncthreads();
    int i = begin + threadIdx.x;
    bool valid = i < Pass::getEnd();
    uint32 key = Pass::key(valid ? (int64)ids[i] : 0);
    // Threads behind the end have a digit of their own.
    uint32 digit = valid ? Pass::digit(key) : Digits;
    uint32 same = __match_any_sync(0xffffffffu, digit);
    int rank = __popc(same & ((1u << lane) - 1));
    if (valid && rank == 0)
      shares[warp][digit] = __popc(same);
    __syncthreads();
    if (valid) {
      int place = begins[digit] + rank;
      for (int w = 0; w < warp; ++w)
        place += shares[w][digit];
      toKeys[place] = key;
      toPositions[place] = IsFirst ? i : positions[i];
      if (!IsLast)
        atomicAdd(&nextCounts[place / Next::Tile * Digits + Next::digit(key)],
                  1);
    }
    if (Pass::Tile == Pass::Block)
      return;
    __syncthreads();
    if (threadIdx.x < Digits)
      for (int w = 0; w < Warps; ++w)
        begins[threadIdx.x] += shares[w][threadIdx.x];
    __syncthreads();
  }
}

// Where the positions of each row begin among Ids sorted keys, and the first of
// them: both have one more than the table has rows.
template <int Ids, int64 Rows>
REMAT_KERNEL findRows(const uint32 *keys, const int *positions, int *begins,
                      int *firsts) {
  int64 row = (int64)blockIdx.x * 256 + threadIdx.x;
  if (row > Rows)
    return;
  int low = 0, high = Ids;
  while (low < high) {
    int middle = (low + high) / 2;
    if (keys[middle] < row)
      low = middle + 1;
    else
      high = middle;
  }
  begins[row] = low;
  firsts[row] = low < Ids ? positions[low] : 0;
}

// How the rows of a table are shared out: a block of `threads` threads has
// `rowsOfBlock` neighbours of `columns` elements, `access` at a time in `steps`
// steps. Of the sorted positions each whole run of `run` that names one row is
// summed first.
template <int64 rows, int columns, int threads, int access, int steps,
          int rowsOfBlock, int run>
struct TableShape {
  enum : int64 { Rows = rows };
  enum : int { C = columns, Threads = threads };
  enum : int { RowsOfBlock = rowsOfBlock, Run = run };
  enum : int { N = access, Steps = steps, Elements = access * steps };

  static __device__ __forceinline__ int getColumn(int step) {
    return ((blockIdx.y * Steps + step) * Threads + threadIdx.x) * N;
  }
};

// What a thread has of a row.
template <typename Shape, typename T> struct TableRow {
  Vec<T, Shape::N> v[Shape::Steps];

  __device__ __forceinline__ void load(const T *rows, int64 row) {
#pragma unroll
    for (int s = 0; s < Shape::Steps; ++s)
      if (Shape::getColumn(s) < Shape::C)
        v[s] = ::load<Shape::N>(rows + row * Shape::C + Shape::getColumn(s));
  }
  __device__ __forceinline__ void store(T *rows, int64 row) const {
#pragma unroll
    for (int s = 0; s < Shape::Steps; ++s)
      if (Shape::getColumn(s) < Shape::C)
        ::store(rows + row * Shape::C + Shape::getColumn(s), v[s]);
  }
  __device__ __forceinline__ void addTo(float (&sum)[Shape::Elements]) const {
#pragma unroll
    for (int s = 0; s < Shape::Steps; ++s)
      if (Shape::getColumn(s) < Shape::C)
        for (int k = 0; k < Shape::N; ++k)
          sum[s * Shape::N + k] += toFloat(v[s][k]);
  }
  // Rounds the sum.
  __device__ __forceinline__ void take(const float (&sum)[Shape::Elements]) {
#pragma unroll
    for (int s = 0; s < Shape::Steps; ++s) {
      float x[Shape::N];
      for (int k = 0; k < Shape::N; ++k)
        x[k] = sum[s * Shape::N + k];
      fromFloats(x, v[s]);
    }
  }
};

// Adds rows to the sum in order: those that `which` says of [begin, end).
// Unroll of them are loaded at a time.
template <typename Shape, int Unroll, typename T, typename Which>
__device__ __forceinline__ void addTableRows(const T *rows, int begin, int end,
                                             Which which,
                                             float (&sum)[Shape::Elements]) {
#pragma unroll 1
  for (int p = begin; p < end; p += Unroll) {
    TableRow<Shape, T> loaded[Unroll];
#pragma unroll
    for (int u = 0; u < Unroll; ++u)
      if (p + u < end)
        loaded[u].load(rows, which(p + u));
#pragma unroll
    for (int u = 0; u < Unroll; ++u)
      if (p + u < end)
        loaded[u].addTo(sum);
  }
}

// The sum of the gradient's rows at each run of sorted positions, if they name
// one row.
template <typename G, typename Shape>
REMAT_KERNEL sumRuns(const uint32 *keys, const int *positions, const G *grad,
                     float *runs) {
  constexpr int Run = Shape::Run;
  int begin = blockIdx.x * Run;
  uint32 key = keys[begin];
  if (key != keys[begin + Run - 1] || key >= Shape::Rows)
    return;
  float sum[Shape::Elements] = {};
  addTableRows<Shape, 8>(
      grad, begin, begin + Run, [&](int p) { return positions[p]; }, sum);
  TableRow<Shape, float> total;
  total.take(sum);
  total.store(runs, blockIdx.x);
}

// The gradient of each table row: the sum of the gradient rows at the positions
// that named it, rounded, and the addend. Most rows have few positions: the
// first ones of all rows of a block are loaded together.
template <typename T, typename G, typename A, typename Shape, bool HasAddend>
REMAT_KERNEL embeddingBackward(const int *begins, const int *firsts,
                               const int *positions, const G *grad,
                               const float *runs, const A *addend,
                               T *tableGrad) {
  constexpr int Rows = Shape::RowsOfBlock, Run = Shape::Run;
  int64 first = (int64)blockIdx.x * Rows;
  int bounds[Rows + 1];
  TableRow<Shape, G> early[Rows];
  TableRow<Shape, A> added[Rows];
#pragma unroll
  for (int r = 0; r <= Rows; ++r)
    bounds[r] = begins[first + r < Shape::Rows ? first + r : Shape::Rows];
  auto isRun = [&](int r) {
    return bounds[r] % Run == 0 && bounds[r] + Run <= bounds[r + 1];
  };
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    int64 row = first + r < Shape::Rows ? first + r : Shape::Rows - 1;
    if (HasAddend)
      added[r].load(addend, row);
    int position = firsts[row];
    if (bounds[r] < bounds[r + 1])
      early[r].load(grad, position);
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    if (first + r >= Shape::Rows)
      return;
    float sum[Shape::Elements] = {};
    int p = bounds[r], end = bounds[r + 1];
    if (p < end && !isRun(r)) {
      early[r].addTo(sum);
      ++p;
    }
    // First those before the next whole run, if there is one, then all runs.
#pragma unroll 1
    while (p < end) {
      int next = (p + Run - 1) / Run * Run;
      int stop = next + Run <= end ? next : end;
      int last = stop + (end - stop) / Run * Run;
      addTableRows<Shape, 4>(
          grad, p, stop, [&](int p) { return positions[p]; }, sum);
      addTableRows<Shape, 2>(
          runs, stop / Run, last / Run, [](int p) { return p; }, sum);
      p = last;
    }
    TableRow<Shape, T> rounded;
    rounded.take(sum);
    if (HasAddend) {
      float total[Shape::Elements] = {};
      rounded.addTo(total);
      added[r].addTo(total);
      rounded.take(total);
    }
    rounded.store(tableGrad, first + r);
  }
}

} // namespace kernels
