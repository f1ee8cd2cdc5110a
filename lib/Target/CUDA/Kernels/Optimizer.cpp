//===- Optimizer.cpp - SGD, AdamW and the gradient norm -------------------===//
//
// Parameters and states are updated in place, a few elements a thread.
//
//===----------------------------------------------------------------------===//

#include "KernelWriter.h"
#include "remat/Analysis/CUDAKernelPlan.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace remat;
using namespace remat::cuda;

static constexpr const char *SgdSource = R"cuda(
// Stochastic gradient descent on @COUNT@ elements.
extern "C" __global__ void __launch_bounds__(256) @NAME@(
    const @T@ *p, const @G@ *grad, @BUFFERIN@const float *rate, @SCALE@@T@ *newP@BUFFEROUT@) {
  constexpr int N = @N@;
  int64 i = ((int64)blockIdx.x * 256 + threadIdx.x) * N;
  if (i >= @COUNT@)
    return;
  float lr = *rate, gradScale = @SCALEVALUE@;
  Vec<@T@, N> vp = load<N>(p + i);
  Vec<@G@, N> vg = load<N>(grad + i);
  @LOADBUFFER@
  for (int k = 0; k < N; ++k) {
    float w = toFloat(vp[k]);
    float g = toFloat(vg[k]) * gradScale + @WEIGHTDECAY@ * w;
    @STEP@
    vp[k] = fromFloat<@T@>(w - lr * g);
  }
  store(newP + i, vp);
  @STOREBUFFER@
}
)cuda";

static constexpr const char *AdamWSource = R"cuda(
// AdamW on @COUNT@ elements. The bias corrections 1 - beta^t are made in double.
extern "C" __global__ void __launch_bounds__(256) @NAME@(
    const @T@ *p, const @G@ *grad, const float *moment1, const float *moment2, const float *rate,
    const int64 *step, @SCALE@@T@ *newP, float *newMoment1, float *newMoment2) {
  constexpr int N = @N@;
  __shared__ float corrections[2];
  int64 i = ((int64)blockIdx.x * 256 + threadIdx.x) * N;
  Vec<@T@, N> vp;
  Vec<@G@, N> vg;
  Vec<float, N> vm, vv;
  if (i < @COUNT@) {
    vp = load<N>(p + i);
    vg = load<N>(grad + i);
    vm = load<N>(moment1 + i);
    vv = load<N>(moment2 + i);
  }
  if (threadIdx.x < 2)
    corrections[threadIdx.x] =
        (float)-expm1((double)(*step + 1) * (threadIdx.x == 0 ? @LOGBETA1@ : @LOGBETA2@));
  __syncthreads();
  if (i >= @COUNT@)
    return;
  float lr = *rate, gradScale = @SCALEVALUE@;
  float correction1 = corrections[0], correction2 = corrections[1];
  for (int k = 0; k < N; ++k) {
    float w = toFloat(vp[k]), g = toFloat(vg[k]) * gradScale;
    vm[k] = @BETA1@ * vm[k] + @ONEMINUSBETA1@ * g;
    vv[k] = @BETA2@ * vv[k] + @ONEMINUSBETA2@ * g * g;
    w -= lr * @WEIGHTDECAY@ * w;
    w -= lr * (vm[k] / correction1) / (sqrtf(vv[k] / correction2) + @EPSILON@);
    vp[k] = fromFloat<@T@>(w);
  }
  store(newP + i, vp);
  store(newMoment1 + i, vm);
  store(newMoment2 + i, vv);
}
)cuda";

static constexpr const char *SquaresSource = R"cuda(
// Sums of squares of @COUNT@ elements, in parts of @PART@.
extern "C" __global__ void __launch_bounds__(256) @NAME@(const @T@ *x, float *partial) {
  constexpr int N = @N@;
  int64 begin = (int64)blockIdx.x * @PART@;
  int64 end = begin + @PART@ < @COUNT@ ? begin + @PART@ : @COUNT@;
  float sum = 0.0f;
#pragma unroll 4
  for (int64 i = begin + threadIdx.x * N; i < end; i += 256 * N) {
    Vec<@T@, N> v = load<N>(x + i);
    for (int k = 0; k < N; ++k)
      sum += toFloat(v[k]) * toFloat(v[k]);
  }
  sum = blockSum<256>(sum);
  if (threadIdx.x == 0)
    partial[blockIdx.x] = sum;
}
)cuda";

static constexpr const char *RootSource = R"cuda(
// The square root of the sum of @COUNT@ partial sums.
extern "C" __global__ void __launch_bounds__(1024) @NAME@(const float *partial, float *norm) {
  float sum = 0.0f;
  for (int64 i = threadIdx.x; i < @COUNT@; i += 1024)
    sum += partial[i];
  sum = blockSum<1024>(sum);
  if (threadIdx.x == 0)
    *norm = sqrtf(sum);
}
)cuda";

static double toDouble(const llvm::APFloat &Number) {
  return Number.convertToDouble();
}

/// The natural logarithm of `Beta` as a double literal; of 0, one so small that
/// the power vanishes.
static std::string printLog(double Beta) {
  std::string Text;
  double Log = Beta > 0 ? std::log(Beta) : -1e4;
  llvm::raw_string_ostream(Text) << llvm::format("%.17e", Log);
  return Text;
}

/// The optional factor of the gradient: a parameter's text and its value.
static void setScale(Writer &W, bool IsThere) {
  W.set("SCALE", IsThere ? "const float *scale, " : "");
  W.set("SCALEVALUE", IsThere ? "*scale" : "1.0f");
}

void remat::cuda::addSgd(SgdOp Op, Launches &Out) {
  bool HasBuffer = static_cast<bool>(Op.getBuffer());
  int64_t Count = getCount(Op.getParameter());
  llvm::SmallVector<mlir::Value> Values = {Op.getParameter(), Op.getGrad(),
                                           Op.getNewParameter()};
  if (HasBuffer)
    Values.append({Op.getBuffer(), Op.getNewBuffer()});
  int64_t Width = getAccessWidth(Values, Count);
  double Momentum = toDouble(Op.getMomentum());
  Writer W("sgd", SgdSource);
  W.set("T", getName(Op.getParameter())).set("G", getName(Op.getGrad()));
  W.set("COUNT", Count).set("N", Width);
  W.set("WEIGHTDECAY", printFloat(toDouble(Op.getWeightDecay())));
  setScale(W, static_cast<bool>(Op.getGradScale()));
  W.set("BUFFERIN", HasBuffer ? "const float *buffer, " : "");
  W.set("BUFFEROUT", HasBuffer ? ", float *newBuffer" : "");
  W.set("LOADBUFFER",
        HasBuffer ? "Vec<float, N> vb = load<N>(buffer + i);" : "");
  W.set("STEP", HasBuffer
                    ? "g = vb[k] = " + printFloat(Momentum) + " * vb[k] + g;"
                    : "");
  W.set("STOREBUFFER", HasBuffer ? "store(newBuffer + i, vb);" : "");
  W.block(256).grid(llvm::divideCeil(Count, 256 * Width));
  for (unsigned Operand = 0; Operand < Op->getNumOperands(); ++Operand)
    W.operand(Operand);
  W.result(0);
  if (HasBuffer)
    W.result(1);
  W.finish(Out);
}

void remat::cuda::addAdamW(AdamWOp Op, Launches &Out) {
  int64_t Count = getCount(Op.getParameter());
  int64_t Width = getAccessWidth(
      {Op.getParameter(), Op.getGrad(), Op.getMoment1(), Op.getMoment2(),
       Op.getNewParameter(), Op.getNewMoment1(), Op.getNewMoment2()},
      Count);
  double Beta1 = toDouble(Op.getBeta1()), Beta2 = toDouble(Op.getBeta2());
  Writer W("adamw", AdamWSource);
  W.set("T", getName(Op.getParameter())).set("G", getName(Op.getGrad()));
  W.set("COUNT", Count).set("N", Width);
  W.set("BETA1", printFloat(Beta1)).set("BETA2", printFloat(Beta2));
  W.set("ONEMINUSBETA1", printFloat(1 - Beta1));
  W.set("ONEMINUSBETA2", printFloat(1 - Beta2));
  W.set("LOGBETA1", printLog(Beta1)).set("LOGBETA2", printLog(Beta2));
  W.set("EPSILON", printFloat(toDouble(Op.getEpsilon())));
  W.set("WEIGHTDECAY", printFloat(toDouble(Op.getWeightDecay())));
  setScale(W, static_cast<bool>(Op.getGradScale()));
  W.block(256).grid(llvm::divideCeil(Count, 256 * Width));
  for (unsigned Operand = 0; Operand < Op->getNumOperands(); ++Operand)
    W.operand(Operand);
  W.result(0).result(1).result(2).finish(Out);
}

void remat::cuda::addGlobalNorm(GlobalNormOp Op, Launches &Out) {
  int64_t Partials = 0;
  for (auto [Index, Operand] : llvm::enumerate(Op.getOperands())) {
    int64_t Count = getCount(Operand), Chunks = getFlatChunks(Count);
    Writer W("sum_squares", SquaresSource);
    W.set("T", getName(Operand)).set("COUNT", Count);
    W.set("PART", llvm::alignTo(llvm::divideCeil(Count, Chunks), 64));
    W.set("N", getAccessWidth({Operand}, Count));
    W.block(256).grid(Chunks);
    W.operand(Index).workspace(Partials * 4).finish(Out);
    Partials += Chunks;
  }
  Writer W("global_norm", RootSource);
  W.set("COUNT", Partials).block(1024);
  W.workspace().result(0).finish(Out);
}
