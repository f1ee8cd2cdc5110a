//===- Index.cpp - adjoints of elements by index, order and scans ---------===//

#include "AdjointBuilder.h"

using namespace mlir;

namespace remat {

LogicalResult GatherOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                                     ArrayRef<bool> Needed,
                                     MutableArrayRef<Value> OperandGrads) {
  if (Needed[0] && ResultGrads[0])
    OperandGrads[0] =
        ScatterAddOp::create(Builder, getLoc(), getOperand().getType(),
                             getIndices(), ResultGrads[0], getDim());
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
  if (Needed[0] && ResultGrads[0])
    OperandGrads[0] =
        ScatterAddOp::create(Builder, getLoc(), getOperand().getType(),
                             getIndices(), ResultGrads[0], getDim());
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
