//===- Elementwise.cpp - adjoints of elementwise operations ---------------===//
//
// Those of functions of one and of two elements stand in their ODS records.
//
//===----------------------------------------------------------------------===//

#include "AdjointBuilder.h"
#include "mlir/IR/Matchers.h"
#include "remat/IR/ElementTypes.h"

using namespace mlir;

namespace remat {

//===----------------------------------------------------------------------===//
// What records are written with
//===----------------------------------------------------------------------===//

Value AdjointBuilder::unary(Value Grad, Value Read, bool InF32,
                            llvm::function_ref<Value(Value, Value)> Body) {
  if (!InF32)
    return Body(Grad, Read);
  Value Wide = f32(Grad);
  Value WideRead = Read ? f32(Read) : Value();
  Value Out = Body(Wide, WideRead);
  return Out ? cast(Out, elementOf(Grad)) : Value();
}

Value AdjointBuilder::gradientWhere(Predicate Wins, Value Self, Value Other,
                                    Value Grad) {
  Value OrHalf = select(compare(Predicate::eq, Self, Other), mul(Grad, 0.5),
                        scalarLike(0.0, Grad));
  return select(compare(Wins, Self, Other), Grad, OrHalf);
}

/// A splat exponent, the common case, needs neither the test for 0 nor a tensor
/// of exponents.
static Value powSplatGradient(AdjointBuilder &B, Value Base, double Exponent,
                              Value Grad) {
  if (Exponent == 0.0)
    return Value();
  Value Power = B.f32(Base);
  if (Exponent != 2.0)
    Power = PowOp::create(B, Power, B.scalar(Exponent - 1.0, B.getF32Type()));
  return B.cast(B.mul(B.f32(Grad), B.mul(Power, Exponent)), elementOf(Grad));
}

Value AdjointBuilder::angleGradient(Value Y, Value X, Value Along, Value Grad) {
  Value WideY = f32(Y), WideX = f32(X);
  Value Square = add(mul(WideY, WideY), mul(WideX, WideX));
  Value Wide = div(mul(f32(Grad), f32(Along)), Square);
  return cast(Wide, elementOf(Grad));
}

Value AdjointBuilder::powBaseGradient(Value Base, Value Exponent, Value Grad) {
  DenseElementsAttr Splat;
  if (matchPattern(Exponent, m_Constant(&Splat)) && Splat.isSplat())
    return powSplatGradient(
        *this, Base, Splat.getSplatValue<APFloat>().convertToDouble(), Grad);
  Value Y = f32(Exponent);
  Value Power = PowOp::create(*this, f32(Base), sub(Y, scalarLike(1.0, Y)));
  Value Zero = scalarLike(0.0, Y);
  Value Slope = select(compare(Predicate::eq, Y, Zero), Zero,
                       mul(f32(Grad), mul(Y, Power)));
  return cast(Slope, elementOf(Grad));
}

Value AdjointBuilder::powExponentGradient(Value Base, Value Result,
                                          Value Grad) {
  Value X = f32(Base);
  Value Zero = scalarLike(0.0, X);
  Value Slope = mul(f32(Result), LogOp::create(*this, X));
  Value Scaled =
      select(compare(Predicate::eq, X, Zero), Zero, mul(f32(Grad), Slope));
  return cast(Scaled, elementOf(Grad));
}

//===----------------------------------------------------------------------===//
// Operations of other forms
//===----------------------------------------------------------------------===//

LogicalResult CastOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                                   ArrayRef<bool> Needed,
                                   MutableArrayRef<Value> OperandGrads) {
  if (!Needed[0] || !ResultGrads[0])
    return success();
  for (Value V : {Value(getOperand()), Value(getResult())})
    if (!isComputedFloat(elementOf(V))) {
      InFlightDiagnostic Diag = emitOpError()
                                << "cannot be differentiated: no gradient "
                                   "passes through "
                                << elementOf(V);
      Diag.attachNote() << "cast to bf16 or f16 instead";
      return Diag;
    }
  AdjointBuilder B(Builder, getOperation());
  OperandGrads[0] = B.cast(ResultGrads[0], elementOf(getOperand()));
  return success();
}

LogicalResult DropoutOp::buildAdjoint(OpBuilder &Builder,
                                      ValueRange ResultGrads,
                                      ArrayRef<bool> Needed,
                                      MutableArrayRef<Value> OperandGrads) {
  if (Needed[0] && ResultGrads[0])
    OperandGrads[0] = DropoutOp::create(
        Builder, getLoc(), ResultGrads[0].getType(), ResultGrads[0], getSeed(),
        getStep(), getPAttr(), getIdAttr());
  return success();
}

LogicalResult SelectOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                                     ArrayRef<bool> Needed,
                                     MutableArrayRef<Value> OperandGrads) {
  if (!ResultGrads[0])
    return success();
  AdjointBuilder B(Builder, getOperation());
  Value G = ResultGrads[0];
  if (Needed[1])
    OperandGrads[1] = B.sumTo(B.select(getCondition(), G, B.scalarLike(0.0, G)),
                              shapeOf(getTrueValue()));
  if (Needed[2])
    OperandGrads[2] = B.sumTo(B.select(getCondition(), B.scalarLike(0.0, G), G),
                              shapeOf(getFalseValue()));
  return success();
}

} // namespace remat
