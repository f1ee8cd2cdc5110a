//===- HalveParameters.cpp - parameters whose bf16 is there already -------===//
//
// A bf16 is the upper 16 bits of an f32, rounded. Stored apart from what is
// missing to the f32, it can be read as it is: nothing is cast in each step,
// and no second copy is held. Which parameters lie so depends on the graph
// alone.
//
//===----------------------------------------------------------------------===//

#include "remat/Analysis/Uses.h"
#include "remat/IR/RematOps.h"
#include "remat/Target/Targets.h"
#include "remat/Transforms/GraphSignature.h"
#include "remat/Transforms/Passes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace remat;

namespace remat {
#define GEN_PASS_DEF_HALVEPARAMETERS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

namespace {

struct HalveParametersPass
    : remat::impl::HalveParametersBase<HalveParametersPass> {
  void runOnGraph() override;
};

} // namespace

/// Whether the operation only rounds what it reads to bf16.
static bool roundsToBF16(Operation *Op) {
  auto Cast = dyn_cast<CastOp>(Op);
  return Cast && !Cast->hasAttr(KeepAttrName) &&
         getElementTypeOrSelf(Cast.getType()).isBF16();
}

/// The update that `Use` is the parameter of, if what it makes becomes the
/// argument's next value and nothing else.
static AdamWOp getUpdate(OpOperand &Use, BlockArgument Argument) {
  auto Update = dyn_cast<AdamWOp>(Use.getOwner());
  std::optional<unsigned> Donated = getDonatedResult(Argument);
  if (!Update || Use.getOperandNumber() != 0 || !Donated ||
      !Update.getNewParameter().hasOneUse())
    return nullptr;
  OpOperand &Next = *Update.getNewParameter().use_begin();
  bool IsNext = Next.getOwner()->hasTrait<OpTrait::IsTerminator>() &&
                Next.getOperandNumber() == *Donated;
  return IsNext ? Update : nullptr;
}

/// Whether all that is read of a parameter is its bf16 and by its update.
static bool mayLieInHalves(func::FuncOp Func, BlockArgument Argument) {
  if (getArgRole(Func, Argument.getArgNumber()) != Role::parameter ||
      !getElementTypeOrSelf(Argument.getType()).isF32())
    return false;
  unsigned NumUpdates = 0, NumCasts = 0;
  for (OpOperand &Use : Argument.getUses()) {
    bool Updates = static_cast<bool>(getUpdate(Use, Argument));
    if (!Updates && !roundsToBF16(Use.getOwner()))
      return false;
    (Updates ? NumUpdates : NumCasts) += 1;
  }
  return NumUpdates == 1 && NumCasts != 0;
}

/// Lets `Op` read what it reads of `Argument` from its halves.
static void readHalves(Operation *Op, BlockArgument Argument) {
  if (isa<UpperHalfOp, JoinHalvesOp>(Op))
    return;
  PhaseOfSource Marker;
  Marker.Phase = Op->getAttr(PhaseAttrName);
  OpBuilder Builder(Op, &Marker);
  if (auto Update = dyn_cast<AdamWOp>(Op);
      Update && Update.getParameter() == Argument) {
    Update.setInHalves(true);
  } else if (roundsToBF16(Op)) {
    auto Upper = UpperHalfOp::create(Builder, Op->getLoc(), Argument);
    Op->getResult(0).replaceAllUsesWith(Upper);
    Op->erase();
  } else {
    auto Joined = JoinHalvesOp::create(Builder, Op->getLoc(), Argument);
    Op->replaceUsesOfWith(Argument, Joined);
  }
}

void HalveParametersPass::runOnGraph() {
  func::FuncOp Func = getOperation();
  if (getTargetAttr(Func).getDevice() != DeviceKind::cuda)
    return;
  for (BlockArgument Argument : Func.getArguments()) {
    unsigned Number = Argument.getArgNumber();
    if (!Func.getArgAttr(Number, InHalvesAttrName)) {
      if (!mayLieInHalves(Func, Argument))
        continue;
      Func.setArgAttr(Number, InHalvesAttrName, UnitAttr::get(&getContext()));
    }
    for (Operation *User : llvm::SetVector<Operation *>(Argument.user_begin(),
                                                        Argument.user_end()))
      readHalves(User, Argument);
  }
}
