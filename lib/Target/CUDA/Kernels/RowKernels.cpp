//===- RowKernels.cpp - softmax and layer norm over rows ------------------===//
//
// A row is handled by 32 threads or by a block. A short row stays in registers
// between its passes, a long one is read again from the cache. Each thread
// writes only elements that it alone has read, so that results may lie over
// operands.
//
//===----------------------------------------------------------------------===//

#include "KernelWriter.h"
#include "remat/Analysis/CUDAKernelPlan.h"
#include "llvm/Support/MathExtras.h"

using namespace remat;
using namespace remat::cuda;

/// Stands in every row kernel: which row and which of its elements a thread
/// has.
static constexpr const char *RowHeader = R"cuda(
  constexpr int64 Rows = @ROWS@;
  constexpr int C = @C@, Threads = @THREADS@, N = @N@, Steps = @STEPS@;
  constexpr bool Cached = @CACHED@;
  constexpr int Unroll = Cached ? Steps : 2;
  int64 row = (int64)blockIdx.x * @ROWSPERBLOCK@ + threadIdx.x / Threads;
  int lane = threadIdx.x % Threads;
  if (row >= Rows)
    return;
)cuda";

static constexpr const char *SoftmaxSource = R"cuda(
// y = exp(x - max) / sum over rows of @C@.
extern "C" __global__ void __launch_bounds__(@BLOCK@) @NAME@(const @T@ *x, @T@ *y) {@HEADER@
  x += row * C;
  y += row * C;
  Vec<@T@, N> cache[Cached ? Steps : 1];
  float high = -infinity();
#pragma unroll Unroll
  for (int s = 0; s < Steps; ++s) {
    int i = (s * Threads + lane) * N;
    if (i >= C)
      continue;
    Vec<@T@, N> v = load<N>(x + i);
    for (int k = 0; k < N; ++k)
      high = maximum(high, toFloat(v[k]));
    if (Cached)
      cache[s] = v;
  }
  high = @GROUP@Max@GROUPARG@(high);
  float sum = 0.0f;
#pragma unroll Unroll
  for (int s = 0; s < Steps; ++s) {
    int i = (s * Threads + lane) * N;
    if (i >= C)
      continue;
    Vec<@T@, N> v = Cached ? cache[Cached ? s : 0] : load<N>(x + i);
    for (int k = 0; k < N; ++k)
      sum += expf(toFloat(v[k]) - high);
  }
  float scale = 1.0f / @GROUP@Sum@GROUPARG@(sum);
#pragma unroll Unroll
  for (int s = 0; s < Steps; ++s) {
    int i = (s * Threads + lane) * N;
    if (i >= C)
      continue;
    Vec<@T@, N> v = Cached ? cache[Cached ? s : 0] : load<N>(x + i);
    for (int k = 0; k < N; ++k)
      v[k] = fromFloat<@T@>(expf(toFloat(v[k]) - high) * scale);
    store(y + i, v);
  }
}
)cuda";

static constexpr const char *SoftmaxBackwardSource = R"cuda(
// dx = y * (dy - sum(y * dy)) over rows of @C@.
extern "C" __global__ void __launch_bounds__(@BLOCK@) @NAME@(const @T@ *y, const @T@ *dy, @T@ *dx) {@HEADER@
  y += row * C;
  dy += row * C;
  dx += row * C;
  Vec<@T@, N> cacheY[Cached ? Steps : 1], cacheG[Cached ? Steps : 1];
  float sum = 0.0f;
#pragma unroll Unroll
  for (int s = 0; s < Steps; ++s) {
    int i = (s * Threads + lane) * N;
    if (i >= C)
      continue;
    Vec<@T@, N> v = load<N>(y + i), g = load<N>(dy + i);
    for (int k = 0; k < N; ++k)
      sum += toFloat(v[k]) * toFloat(g[k]);
    if (Cached) {
      cacheY[s] = v;
      cacheG[s] = g;
    }
  }
  sum = @GROUP@Sum@GROUPARG@(sum);
#pragma unroll Unroll
  for (int s = 0; s < Steps; ++s) {
    int i = (s * Threads + lane) * N;
    if (i >= C)
      continue;
    Vec<@T@, N> v = Cached ? cacheY[Cached ? s : 0] : load<N>(y + i);
    Vec<@T@, N> g = Cached ? cacheG[Cached ? s : 0] : load<N>(dy + i);
    for (int k = 0; k < N; ++k)
      v[k] = fromFloat<@T@>(toFloat(v[k]) * (toFloat(g[k]) - sum));
    store(dx + i, v);
  }
}
)cuda";

static constexpr const char *LayerNormSource = R"cuda(
// y = (x - mean) * rstd * scale + bias over rows of @C@.
extern "C" __global__ void __launch_bounds__(@BLOCK@) @NAME@(
    const @T@ *x, const @S@ *scale, const @S@ *bias, @T@ *y, float *mean, float *rstd) {@HEADER@
  x += row * C;
  y += row * C;
  Vec<@T@, N> cache[Cached ? Steps : 1];
  float sum = 0.0f;
#pragma unroll Unroll
  for (int s = 0; s < Steps; ++s) {
    int i = (s * Threads + lane) * N;
    if (i >= C)
      continue;
    Vec<@T@, N> v = load<N>(x + i);
    for (int k = 0; k < N; ++k)
      sum += toFloat(v[k]);
    if (Cached)
      cache[s] = v;
  }
  float m = @GROUP@Sum@GROUPARG@(sum) * (1.0f / C);
  float square = 0.0f;
#pragma unroll Unroll
  for (int s = 0; s < Steps; ++s) {
    int i = (s * Threads + lane) * N;
    if (i >= C)
      continue;
    Vec<@T@, N> v = Cached ? cache[Cached ? s : 0] : load<N>(x + i);
    for (int k = 0; k < N; ++k)
      square += (toFloat(v[k]) - m) * (toFloat(v[k]) - m);
  }
  float r = 1.0f / sqrtf(@GROUP@Sum@GROUPARG@(square) * (1.0f / C) + @EPSILON@);
#pragma unroll Unroll
  for (int s = 0; s < Steps; ++s) {
    int i = (s * Threads + lane) * N;
    if (i >= C)
      continue;
    Vec<@T@, N> v = Cached ? cache[Cached ? s : 0] : load<N>(x + i);
    float factor[N], shift[N];
    loadFloats<@M@>(scale + i, factor);
    loadFloats<@M@>(bias + i, shift);
    for (int k = 0; k < N; ++k)
      v[k] = fromFloat<@T@>((toFloat(v[k]) - m) * r * factor[k] + shift[k]);
    store(y + i, v);
  }
  if (lane == 0) {
    mean[row] = m;
    rstd[row] = r;
  }
}
)cuda";

/// Fills in what `RowHeader` asks for, for rows of the last dimension of
/// `Values`, whose shapes are equal.
static Writer &setRows(Writer &W, llvm::ArrayRef<mlir::Value> Values) {
  int64_t Columns = getType(Values[0]).getShape().back();
  int64_t Rows = getCount(Values[0]) / Columns;
  RowPlan Plan = getRowPlan(Columns);
  int64_t Width = getAccessWidth(Values, Columns);
  int64_t Steps = llvm::divideCeil(Columns, Plan.Threads * Width);
  bool IsWarp = Plan.Threads == 32;
  W.set("ROWS", Rows).set("C", Columns).set("THREADS", Plan.Threads);
  W.set("ROWSPERBLOCK", Plan.RowsPerBlock).set("N", Width).set("STEPS", Steps);
  W.set("CACHED", Steps * Width <= 32 ? "true" : "false");
  W.set("GROUP", IsWarp ? "warp" : "block");
  W.set("GROUPARG", IsWarp ? "" : "<" + std::to_string(Plan.Threads) + ">");
  W.set("T", getName(Values[0]));
  return W.block(Plan.getBlockThreads())
      .grid(llvm::divideCeil(Rows, Plan.RowsPerBlock));
}

/// The template with the row header in its place.
static std::string withHeader(llvm::StringRef Source) {
  auto [Before, After] = Source.split("@HEADER@");
  return (Before + RowHeader + After).str();
}

void remat::cuda::addSoftmax(SoftmaxOp Op, Launches &Out) {
  Writer W("softmax", withHeader(SoftmaxSource));
  setRows(W, {Op.getOperand(), Op.getResult()});
  W.operand(0).result(0).finish(Out);
}

void remat::cuda::addSoftmaxBackward(SoftmaxBackwardOp Op, Launches &Out) {
  Writer W("softmax_backward", withHeader(SoftmaxBackwardSource));
  setRows(W, {Op.getOutput(), Op.getGrad(), Op.getResult()});
  W.operand(0).operand(1).result(0).finish(Out);
}

void remat::cuda::addLayerNorm(LayerNormOp Op, Launches &Out) {
  Writer W("layer_norm", withHeader(LayerNormSource));
  setRows(W, {Op.getOperand(), Op.getResult()});
  int64_t Width = getAccessWidth({Op.getOperand(), Op.getResult()},
                                 getCount(Op.getScale()));
  W.set("M", getAccessWidth({Op.getScale(), Op.getBias()}, Width));
  W.set("S", getName(Op.getScale()))
      .set("EPSILON", printFloat(Op.getEpsilon().convertToDouble()));
  W.operand(0).operand(1).operand(2).result(0).result(1).result(2).finish(Out);
}
