//===- Elementwise.cpp - adjoints of elementwise operations ---------------===//

#include "AdjointBuilder.h"
#include "mlir/IR/Matchers.h"
#include <numbers>

using namespace mlir;

namespace remat {

//===----------------------------------------------------------------------===//
// Unary. Each is one function of the gradient, the operand and the result; it
// reads the operand or the result, never both.
//===----------------------------------------------------------------------===//

/// Applies `Body(B, Grad, Read)` in f32, rounds to the operand's type.
template <typename Function>
static LogicalResult unary(Operation *Op, OpBuilder &Builder,
                           ValueRange ResultGrads, ArrayRef<bool> Needed,
                           MutableArrayRef<Value> OperandGrads, Value Read,
                           Function Body) {
  if (!Needed[0] || !ResultGrads[0])
    return success();
  AdjointBuilder B(Builder, Op);
  Value Grad = Body(B, B.f32(ResultGrads[0]), Read ? B.f32(Read) : Value());
  OperandGrads[0] = B.cast(Grad, elementOf(Op->getOperand(0)));
  return success();
}

#define REMAT_UNARY_ADJOINT(OP, READ, BODY)                                    \
  LogicalResult OP::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,   \
                                 ArrayRef<bool> Needed,                        \
                                 MutableArrayRef<Value> OperandGrads) {        \
    return unary(getOperation(), Builder, ResultGrads, Needed, OperandGrads,   \
                 READ, [](AdjointBuilder & B, Value G, Value V)->Value BODY);  \
  }

REMAT_UNARY_ADJOINT(NegOp, Value(), { return B.neg(G); })
REMAT_UNARY_ADJOINT(AbsOp, getOperand(), {
  Value Zero = B.scalarLike(0.0, G);
  Value OrMinus = B.select(B.compare(Predicate::lt, V, Zero), B.neg(G), Zero);
  return B.select(B.compare(Predicate::gt, V, Zero), G, OrMinus);
})
REMAT_UNARY_ADJOINT(ExpOp, getResult(), { return B.mul(G, V); })
REMAT_UNARY_ADJOINT(LogOp, getOperand(), { return B.div(G, V); })
REMAT_UNARY_ADJOINT(SqrtOp, getResult(), { return B.div(B.mul(G, 0.5), V); })
REMAT_UNARY_ADJOINT(RsqrtOp, getResult(),
                    { return B.mul(B.mul(G, -0.5), B.mul(V, B.mul(V, V))); })
REMAT_UNARY_ADJOINT(ReciprocalOp, getResult(),
                    { return B.neg(B.mul(G, B.mul(V, V))); })
REMAT_UNARY_ADJOINT(SinOp, getOperand(),
                    { return B.mul(G, CosOp::create(B, V)); })
REMAT_UNARY_ADJOINT(CosOp, getOperand(),
                    { return B.neg(B.mul(G, SinOp::create(B, V))); })
REMAT_UNARY_ADJOINT(TanhOp, getResult(), {
  return B.mul(G, B.sub(B.scalarLike(1.0, V), B.mul(V, V)));
})
REMAT_UNARY_ADJOINT(ErfOp, getOperand(), {
  Value Bell = ExpOp::create(B, B.neg(B.mul(V, V)));
  return B.mul(G, B.mul(Bell, 2.0 * std::numbers::inv_sqrtpi));
})
REMAT_UNARY_ADJOINT(SigmoidOp, getResult(), {
  return B.mul(G, B.mul(V, B.sub(B.scalarLike(1.0, V), V)));
})
REMAT_UNARY_ADJOINT(SiluOp, getOperand(), {
  // s (1 + x (1 - s)) with s = sigmoid(x).
  Value S = SigmoidOp::create(B, V);
  Value One = B.scalarLike(1.0, V);
  return B.mul(G, B.mul(S, B.add(One, B.mul(V, B.sub(One, S)))));
})

#undef REMAT_UNARY_ADJOINT

LogicalResult ReluOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                                   ArrayRef<bool> Needed,
                                   MutableArrayRef<Value> OperandGrads) {
  if (Needed[0] && ResultGrads[0])
    OperandGrads[0] =
        ReluBackwardOp::create(Builder, getLoc(), getResult(), ResultGrads[0]);
  return success();
}

LogicalResult GeluOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                                   ArrayRef<bool> Needed,
                                   MutableArrayRef<Value> OperandGrads) {
  if (Needed[0] && ResultGrads[0])
    OperandGrads[0] = GeluBackwardOp::create(Builder, getLoc(), getOperand(),
                                             ResultGrads[0], getKind());
  return success();
}

LogicalResult CastOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                                   ArrayRef<bool> Needed,
                                   MutableArrayRef<Value> OperandGrads) {
  if (!Needed[0] || !ResultGrads[0])
    return success();
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

//===----------------------------------------------------------------------===//
// Binary and ternary: a broadcast operand's gradient is summed to its shape.
//===----------------------------------------------------------------------===//

LogicalResult AddOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                                  ArrayRef<bool> Needed,
                                  MutableArrayRef<Value> OperandGrads) {
  if (!ResultGrads[0])
    return success();
  AdjointBuilder B(Builder, getOperation());
  for (unsigned I : {0u, 1u})
    if (Needed[I])
      OperandGrads[I] =
          B.sumTo(ResultGrads[0], shapeOf(getOperation()->getOperand(I)));
  return success();
}

LogicalResult SubOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                                  ArrayRef<bool> Needed,
                                  MutableArrayRef<Value> OperandGrads) {
  if (!ResultGrads[0])
    return success();
  AdjointBuilder B(Builder, getOperation());
  if (Needed[0])
    OperandGrads[0] = B.sumTo(ResultGrads[0], shapeOf(getLhs()));
  if (Needed[1])
    OperandGrads[1] = B.neg(B.sumTo(ResultGrads[0], shapeOf(getRhs())));
  return success();
}

LogicalResult MulOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                                  ArrayRef<bool> Needed,
                                  MutableArrayRef<Value> OperandGrads) {
  if (!ResultGrads[0])
    return success();
  AdjointBuilder B(Builder, getOperation());
  if (Needed[0])
    OperandGrads[0] =
        B.sumTo(B.mul(ResultGrads[0], getRhs()), shapeOf(getLhs()));
  if (Needed[1])
    OperandGrads[1] =
        B.sumTo(B.mul(ResultGrads[0], getLhs()), shapeOf(getRhs()));
  return success();
}

/// With q = x / y: dx = g / y and dy = -g q / y. The quotient is read instead
/// of x because whoever reads the quotient next keeps it anyway.
LogicalResult DivOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                                  ArrayRef<bool> Needed,
                                  MutableArrayRef<Value> OperandGrads) {
  if (!ResultGrads[0])
    return success();
  AdjointBuilder B(Builder, getOperation());
  Value G = ResultGrads[0];
  if (Needed[0])
    OperandGrads[0] = B.sumTo(B.div(G, getRhs()), shapeOf(getLhs()));
  if (Needed[1]) {
    Value Grad = B.div(B.mul(B.f32(G), B.f32(getResult())), B.f32(getRhs()));
    Grad = B.sumTo(B.cast(Grad, elementOf(G)), shapeOf(getRhs()));
    OperandGrads[1] = B.neg(Grad);
  }
  return success();
}

/// Operand I gets the gradient where `Wins` holds between it and the other
/// operand, half of it where they are equal.
static LogicalResult extremumAdjoint(Operation *Op, OpBuilder &Builder,
                                     Value Grad, ArrayRef<bool> Needed,
                                     MutableArrayRef<Value> OperandGrads,
                                     Predicate Wins) {
  if (!Grad)
    return success();
  AdjointBuilder B(Builder, Op);
  for (unsigned I : {0u, 1u}) {
    if (!Needed[I])
      continue;
    Value Self = Op->getOperand(I), Other = Op->getOperand(1 - I);
    Value OrHalf = B.select(B.compare(Predicate::eq, Self, Other),
                            B.mul(Grad, 0.5), B.scalarLike(0.0, Grad));
    Value Share = B.select(B.compare(Wins, Self, Other), Grad, OrHalf);
    OperandGrads[I] = B.sumTo(Share, shapeOf(Self));
  }
  return success();
}

LogicalResult MaxOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                                  ArrayRef<bool> Needed,
                                  MutableArrayRef<Value> OperandGrads) {
  return extremumAdjoint(getOperation(), Builder, ResultGrads[0], Needed,
                         OperandGrads, Predicate::gt);
}

LogicalResult MinOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                                  ArrayRef<bool> Needed,
                                  MutableArrayRef<Value> OperandGrads) {
  return extremumAdjoint(getOperation(), Builder, ResultGrads[0], Needed,
                         OperandGrads, Predicate::lt);
}

/// d(x^y)/dx = y x^(y-1), 0 where y is 0. A splat exponent, the common case,
/// needs neither the test nor a tensor of exponents.
static Value powBaseGrad(AdjointBuilder &B, Value G, Value X, Value Y) {
  DenseElementsAttr Exponent;
  if (matchPattern(Y, m_Constant(&Exponent)) && Exponent.isSplat()) {
    double C = Exponent.getSplatValue<APFloat>().convertToDouble();
    if (C == 0.0)
      return Value();
    Value Power =
        C == 2.0 ? B.f32(X)
                 : PowOp::create(B, B.f32(X), B.scalar(C - 1.0, B.getF32Type()))
                       .getResult();
    return B.mul(B.f32(G), B.mul(Power, C));
  }
  Value Y32 = B.f32(Y);
  Value Power = PowOp::create(B, B.f32(X), B.sub(Y32, B.scalarLike(1.0, Y32)));
  Value Zero = B.scalarLike(0.0, Y32);
  return B.select(B.compare(Predicate::eq, Y32, Zero), Zero,
                  B.mul(B.f32(G), B.mul(Y32, Power)));
}

/// d(x^y)/dy = x^y ln x, 0 where x is 0: the limit for every y > 0.
static Value powExponentGrad(AdjointBuilder &B, Value G, Value X,
                             Value Result) {
  Value X32 = B.f32(X);
  Value Zero = B.scalarLike(0.0, X32);
  Value Slope = B.mul(B.f32(Result), LogOp::create(B, X32));
  return B.select(B.compare(Predicate::eq, X32, Zero), Zero,
                  B.mul(B.f32(G), Slope));
}

LogicalResult PowOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                                  ArrayRef<bool> Needed,
                                  MutableArrayRef<Value> OperandGrads) {
  if (!ResultGrads[0])
    return success();
  AdjointBuilder B(Builder, getOperation());
  Value G = ResultGrads[0];
  if (Needed[0])
    if (Value Grad = powBaseGrad(B, G, getLhs(), getRhs()))
      OperandGrads[0] = B.sumTo(B.cast(Grad, elementOf(G)), shapeOf(getLhs()));
  if (Needed[1]) {
    Value Grad = powExponentGrad(B, G, getLhs(), getResult());
    OperandGrads[1] = B.sumTo(B.cast(Grad, elementOf(G)), shapeOf(getRhs()));
  }
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
