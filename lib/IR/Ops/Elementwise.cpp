//===- Elementwise.cpp - types and expressions ------------------*- C++ -*-===//

#include "remat/IR/RematOps.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Scalar expressions
//===----------------------------------------------------------------------===//

std::string GeluOp::getScalarExpression() {
  if (getKind() == Gelu::erf)
    return "0.5f * a * (1.0f + erff(a * 0.70710678118654752f))";
  return "0.5f * a * (1.0f + tanhf(0.79788456080286536f * "
         "(a + 0.044715f * a * a * a)))";
}

std::string GeluBackwardOp::getScalarExpression() {
  // erf: Phi(a) + a phi(a), the normal distribution and its density.
  if (getKind() == Gelu::erf)
    return "b * (0.5f * (1.0f + erff(a * 0.70710678118654752f)) + "
           "a * 0.39894228040143268f * expf(-0.5f * a * a))";
  // tanh, with t = tanh(u(a)): (1 + t) / 2 + a (1 - t^2) u'(a) / 2, where
  // 1 - t^2 is written (1 - t)(1 + t).
  const std::string T =
      "tanhf(0.79788456080286536f * (a + 0.044715f * a * a * a))";
  return "b * 0.5f * (1.0f + " + T + ") * (1.0f + a * (1.0f - " + T +
         ") * 0.79788456080286536f * (1.0f + 0.134145f * a * a))";
}

std::string CompareOp::getScalarExpression() {
  switch (getPredicate()) {
  case Predicate::eq:
    return "a == b";
  case Predicate::ne:
    return "a != b";
  case Predicate::lt:
    return "a < b";
  case Predicate::le:
    return "a <= b";
  case Predicate::gt:
    return "a > b";
  case Predicate::ge:
    return "a >= b";
  }
  llvm_unreachable("all predicates are handled");
}

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

LogicalResult CastOp::verify() {
  RankedTensorType From = getOperand().getType(), To = getResult().getType();
  if (From.getShape() != To.getShape())
    return emitOpError() << "result shape " << To << " differs from operand "
                         << From << "; remat.reshape changes shapes";
  return success();
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

//===----------------------------------------------------------------------===//
// RandomOpInterface
//===----------------------------------------------------------------------===//

int64_t RandomOp::getRandomId() { return getId(); }
void RandomOp::setRandomId(int64_t Id) { setId(Id); }
int64_t DropoutOp::getRandomId() { return getId(); }
void DropoutOp::setRandomId(int64_t Id) { setId(Id); }
