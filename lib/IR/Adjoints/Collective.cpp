//===- Collective.cpp - adjoints of values of several ranks ---------------===//
//
// The gradient is that of the sum of all ranks' losses: what a rank's value
// gives to others comes back from them.
//
//===----------------------------------------------------------------------===//

#include "AdjointBuilder.h"

using namespace mlir;

namespace remat {

/// Calls `Build` for each operand that wants a gradient and gets one; it gives
/// a value, or an operation of one result.
template <typename Function>
static LogicalResult
forEachGradient(Operation *Op, ValueRange ResultGrads, ArrayRef<bool> Needed,
                MutableArrayRef<Value> OperandGrads, Function Build) {
  for (unsigned I = 0; I < Op->getNumOperands(); ++I) {
    if (!Needed[I] || !ResultGrads[I])
      continue;
    auto Built = Build(Op->getOperand(I), ResultGrads[I]);
    if constexpr (std::is_convertible_v<decltype(Built), Value>)
      OperandGrads[I] = Built;
    else
      OperandGrads[I] = Built->getResult(0);
  }
  return success();
}

static LogicalResult verifySum(Operation *Op, Reduction Kind) {
  if (Kind == Reduction::sum)
    return success();
  return Op->emitOpError() << "has no gradient where its kind is "
                           << stringifyReduction(Kind);
}

LogicalResult AllReduceOp::buildAdjoint(OpBuilder &Builder,
                                        ValueRange ResultGrads,
                                        ArrayRef<bool> Needed,
                                        MutableArrayRef<Value> OperandGrads) {
  if (failed(verifySum(*this, getKind())))
    return failure();
  return forEachGradient(
      *this, ResultGrads, Needed, OperandGrads, [&](Value Operand, Value Grad) {
        return AllReduceOp::create(Builder, getLoc(), Operand.getType(),
                                   getKind(), Grad, getAxes());
      });
}

LogicalResult
ReduceScatterOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                              ArrayRef<bool> Needed,
                              MutableArrayRef<Value> OperandGrads) {
  if (failed(verifySum(*this, getKind())))
    return failure();
  return forEachGradient(
      *this, ResultGrads, Needed, OperandGrads, [&](Value Operand, Value Grad) {
        return AllGatherOp::create(Builder, getLoc(), Operand.getType(), Grad,
                                   getAxes(), getDim());
      });
}

LogicalResult AllGatherOp::buildAdjoint(OpBuilder &Builder,
                                        ValueRange ResultGrads,
                                        ArrayRef<bool> Needed,
                                        MutableArrayRef<Value> OperandGrads) {
  return forEachGradient(
      *this, ResultGrads, Needed, OperandGrads, [&](Value Operand, Value Grad) {
        return ReduceScatterOp::create(Builder, getLoc(), Operand.getType(),
                                       Reduction::sum, Grad, getAxes(),
                                       getDim());
      });
}

LogicalResult AllToAllOp::buildAdjoint(OpBuilder &Builder,
                                       ValueRange ResultGrads,
                                       ArrayRef<bool> Needed,
                                       MutableArrayRef<Value> OperandGrads) {
  return forEachGradient(
      *this, ResultGrads, Needed, OperandGrads, [&](Value Operand, Value Grad) {
        return AllToAllOp::create(Builder, getLoc(), Operand.getType(), Grad,
                                  getAxes(), getConcatDim(), getSplitDim());
      });
}

/// The root gets what all ranks have, the others nothing.
LogicalResult
CollectiveBroadcastOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                                    ArrayRef<bool> Needed,
                                    MutableArrayRef<Value> OperandGrads) {
  AdjointBuilder B(Builder, *this);
  return forEachGradient(
      *this, ResultGrads, Needed, OperandGrads,
      [&](Value Operand, Value Grad) -> Value {
        Value Sum = AllReduceOp::create(B, Operand.getType(), Reduction::sum,
                                        Grad, getAxes())
                        .getResult(0);
        auto Number = RankedTensorType::get({}, B.getI64Type());
        Value Index = RankIndexOp::create(B, Number, getAxes());
        Value Root = ConstantOp::create(
            B, DenseElementsAttr::get(Number, B.getI64IntegerAttr(getRoot())));
        return B.select(B.compare(Predicate::eq, Index, Root), Sum,
                        B.scalarLike(0.0, Sum));
      });
}

LogicalResult
CollectivePermuteOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                                  ArrayRef<bool> Needed,
                                  MutableArrayRef<Value> OperandGrads) {
  SmallVector<int64_t> Back(getPairs());
  for (size_t I = 0; I < Back.size(); I += 2)
    std::swap(Back[I], Back[I + 1]);
  return forEachGradient(*this, ResultGrads, Needed, OperandGrads,
                         [&](Value, Value Grad) -> Value {
                           return CollectivePermuteOp::create(
                               Builder, getLoc(), Grad, getAxes(), Back);
                         });
}

/// Zeros but for the rank's own part, which `reduce_scatter` of the ranks'
/// parts, each at its place, would undo.
LogicalResult RankPartOp::buildAdjoint(OpBuilder &Builder,
                                       ValueRange ResultGrads,
                                       ArrayRef<bool> Needed,
                                       MutableArrayRef<Value> OperandGrads) {
  AdjointBuilder B(Builder, *this);
  return forEachGradient(
      *this, ResultGrads, Needed, OperandGrads,
      [&](Value Operand, Value Grad) -> Value {
        // Each element of the whole belongs to the rank of its part.
        ArrayRef<int64_t> Whole = shapeOf(Operand), Part = shapeOf(Grad);
        int64_t Dim = getDim(), Ranks = Whole[Dim] / Part[Dim];
        SmallVector<int64_t> Rows(Part), Owner(Part.size() + 1, 1);
        Rows.insert(Rows.begin() + Dim, 1);
        Owner[Dim] = Ranks;
        auto Numbers = llvm::to_vector(llvm::seq<int64_t>(Ranks));
        Value Ranked = ConstantOp::create(
            B,
            DenseElementsAttr::get(RankedTensorType::get(Owner, B.getI64Type()),
                                   ArrayRef<int64_t>(Numbers)));
        Value Index = RankIndexOp::create(
            B, RankedTensorType::get({}, B.getI64Type()), getAxes());
        Value Placed = B.select(B.compare(Predicate::eq, Ranked, Index),
                                B.reshape(Grad, Rows), B.scalarLike(0.0, Grad));
        return B.reshape(Placed, Whole);
      });
}

} // namespace remat
