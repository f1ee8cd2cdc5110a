//===- ReverseWalk.cpp - gradients through a block ------------------------===//

#include "remat/IR/ReverseWalk.h"

using namespace mlir;
using namespace remat;

bool remat::isFloatTensor(Value V) {
  auto Type = dyn_cast<RankedTensorType>(V.getType());
  return Type && isa<FloatType>(Type.getElementType());
}

void remat::markActive(Block &Body, llvm::DenseSet<Value> &Active) {
  for (Operation &Op : Body)
    if (!isa<StopGradientOp>(Op) &&
        llvm::any_of(Op.getOperands(),
                     [&](Value V) { return Active.contains(V); }))
      for (Value Result : Op.getResults())
        if (isFloatTensor(Result))
          Active.insert(Result);
}

void ReverseWalk::accumulate(Value Of, Value Gradient, Location Loc) {
  Value &Sum = Gradients[Of];
  Sum = Sum ? AddOp::create(Builder, Loc, Sum, Gradient).getResult() : Gradient;
}

/// Builds the adjoint of `Op` if a gradient flows into one of its results.
LogicalResult ReverseWalk::visit(Operation *Op) {
  SmallVector<Value> ResultGrads;
  for (Value Result : Op->getResults())
    ResultGrads.push_back(Gradients.lookup(Result));
  if (llvm::none_of(ResultGrads, [](Value V) { return bool(V); }))
    return success();
  SmallVector<bool> Needed;
  for (Value Operand : Op->getOperands())
    Needed.push_back(Active.contains(Operand));
  if (!llvm::is_contained(Needed, true))
    return success();

  auto Differentiable = dyn_cast<DifferentiableOpInterface>(Op);
  if (!Differentiable) {
    InFlightDiagnostic Diag =
        Op->emitOpError("has no adjoint, but the loss depends on a parameter "
                        "through it");
    Diag.attachNote() << (isa<KernelOp>(Op)
                              ? "differentiate before operations are fused"
                              : "write it with differentiable operations, or "
                                "pass its operands as inputs");
    return Diag;
  }
  SmallVector<Value> OperandGrads(Op->getNumOperands());
  if (failed(Differentiable.buildAdjoint(Builder, ResultGrads, Needed,
                                         OperandGrads)))
    return failure();
  for (auto [Operand, Gradient] :
       llvm::zip_equal(Op->getOperands(), OperandGrads))
    if (Gradient)
      accumulate(Operand, Gradient, Op->getLoc());
  return success();
}

LogicalResult ReverseWalk::run(ArrayRef<Operation *> Ops) {
  for (Operation *Op : llvm::reverse(Ops))
    if (failed(visit(Op)))
      return failure();
  return success();
}
