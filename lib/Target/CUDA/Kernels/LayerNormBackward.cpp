//===- LayerNormBackward.cpp - gradients of layer norm --------------------===//
//
// The kernels are in LayerNormBackward.cuh.
//
//===----------------------------------------------------------------------===//

#include "KernelWriter.h"
#include "remat/Target/CUDA/KernelPlan.h"
#include "llvm/Support/MathExtras.h"

using namespace remat;
using namespace remat::cuda;

void remat::cuda::addLayerNormBackward(LayerNormBackwardOp Op, Launches &Out) {
  int64_t Columns = getCount(Op.getScale()), Rows = getCount(Op.getMean());
  int64_t Blocks = getLayerNormBackwardBlocks(Rows);
  // Long rows are spread over more threads, so that the sums fit in registers.
  int64_t Threads = Columns <= 1024   ? 32
                    : Columns <= 4096 ? 128
                    : Columns <= 8192 ? 256
                                      : 1024;
  int64_t Block = Threads == 32 ? 256 : Threads;
  int64_t Width = getAccessWidth(
      {Op.getGrad(), Op.getOperand(), Op.getOperandGrad()}, Columns);
  addLaunch("layer_norm_backward",
            kernels::LayerNormBackward{
                .T = getName(Op.getOperand()),
                .S = getName(Op.getScale()),
                .Rows = Rows,
                .RowsPerBlock = llvm::divideCeil(Rows, Blocks),
                .C = Columns,
                .Block = Block,
                .Threads = Threads,
                .N = Width,
                .Steps = llvm::divideCeil(Columns, Threads * Width),
                .M = getAccessWidth({Op.getScale()}, Width),
                .Dy = operand(0),
                .X = operand(1),
                .Scale = operand(2),
                .Mean = operand(3),
                .Rstd = operand(4),
                .Dx = result(0),
                .Partial = workspace()},
            {.Block = Block, .GridX = Blocks}, Out);
  addLaunch("layer_norm_backward_columns",
            kernels::LayerNormBackwardColumns{.S = getName(Op.getScale()),
                                              .C = Columns,
                                              .Blocks = Blocks,
                                              .Partial = workspace(),
                                              .ScaleGrad = result(1),
                                              .BiasGrad = result(2)},
            {.Block = 256,
             .GridX = int64_t(llvm::divideCeil(Columns, 32)),
             .GridY = 2},
            Out);
}
