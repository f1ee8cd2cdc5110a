//===- AdjointBuilder.cpp - what adjoints are written with ----------------===//

#include "AdjointBuilder.h"

using namespace mlir;

namespace remat {

Value AdjointBuilder::scalar(double Value, Type ElementType) {
  auto Type = RankedTensorType::get({}, ElementType);
  return ConstantOp::create(
      *this, DenseElementsAttr::get(Type, getFloatAttr(ElementType, Value)));
}

Value AdjointBuilder::scalarLike(double Value, mlir::Value Like) {
  return scalar(Value, elementOf(Like));
}

Value AdjointBuilder::cast(Value Operand, Type ElementType) {
  if (elementOf(Operand) == ElementType)
    return Operand;
  return CastOp::create(*this, tensorType(Operand).clone(ElementType), Operand);
}

Value AdjointBuilder::reshape(Value Operand, ArrayRef<int64_t> Shape) {
  if (shapeOf(Operand) == Shape)
    return Operand;
  return ReshapeOp::create(*this, tensorType(Operand).clone(Shape), Operand);
}

Value AdjointBuilder::sumTo(Value Operand, ArrayRef<int64_t> Shape) {
  if (!Operand)
    return Value();
  ArrayRef<int64_t> From = shapeOf(Operand);
  size_t Added = From.size() - Shape.size();
  SmallVector<int64_t> Dims;
  for (size_t I = 0; I < From.size(); ++I)
    if (I < Added || (From[I] != 1 && Shape[I - Added] == 1))
      Dims.push_back(I);
  if (Dims.empty())
    return Operand;
  Value Sum = ReduceOp::create(*this, Reduction::sum, Operand, Dims);
  return reshape(Sum, Shape);
}

Value AdjointBuilder::add(Value Lhs, Value Rhs) {
  return AddOp::create(*this, Lhs, Rhs);
}

Value AdjointBuilder::sub(Value Lhs, Value Rhs) {
  return SubOp::create(*this, Lhs, Rhs);
}

Value AdjointBuilder::mul(Value Lhs, Value Rhs) {
  return MulOp::create(*this, Lhs, Rhs);
}

Value AdjointBuilder::mul(Value Lhs, double Rhs) {
  return mul(Lhs, scalarLike(Rhs, Lhs));
}

Value AdjointBuilder::div(Value Lhs, Value Rhs) {
  return DivOp::create(*this, Lhs, Rhs);
}

Value AdjointBuilder::neg(Value Operand) {
  return NegOp::create(*this, Operand);
}

Value AdjointBuilder::compare(Predicate How, Value Lhs, Value Rhs) {
  return CompareOp::create(*this, How, Lhs, Rhs);
}

Value AdjointBuilder::select(Value Condition, Value True, Value False) {
  return SelectOp::create(*this, Condition, True, False);
}

} // namespace remat
