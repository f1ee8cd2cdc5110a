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

Value remat::extendRank(OpBuilder &B, Value V, int64_t Rank) {
  auto Type = cast<RankedTensorType>(V.getType());
  SmallVector<int64_t> Shape(Rank - Type.getRank(), 1);
  llvm::append_range(Shape, Type.getShape());
  return ReshapeOp::create(B, V.getLoc(), Type.clone(Shape), V);
}

void remat::permuteAttributes(Operation *Op, ArrayRef<int64_t> Order,
                              NamedAttrList &Attributes) {
  auto Set = [&](StringRef Name, ArrayRef<int64_t> Numbers) {
    Attributes.set(Name, DenseI64ArrayAttr::get(Op->getContext(),
                                                permute(Numbers, Order)));
  };
  llvm::TypeSwitch<Operation *>(Op)
      .Case([&](ConcatOp Concat) {
        int64_t Dim = llvm::find(Order, static_cast<int64_t>(Concat.getDim())) -
                      Order.begin();
        Attributes.set(Concat.getDimAttrName(),
                       IntegerAttr::get(Concat.getDimAttr().getType(), Dim));
      })
      .Case([&](SliceOp Slice) {
        Set(Slice.getOffsetsAttrName(), Slice.getOffsets());
        Set(Slice.getSizesAttrName(), Slice.getSizes());
      })
      .Case([&](PadOp Pad) {
        Set(Pad.getLowAttrName(), Pad.getLow());
        Set(Pad.getHighAttrName(), Pad.getHigh());
      });
}
