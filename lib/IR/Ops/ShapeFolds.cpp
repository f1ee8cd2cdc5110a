//===- ShapeFolds.cpp - folders of shape ops --------------------*- C++ -*-===//

#include "remat/IR/RematOps.h"

using namespace mlir;
using namespace remat;

/// A splat keeps its value under every operation that only moves elements.
static OpFoldResult foldSplat(Attribute Operand, ShapedType Type) {
  if (auto Splat = dyn_cast_or_null<SplatElementsAttr>(Operand))
    return DenseElementsAttr::get(Type, Splat.getSplatValue<Attribute>());
  return {};
}

OpFoldResult ReshapeOp::fold(FoldAdaptor Operands) {
  if (getOperand().getType() == getType())
    return getOperand();
  if (auto Value = dyn_cast_or_null<DenseElementsAttr>(Operands.getOperand()))
    return Value.reshape(getType());
  auto Inner = getOperand().getDefiningOp<ReshapeOp>();
  if (!Inner)
    return {};
  if (Inner.getOperand().getType() == getType())
    return Inner.getOperand();
  getOperandMutable().assign(Inner.getOperand());
  return getResult();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor Operands) {
  if (getOperand().getType() == getType())
    return getOperand();
  if (OpFoldResult Splat = foldSplat(Operands.getOperand(), getType()))
    return Splat;
  auto Inner = getOperand().getDefiningOp<BroadcastOp>();
  if (!Inner)
    return {};
  getOperandMutable().assign(Inner.getOperand());
  return getResult();
}

OpFoldResult TransposeOp::fold(FoldAdaptor Operands) {
  ArrayRef<int64_t> Permutation = getPermutation();
  if (llvm::equal(Permutation, llvm::seq<int64_t>(0, Permutation.size())))
    return getOperand();
  if (OpFoldResult Splat = foldSplat(Operands.getOperand(), getType()))
    return Splat;
  auto Inner = getOperand().getDefiningOp<TransposeOp>();
  if (!Inner)
    return {};
  SmallVector<int64_t> Composed;
  for (int64_t Dim : Permutation)
    Composed.push_back(Inner.getPermutation()[Dim]);
  getOperandMutable().assign(Inner.getOperand());
  setPermutation(Composed);
  return getResult();
}

OpFoldResult SliceOp::fold(FoldAdaptor Operands) {
  if (getOperand().getType() == getType())
    return getOperand();
  if (OpFoldResult Splat = foldSplat(Operands.getOperand(), getType()))
    return Splat;
  auto Inner = getOperand().getDefiningOp<SliceOp>();
  if (!Inner)
    return {};
  SmallVector<int64_t> Offsets(getOffsets());
  for (auto [Offset, InnerOffset] :
       llvm::zip_equal(Offsets, Inner.getOffsets()))
    Offset += InnerOffset;
  getOperandMutable().assign(Inner.getOperand());
  setOffsets(Offsets);
  return getResult();
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  if (getOperands().size() == 1)
    return getOperands().front();
  return {};
}

OpFoldResult RollOp::fold(FoldAdaptor Operands) {
  if (getShift() == 0)
    return getOperand();
  if (OpFoldResult Splat = foldSplat(Operands.getOperand(), getType()))
    return Splat;
  auto Inner = getOperand().getDefiningOp<RollOp>();
  if (!Inner || Inner.getDim() != getDim())
    return {};
  uint64_t Sum = getShift() + Inner.getShift();
  Sum %= static_cast<uint64_t>(getType().getDimSize(getDim()));
  if (Sum == 0)
    return Inner.getOperand();
  getOperandMutable().assign(Inner.getOperand());
  setShift(Sum);
  return getResult();
}

OpFoldResult ReduceOp::fold(FoldAdaptor Operands) {
  if (getDims().empty())
    return getOperand();
  // The sum of a splat would have to be rounded as the device rounds it.
  if (getKind() != Reduction::sum)
    return foldSplat(Operands.getOperand(), getType());
  return {};
}
