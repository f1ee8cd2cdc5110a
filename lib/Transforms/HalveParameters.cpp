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

/// What a use hands on of a tensor as it is: to the body of a loop, or rows of
/// a table that are looked up. Null for other uses.
static Value getHandedOn(OpOperand &Use) {
  if (auto Loop = dyn_cast<ScanOp>(Use.getOwner())) {
    BlockArgument Inside = Loop.getBlock().getArgument(Use.getOperandNumber());
    return llvm::is_contained(Loop.getReadArguments(), Inside) ? Inside
                                                               : Value();
  }
  auto Lookup = dyn_cast<EmbeddingOp>(Use.getOwner());
  return Lookup && !Lookup->hasAttr(KeepAttrName) ? Lookup.getResult()
                                                  : Value();
}

/// Whether the use needs nothing of an f32 tensor but its bf16: all that reads
/// it, or what is handed on of it, rounds.
static bool readsBF16(OpOperand &Use) {
  Value HandedOn = getHandedOn(Use);
  if (!HandedOn)
    return roundsToBF16(Use.getOwner());
  return !HandedOn.use_empty() && llvm::all_of(HandedOn.getUses(), readsBF16);
}

/// Whether the operation passes elements on without computing with them, as
/// those that cut a parameter among ranks and join it again.
static bool movesElements(Operation *Op) {
  return isa<ReshapeOp, PadOp, SliceOp, RankPartOp, AllGatherOp>(Op);
}

static bool isReturned(OpOperand &Use) {
  return Use.getOwner()->hasTrait<OpTrait::IsTerminator>();
}

/// Follows a value through operations that move it, to the operand that reads
/// it otherwise; null where there are several.
static OpOperand *followMoves(OpOperand &Use) {
  OpOperand *Last = &Use;
  while (movesElements(Last->getOwner())) {
    Value Moved = Last->getOwner()->getResult(0);
    if (!Moved.hasOneUse())
      return nullptr;
    Last = &*Moved.use_begin();
  }
  return Last;
}

/// The update that `Use` leads to, of the parameter or a part of it, if what
/// that makes becomes the argument's next value and nothing else.
static AdamWOp getUpdate(OpOperand &Use, BlockArgument Argument) {
  OpOperand *Read = followMoves(Use);
  auto Update = Read ? dyn_cast<AdamWOp>(Read->getOwner()) : nullptr;
  std::optional<unsigned> Donated = getDonatedResult(Argument);
  if (!Update || Read->getOperandNumber() != 0 || !Donated ||
      !Update.getNewParameter().hasOneUse())
    return nullptr;
  OpOperand *Next = followMoves(*Update.getNewParameter().use_begin());
  bool IsNext =
      Next && isReturned(*Next) && Next->getOperandNumber() == *Donated;
  return IsNext ? Update : nullptr;
}

/// The update of a parameter of which nothing else is read but its bf16.
static AdamWOp findUpdate(func::FuncOp Func, BlockArgument Argument) {
  if (getArgRole(Func, Argument.getArgNumber()) != Role::parameter ||
      !getElementTypeOrSelf(Argument.getType()).isF32())
    return nullptr;
  AdamWOp Found;
  bool IsRounded = false;
  for (OpOperand &Use : Argument.getUses()) {
    bool Rounds = readsBF16(Use);
    AdamWOp Update = Rounds ? AdamWOp() : getUpdate(Use, Argument);
    if (!Rounds && (!Update || Found))
      return nullptr;
    IsRounded |= Rounds;
    if (Update)
      Found = Update;
  }
  return IsRounded ? Found : nullptr;
}

/// Lets a use that `readsBF16` read `Rounded`.
static void readRounded(OpOperand &Use, Value Rounded) {
  if (Value HandedOn = getHandedOn(Use)) {
    auto Type = cast<RankedTensorType>(HandedOn.getType());
    HandedOn.setType(Type.clone(getElementTypeOrSelf(Rounded.getType())));
    for (OpOperand &Read : llvm::make_early_inc_range(HandedOn.getUses()))
      readRounded(Read, HandedOn);
    Use.set(Rounded);
    return;
  }
  Operation *Cast = Use.getOwner();
  Cast->getResult(0).replaceAllUsesWith(Rounded);
  Cast->erase();
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
    return;
  }
  SmallVector<OpOperand *> Uses;
  for (OpOperand &Use : Op->getOpOperands())
    if (Use.get() == Argument)
      Uses.push_back(&Use);
  bool Rounds = llvm::all_of(Uses, [](OpOperand *U) { return readsBF16(*U); });
  Value Read =
      Rounds ? Value(UpperHalfOp::create(Builder, Op->getLoc(), Argument))
             : Value(JoinHalvesOp::create(Builder, Op->getLoc(), Argument));
  for (OpOperand *Use : Uses)
    if (Rounds)
      readRounded(*Use, Read);
    else
      Use->set(Read);
}

void HalveParametersPass::runOnGraph() {
  func::FuncOp Func = getOperation();
  if (getTargetAttr(Func).getDevice() != DeviceKind::cuda)
    return;
  for (BlockArgument Argument : Func.getArguments()) {
    unsigned Number = Argument.getArgNumber();
    if (!Func.getArgAttr(Number, InHalvesAttrName)) {
      AdamWOp Update = findUpdate(Func, Argument);
      if (!Update)
        continue;
      // Where ranks update parts the parameter lies whole, with the numbers
      // that it has where one updates all.
      if (Update.getParameter() != Argument ||
          !isReturned(*Update.getNewParameter().use_begin())) {
        Update.setAsHalves(true);
        continue;
      }
      Func.setArgAttr(Number, InHalvesAttrName, UnitAttr::get(&getContext()));
    }
    for (Operation *User : llvm::SetVector<Operation *>(Argument.user_begin(),
                                                        Argument.user_end()))
      readHalves(User, Argument);
  }
}
