//===- JoinAddends.cpp - matrix products that add what is added to them ---===//
//
// A library adds a tensor to a matrix product before it writes that, in a third
// of the time that an addition of its own takes: the product is neither written
// nor read for it. The sum is rounded once and not twice, so that the bits are
// others: which products add depends on the graph alone and on no plan.
//
//===----------------------------------------------------------------------===//

#include "remat/IR/RematOps.h"
#include "remat/Target/Targets.h"
#include "remat/Transforms/GraphSignature.h"
#include "remat/Transforms/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace remat;

namespace remat {
#define GEN_PASS_DEF_JOINADDENDS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

namespace {

/// An addition whose operand `Number` a product makes, and nobody else reads.
struct Sum {
  AddOp Add;
  unsigned Number;
  MatmulOp Product;
  ReshapeOp View; ///< of the product, which is what is added; may be null

  static std::optional<Sum> of(AddOp Add, unsigned Number);
  /// Of two products the later one adds the other.
  static std::optional<Sum> of(AddOp Add);
  Value getAddend() { return Add->getOperand(1 - Number); }
  void join();
};

struct JoinAddendsPass : remat::impl::JoinAddendsBase<JoinAddendsPass> {
  void runOnGraph() override;
};

} // namespace

std::optional<Sum> Sum::of(AddOp Add, unsigned Number) {
  Value Result = Add->getOperand(Number);
  Sum Found = {Add, Number, {}, Result.getDefiningOp<ReshapeOp>()};
  if (!Result.hasOneUse() || Found.getAddend().getType() != Result.getType())
    return std::nullopt;
  if (Found.View)
    Result = Found.View.getOperand();
  Found.Product = Result.getDefiningOp<MatmulOp>();
  if (!Found.Product || Found.Product.getAddend() || !Result.hasOneUse() ||
      Found.Product->getBlock() != Add->getBlock() ||
      Found.Product->getAttr(PhaseAttrName) != Add->getAttr(PhaseAttrName) ||
      Found.Product->hasAttr(KeepAttrName) || Add->hasAttr(KeepAttrName))
    return std::nullopt;
  return Found;
}

std::optional<Sum> Sum::of(AddOp Add) {
  std::optional<Sum> First = of(Add, 0), Second = of(Add, 1);
  if (!First || !Second)
    return First ? First : Second;
  return First->Product->isBeforeInBlock(Second->Product) ? Second : First;
}

/// The product stays where it is unless the addend is made behind it.
void Sum::join() {
  Value Addend = getAddend();
  Operation *Maker = Addend.getDefiningOp();
  if (Maker && Maker->getBlock() == Product->getBlock() &&
      Product->isBeforeInBlock(Maker)) {
    Product->moveAfter(Maker);
    if (View)
      View->moveAfter(Product);
  }
  if (View) {
    PhaseOfSource Marker;
    Marker.Phase = Add->getAttr(PhaseAttrName);
    OpBuilder Builder(Product, &Marker);
    Addend =
        ReshapeOp::create(Builder, Add.getLoc(), Product.getType(), Addend);
  }
  Product.getAddendMutable().assign(Addend);
  Product->setLoc(
      FusedLoc::get(Add.getContext(), {Add.getLoc(), Product.getLoc()}));
  Add.getResult().replaceAllUsesWith(Add->getOperand(Number));
  Add->erase();
}

/// Whether the value is a product or a sum of products alone.
static bool sumsProducts(Value V) {
  while (auto Before = V.getDefiningOp<AddOp>()) {
    std::optional<Sum> S = Sum::of(Before);
    if (!S)
      return false;
    V = S->getAddend();
  }
  return static_cast<bool>(V.getDefiningOp<MatmulOp>());
}

/// Whether a kernel of elementwise operations holds the addition in any case,
/// so that the sum or the addend is never written: then nothing is saved.
/// `Joined` are the additions behind it that leave such kernels. A sum of
/// products alone, as that of slices, is in none: what reads it may be far
/// away, and would read one tensor more for each of them.
static bool isPartOfKernel(Sum &S,
                           const llvm::SmallPtrSetImpl<Operation *> &Joined) {
  if (sumsProducts(S.getAddend()))
    return false;
  auto IsKernel = [&](Operation *Op) {
    return Op->hasTrait<Pointwise>() && !Joined.contains(Op);
  };
  if (llvm::all_of(S.Add->getUsers(), IsKernel))
    return true;
  Operation *Maker = S.getAddend().getDefiningOp();
  if (!Maker || !Maker->hasTrait<Pointwise>() || !S.getAddend().hasOneUse())
    return false;
  // Its own turn comes: it has a product too.
  auto Before = dyn_cast<AddOp>(Maker);
  return !Before || !Sum::of(Before);
}

void JoinAddendsPass::runOnGraph() {
  func::FuncOp Func = getOperation();
  if (getTargetAttr(Func).getDevice() != DeviceKind::cuda)
    return;
  SmallVector<AddOp> Additions;
  Func.walk([&](AddOp Add) { Additions.push_back(Add); });
  llvm::SmallPtrSet<Operation *, 16> Joined;
  for (AddOp Add : llvm::reverse(Additions))
    if (std::optional<Sum> S = Sum::of(Add); S && !isPartOfKernel(*S, Joined))
      Joined.insert(Add);
  for (AddOp Add : Additions)
    if (Joined.contains(Add))
      Sum::of(Add)->join();
}
