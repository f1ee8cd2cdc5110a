//===- Permute.cpp - tensors with their dimensions in another order -------===//

#include "Permute.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace remat;

SmallVector<int64_t> remat::permute(ArrayRef<int64_t> Numbers,
                                    ArrayRef<int64_t> Order) {
  return llvm::map_to_vector(Order, [&](int64_t Dim) { return Numbers[Dim]; });
}

RankedTensorType remat::permute(RankedTensorType Type,
                                ArrayRef<int64_t> Order) {
  return Type.clone(permute(Type.getShape(), Order));
}

bool remat::isViewInOrder(RankedTensorType Type, ArrayRef<int64_t> Order) {
  int64_t Before = -1;
  for (int64_t Dim : Order) {
    if (Type.getDimSize(Dim) == 1)
      continue;
    if (Dim < Before)
      return false;
    Before = Dim;
  }
  return true;
}

Value remat::reorder(OpBuilder &B, Value V, ArrayRef<int64_t> Order) {
  auto Type = cast<RankedTensorType>(V.getType());
  if (isViewInOrder(Type, Order))
    return ReshapeOp::create(B, V.getLoc(), permute(Type, Order), V);
  return TransposeOp::create(B, V.getLoc(), V, Order);
}

RankedTensorType remat::extendRank(RankedTensorType Type, int64_t Rank) {
  SmallVector<int64_t> Shape(Rank - Type.getRank(), 1);
  llvm::append_range(Shape, Type.getShape());
  return Type.clone(Shape);
}

Value remat::extendRank(OpBuilder &B, Value V, int64_t Rank) {
  auto Type = cast<RankedTensorType>(V.getType());
  if (Type.getRank() == Rank)
    return V;
  return ReshapeOp::create(B, V.getLoc(), extendRank(Type, Rank), V);
}

bool remat::mayWriteInOrder(Operation *Op) {
  return isa<ConcatOp, SliceOp, PadOp, RollOp>(Op) ||
         (Op->hasTrait<Pointwise>() &&
          !isa<RandomOpInterface, KernelOp, ConstantOp>(Op));
}

Operation *remat::writeInOrder(OpBuilder &B, Operation *Op, ValueRange Operands,
                               ArrayRef<int64_t> Order) {
  OperationState State(Op->getLoc(), Op->getName());
  State.addOperands(Operands);
  for (Value V : Op->getResults())
    State.addTypes(permute(cast<RankedTensorType>(V.getType()), Order));
  State.addAttributes(Op->getAttrs());
  Operation *New = B.create(State);
  llvm::TypeSwitch<Operation *>(New)
      .Case<ConcatOp, RollOp>([&](auto Along) {
        Along.setDim(llvm::find(Order, static_cast<int64_t>(Along.getDim())) -
                     Order.begin());
      })
      .Case([&](SliceOp Slice) {
        Slice.setOffsets(permute(Slice.getOffsets(), Order));
        Slice.setSizes(permute(Slice.getSizes(), Order));
      })
      .Case([&](PadOp Pad) {
        Pad.setLow(permute(Pad.getLow(), Order));
        Pad.setHigh(permute(Pad.getHigh(), Order));
      });
  return New;
}
