//===- ShapePatterns.cpp - canonical forms of shape ops ---------*- C++ -*-===//

#include "OpUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "remat/IR/RematOps.h"

using namespace mlir;
using namespace remat;

namespace {
/// Where a tensor is cut into slices, its gradient is a sum of as many tensors
/// of its size, each zero but for one slice:
///
///   add(pad(a), pad(b))  ->  pad(concat(a, b))
///   add(add(c, pad(a)), pad(b))  ->  add(c, pad(concat(a, b)))
///
/// where b lies behind a or before it. A pad by nothing is none. Each element
/// is the same sum, but that of a zero and a zero may have another sign.
struct JoinPads : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AddOp Op,
                                PatternRewriter &Rewriter) const override;
};
} // namespace

/// The only dimension that `Pad` pads, none if there are more.
static std::optional<size_t> getPaddedDim(PadOp Pad) {
  std::optional<size_t> Dim;
  for (auto [I, Low, High] : llvm::enumerate(Pad.getLow(), Pad.getHigh())) {
    if (Low == 0 && High == 0)
      continue;
    if (Dim)
      return std::nullopt;
    Dim = I;
  }
  return Dim;
}

/// Whether `After` begins where `Before` ends, along dimension `Dim`.
static bool isBehind(PadOp After, PadOp Before, size_t Dim) {
  return After.getLow()[Dim] ==
         Before.getLow()[Dim] +
             getTensorType(Before.getOperand()).getDimSize(Dim);
}

/// The operands of a join along `Dim` of what `Pads` pad.
static SmallVector<Value> getParts(ArrayRef<PadOp> Pads, size_t Dim) {
  SmallVector<Value> Parts;
  for (PadOp Pad : Pads) {
    auto Joined = Pad.getOperand().getDefiningOp<ConcatOp>();
    if (Joined && Joined->hasOneUse() && Joined.getDim() == Dim)
      llvm::append_range(Parts, Joined.getOperands());
    else
      Parts.push_back(Pad.getOperand());
  }
  return Parts;
}

/// The sum of two pads that lie beside each other, in the phase of `Sum`; null
/// if they do not.
static Value join(PadOp A, PadOp B, AddOp Sum, PatternRewriter &Rewriter) {
  std::optional<size_t> Dim = getPaddedDim(A);
  if (!Dim || getPaddedDim(B) != Dim)
    return nullptr;
  if (isBehind(A, B, *Dim))
    std::swap(A, B);
  else if (!isBehind(B, A, *Dim))
    return nullptr;
  auto Joined =
      ConcatOp::create(Rewriter, Sum.getLoc(), getParts({A, B}, *Dim), *Dim);
  takePhase(Joined, Sum);
  SmallVector<int64_t> Low(A.getLow()), High(B.getHigh());
  if (Low[*Dim] == 0 && High[*Dim] == 0)
    return Joined;
  auto Padded = PadOp::create(Rewriter, Sum.getLoc(), Joined, Low, High);
  takePhase(Padded, Sum);
  return Padded;
}

/// A pad that nothing else reads.
static PadOp getPad(Value V) {
  auto Pad = V.getDefiningOp<PadOp>();
  return Pad && Pad->hasOneUse() ? Pad : nullptr;
}

LogicalResult JoinPads::matchAndRewrite(AddOp Op,
                                        PatternRewriter &Rewriter) const {
  for (auto [X, Y] : {std::pair(Op.getLhs(), Op.getRhs()),
                      std::pair(Op.getRhs(), Op.getLhs())}) {
    PadOp Pad = getPad(Y);
    if (!Pad)
      continue;
    if (PadOp Other = getPad(X)) {
      if (Value Sum = join(Pad, Other, Op, Rewriter)) {
        Rewriter.replaceOp(Op, Sum);
        return success();
      }
      continue;
    }
    auto Inner = X.getDefiningOp<AddOp>();
    if (!Inner || !Inner->hasOneUse())
      continue;
    for (auto [Rest, Part] : {std::pair(Inner.getLhs(), Inner.getRhs()),
                              std::pair(Inner.getRhs(), Inner.getLhs())}) {
      PadOp Other = getPad(Part);
      if (Value Sum = Other ? join(Pad, Other, Op, Rewriter) : Value()) {
        auto Added = AddOp::create(Rewriter, Op.getLoc(), Rest, Sum);
        takePhase(Added, Op);
        Rewriter.replaceOp(Op, Added);
        return success();
      }
    }
  }
  return failure();
}

namespace {
/// Over dimensions of one element each a sum, mean or maximum is its operand:
///
///   reduce <sum> x, [0] : 1x4x8 -> 4x8  ->  reshape x : 1x4x8 -> 4x8
///
/// but for a zero's sign. A tensor of one element stays, whose sum is made in
/// f32 whatever its type, and so does a part of a kernel, which moves nothing.
struct ReduceNothing : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceOp Op,
                                PatternRewriter &Rewriter) const override {
    int64_t Elements = Op.getOperand().getType().getNumElements();
    if (Elements == 1 || Op.getType().getNumElements() != Elements ||
        isa<KernelOp>(Op->getParentOp()))
      return failure();
    DictionaryAttr Kept = Op->getDiscardableAttrDictionary();
    auto Reshaped = Rewriter.replaceOpWithNewOp<ReshapeOp>(Op, Op.getType(),
                                                           Op.getOperand());
    Reshaped->setDiscardableAttrs(Kept);
    return success();
  }
};
} // namespace

void ReduceOp::getCanonicalizationPatterns(RewritePatternSet &Patterns,
                                           MLIRContext *Context) {
  Patterns.add<ReduceNothing>(Context);
}

void PadOp::getCanonicalizationPatterns(RewritePatternSet &Patterns,
                                        MLIRContext *Context) {
  Patterns.add<JoinPads>(Context);
}
