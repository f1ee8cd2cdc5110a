//===- Shape.cpp - adjoints of shape operations and reductions ------------===//
//
// Shape operations move gradients back and read nothing of the forward.
//
//===----------------------------------------------------------------------===//

#include "AdjointBuilder.h"

using namespace mlir;

namespace remat {

LogicalResult ReshapeOp::buildAdjoint(OpBuilder &Builder,
                                      ValueRange ResultGrads,
                                      ArrayRef<bool> Needed,
                                      MutableArrayRef<Value> OperandGrads) {
  if (!Needed[0] || !ResultGrads[0])
    return success();
  AdjointBuilder B(Builder, getOperation());
  OperandGrads[0] = B.reshape(ResultGrads[0], shapeOf(getOperand()));
  return success();
}

LogicalResult TransposeOp::buildAdjoint(OpBuilder &Builder,
                                        ValueRange ResultGrads,
                                        ArrayRef<bool> Needed,
                                        MutableArrayRef<Value> OperandGrads) {
  if (!Needed[0] || !ResultGrads[0])
    return success();
  SmallVector<int64_t> Inverse(getPermutation().size());
  for (auto [I, From] : llvm::enumerate(getPermutation()))
    Inverse[From] = I;
  OperandGrads[0] =
      TransposeOp::create(Builder, getLoc(), ResultGrads[0], Inverse);
  return success();
}

LogicalResult SliceOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                                    ArrayRef<bool> Needed,
                                    MutableArrayRef<Value> OperandGrads) {
  if (!Needed[0] || !ResultGrads[0])
    return success();
  SmallVector<int64_t> High;
  for (auto [Whole, Offset, Size] :
       llvm::zip_equal(shapeOf(getOperand()), getOffsets(), getSizes()))
    High.push_back(Whole - Offset - Size);
  OperandGrads[0] =
      PadOp::create(Builder, getLoc(), ResultGrads[0], getOffsets(), High);
  return success();
}

LogicalResult PadOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                                  ArrayRef<bool> Needed,
                                  MutableArrayRef<Value> OperandGrads) {
  if (Needed[0] && ResultGrads[0])
    OperandGrads[0] = SliceOp::create(Builder, getLoc(), ResultGrads[0],
                                      getLow(), shapeOf(getOperand()));
  return success();
}

LogicalResult ConcatOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                                     ArrayRef<bool> Needed,
                                     MutableArrayRef<Value> OperandGrads) {
  if (!ResultGrads[0])
    return success();
  SmallVector<int64_t> Offsets(shapeOf(getResult()).size(), 0);
  for (auto [I, Operand] : llvm::enumerate(getOperands())) {
    ArrayRef<int64_t> Sizes = shapeOf(Operand);
    if (Needed[I])
      OperandGrads[I] =
          SliceOp::create(Builder, getLoc(), ResultGrads[0], Offsets, Sizes);
    Offsets[getDim()] += Sizes[getDim()];
  }
  return success();
}

LogicalResult RollOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                                   ArrayRef<bool> Needed,
                                   MutableArrayRef<Value> OperandGrads) {
  if (!Needed[0] || !ResultGrads[0])
    return success();
  uint64_t Size = shapeOf(getOperand())[getDim()];
  OperandGrads[0] = RollOp::create(Builder, getLoc(), ResultGrads[0], getDim(),
                                   (Size - getShift()) % Size);
  return success();
}

LogicalResult BroadcastOp::buildAdjoint(OpBuilder &Builder,
                                        ValueRange ResultGrads,
                                        ArrayRef<bool> Needed,
                                        MutableArrayRef<Value> OperandGrads) {
  if (!Needed[0] || !ResultGrads[0])
    return success();
  AdjointBuilder B(Builder, getOperation());
  OperandGrads[0] = B.sumTo(ResultGrads[0], shapeOf(getOperand()));
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// The operand's shape with every reduced dimension 1.
static SmallVector<int64_t> keptShape(ReduceOp Op) {
  SmallVector<int64_t> Shape(shapeOf(Op.getOperand()));
  for (int64_t Dim : Op.getDims())
    Shape[Dim] = 1;
  return Shape;
}

static int64_t reducedElements(ReduceOp Op) {
  int64_t Count = 1;
  for (int64_t Dim : Op.getDims())
    Count *= shapeOf(Op.getOperand())[Dim];
  return Count;
}

/// The gradient goes in equal parts to the elements that are the maximum. They
/// are counted in f32: f16 ends at 65504.
static Value maxGrad(AdjointBuilder &B, ReduceOp Op, Value Grad) {
  SmallVector<int64_t> Kept = keptShape(Op);
  Value IsMax = B.compare(Predicate::eq, Op.getOperand(),
                          B.reshape(Op.getResult(), Kept));
  Type F32 = B.getF32Type();
  Value Ones = B.select(IsMax, B.scalar(1.0, F32), B.scalar(0.0, F32));
  Value Count = ReduceOp::create(B, Reduction::sum, Ones, Op.getDims(),
                                 /*keep_dims=*/true);
  Value Share = B.cast(B.div(B.f32(B.reshape(Grad, Kept)), Count),
                       elementOf(Op.getOperand()));
  return B.select(IsMax, Share, B.scalarLike(0.0, Share));
}

LogicalResult ReduceOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                                     ArrayRef<bool> Needed,
                                     MutableArrayRef<Value> OperandGrads) {
  if (!Needed[0] || !ResultGrads[0])
    return success();
  AdjointBuilder B(Builder, getOperation());
  Value Grad = ResultGrads[0];
  if (getKind() == Reduction::max) {
    OperandGrads[0] = maxGrad(B, *this, Grad);
    return success();
  }
  // A mean's factor is applied while the gradient is small.
  if (getKind() == Reduction::mean)
    Grad = B.cast(B.mul(B.f32(Grad), 1.0 / double(reducedElements(*this))),
                  elementOf(Grad));
  Grad = B.reshape(Grad, keptShape(*this));
  if (Grad.getType() != getOperand().getType())
    Grad = BroadcastOp::create(B, getOperand().getType(), Grad);
  OperandGrads[0] = Grad;
  return success();
}

} // namespace remat
