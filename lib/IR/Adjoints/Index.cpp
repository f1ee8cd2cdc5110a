//===- Index.cpp - adjoints of elements by index, order and scans ---------===//

#include "AdjointBuilder.h"

using namespace mlir;

namespace remat {

/// What `Op` took from its operand by its indices goes back to its place.
template <typename OpT>
static void scatterBack(OpT Op, OpBuilder &Builder, Value Grad,
                        ArrayRef<bool> Needed,
                        MutableArrayRef<Value> OperandGrads) {
  if (Needed[0] && Grad)
    OperandGrads[0] =
        ScatterAddOp::create(Builder, Op.getLoc(), Op.getOperand().getType(),
                             Op.getIndices(), Grad, Op.getDim());
}

LogicalResult GatherOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                                     ArrayRef<bool> Needed,
                                     MutableArrayRef<Value> OperandGrads) {
  scatterBack(*this, Builder, ResultGrads[0], Needed, OperandGrads);
  return success();
}

LogicalResult ScatterAddOp::buildAdjoint(OpBuilder &Builder,
                                         ValueRange ResultGrads,
                                         ArrayRef<bool> Needed,
                                         MutableArrayRef<Value> OperandGrads) {
  if (Needed[1] && ResultGrads[0])
    OperandGrads[1] = GatherOp::create(Builder, getLoc(), ResultGrads[0],
                                       getIndices(), getDim());
  return success();
}

LogicalResult TopKOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                                   ArrayRef<bool> Needed,
                                   MutableArrayRef<Value> OperandGrads) {
  scatterBack(*this, Builder, ResultGrads[0], Needed, OperandGrads);
  return success();
}

LogicalResult CumsumOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                                     ArrayRef<bool> Needed,
                                     MutableArrayRef<Value> OperandGrads) {
  if (Needed[0] && ResultGrads[0])
    OperandGrads[0] = CumsumOp::create(Builder, getLoc(), ResultGrads[0],
                                       getDim(), !getReverse());
  return success();
}

} // namespace remat
