//===- Network.cpp - adjoints of layers and losses ------------------------===//

#include "AdjointBuilder.h"

using namespace mlir;

namespace remat {

//===----------------------------------------------------------------------===//
// Matrix product. With A' and B' the operands after their transposes,
// C = A' B' has dA' = G B'^T and dB' = A'^T G. A transposed operand wants the
// transpose of that, which is the product in the other order: flags express
// every case, nothing is transposed in memory.
//===----------------------------------------------------------------------===//

/// Leading dimensions and rows as one: [batch..., M, N] -> [batch * M, N].
static Value flattenRows(AdjointBuilder &B, Value V) {
  ArrayRef<int64_t> Shape = shapeOf(V);
  int64_t Rows = 1;
  for (int64_t Size : Shape.drop_back())
    Rows *= Size;
  return B.reshape(V, {Rows, Shape.back()});
}

/// matmul(Lhs, Rhs) summed over the batch dimensions that `Like` has not.
static Value product(AdjointBuilder &B, Value Lhs, Value Rhs, bool TransposeLhs,
                     bool TransposeRhs, Value Like) {
  ArrayRef<int64_t> L = shapeOf(Lhs), R = shapeOf(Rhs);
  SmallVector<int64_t> Shape((L.size() >= R.size() ? L : R).drop_back(2));
  Shape.push_back(L[L.size() - (TransposeLhs ? 1 : 2)]);
  Shape.push_back(R[R.size() - (TransposeRhs ? 2 : 1)]);
  auto Type = RankedTensorType::get(Shape, elementOf(Like));
  Value Result =
      MatmulOp::create(B, Type, Lhs, Rhs, /*bias=*/Value(),
                       /*addend=*/Value(), TransposeLhs, TransposeRhs);
  return B.sumTo(Result, shapeOf(Like));
}

static Value matmulLhsGrad(AdjointBuilder &B, MatmulOp Op, Value G) {
  bool TL = Op.getTransposeLhs(), TR = Op.getTransposeRhs();
  if (TL)
    return product(B, Op.getRhs(), G, TR, true, Op.getLhs());
  return product(B, G, Op.getRhs(), false, !TR, Op.getLhs());
}

/// A rank-2 weight that serves a batched lhs contracts batch and rows at once:
/// one product on flat views instead of one a batch element and a sum.
static Value matmulRhsGrad(AdjointBuilder &B, MatmulOp Op, Value G) {
  bool TL = Op.getTransposeLhs(), TR = Op.getTransposeRhs();
  Value Lhs = Op.getLhs();
  if (!TL && shapeOf(Op.getRhs()).size() == 2) {
    Lhs = flattenRows(B, Lhs);
    G = flattenRows(B, G);
  }
  if (TR)
    return product(B, G, Lhs, true, TL, Op.getRhs());
  return product(B, Lhs, G, !TL, false, Op.getRhs());
}

/// Bias and rhs, which are weights as a rule, come first: the lhs, an
/// activation, is then free before its own gradient is made.
LogicalResult MatmulOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                                     ArrayRef<bool> Needed,
                                     MutableArrayRef<Value> OperandGrads) {
  if (!ResultGrads[0])
    return success();
  AdjointBuilder B(Builder, getOperation());
  Value G = ResultGrads[0];
  if (getBias() && Needed[2])
    OperandGrads[2] =
        B.cast(B.sumTo(G, shapeOf(getBias())), elementOf(getBias()));
  if (getAddend() && Needed.back())
    OperandGrads.back() = G;
  G = B.cast(G, elementOf(getLhs()));
  if (Needed[1])
    OperandGrads[1] = matmulRhsGrad(B, *this, G);
  if (Needed[0])
    OperandGrads[0] = matmulLhsGrad(B, *this, G);
  return success();
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// Fails if a gradient flows into result `Index`, which only the backward of
/// the operation itself is meant to read.
static LogicalResult refuseGradient(Operation *Op, ValueRange ResultGrads,
                                    unsigned Index, StringRef What) {
  if (!ResultGrads[Index])
    return success();
  InFlightDiagnostic Diag = Op->emitOpError()
                            << "cannot be differentiated with respect to its "
                            << What << " (result " << Index << ")";
  Diag.attachNote() << "compute the " << What
                    << " with elementwise operations and remat.reduce where "
                       "the loss depends on it";
  return Diag;
}

LogicalResult SoftmaxOp::buildAdjoint(OpBuilder &Builder,
                                      ValueRange ResultGrads,
                                      ArrayRef<bool> Needed,
                                      MutableArrayRef<Value> OperandGrads) {
  if (Needed[0] && ResultGrads[0])
    OperandGrads[0] = SoftmaxBackwardOp::create(Builder, getLoc(), getResult(),
                                                ResultGrads[0]);
  return success();
}

LogicalResult LayerNormOp::buildAdjoint(OpBuilder &Builder,
                                        ValueRange ResultGrads,
                                        ArrayRef<bool> Needed,
                                        MutableArrayRef<Value> OperandGrads) {
  if (failed(refuseGradient(getOperation(), ResultGrads, 1, "mean")) ||
      failed(refuseGradient(getOperation(), ResultGrads, 2, "rstd")))
    return failure();
  if (!ResultGrads[0])
    return success();
  AdjointBuilder B(Builder, getOperation());
  auto Backward = LayerNormBackwardOp::create(B, ResultGrads[0], getOperand(),
                                              getScale(), getMean(), getRstd(),
                                              /*addend=*/Value(),
                                              /*with_sum=*/false);
  if (Needed[0])
    OperandGrads[0] = Backward.getOperandGrad();
  if (Needed[1])
    OperandGrads[1] = Backward.getScaleGrad();
  if (Needed[2])
    OperandGrads[2] = B.cast(Backward.getBiasGrad(), elementOf(getBias()));
  return success();
}

/// With m elements: of the mean 1 / m each, of the variance 2 (x - mean) / m.
LogicalResult MomentsOp::buildAdjoint(OpBuilder &Builder,
                                      ValueRange ResultGrads,
                                      ArrayRef<bool> Needed,
                                      MutableArrayRef<Value> OperandGrads) {
  if (!Needed[0] || (!ResultGrads[0] && !ResultGrads[1]))
    return success();
  AdjointBuilder B(Builder, getOperation());
  Value X = getOperand(), Grad;
  double Count = double(tensorType(X).getNumElements()) /
                 double(tensorType(getMean()).getNumElements());
  if (Value OfVariance = ResultGrads[1])
    Grad = B.mul(B.sub(B.f32(X), getMean()), B.mul(OfVariance, 2.0 / Count));
  if (Value OfMean = ResultGrads[0]) {
    Value Share = B.mul(OfMean, 1.0 / Count);
    Grad = Grad ? B.add(Grad, Share)
                : BroadcastOp::create(B, tensorType(X).clone(B.getF32Type()),
                                      Share);
  }
  OperandGrads[0] = B.cast(Grad, elementOf(X));
  return success();
}

LogicalResult NormalizeOp::buildAdjoint(OpBuilder &Builder,
                                        ValueRange ResultGrads,
                                        ArrayRef<bool> Needed,
                                        MutableArrayRef<Value> OperandGrads) {
  Value G = ResultGrads[0];
  if (!G)
    return success();
  AdjointBuilder B(Builder, getOperation());
  Value Factor = B.mul(getScale(), getRstd());
  if (llvm::is_contained(Needed.drop_front(), true)) {
    auto Sums =
        NormalizeSumsOp::create(B, G, getOperand(), getMean(), ValueRange());
    if (Needed[1])
      OperandGrads[1] = B.neg(B.mul(Factor, Sums.getSum()));
    if (Needed[2])
      OperandGrads[2] = B.mul(getScale(), Sums.getCentredSum());
    if (Needed[3])
      OperandGrads[3] = B.mul(getRstd(), Sums.getCentredSum());
    if (Needed[4])
      OperandGrads[4] = Sums.getSum();
  }
  if (Needed[0])
    OperandGrads[0] = B.cast(B.mul(B.f32(G), Factor), elementOf(getOperand()));
  return success();
}

LogicalResult RMSNormOp::buildAdjoint(OpBuilder &Builder,
                                      ValueRange ResultGrads,
                                      ArrayRef<bool> Needed,
                                      MutableArrayRef<Value> OperandGrads) {
  if (failed(refuseGradient(getOperation(), ResultGrads, 1, "rstd")))
    return failure();
  if (!ResultGrads[0])
    return success();
  AdjointBuilder B(Builder, getOperation());
  auto Backward =
      RMSNormBackwardOp::create(B, ResultGrads[0], getOperand(), getWeight(),
                                getRstd(), /*addend=*/Value());
  if (Needed[0])
    OperandGrads[0] = Backward.getOperandGrad();
  if (Needed[1])
    OperandGrads[1] = Backward.getWeightGrad();
  return success();
}

LogicalResult AttentionOp::buildAdjoint(OpBuilder &Builder,
                                        ValueRange ResultGrads,
                                        ArrayRef<bool> Needed,
                                        MutableArrayRef<Value> OperandGrads) {
  if (failed(refuseGradient(getOperation(), ResultGrads, 1, "log-sum-exp")))
    return failure();
  unsigned NumInputs = getQkv().size();
  if (getMask() && Needed[NumInputs]) {
    InFlightDiagnostic Diag =
        emitOpError("the mask depends on a parameter, but attention has no "
                    "gradient of its mask");
    Diag.attachNote() << "compute scores with remat.matmul, add the mask and "
                         "use remat.softmax";
    return Diag;
  }
  if (!ResultGrads[0])
    return success();
  auto Backward = AttentionBackwardOp::create(
      Builder, getLoc(), TypeRange(getQkv()), ResultGrads[0], getQkv(),
      getResult(), getLse(), getMask(), getSeed(), getStep(), getCausalAttr(),
      getWindowAttr(), getScaleAttr(), getDropoutPAttr(), getIdAttr());
  for (unsigned I = 0; I < NumInputs; ++I)
    if (Needed[I])
      OperandGrads[I] = Backward.getQkvGrads()[I];
  return success();
}

LogicalResult EmbeddingOp::buildAdjoint(OpBuilder &Builder,
                                        ValueRange ResultGrads,
                                        ArrayRef<bool> Needed,
                                        MutableArrayRef<Value> OperandGrads) {
  if (Needed[1] && ResultGrads[0])
    OperandGrads[1] = EmbeddingBackwardOp::create(
        Builder, getLoc(), getTable().getType(), getIds(), ResultGrads[0],
        /*addend=*/Value());
  return success();
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

LogicalResult
CrossEntropyOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                             ArrayRef<bool> Needed,
                             MutableArrayRef<Value> OperandGrads) {
  if (failed(refuseGradient(getOperation(), ResultGrads, 1, "log-sum-exp")))
    return failure();
  if (Needed[0] && ResultGrads[0])
    OperandGrads[0] = CrossEntropyBackwardOp::create(
        Builder, getLoc(), ResultGrads[0], getLogits(), getTargets(), getLse(),
        getIgnoreIndexAttr());
  return success();
}

LogicalResult MseOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                                  ArrayRef<bool> Needed,
                                  MutableArrayRef<Value> OperandGrads) {
  if (!ResultGrads[0])
    return success();
  AdjointBuilder B(Builder, getOperation());
  Value X = getPrediction(), Y = getTarget();
  Value Factor =
      B.mul(ResultGrads[0], 2.0 / double(tensorType(X).getNumElements()));
  Value Grad = B.mul(B.sub(B.f32(X), B.f32(Y)), Factor);
  if (Needed[0])
    OperandGrads[0] = B.cast(Grad, elementOf(X));
  if (Needed[1])
    OperandGrads[1] = B.neg(B.cast(Grad, elementOf(Y)));
  return success();
}

} // namespace remat
