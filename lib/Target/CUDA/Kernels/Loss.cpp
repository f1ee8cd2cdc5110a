//===- Loss.cpp - cross entropy and mean squared error --------------------===//
//
// Cross entropy reads the logits once forward and once backward. Sums over rows
// are made in a fixed order.
//
//===----------------------------------------------------------------------===//

#include "KernelWriter.h"
#include "remat/Analysis/CUDAKernelPlan.h"
#include "llvm/Support/MathExtras.h"

using namespace remat;
using namespace remat::cuda;

static constexpr const char *RowsSource = R"cuda(
// Log-sum-exp and loss of each row of @C@ logits. A thread keeps the maximum of
// what it saw and the sum relative to it.
extern "C" __global__ void __launch_bounds__(@BLOCK@) @NAME@(
    const @T@ *logits, const @I@ *targets, float *lse, float *losses) {
  constexpr int64 Rows = @ROWS@;
  constexpr int C = @C@, Threads = @THREADS@, N = @N@;
  int64 row = (int64)blockIdx.x * @ROWSPERBLOCK@ + threadIdx.x / Threads;
  if (row >= Rows)
    return;
  const @T@ *x = logits + row * C;
  float high = -infinity(), sum = 0.0f;
#pragma unroll 4
  for (int i = threadIdx.x % Threads * N; i < C; i += Threads * N) {
    Vec<@T@, N> v = load<N>(x + i);
    float local = toFloat(v[0]);
    for (int k = 1; k < N; ++k)
      local = fmaxf(local, toFloat(v[k]));
    if (local > high) {
      sum *= expf(high - local);
      high = local;
    }
    if (high > -infinity())
      for (int k = 0; k < N; ++k)
        sum += expf(toFloat(v[k]) - high);
  }
  float top = @GROUP@Max@GROUPARG@(high);
  sum = @GROUP@Sum@GROUPARG@(high > -infinity() ? sum * expf(high - top) : 0.0f);
  if (threadIdx.x % Threads != 0)
    return;
  float result = top + logf(sum);
  lse[row] = result;
  int64 target = targets[row];
  bool known = target >= 0 && target < C;
  losses[row] = target == @IGNORE@ll ? 0.0f : known ? result - toFloat(x[known ? target : 0]) : infinity() - infinity();
}
)cuda";

static constexpr const char *MeanSource = R"cuda(
// The mean of the losses over the rows that count.
extern "C" __global__ void __launch_bounds__(1024) @NAME@(
    const float *losses, const @I@ *targets, float *loss) {
  float sum = 0.0f;
  int64 count = 0;
  for (int64 i = threadIdx.x; i < @ROWS@; i += 1024) {
    sum += losses[i];
    count += targets[i] != @IGNORE@ll;
  }
  sum = blockSum<1024>(sum);
  count = blockSum<1024>(count);
  if (threadIdx.x == 0)
    *loss = count == 0 ? 0.0f : sum / (float)count;
}
)cuda";

static constexpr const char *ScaleSource = R"cuda(
// The gradient of the loss over the number of rows that count.
extern "C" __global__ void __launch_bounds__(1024) @NAME@(
    const float *grad, const @I@ *targets, float *scale) {
  int64 count = 0;
  for (int64 i = threadIdx.x; i < @ROWS@; i += 1024)
    count += targets[i] != @IGNORE@ll;
  count = blockSum<1024>(count);
  if (threadIdx.x == 0)
    *scale = count == 0 ? 0.0f : *grad / (float)count;
}
)cuda";

static constexpr const char *BackwardSource = R"cuda(
// (softmax(logits) - one_hot(target)) * scale for rows of @C@; may lie over the
// logits.
extern "C" __global__ void __launch_bounds__(@BLOCK@) @NAME@(
    const @T@ *logits, const @I@ *targets, const float *lse, const float *scale, @T@ *logitsGrad) {
  constexpr int64 Rows = @ROWS@;
  constexpr int C = @C@, Threads = @THREADS@, N = @N@, Unroll = 4;
  int64 row = (int64)blockIdx.x * @ROWSPERBLOCK@ + threadIdx.x / Threads;
  if (row >= Rows)
    return;
  const @T@ *x = logits + row * C;
  @T@ *dx = logitsGrad + row * C;
  int64 target = targets[row];
  float factor = target == @IGNORE@ll ? 0.0f : *scale, offset = lse[row];
  int begin = threadIdx.x % Threads * N;
  for (; begin < C; begin += Unroll * Threads * N) {
    Vec<@T@, N> v[Unroll];
#pragma unroll
    for (int u = 0; u < Unroll; ++u)
      if (begin + u * Threads * N < C)
        v[u] = load<N>(x + begin + u * Threads * N);
#pragma unroll
    for (int u = 0; u < Unroll; ++u) {
      int i = begin + u * Threads * N;
      if (i >= C)
        continue;
      for (int k = 0; k < N; ++k) {
        float p = expf(toFloat(v[u][k]) - offset) - (i + k == target ? 1.0f : 0.0f);
        v[u][k] = fromFloat<@T@>(factor == 0.0f ? 0.0f : p * factor);
      }
      store(dx + i, v[u]);
    }
  }
}
)cuda";

static void setRows(Writer &W, mlir::Value Logits, mlir::Value Targets,
                    int64_t Width, int64_t Ignore) {
  int64_t Columns = getType(Logits).getShape().back();
  int64_t Rows = getCount(Targets);
  RowPlan Plan = Columns <= 1024 ? RowPlan{32, 8} : RowPlan{256, 1};
  bool IsWarp = Plan.Threads == 32;
  W.set("T", getName(Logits)).set("I", getName(Targets)).set("ROWS", Rows);
  W.set("C", Columns).set("THREADS", Plan.Threads).set("N", Width);
  W.set("ROWSPERBLOCK", Plan.RowsPerBlock).set("IGNORE", Ignore);
  W.set("GROUP", IsWarp ? "warp" : "block");
  W.set("GROUPARG", IsWarp ? "" : "<" + std::to_string(Plan.Threads) + ">");
  W.block(Plan.getBlockThreads());
  W.grid(llvm::divideCeil(Rows, Plan.RowsPerBlock));
}

void remat::cuda::addCrossEntropy(CrossEntropyOp Op, Launches &Out) {
  int64_t Columns = getType(Op.getLogits()).getShape().back();
  int64_t Ignore = Op.getIgnoreIndex();
  Writer Rows("cross_entropy_rows", RowsSource);
  setRows(Rows, Op.getLogits(), Op.getTargets(),
          getAccessWidth({Op.getLogits()}, Columns), Ignore);
  Rows.operand(0).operand(1).result(1).workspace().finish(Out);

  Writer Mean("cross_entropy_mean", MeanSource);
  Mean.set("I", getName(Op.getTargets())).set("ROWS", getCount(Op.getLse()));
  Mean.set("IGNORE", Ignore).block(1024);
  Mean.workspace().operand(1).result(0).finish(Out);
}

void remat::cuda::addCrossEntropyBackward(CrossEntropyBackwardOp Op,
                                          Launches &Out) {
  int64_t Columns = getType(Op.getLogits()).getShape().back();
  int64_t Ignore = Op.getIgnoreIndex();
  Writer Scale("cross_entropy_scale", ScaleSource);
  Scale.set("I", getName(Op.getTargets())).set("ROWS", getCount(Op.getLse()));
  Scale.set("IGNORE", Ignore).block(1024);
  Scale.operand(0).operand(2).workspace().finish(Out);

  Writer W("cross_entropy_backward", BackwardSource);
  setRows(W, Op.getLogits(), Op.getTargets(),
          getAccessWidth({Op.getLogits(), Op.getLogitsGrad()}, Columns),
          Ignore);
  W.operand(1).operand(2).operand(3).workspace().result(0).finish(Out);
}

static constexpr const char *SquaresSource = R"cuda(
// Sums of squared differences of @COUNT@ elements, in parts of @PART@.
extern "C" __global__ void __launch_bounds__(256) @NAME@(
    const @T@ *x, const @U@ *y, float *partial) {
  constexpr int N = @N@;
  int64 begin = (int64)blockIdx.x * @PART@;
  int64 end = begin + @PART@ < @COUNT@ ? begin + @PART@ : @COUNT@;
  float sum = 0.0f;
#pragma unroll 4
  for (int64 i = begin + threadIdx.x * N; i < end; i += 256 * N) {
    Vec<@T@, N> a = load<N>(x + i);
    Vec<@U@, N> b = load<N>(y + i);
    for (int k = 0; k < N; ++k) {
      float d = toFloat(a[k]) - toFloat(b[k]);
      sum += d * d;
    }
  }
  sum = blockSum<256>(sum);
  if (threadIdx.x == 0)
    partial[blockIdx.x] = sum;
}
)cuda";

static constexpr const char *JoinSource = R"cuda(
// The mean from @CHUNKS@ partial sums.
extern "C" __global__ void __launch_bounds__(256) @NAME@(const float *partial, float *loss) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < @CHUNKS@; i += 256)
    sum += partial[i];
  sum = blockSum<256>(sum);
  if (threadIdx.x == 0)
    *loss = sum / @COUNT@;
}
)cuda";

void remat::cuda::addMse(MseOp Op, Launches &Out) {
  int64_t Count = getCount(Op.getPrediction()), Chunks = getFlatChunks(Count);
  Writer W("mse", SquaresSource);
  W.set("T", getName(Op.getPrediction())).set("U", getName(Op.getTarget()));
  W.set("COUNT", Count);
  W.set("PART", llvm::alignTo(llvm::divideCeil(Count, Chunks), 64));
  W.set("N", getAccessWidth({Op.getPrediction(), Op.getTarget()}, Count));
  W.block(256).grid(Chunks);
  W.operand(0).operand(1).workspace().finish(Out);

  Writer Join("mse_join", JoinSource);
  Join.set("CHUNKS", Chunks).set("COUNT", printFloat(double(Count))).block(256);
  Join.workspace().result(0).finish(Out);
}
