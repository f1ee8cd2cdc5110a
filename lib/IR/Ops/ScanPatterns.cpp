//===- ScanPatterns.cpp - simplification of loops ---------------*- C++ -*-===//

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "remat/IR/RematOps.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace remat;

namespace {

/// Which parts of a scan stay.
struct KeptParts {
  explicit KeptParts(ScanOp Scan)
      : Operands(Scan->getNumOperands(), true),
        Results(Scan->getNumResults(), true) {}
  bool all() const { return Operands.all() && Results.all(); }

  BitVector Operands, Results; ///< of a carry both stay, or none
};

} // namespace

static SmallVector<Value> pick(ValueRange All, const BitVector &Kept,
                               unsigned First) {
  SmallVector<Value> Picked;
  for (auto [Index, V] : llvm::enumerate(All))
    if (Kept.test(First + Index))
      Picked.push_back(V);
  return Picked;
}

/// Makes `Scan` anew without the parts that do not stay, which nobody reads.
static void rebuild(ScanOp Scan, const KeptParts &Kept,
                    PatternRewriter &Rewriter) {
  unsigned Carries = Scan.getNumCarries(), Slices = Scan.getSlices().size();
  SmallVector<Type> Types;
  for (OpResult Result : Scan.getResults())
    if (Kept.Results.test(Result.getResultNumber()))
      Types.push_back(Result.getType());
  auto New = ScanOp::create(
      Rewriter, Scan.getLoc(), Types, pick(Scan.getInits(), Kept.Operands, 0),
      pick(Scan.getSlices(), Kept.Operands, Carries),
      pick(Scan.getReads(), Kept.Operands, Carries + Slices),
      Scan.getStepsAttr(), Scan.getReverseAttr(), IntegerAttr());
  New->setDiscardableAttrs(Scan->getDiscardableAttrDictionary());
  Operation *Yield = Scan.getBlock().getTerminator();
  Rewriter.modifyOpInPlace(Yield, [&] {
    BitVector Erased = Kept.Results;
    Yield->eraseOperands(Erased.flip());
  });
  Rewriter.inlineRegionBefore(Scan.getBody(), New.getBody(),
                              New.getBody().end());
  BitVector Erased = Kept.Operands;
  New.getBlock().eraseArguments(Erased.flip());
  unsigned Next = 0;
  for (unsigned I = 0; I < Scan->getNumResults(); ++I)
    if (Kept.Results.test(I))
      Rewriter.replaceAllUsesWith(Scan.getResult(I), New.getResult(Next++));
  Rewriter.eraseOp(Scan);
}

namespace {

/// A body whose memory is assigned stays as it is.
struct ScanPattern : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  virtual LogicalResult rewrite(ScanOp Scan,
                                PatternRewriter &Rewriter) const = 0;
  LogicalResult matchAndRewrite(ScanOp Scan,
                                PatternRewriter &Rewriter) const final {
    return Scan.getArena() ? failure() : rewrite(Scan, Rewriter);
  }
};

/// What nobody reads is neither carried, sliced, read nor stacked. A carry that
/// only makes itself goes too.
struct DropUnread : ScanPattern {
  using ScanPattern::ScanPattern;

  LogicalResult rewrite(ScanOp Scan, PatternRewriter &Rewriter) const override {
    KeptParts Kept(Scan);
    for (BlockArgument Argument : Scan.getBlock().getArguments())
      if (Argument.getArgNumber() >= Scan.getNumCarries() &&
          Argument.use_empty())
        Kept.Operands.reset(Argument.getArgNumber());
    for (OpResult Result : Scan.getResults()) {
      unsigned Index = Result.getResultNumber();
      if (!Result.use_empty())
        continue;
      if (Index >= Scan.getNumCarries())
        Kept.Results.reset(Index);
      else if (Scan.getBlock().getArgument(Index).use_empty()) {
        Kept.Results.reset(Index);
        Kept.Operands.reset(Index);
      }
    }
    // A scan without results is dead, and erased as a whole.
    if (Kept.all() || Kept.Results.none())
      return failure();
    rebuild(Scan, Kept, Rewriter);
    return success();
  }
};

/// The read argument that shows `Operand`, made if there is none.
static BlockArgument addRead(ScanOp Scan, Value Operand,
                             PatternRewriter &Rewriter) {
  for (auto [Argument, Read] :
       llvm::zip_equal(Scan.getReadArguments(), Scan.getReads()))
    if (Read == Operand)
      return Argument;
  BlockArgument Argument;
  Rewriter.modifyOpInPlace(Scan, [&] {
    Scan.getReadsMutable().append(Operand);
    Argument = Scan.getBlock().addArgument(Operand.getType(), Operand.getLoc());
  });
  return Argument;
}

/// A carry that each step yields as it is is read instead.
struct ReadConstantCarries : ScanPattern {
  using ScanPattern::ScanPattern;

  LogicalResult rewrite(ScanOp Scan, PatternRewriter &Rewriter) const override {
    for (unsigned I = 0; I < Scan.getNumCarries(); ++I) {
      BlockArgument Carry = Scan.getBlock().getArgument(I);
      bool IsRead = !Carry.hasOneUse() || !Scan.getResult(I).use_empty();
      if (Scan.getYielded()[I] != Carry || !IsRead)
        continue;
      Value Init = Scan.getInits()[I];
      BlockArgument Read = addRead(Scan, Init, Rewriter);
      Rewriter.replaceAllUsesWith(Carry, Read);
      Rewriter.replaceAllUsesWith(Scan.getResult(I), Init);
      return success();
    }
    return failure();
  }
};

/// What is the same in each step is computed once, before the scan. A constant
/// that is not a splat is bytes of the program, which no workspace holds.
struct HoistInvariants : ScanPattern {
  using ScanPattern::ScanPattern;

  static bool isInvariant(ScanOp Scan, Operation &Op) {
    if (Op.getNumOperands() == 0) {
      auto Constant = dyn_cast<ConstantOp>(Op);
      return Constant && !Constant.getValue().isSplat();
    }
    unsigned FirstRead = Scan.getNumCarries() + Scan.getSlices().size();
    return !isa<YieldOp>(Op) && llvm::all_of(Op.getOperands(), [&](Value V) {
      auto Argument = dyn_cast<BlockArgument>(V);
      return Argument && Argument.getArgNumber() >= FirstRead;
    });
  }

  LogicalResult rewrite(ScanOp Scan, PatternRewriter &Rewriter) const override {
    auto Ops = Scan.getBlock().without_terminator();
    auto It = llvm::find_if(
        Ops, [&](Operation &Op) { return isInvariant(Scan, Op); });
    if (It == Ops.end())
      return failure();
    Operation *Inner = &*It;
    IRMapping Outside;
    for (auto [Argument, Read] :
         llvm::zip_equal(Scan.getReadArguments(), Scan.getReads()))
      Outside.map(Argument, Read);
    Operation *Hoisted = Rewriter.clone(*Inner, Outside);
    if (Attribute Phase = Scan->getAttr(PhaseAttrName))
      Hoisted->setAttr(PhaseAttrName, Phase);
    SmallVector<Value> Reads;
    for (Value Result : Hoisted->getResults())
      Reads.push_back(addRead(Scan, Result, Rewriter));
    Rewriter.replaceOp(Inner, Reads);
    return success();
  }
};

} // namespace

void ScanOp::getCanonicalizationPatterns(RewritePatternSet &Patterns,
                                         MLIRContext *Context) {
  Patterns.add<DropUnread, ReadConstantCarries, HoistInvariants>(Context);
}
