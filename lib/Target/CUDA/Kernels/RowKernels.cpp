//===- RowKernels.cpp - softmax and layer norm over rows ------------------===//
//
// The kernels are in Rows.cuh.
//
//===----------------------------------------------------------------------===//

#include "KernelWriter.h"
#include "remat/Target/CUDA/KernelPlan.h"
#include "llvm/Support/MathExtras.h"

using namespace remat;
using namespace remat::cuda;

namespace {
/// How rows of the last dimension are shared out.
struct RowSplit {
  kernels::RowShape Shape;
  int64_t Width; ///< elements of one access
  LaunchSize Size;
};
} // namespace

/// Splits `Values`, whose shapes are equal.
static RowSplit splitRows(llvm::ArrayRef<mlir::Value> Values) {
  int64_t Columns = getColumns(Values[0]);
  int64_t Rows = getCount(Values[0]) / Columns;
  RowPlan Plan = getRowPlan(Columns);
  int64_t Width = getAccessWidth(Values, Columns);
  int64_t Steps = llvm::divideCeil(Columns, Plan.Threads * Width);
  return {{.Rows = Rows,
           .Columns = Columns,
           .Threads = Plan.Threads,
           .RowsPerBlock = Plan.RowsPerBlock,
           .Access = Width,
           .Steps = Steps,
           .Cached = Steps * Width <= 32},
          Width,
          {.Block = Plan.getBlockThreads(),
           .GridX = int64_t(llvm::divideCeil(Rows, Plan.RowsPerBlock))}};
}

void remat::cuda::addSoftmax(SoftmaxOp Op, Launches &Out) {
  RowSplit Split = splitRows({Op.getOperand(), Op.getResult()});
  addLaunch("softmax",
            kernels::Softmax{.T = getName(Op.getOperand()),
                             .Shape = Split.Shape,
                             .X = operand(0),
                             .Y = result(0)},
            Split.Size, Out);
}

void remat::cuda::addSoftmaxBackward(SoftmaxBackwardOp Op, Launches &Out) {
  RowSplit Split = splitRows({Op.getOutput(), Op.getGrad(), Op.getResult()});
  addLaunch("softmax_backward",
            kernels::SoftmaxBackward{.T = getName(Op.getOutput()),
                                     .Shape = Split.Shape,
                                     .Y = operand(0),
                                     .Dy = operand(1),
                                     .Dx = result(0)},
            Split.Size, Out);
}

void remat::cuda::addLayerNorm(LayerNormOp Op, Launches &Out) {
  RowSplit Split = splitRows({Op.getOperand(), Op.getResult()});
  addLaunch("layer_norm",
            kernels::LayerNorm{
                .T = getName(Op.getOperand()),
                .S = getName(Op.getScale()),
                .Shape = Split.Shape,
                .M = getAccessWidth({Op.getScale(), Op.getBias()}, Split.Width),
                .X = operand(0),
                .Scale = operand(1),
                .Bias = operand(2),
                .Y = result(0),
                .Mean = result(1),
                .Rstd = result(2),
                .Epsilon = Op.getEpsilon().convertToDouble()},
            Split.Size, Out);
}
