//===- Linear.cpp - what may run on each summand of a sum -------*- C++ -*-===//
//
// What each operation answers to LinearOpInterface.
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"
#include "remat/IR/RematOps.h"

using namespace mlir;
using namespace remat;

using Sets = SmallVector<SmallVector<unsigned>>;

static bool isFloat(Value V) {
  return isa<FloatType>(getTensorType(V).getElementType());
}

Sets NegOp::getLinearOperands() { return {{0}}; }
Sets AddOp::getLinearOperands() { return {{0, 1}}; }
Sets SubOp::getLinearOperands() { return {{0, 1}}; }
Sets MulOp::getLinearOperands() { return {{0}, {1}}; }

/// Quotients of integers are rounded.
Sets DivOp::getLinearOperands() {
  return isFloat(getResult()) ? Sets{{0}} : Sets{};
}

Sets CastOp::getLinearOperands() {
  return isFloat(getOperand()) && isFloat(getResult()) ? Sets{{0}} : Sets{};
}

Sets ReshapeOp::getLinearOperands() { return {{0}}; }
Sets TransposeOp::getLinearOperands() { return {{0}}; }
Sets SliceOp::getLinearOperands() { return {{0}}; }
Sets PadOp::getLinearOperands() { return {{0}}; }
Sets RollOp::getLinearOperands() { return {{0}}; }
Sets BroadcastOp::getLinearOperands() { return {{0}}; }

Sets ConcatOp::getLinearOperands() {
  return {llvm::to_vector(llvm::seq<unsigned>(getNumOperands()))};
}

Sets ReduceOp::getLinearOperands() {
  return getKind() == Reduction::max ? Sets{} : Sets{{0}};
}
