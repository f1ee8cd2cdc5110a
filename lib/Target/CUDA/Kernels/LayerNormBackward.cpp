//===- LayerNormBackward.cpp - gradients of layer norm --------------------===//
//
// One pass over grad and operand: each block takes a run of rows, writes the
// operand's gradient row by row and keeps the sums for scale and bias in
// registers; a second kernel adds up the blocks' partial sums in order. A row
// is read whole before it is written, so that the gradient may lie over grad or
// operand.
//
//===----------------------------------------------------------------------===//

#include "KernelWriter.h"
#include "remat/Analysis/CUDAKernelPlan.h"
#include "llvm/Support/MathExtras.h"

using namespace remat;
using namespace remat::cuda;

static constexpr const char *RowsSource = R"cuda(
// dx of layer_norm over rows of @C@, and a partial sum a block of the gradients
// of scale and bias: partial is [2, blocks, @C@].
extern "C" __global__ void __launch_bounds__(@BLOCK@) @NAME@(
    const @T@ *dy, const @T@ *x, const @S@ *scale, const float *mean, const float *rstd, @T@ *dx,
    float *partial) {
  constexpr int64 Rows = @ROWS@, RowsPerBlock = @ROWSPERBLOCK@;
  constexpr int C = @C@, Threads = @THREADS@, Groups = @BLOCK@ / Threads, N = @N@, Steps = @STEPS@;
  int group = threadIdx.x / Threads, lane = threadIdx.x % Threads;
  float sumScale[Steps * N], sumBias[Steps * N];
#pragma unroll
  for (int e = 0; e < Steps * N; ++e)
    sumScale[e] = sumBias[e] = 0.0f;
  int64 begin = blockIdx.x * RowsPerBlock;
  int64 end = begin + RowsPerBlock < Rows ? begin + RowsPerBlock : Rows;
  for (int64 row = begin + group; row < end; row += Groups) {
    const @T@ *rowX = x + row * C, *rowG = dy + row * C;
    float m = mean[row], r = rstd[row];
    Vec<@T@, N> cacheX[Steps], cacheG[Steps];
    float sumG = 0.0f, sumGX = 0.0f;
#pragma unroll
    for (int s = 0; s < Steps; ++s) {
      int i = (s * Threads + lane) * N;
      if (i >= C)
        continue;
      cacheX[s] = load<N>(rowX + i);
      cacheG[s] = load<N>(rowG + i);
    }
#pragma unroll
    for (int s = 0; s < Steps; ++s) {
      int i = (s * Threads + lane) * N;
      if (i >= C)
        continue;
      float factor[N];
      loadFloats<@M@>(scale + i, factor);
      for (int k = 0; k < N; ++k) {
        float normal = (toFloat(cacheX[s][k]) - m) * r, g = toFloat(cacheG[s][k]);
        sumScale[s * N + k] += g * normal;
        sumBias[s * N + k] += g;
        float scaled = g * factor[k];
        sumG += scaled;
        sumGX += scaled * normal;
      }
    }
    sumG = @GROUP@Sum@GROUPARG@(sumG) * (1.0f / C);
    sumGX = @GROUP@Sum@GROUPARG@(sumGX) * (1.0f / C);
#pragma unroll
    for (int s = 0; s < Steps; ++s) {
      int i = (s * Threads + lane) * N;
      if (i >= C)
        continue;
      float factor[N];
      loadFloats<@M@>(scale + i, factor);
      for (int k = 0; k < N; ++k) {
        float normal = (toFloat(cacheX[s][k]) - m) * r;
        float scaled = toFloat(cacheG[s][k]) * factor[k];
        cacheX[s][k] = fromFloat<@T@>((scaled - sumG - normal * sumGX) * r);
      }
      store(dx + row * C + i, cacheX[s]);
    }
  }
  float *partialScale = partial + (int64)blockIdx.x * C;
  float *partialBias = partial + ((int64)gridDim.x + blockIdx.x) * C;
  // The groups of a block add their sums one after the other.
  __shared__ float sharedScale[Groups > 1 ? C : 1], sharedBias[Groups > 1 ? C : 1];
#pragma unroll 1
  for (int turn = 0; turn < Groups; ++turn) {
    if (group == turn) {
#pragma unroll
      for (int e = 0; e < Steps * N; ++e) {
        int i = ((e / N) * Threads + lane) * N + e % N;
        if (i >= C)
          continue;
        float s = sumScale[e], b = sumBias[e];
        if (turn > 0) {
          s += sharedScale[i];
          b += sharedBias[i];
        }
        if (turn == Groups - 1) {
          partialScale[i] = s;
          partialBias[i] = b;
        } else {
          sharedScale[i] = s;
          sharedBias[i] = b;
        }
      }
    }
    __syncthreads();
  }
}
)cuda";

static constexpr const char *ColumnsSource = R"cuda(
// Adds up the partial sums of @BLOCKS@ blocks: gradients of scale and bias.
extern "C" __global__ void __launch_bounds__(@BLOCK@) @NAME@(
    const float *partial, @S@ *scaleGrad, @S@ *biasGrad) {
  constexpr int C = @C@, Blocks = @BLOCKS@, Lanes = 32, Parts = @BLOCK@ / Lanes;
  __shared__ float sums[Parts][Lanes];
  int lane = threadIdx.x % Lanes, part = threadIdx.x / Lanes;
  int column = blockIdx.x * Lanes + lane;
  const float *from = partial + (int64)blockIdx.y * Blocks * C;
  float sum = 0.0f;
  if (column < C)
#pragma unroll 4
    for (int b = part; b < Blocks; b += Parts)
      sum += from[(int64)b * C + column];
  sums[part][lane] = sum;
  __syncthreads();
  if (part == 0 && column < C) {
    for (int p = 1; p < Parts; ++p)
      sum += sums[p][lane];
    (blockIdx.y == 0 ? scaleGrad : biasGrad)[column] = fromFloat<@S@>(sum);
  }
}
)cuda";

void remat::cuda::addLayerNormBackward(LayerNormBackwardOp Op, Launches &Out) {
  int64_t Columns = getCount(Op.getScale()), Rows = getCount(Op.getMean());
  int64_t Blocks = getLayerNormBackwardBlocks(Rows);
  // Long rows are spread over more threads, so that the sums fit in registers.
  int64_t Threads = Columns <= 1024   ? 32
                    : Columns <= 4096 ? 128
                    : Columns <= 8192 ? 256
                                      : 1024;
  bool IsWarp = Threads == 32;
  int64_t Block = IsWarp ? 256 : Threads;
  int64_t Width = getAccessWidth(
      {Op.getGrad(), Op.getOperand(), Op.getOperandGrad()}, Columns);
  Writer W("layer_norm_backward", RowsSource);
  W.set("T", getName(Op.getOperand())).set("S", getName(Op.getScale()));
  W.set("M", getAccessWidth({Op.getScale()}, Width));
  W.set("ROWS", Rows).set("C", Columns).set("THREADS", Threads).set("N", Width);
  W.set("ROWSPERBLOCK", llvm::divideCeil(Rows, Blocks));
  W.set("STEPS", llvm::divideCeil(Columns, Threads * Width));
  W.set("GROUP", IsWarp ? "warp" : "block");
  W.set("GROUPARG", IsWarp ? "" : "<" + std::to_string(Threads) + ">");
  W.block(Block).grid(Blocks);
  for (unsigned Operand : {0, 1, 2, 3, 4})
    W.operand(Operand);
  W.result(0).workspace().finish(Out);

  Writer Columnwise("layer_norm_backward_columns", ColumnsSource);
  Columnwise.set("S", getName(Op.getScale())).set("C", Columns);
  Columnwise.set("BLOCKS", Blocks).block(256);
  Columnwise.grid(llvm::divideCeil(Columns, 32), 2);
  Columnwise.workspace().result(1).result(2).finish(Out);
}
