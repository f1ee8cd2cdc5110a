//===- AttentionPatterns.cpp - canonical forms of attention -----*- C++ -*-===//

#include "OpUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "remat/IR/RematOps.h"

using namespace mlir;
using namespace remat;

namespace {
/// A projection to query, key and value at once is often written
///
///   [B, T, 3 * H * D] or [B, T, 3, H, D]  --slice-->  --reshape-->  [B, T, H,
///   D]
///
/// three times. Attention reads the packed tensor itself: three copies less,
/// and one gradient instead of three to be joined.
struct PackSlices : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionOp Op,
                                PatternRewriter &Rewriter) const override;
};
} // namespace

/// The tensor of which `Part` is third number `Index`, null if it is none.
static Value getPacked(Value Part, int64_t Index) {
  auto Reshape = Part.getDefiningOp<ReshapeOp>();
  auto Slice =
      Reshape ? Reshape.getOperand().getDefiningOp<SliceOp>() : nullptr;
  if (!Slice)
    return nullptr;
  // The dimension that is cut, [3, H, D] or 3 * H * D, is dimension 2.
  ArrayRef<int64_t> Shape = Slice.getOperand().getType().getShape();
  ArrayRef<int64_t> PartShape = getTensorType(Part).getShape();
  int64_t B = PartShape[0], T = PartShape[1], H = PartShape[2],
          D = PartShape[3];
  bool Unflattened = Shape == ArrayRef<int64_t>{B, T, 3, H, D};
  bool Flattened = Shape.size() == 3 && Shape[0] == B && Shape[1] == T &&
                   Shape[2] % 3 == 0 && Shape[2] / 3 == H * D;
  if (!Unflattened && !Flattened)
    return nullptr;
  SmallVector<int64_t> Offsets(Shape.size(), 0), Sizes(Shape);
  Sizes[2] = Shape[2] / 3;
  Offsets[2] = Index * Sizes[2];
  if (Slice.getOffsets() != ArrayRef(Offsets) ||
      Slice.getSizes() != ArrayRef(Sizes))
    return nullptr;
  return Slice.getOperand();
}

LogicalResult PackSlices::matchAndRewrite(AttentionOp Op,
                                          PatternRewriter &Rewriter) const {
  if (Op.getQkv().size() != 3)
    return failure();
  Value Packed = getPacked(Op.getQkv()[0], 0);
  if (!Packed || getPacked(Op.getQkv()[1], 1) != Packed ||
      getPacked(Op.getQkv()[2], 2) != Packed)
    return failure();
  ArrayRef<int64_t> Shape = getTensorType(Op.getQkv()[0]).getShape();
  auto Type = getTensorType(Packed).clone(
      ArrayRef<int64_t>{Shape[0], Shape[1], 3, Shape[2], Shape[3]});
  if (Packed.getType() != Type)
    Packed = ReshapeOp::create(Rewriter, Op.getLoc(), Type, Packed);
  Rewriter.modifyOpInPlace(Op, [&] { Op.getQkvMutable().assign(Packed); });
  return success();
}

void AttentionOp::getCanonicalizationPatterns(RewritePatternSet &Patterns,
                                              MLIRContext *Context) {
  Patterns.add<PackSlices>(Context);
}
