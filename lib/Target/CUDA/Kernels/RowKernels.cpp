//===- RowKernels.cpp - softmax and normalisations over rows --------------===//
//
// The kernels are in Rows.cuh, LayerNormBackward.cuh and RmsNorm.cuh.
//
//===----------------------------------------------------------------------===//

#include "KernelWriter.h"
#include "remat/Target/CUDA/KernelPlan.h"
#include "llvm/Support/MathExtras.h"

using namespace remat;
using namespace remat::cuda;

namespace {
/// How rows of the last dimension are shared out.
template <typename ShapeT> struct RowSplit {
  ShapeT Shape;
  int64_t Width; ///< elements of one access
  LaunchSize Size;
};
} // namespace

/// Splits `Values`, whose shapes are equal.
static RowSplit<kernels::RowShape>
splitRows(llvm::ArrayRef<mlir::Value> Values) {
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

static void addSoftmax(SoftmaxOp Op, Launches &Out) {
  auto Split = splitRows({Op.getOperand(), Op.getResult()});
  addLaunch("softmax",
            kernels::Softmax{.T = getName(Op.getOperand()),
                             .Shape = Split.Shape,
                             .X = operand(0),
                             .Y = result(0)},
            Split.Size, Out);
}

static void addSoftmaxBackward(SoftmaxBackwardOp Op, Launches &Out) {
  auto Split = splitRows({Op.getOutput(), Op.getGrad(), Op.getResult()});
  addLaunch("softmax_backward",
            kernels::SoftmaxBackward{.T = getName(Op.getOutput()),
                                     .Shape = Split.Shape,
                                     .Y = operand(0),
                                     .Dy = operand(1),
                                     .Dx = result(0)},
            Split.Size, Out);
}

static void addLayerNorm(LayerNormOp Op, Launches &Out) {
  auto Split = splitRows({Op.getOperand(), Op.getResult()});
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

/// Blocks of a normalisation's gradient, of which `Rstd` is a number a row.
/// Each leaves one partial row of the sums over rows.
static int64_t getGradientBlocks(mlir::Value Rstd) {
  return getNormBackwardBlocks(getCount(Rstd));
}

/// How a normalisation's gradient shares out its rows.
template <typename OpT>
static RowSplit<kernels::GradientShape> splitGradient(OpT Op) {
  int64_t Rows = getCount(Op.getRstd()), Columns = getColumns(Op.getOperand());
  int64_t Blocks = getGradientBlocks(Op.getRstd());
  llvm::SmallVector<mlir::Value> Moved = {Op.getGrad(), Op.getOperand(),
                                          Op.getOperandGrad()};
  if (Op.getAddend())
    Moved.push_back(Op.getAddend());
  int64_t Width = getAccessWidth(Moved, Columns);
  // One access of a thread is all of its row where that leaves registers for
  // the next row. Longer rows are spread so that their sums fit in registers.
  constexpr int64_t MostThreads = 512;
  int64_t Accesses = llvm::divideCeil(Columns, Width);
  int64_t Threads = Accesses <= MostThreads ? llvm::alignTo(Accesses, 32)
                    : Columns <= 8192       ? 256
                                            : 1024;
  // A multiprocessor has one block, with as many rows at a time as leave a
  // thread's numbers their registers (as nvcc 13.0 gives them for sm_90). The
  // sums of a layer norm are more, and most where all threads have columns.
  bool HasMany =
      std::is_same_v<OpT, LayerNormBackwardOp> && Accesses == Threads;
  int64_t MostOfBlock = HasMany ? 640 : 768, Block = Threads;
  if (Accesses <= MostThreads)
    Block *= std::max<int64_t>(1, MostOfBlock / Threads);
  return {{.Rows = Rows,
           .RowsPerBlock = llvm::divideCeil(Rows, Blocks),
           .Columns = Columns,
           .Block = Block,
           .Threads = Threads,
           .Access = Width,
           .Steps = llvm::divideCeil(Columns, Threads * Width)},
          Width,
          {.Block = Block, .GridX = Blocks}};
}

/// A row of f32 a block between the launches for each result but the first.
static KernelNeeds getGradientNeeds(mlir::Operation *Op, mlir::Value Scale,
                                    mlir::Value Rstd) {
  int64_t Sums = Op->getNumResults() - 1;
  return {Sums * getGradientBlocks(Rstd) * getCount(Scale) * 4, 2};
}

/// Adds up the partial rows of all results of `Op` but the first.
static void addGradientColumns(llvm::StringRef Name, mlir::Operation *Op,
                               mlir::Value Scale, mlir::Value Rstd,
                               Launches &Out) {
  int64_t Columns = getCount(Scale), Sums = Op->getNumResults() - 1;
  addLaunch(Name,
            kernels::LayerNormBackwardColumns{
                .T = getName(Op->getResult(0)),
                .S = getName(Scale),
                .C = Columns,
                .Blocks = getGradientBlocks(Rstd),
                .Partial = workspace(),
                .ScaleGrad = result(1),
                .BiasGrad = Sums > 1 ? result(2) : absent(),
                .Written = Sums > 2 ? result(3) : absent()},
            {.Block = 256,
             .GridX = int64_t(llvm::divideCeil(Columns, 32)),
             .GridY = Sums},
            Out);
}

static void addLayerNormBackward(LayerNormBackwardOp Op, Launches &Out) {
  auto Split = splitGradient(Op);
  addLaunch("layer_norm_backward",
            kernels::LayerNormBackward{
                .T = getName(Op.getOperand()),
                .S = getName(Op.getScale()),
                .Shape = Split.Shape,
                .M = getAccessWidth({Op.getScale()}, Split.Width),
                .HasAddend = Op.getAddend() != nullptr,
                .HasSum = Op.getWithSum(),
                .Dy = operand(0),
                .X = operand(1),
                .Scale = operand(2),
                .Mean = operand(3),
                .Rstd = operand(4),
                .Addend = Op.getAddend() ? operand(5) : absent(),
                .Dx = result(0),
                .Partial = workspace()},
            Split.Size, Out);
  addGradientColumns("layer_norm_backward_columns", Op, Op.getScale(),
                     Op.getRstd(), Out);
}
static KernelNeeds getLayerNormBackwardNeeds(LayerNormBackwardOp Op) {
  return getGradientNeeds(Op, Op.getScale(), Op.getRstd());
}

static void addRMSNorm(RMSNormOp Op, Launches &Out) {
  auto Split = splitRows({Op.getOperand(), Op.getResult()});
  addLaunch("rms_norm",
            kernels::RmsNorm{.T = getName(Op.getOperand()),
                             .S = getName(Op.getWeight()),
                             .Shape = Split.Shape,
                             .M = getAccessWidth({Op.getWeight()}, Split.Width),
                             .X = operand(0),
                             .Weight = operand(1),
                             .Y = result(0),
                             .Rstd = result(1),
                             .Epsilon = Op.getEpsilon().convertToDouble()},
            Split.Size, Out);
}

static void addRMSNormBackward(RMSNormBackwardOp Op, Launches &Out) {
  auto Split = splitGradient(Op);
  addLaunch("rms_norm_backward",
            kernels::RmsNormBackward{
                .T = getName(Op.getOperand()),
                .S = getName(Op.getWeight()),
                .Shape = Split.Shape,
                .M = getAccessWidth({Op.getWeight()}, Split.Width),
                .HasAddend = Op.getAddend() != nullptr,
                .Dy = operand(0),
                .X = operand(1),
                .Weight = operand(2),
                .Rstd = operand(3),
                .Addend = Op.getAddend() ? operand(4) : absent(),
                .Dx = result(0),
                .Partial = workspace()},
            Split.Size, Out);
  addGradientColumns("rms_norm_backward_columns", Op, Op.getWeight(),
                     Op.getRstd(), Out);
}
static KernelNeeds getRMSNormBackwardNeeds(RMSNormBackwardOp Op) {
  return getGradientNeeds(Op, Op.getWeight(), Op.getRstd());
}

llvm::ArrayRef<OwnKernels> remat::cuda::getRowKernels() {
  static const OwnKernels Table[] = {
      kernelsOf<SoftmaxOp, addSoftmax>(),
      kernelsOf<SoftmaxBackwardOp, addSoftmaxBackward>(),
      kernelsOf<LayerNormOp, addLayerNorm>(),
      kernelsOf<LayerNormBackwardOp, addLayerNormBackward,
                getLayerNormBackwardNeeds>(),
      kernelsOf<RMSNormOp, addRMSNorm>(),
      kernelsOf<RMSNormBackwardOp, addRMSNormBackward,
                getRMSNormBackwardNeeds>(),
  };
  return Table;
}
