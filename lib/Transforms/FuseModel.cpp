//===- FuseModel.cpp - which steps may become one kernel ------------------===//

#include "FuseModel.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace remat;

/// A kernel keeps its values in registers: so many tensors and operations
/// leave room for 1,024 threads on a multiprocessor.
static constexpr size_t MaxTensors = 14;
static constexpr size_t MaxOps = 64;
/// How far apart two units may lie in the block. Chains are close together;
/// the limit keeps a merge's price constant.
static constexpr unsigned MaxDistance = 256;

bool remat::readsSplatConstant(Operation *Op) {
  return llvm::any_of(Op->getOperands(), [](Value Operand) {
    return isSplatConstant(Operand.getDefiningOp());
  });
}

bool remat::mayShareKernel(Operation *Producer, Operation *Consumer) {
  std::optional<ArrayRef<int64_t>> Shape = getPointwiseShape(Producer);
  return Shape && Shape == getPointwiseShape(Consumer) &&
         llvm::none_of(Producer->getResults(),
                       [&](Value Result) { return rolls(Consumer, Result); });
}

bool remat::readsInFull(Operation *Op, Value Operand) {
  std::optional<ArrayRef<int64_t>> Shape = getPointwiseShape(Op);
  return Shape &&
         *Shape == cast<RankedTensorType>(Operand.getType()).getShape();
}

bool remat::leavesPlanFree(Operation *Producer, Operation *Consumer) {
  return Producer->getAttr(PhaseAttrName) == Consumer->getAttr(PhaseAttrName) &&
         !Producer->hasAttr(KeepAttrName);
}

/// Whether one kernel can compute both, of the same phase, and then reads a
/// tensor as large as what they make once instead of twice.
static bool readSame(Operation *First, Operation *Second) {
  if (!mayShareKernel(First, Second) ||
      First->getAttr(PhaseAttrName) != Second->getAttr(PhaseAttrName))
    return false;
  return llvm::any_of(First->getOperands(), [&](Value Input) {
    return readsInFull(First, Input) &&
           llvm::is_contained(Second->getOperands(), Input);
  });
}

static bool readSame(const Step &First, const Step &Second) {
  return llvm::any_of(First.Ops, [&](Operation *Op) {
    return llvm::any_of(Second.Ops,
                        [&](Operation *Other) { return readSame(Op, Other); });
  });
}

FuseModel::FuseModel(func::FuncOp Func)
    : Steps(Func, StepLiveness::Splats::MadeInKernels), InitialPeak(getPeak()) {
}

/// Arguments and workspaces excluded.
StepLiveness::Sum FuseModel::getPeak() const {
  StepLiveness::Sum Peak = 0;
  for (unsigned I = 0; I < Steps.getNumPositions(); ++I)
    if (!Steps.getStep(I).Ops.empty())
      Peak = std::max(Peak, Steps.getLive()[I]);
  return Peak;
}

/// The operation that overwrites a donated argument; else null.
Operation *FuseModel::getWriter(Value Root) const {
  auto Argument = dyn_cast<BlockArgument>(Root);
  return Argument ? Steps.getOverwrites().getWriter(Argument) : nullptr;
}

/// Moving the producer's operations to the consumer's place must leave every
/// other reader behind them, and no overwriting of a donated argument that they
/// read before them.
bool FuseModel::isLegal(unsigned Producer, unsigned Consumer,
                        const MergeRules &Rules) const {
  bool HasEdge = false;
  const Step &From = Steps.getStep(Producer);
  for (Value Output : Steps.getOutputs(From))
    for (Operation *User : Output.getUsers()) {
      // Views and the terminator have positions where no step stands.
      unsigned Position = Steps.getPosition(User);
      if (Position == Producer)
        continue;
      if (Position == Consumer) {
        if (rolls(User, Output))
          return false;
        HasEdge = true;
      } else if (!Rules.SeveralOutputs || Position < Consumer)
        return false;
    }
  if (Rules.Siblings)
    HasEdge |= readSame(From, Steps.getStep(Consumer));
  if (Rules.UpdatesMove)
    return HasEdge;
  for (Value Input : Steps.getInputs(From))
    if (Operation *Writer = getWriter(Steps.getStorages().get(Input).Root))
      if (unsigned Position = Steps.getPosition(Writer);
          Producer < Position && Position < Consumer)
        return false;
  return HasEdge;
}

bool FuseModel::isSmall(const Step &First, const Step &Second) const {
  Step Both = First;
  Both.Ops.append(Second.Ops.begin(), Second.Ops.end());
  size_t NumOps = 0;
  for (Operation *Op : Both.Ops) {
    auto Kernel = dyn_cast<KernelOp>(Op);
    NumOps += Kernel ? Kernel.getBody().front().getOperations().size() : 1;
  }
  return NumOps <= MaxOps &&
         Steps.getInputs(Both).size() + Steps.getOutputs(Both).size() <=
             MaxTensors;
}

/// Bytes of the producer's values that nobody but the consumer reads.
StepLiveness::Sum FuseModel::getUnwrittenBytes(unsigned Producer,
                                               unsigned Consumer) const {
  StepLiveness::Sum Bytes = 0;
  for (Value Output : Steps.getOutputs(Steps.getStep(Producer)))
    if (llvm::all_of(Output.getUsers(), [&](Operation *User) {
          int64_t Position = Steps.getPosition(User);
          return Position == Producer || Position == Consumer;
        }))
      Bytes += getByteSize(Output.getType()).value_or(0);
  return Bytes;
}

/// Bytes of what the step sums over rows.
StepLiveness::Sum FuseModel::getSummedBytes(unsigned Position) const {
  Operation *Last = Steps.getStep(Position).Ops.back();
  return isColumnSum(Last)
             ? getByteSize(Last->getOperand(0).getType()).value_or(0)
             : 0;
}

bool FuseModel::tryMerge(unsigned Producer, unsigned Consumer,
                         const MergeRules &Rules) {
  if (Steps.getDistance(Producer, Consumer) > MaxDistance ||
      !isLegal(Producer, Consumer, Rules) ||
      !isSmall(Steps.getStep(Producer), Steps.getStep(Consumer)))
    return false;
  // What the group reads for a moment longer, beside what it does not write: a
  // statistic of each channel, for example, beside an image. Or the sum over
  // rows that it writes a moment earlier, beside what it sums.
  constexpr StepLiveness::Sum ShareOfOutput = 256;
  StepLiveness::Sum Slack =
      (getUnwrittenBytes(Producer, Consumer) + getSummedBytes(Consumer)) /
      ShareOfOutput;
  Steps.merge(Producer, Consumer);

  // Level or lower everywhere, but for that; at the group itself what the two
  // steps needed, or whatever stays below the peak of the whole function.
  ArrayRef<StepLiveness::Sum> Before = Steps.getLiveBeforeMerge();
  ArrayRef<StepLiveness::Sum> Live = Steps.getLive();
  StepLiveness::Sum Limit = std::max(Before.front(), Before.back());
  if (Rules.UseHeadroom)
    Limit = std::max(Limit, InitialPeak);
  bool Fits = Live[Consumer] <= Limit + Slack;
  for (unsigned I = Producer + 1; I < Consumer; ++I)
    Fits &=
        Steps.getStep(I).Ops.empty() || Live[I] <= Before[I - Producer] + Slack;
  if (!Fits)
    Steps.undoMerge();
  return Fits;
}
