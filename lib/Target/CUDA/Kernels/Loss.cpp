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

/// How rows of logits are shared out.
static RowPlan getLossPlan(int64_t Columns) {
  return Columns <= 1024 ? RowPlan{32, 8} : RowPlan{256, 1};
}

static LaunchSize getLossSize(const RowPlan &Plan, int64_t Rows) {
  return {.Block = Plan.getBlockThreads(),
          .GridX = int64_t(llvm::divideCeil(Rows, Plan.RowsPerBlock))};
}

static void addCrossEntropy(CrossEntropyOp Op, Launches &Out) {
  int64_t Columns = getColumns(Op.getLogits()), Rows = getCount(Op.getLse());
  RowPlan Plan = getLossPlan(Columns);
  addLaunch("cross_entropy_rows",
            kernels::CrossEntropyRows{
                .T = getName(Op.getLogits()),
                .I = getName(Op.getTargets()),
                .Rows = Rows,
                .C = Columns,
                .Threads = Plan.Threads,
                .RowsPerBlock = Plan.RowsPerBlock,
                .N = getAccessWidth({Op.getLogits()}, Columns),
                .Ignore = static_cast<int64_t>(Op.getIgnoreIndex()),
                .Logits = operand(0),
                .Targets = operand(1),
                .Lse = result(1),
                .Losses = workspace()},
            getLossSize(Plan, Rows), Out);
  addLaunch("cross_entropy_mean",
            kernels::CrossEntropyMean{
                .I = getName(Op.getTargets()),
                .Rows = Rows,
                .Ignore = static_cast<int64_t>(Op.getIgnoreIndex()),
                .Losses = workspace(),
                .Targets = operand(1),
                .Loss = result(0)},
            {.Block = 1024}, Out);
}

static void addCrossEntropyBackward(CrossEntropyBackwardOp Op, Launches &Out) {
  int64_t Columns = getColumns(Op.getLogits()), Rows = getCount(Op.getLse());
  RowPlan Plan = getLossPlan(Columns);
  addLaunch("cross_entropy_scale",
            kernels::CrossEntropyScale{
                .I = getName(Op.getTargets()),
                .Rows = Rows,
                .Ignore = static_cast<int64_t>(Op.getIgnoreIndex()),
                .Grad = operand(0),
                .Targets = operand(2),
                .Scale = workspace()},
            {.Block = 1024}, Out);
  addLaunch(
      "cross_entropy_backward",
      kernels::CrossEntropyBackward{
          .T = getName(Op.getLogits()),
          .I = getName(Op.getTargets()),
          .Rows = Rows,
          .C = Columns,
          .Threads = Plan.Threads,
          .RowsPerBlock = Plan.RowsPerBlock,
          .N = getAccessWidth({Op.getLogits(), Op.getLogitsGrad()}, Columns),
          .Ignore = static_cast<int64_t>(Op.getIgnoreIndex()),
          .Logits = operand(1),
          .Targets = operand(2),
          .Lse = operand(3),
          .Scale = workspace(),
          .LogitsGrad = result(0)},
      getLossSize(Plan, Rows), Out);
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
static KernelNeeds getMseNeeds(MseOp Op) {
  return {getFlatChunks(getCount(Op.getPrediction())) * 4, 2};
}

llvm::ArrayRef<OwnKernels> remat::cuda::getLossKernels() {
  static const OwnKernels Table[] = {
      kernelsOf<CrossEntropyOp, addCrossEntropy, getCrossEntropyNeeds>(),
      kernelsOf<CrossEntropyBackwardOp, addCrossEntropyBackward,
                getBackwardNeeds>(),
      kernelsOf<MseOp, addMse, getMseNeeds>(),
  };
  return Table;
}
