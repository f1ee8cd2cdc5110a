//===- Loss.cpp - cross entropy and mean squared error --------------------===//
//
// The kernels are in Loss.cuh.
//
//===----------------------------------------------------------------------===//

#include "KernelWriter.h"
#include "remat/Target/CUDA/KernelPlan.h"
#include "llvm/Support/MathExtras.h"

using namespace remat;
using namespace remat::cuda;

namespace {
/// How rows of logits are shared out.
struct LossRows {
  int64_t Rows;
  kernels::LossShape Shape;
  LaunchSize Size;
};
} // namespace

/// Long rows have a block of many threads each: then the rows that are worked
/// on at a time fit in the cache.
static RowPlan getLossPlan(int64_t Columns) {
  return Columns <= 1024    ? RowPlan{32, 8}
         : Columns <= 16384 ? RowPlan{256, 1}
                            : RowPlan{1024, 1};
}

/// Splits rows of `Logits`, which are moved together with those of `Others`.
static LossRows splitLoss(mlir::Value Logits, mlir::ValueRange Others = {}) {
  int64_t Columns = getColumns(Logits), Rows = getCount(Logits) / Columns;
  llvm::SmallVector<mlir::Value> Moved = {Logits};
  llvm::append_range(Moved, Others);
  RowPlan Plan = getLossPlan(Columns);
  return {Rows,
          {.Rows = Rows,
           .Columns = Columns,
           .Threads = Plan.Threads,
           .RowsPerBlock = Plan.RowsPerBlock,
           .Access = getAccessWidth(Moved, Columns)},
          {.Block = Plan.getBlockThreads(),
           .GridX = int64_t(llvm::divideCeil(Rows, Plan.RowsPerBlock)),
           .BlocksPerMultiprocessor = Plan.Threads == 1024 ? 2 : 0}};
}

template <typename OpT> static int64_t getIgnored(OpT Op) {
  return static_cast<int64_t>(Op.getIgnoreIndex());
}

/// The mean of the rows' losses, which lie in the workspace.
template <typename OpT>
static void addMean(OpT Op, int64_t Rows, Passed Targets, Launches &Out) {
  addLaunch("cross_entropy_mean",
            kernels::CrossEntropyMean{.I = getName(Op.getTargets()),
                                      .Rows = Rows,
                                      .Ignore = getIgnored(Op),
                                      .Losses = workspace(),
                                      .Targets = Targets,
                                      .Loss = result(0)},
            {.Block = 1024}, Out);
}

/// What each row's gradient is multiplied by.
template <typename OpT>
static void addScale(OpT Op, int64_t Rows, Passed Targets, Passed Scale,
                     Launches &Out) {
  addLaunch("cross_entropy_scale",
            kernels::CrossEntropyScale{.I = getName(Op.getTargets()),
                                       .Rows = Rows,
                                       .Ignore = getIgnored(Op),
                                       .Grad = operand(0),
                                       .Targets = Targets,
                                       .Scale = Scale},
            {.Block = 1024}, Out);
}

static void addCrossEntropy(CrossEntropyOp Op, Launches &Out) {
  LossRows Split = splitLoss(Op.getLogits());
  addLaunch("cross_entropy_rows",
            kernels::CrossEntropyRows{.T = getName(Op.getLogits()),
                                      .I = getName(Op.getTargets()),
                                      .Shape = Split.Shape,
                                      .Ignore = getIgnored(Op),
                                      .Logits = operand(0),
                                      .Targets = operand(1),
                                      .Lse = result(1),
                                      .Losses = workspace()},
            Split.Size, Out);
  addMean(Op, Split.Rows, operand(1), Out);
}

static void addCrossEntropyBackward(CrossEntropyBackwardOp Op, Launches &Out) {
  LossRows Split = splitLoss(Op.getLogits(), Op.getLogitsGrad());
  addScale(Op, Split.Rows, operand(2), workspace(), Out);
  addLaunch("cross_entropy_backward",
            kernels::CrossEntropyBackward{.T = getName(Op.getLogits()),
                                          .I = getName(Op.getTargets()),
                                          .Shape = Split.Shape,
                                          .Ignore = getIgnored(Op),
                                          .Logits = operand(1),
                                          .Targets = operand(2),
                                          .Lse = operand(3),
                                          .Scale = workspace(),
                                          .LogitsGrad = result(0)},
            Split.Size, Out);
}

/// Makes room for the rows of a block in shared memory, where every supported
/// GPU has it (99 KiB a block, less what sums over threads take); else returns
/// false. Copies in the background move 4 bytes or more, and the code has each
/// of a thread's.
static bool keepRows(mlir::Value Logits, LossRows &Split) {
  constexpr int64_t MostBytes = int64_t(99) * 1024 - 512, LeastCopy = 4,
                    MostCopies = 32;
  int64_t Columns = getColumns(Logits), Width = Split.Shape.Access.Value;
  RowPlan Plan = getLossPlan(Columns);
  int64_t Bytes = Plan.RowsPerBlock * Columns * getBytes(Logits);
  if (Bytes > MostBytes || Width * getBytes(Logits) < LeastCopy ||
      Columns > MostCopies * Plan.Threads * Width)
    return false;
  Split.Size.SharedBytes = Bytes;
  return true;
}

/// Losses of the rows in the workspace, then the scale.
static void addCrossEntropyWithGrad(CrossEntropyWithGradOp Op, Launches &Out) {
  LossRows Split = splitLoss(Op.getLogits(), Op.getLogitsGrad());
  bool IsKept = keepRows(Op.getLogits(), Split);
  Passed Scale = workspace(Split.Rows * 4);
  addScale(Op, Split.Rows, operand(2), Scale, Out);
  addLaunch("cross_entropy_with_grad",
            kernels::CrossEntropyWithGrad{.T = getName(Op.getLogits()),
                                          .I = getName(Op.getTargets()),
                                          .Shape = Split.Shape,
                                          .Ignore = getIgnored(Op),
                                          .Kept = IsKept,
                                          .Logits = operand(1),
                                          .Targets = operand(2),
                                          .Scale = Scale,
                                          .Lse = result(1),
                                          .Losses = workspace(),
                                          .LogitsGrad = result(2)},
            Split.Size, Out);
  addMean(Op, Split.Rows, operand(2), Out);
}

static void addMse(MseOp Op, Launches &Out) {
  int64_t Count = getCount(Op.getPrediction()), Chunks = getFlatChunks(Count);
  addLaunch(
      "mse",
      kernels::SquaredDifferences{
          .T = getName(Op.getPrediction()),
          .U = getName(Op.getTarget()),
          .Count = Count,
          .Part = llvm::alignTo(llvm::divideCeil(Count, Chunks), 64),
          .N = getAccessWidth({Op.getPrediction(), Op.getTarget()}, Count),
          .X = operand(0),
          .Y = operand(1),
          .Partial = workspace()},
      {.Block = 256, .GridX = Chunks}, Out);
  addLaunch("mse_join",
            kernels::MeanOfParts{.Count = Count,
                                 .Chunks = Chunks,
                                 .Partial = workspace(),
                                 .Loss = result(0)},
            {.Block = 256}, Out);
}

static KernelNeeds getCrossEntropyNeeds(CrossEntropyOp Op) {
  return {getCount(Op.getLse()) * 4, 2};
}
static KernelNeeds getBackwardNeeds(CrossEntropyBackwardOp) { return {4, 2}; }
static KernelNeeds getWithGradNeeds(CrossEntropyWithGradOp Op) {
  return {getCount(Op.getLse()) * 4 + 4, 3};
}
static KernelNeeds getMseNeeds(MseOp Op) {
  return {getFlatChunks(getCount(Op.getPrediction())) * 4, 2};
}

llvm::ArrayRef<OwnKernels> remat::cuda::getLossKernels() {
  static const OwnKernels Table[] = {
      kernelsOf<CrossEntropyOp, addCrossEntropy, getCrossEntropyNeeds>(),
      kernelsOf<CrossEntropyBackwardOp, addCrossEntropyBackward,
                getBackwardNeeds>(),
      kernelsOf<CrossEntropyWithGradOp, addCrossEntropyWithGrad,
                getWithGradNeeds>(),
      kernelsOf<MseOp, addMse, getMseNeeds>(),
  };
  return Table;
}
