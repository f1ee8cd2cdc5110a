//===- Elementwise.cpp - types and expressions ------------------*- C++ -*-===//

#include "remat/IR/ElementTypes.h"
#include "remat/IR/RematOps.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

LogicalResult CompareOp::inferReturnTypes(MLIRContext *Context,
                                          std::optional<Location> Loc,
                                          Adaptor Operands,
                                          SmallVectorImpl<Type> &Types) {
  if (failed(remat::detail::inferBroadcastType(Loc, Operands.getOperands(),
                                               Types)))
    return failure();
  Types.front() =
      cast<RankedTensorType>(Types.front()).clone(IntegerType::get(Context, 1));
  return success();
}

LogicalResult SelectOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> Loc,
                                         Adaptor Operands,
                                         SmallVectorImpl<Type> &Types) {
  if (failed(remat::detail::inferBroadcastType(
          Loc, Operands.getOperands().drop_front(), Types)))
    return failure();
  auto Values = cast<RankedTensorType>(Types.front());
  auto Condition = cast<RankedTensorType>(Operands.getCondition().getType());
  auto Shape = broadcastShapes(Values.getShape(), Condition.getShape());
  if (!Shape)
    return emitOptionalError(Loc, "the condition's shape ", Condition,
                             " does not broadcast with ", Values);
  Types.front() = Values.clone(*Shape);
  return success();
}

template <typename OpType> static LogicalResult verifyShapes(OpType Op) {
  RankedTensorType From = Op.getOperand().getType(), To = Op.getType();
  if (From.getShape() != To.getShape())
    return Op.emitOpError() << "result shape " << To << " differs from operand "
                            << From << "; remat.reshape changes shapes";
  return success();
}

LogicalResult CastOp::verify() { return verifyShapes(*this); }

Value remat::skipWidening(Value V) {
  auto Cast = V.getDefiningOp<CastOp>();
  if (!Cast)
    return V;
  Type From = getElementTypeOrSelf(Cast.getOperand());
  return isComputedFloat(From) && isLossless(From, getElementTypeOrSelf(V))
             ? Value(Cast.getOperand())
             : V;
}

LogicalResult BitcastOp::verify() {
  RankedTensorType From = getOperand().getType(), To = getType();
  if (From.getElementType() == To.getElementType())
    return emitOpError() << "operand " << From << " and result " << To
                         << " have the same element type";
  return verifyShapes(*this);
}

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *,
                                           std::optional<Location>,
                                           Adaptor Operands,
                                           SmallVectorImpl<Type> &Types) {
  Types.push_back(Operands.getValue().getType());
  return success();
}

LogicalResult ConstantOp::verify() {
  // Sparse and resource elements would bring storage that nobody has checked.
  if (!isa<DenseElementsAttr>(getValue()))
    return emitOpError("value must be a dense elements attribute");
  return success();
}

LogicalResult DropoutOp::verify() {
  double P = getP().convertToDouble();
  if (!(P >= 0.0 && P < 1.0))
    return emitOpError() << "p is " << P << "; it must be in [0, 1)";
  return success();
}
