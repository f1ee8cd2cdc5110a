//===- Embedding.cpp - rows of a table and their gradient -----------------===//
//
// The gradient sorts the positions by id with a stable radix sort (integer
// counts, no atomics) and then sums each table row's positions in order.
//
//===----------------------------------------------------------------------===//

#include "KernelWriter.h"
#include "remat/Analysis/CUDAKernelPlan.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;
using namespace remat::cuda;

static constexpr const char *ForwardSource = R"cuda(
// Row ids[i] of a table of @V@ rows of @C@; zeros for an id outside.
extern "C" __global__ void __launch_bounds__(256) @NAME@(const @I@ *ids, const @T@ *table, @T@ *y) {
  constexpr int64 Count = @COUNT@, C = @C@;
  constexpr int N = @N@;
  int64 i = ((int64)blockIdx.x * 256 + threadIdx.x) * N;
  if (i >= Count)
    return;
  int64 id = ids[i / C];
  Vec<@T@, N> v = {};
  if (id >= 0 && id < @V@)
    v = load<N>(table + id * C + i % C);
  store(y + i, v);
}
)cuda";

static constexpr const char *CountSource = R"cuda(
// Counts how often each value of @DIGITS@ of the sort's digit occurs in a tile
// of @TILE@ keys: counts is [digits, tiles].
extern "C" __global__ void __launch_bounds__(@TILE@) @NAME@(const @I@ *ids, int *counts) {
  __shared__ int sums[@DIGITS@];
  int i = blockIdx.x * @TILE@ + threadIdx.x;
  if (threadIdx.x < @DIGITS@)
    sums[threadIdx.x] = 0;
  __syncthreads();
  if (i < @IDS@) {
    int64 id = ids[i];
    uint32 key = id >= 0 && id < @V@ ? (uint32)id : @V@u;
    atomicAdd(&sums[key >> @SHIFT@ & (@DIGITS@ - 1)], 1);
  }
  __syncthreads();
  if (threadIdx.x < @DIGITS@)
    counts[threadIdx.x * @TILES@ + blockIdx.x] = sums[threadIdx.x];
}
)cuda";

static constexpr const char *ScanSource = R"cuda(
// Replaces @COUNT@ counts by the sum of those before each.
extern "C" __global__ void __launch_bounds__(1024) @NAME@(int *counts) {
  constexpr int Count = @COUNT@, Run = (Count + 1023) / 1024;
  __shared__ int sums[32];
  int begin = threadIdx.x * Run, end = begin + Run < Count ? begin + Run : Count;
  int own = 0;
  for (int i = begin; i < end; ++i)
    own += counts[i];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, sum = own;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    int before = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step)
      sum += before;
  }
  if (lane == 31)
    sums[warp] = sum;
  __syncthreads();
  sum -= own;
  for (int w = 0; w < warp; ++w)
    sum += sums[w];
  for (int i = begin; i < end; ++i) {
    int count = counts[i];
    counts[i] = sum;
    sum += count;
  }
}
)cuda";

static constexpr const char *ScatterSource = R"cuda(
// Puts each key and position of a tile of @TILE@ at its place in the order of
// the sort's digit; equal digits keep their order.
extern "C" __global__ void __launch_bounds__(@TILE@) @NAME@(
    const @I@ *ids, const int *positions, const int *begins, uint32 *toKeys, int *toPositions) {
  constexpr int Warps = @TILE@ / 32;
  __shared__ int counts[Warps][@DIGITS@];
  int i = blockIdx.x * @TILE@ + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int d = lane; d < @DIGITS@; d += 32)
    counts[warp][d] = 0;
  __syncthreads();
  bool valid = i < @IDS@;
  int64 id = valid ? (int64)ids[i] : 0;
  uint32 key = id >= 0 && id < @V@ ? (uint32)id : @V@u;
  // Threads behind the end have a digit of their own.
  uint32 digit = valid ? key >> @SHIFT@ & (@DIGITS@ - 1) : @DIGITS@;
  uint32 same = __match_any_sync(0xffffffffu, digit);
  int rank = __popc(same & ((1u << lane) - 1));
  if (valid && rank == 0)
    counts[warp][digit] = __popc(same);
  __syncthreads();
  if (!valid)
    return;
  int place = begins[digit * @TILES@ + blockIdx.x] + rank;
  for (int w = 0; w < warp; ++w)
    place += counts[w][digit];
  toKeys[place] = key;
  toPositions[place] = @POSITION@;
}
)cuda";

static constexpr const char *SumSource = R"cuda(
// The gradient of each table row: the sum, in order, of the gradient rows of
// the positions that named it.
extern "C" __global__ void __launch_bounds__(@BLOCK@) @NAME@(
    const uint32 *keys, const int *positions, const @G@ *grad, @T@ *tableGrad) {
  constexpr int C = @C@, N = @N@, Unroll = 8;
  uint32 row = blockIdx.x;
  int bounds[2];
#pragma unroll
  for (int side = 0; side < 2; ++side) {
    int low = 0, high = @IDS@;
    while (low < high) {
      int middle = (low + high) / 2;
      if (keys[middle] < row + side)
        low = middle + 1;
      else
        high = middle;
    }
    bounds[side] = low;
  }
  int i = (blockIdx.y * @BLOCK@ + threadIdx.x) * N;
  if (i >= C)
    return;
  float sum[N];
  for (int k = 0; k < N; ++k)
    sum[k] = 0.0f;
  int p = bounds[0];
  for (; p + Unroll <= bounds[1]; p += Unroll) {
    Vec<@G@, N> v[Unroll];
#pragma unroll
    for (int u = 0; u < Unroll; ++u)
      v[u] = load<N>(grad + (int64)positions[p + u] * C + i);
#pragma unroll
    for (int u = 0; u < Unroll; ++u)
      for (int k = 0; k < N; ++k)
        sum[k] += toFloat(v[u][k]);
  }
  for (; p < bounds[1]; ++p) {
    Vec<@G@, N> v = load<N>(grad + (int64)positions[p] * C + i);
    for (int k = 0; k < N; ++k)
      sum[k] += toFloat(v[k]);
  }
  for (int k = 0; k < N; ++k)
    tableGrad[(int64)row * C + i + k] = fromFloat<@T@>(sum[k]);
}
)cuda";

void remat::cuda::addEmbedding(EmbeddingOp Op, Launches &Out) {
  RankedTensorType Table = getType(Op.getTable());
  int64_t Columns = Table.getDimSize(1), Count = getCount(Op.getResult());
  int64_t Width = getAccessWidth({Op.getTable(), Op.getResult()}, Columns);
  Writer W("embedding", ForwardSource);
  W.set("I", getName(Op.getIds())).set("T", getName(Op.getTable()));
  W.set("V", Table.getDimSize(0)).set("C", Columns).set("COUNT", Count);
  W.set("N", Width).block(256).grid(llvm::divideCeil(Count, 256 * Width));
  W.operand(0).operand(1).result(0).finish(Out);
}

/// One pass of the sort, over digit number `Pass`. The first reads the ids, the
/// others the keys and positions that the one before left.
static void addSortPass(const SortPlan &Plan, int64_t Pass, int64_t TableRows,
                        llvm::StringRef IdType, Launches &Out) {
  bool IsFirst = Pass == 0;
  int64_t From = Pass % 2, To = 1 - From;
  auto SetUp = [&](Writer &W) -> Writer & {
    W.set("I", IsFirst ? IdType.str() : "uint32").set("IDS", Plan.Ids);
    W.set("V", TableRows).set("SHIFT", Pass * 8).set("TILES", Plan.Tiles);
    W.set("TILE", SortPlan::Tile).set("DIGITS", SortPlan::Digits);
    W.block(SortPlan::Tile).grid(Plan.Tiles);
    return IsFirst ? W.operand(0) : W.workspace(Plan.getKeys(From));
  };
  Writer Count("sort_count", CountSource);
  SetUp(Count).workspace(Plan.getCounts()).finish(Out);
  Writer Scan("sort_scan", ScanSource);
  Scan.set("COUNT", Plan.Tiles * SortPlan::Digits).block(1024);
  Scan.workspace(Plan.getCounts()).finish(Out);
  Writer Scatter("sort_scatter", ScatterSource);
  SetUp(Scatter).set("POSITION", IsFirst ? "i" : "positions[i]");
  Scatter.workspace(Plan.getPositions(From)).workspace(Plan.getCounts());
  Scatter.workspace(Plan.getKeys(To)).workspace(Plan.getPositions(To));
  Scatter.finish(Out);
}

void remat::cuda::addEmbeddingBackward(EmbeddingBackwardOp Op, Launches &Out) {
  RankedTensorType Table = getType(Op.getTableGrad());
  int64_t Rows = Table.getDimSize(0), Columns = Table.getDimSize(1);
  SortPlan Plan = getSortPlan(getCount(Op.getIds()), Rows);
  for (int64_t Pass = 0; Pass < Plan.Passes; ++Pass)
    addSortPass(Plan, Pass, Rows, getName(Op.getIds()), Out);

  int64_t Width = std::min<int64_t>(4, getAccessWidth({Op.getGrad()}, Columns));
  int64_t Threads = std::min<int64_t>(
      256, llvm::alignTo(llvm::divideCeil(Columns, Width), 32));
  Writer W("embedding_backward", SumSource);
  W.set("G", getName(Op.getGrad())).set("T", getName(Op.getTableGrad()));
  W.set("C", Columns).set("N", Width).set("IDS", Plan.Ids).block(Threads);
  W.grid(Rows, llvm::divideCeil(Columns, Threads * Width));
  W.workspace(Plan.getKeys(Plan.Passes % 2));
  W.workspace(Plan.getPositions(Plan.Passes % 2));
  W.operand(1).result(0).finish(Out);
}
