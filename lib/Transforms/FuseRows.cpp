//===- FuseRows.cpp - row operations that read their rows once ------------===//
//
// Pairs of operations over the same rows that one kernel runs with fewer reads:
// a cross entropy and its gradient, the gradient of a norm or of a table of
// embeddings and what is added to it. The operation that stands for both gives
// the same bits, so that it does not matter where a pair is found.
//
//===----------------------------------------------------------------------===//

#include "FuseRows.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "remat/Analysis/Uses.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace remat;

static bool isBefore(Value V, Operation *Place) {
  Operation *Def = V.getDefiningOp();
  return !Def || Def->isBeforeInBlock(Place);
}

/// What users control stays an operation of its own.
static bool isControlled(Operation *Op) { return Op->hasAttr(KeepAttrName); }

/// Whether no reader of `First` but `Second` stands before that.
static bool isReadBehind(Operation *First, Operation *Second) {
  return llvm::all_of(First->getUsers(), [&](Operation *User) {
    return User == Second || Second->isBeforeInBlock(User);
  });
}

/// The operations, in block order, that make `V` and stand behind `Place`, none
/// of which reads `Place`; false where they are many or more than scalars.
static bool collectMakers(Value V, Operation *Place,
                          SmallVectorImpl<Operation *> &Makers) {
  constexpr size_t Most = 16;
  Operation *Def = V.getDefiningOp();
  if (isBefore(V, Place) || llvm::is_contained(Makers, Def))
    return true;
  if (Def == Place || Makers.size() == Most || !isPure(Def) ||
      isControlled(Def) ||
      cast<RankedTensorType>(V.getType()).getNumElements() != 1)
    return false;
  for (Value Operand : Def->getOperands())
    if (!collectMakers(Operand, Place, Makers))
      return false;
  Makers.push_back(Def);
  return true;
}

/// Makes `V`, a scalar that does not depend on `Place`, before that.
static bool makeBefore(Value V, Operation *Place) {
  SmallVector<Operation *> Makers;
  if (!collectMakers(V, Place, Makers))
    return false;
  for (Operation *Maker : Makers)
    Maker->moveBefore(Place);
  return true;
}

void remat::takePlace(Operation *New, Operation *First, Operation *Last) {
  New->setLoc(
      FusedLoc::get(New->getContext(), {Last->getLoc(), First->getLoc()}));
  if (Attribute Phase = Last->getAttr(PhaseAttrName))
    New->setAttr(PhaseAttrName, Phase);
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

/// The gradient of `Loss` that reads the same logits, which nobody reads behind
/// it: they need no memory for longer than before.
static CrossEntropyBackwardOp findGradient(CrossEntropyOp Loss) {
  for (Operation *User : Loss.getLse().getUsers()) {
    auto Gradient = dyn_cast<CrossEntropyBackwardOp>(User);
    if (!Gradient || Gradient.getLogits() != Loss.getLogits() ||
        Gradient.getTargets() != Loss.getTargets() ||
        Gradient.getIgnoreIndex() != Loss.getIgnoreIndex())
      continue;
    Operation *Maker = Loss.getLogits().getDefiningOp();
    bool OnlyTwo = llvm::all_of(Loss.getLogits().getUsers(), [&](Operation *O) {
      return O == Loss || O == Gradient;
    });
    if (OnlyTwo && Maker &&
        (!isView(Maker) || Maker->getOperand(0).hasOneUse()))
      return Gradient;
  }
  return nullptr;
}

static void fuseLoss(CrossEntropyOp Loss) {
  CrossEntropyBackwardOp Gradient = findGradient(Loss);
  if (!Gradient || isControlled(Loss) || isControlled(Gradient) ||
      !makeBefore(Gradient.getGrad(), Loss))
    return;
  OpBuilder Builder(Loss);
  auto Both = CrossEntropyWithGradOp::create(
      Builder, Loss.getLoc(), Gradient.getGrad(), Loss.getLogits(),
      Loss.getTargets(), Loss.getIgnoreIndexAttr());
  takePlace(Both, Loss, Gradient);
  Loss.getLoss().replaceAllUsesWith(Both.getLoss());
  Loss.getLse().replaceAllUsesWith(Both.getLse());
  Gradient.getLogitsGrad().replaceAllUsesWith(Both.getLogitsGrad());
  Gradient->erase();
  Loss->erase();
}

//===----------------------------------------------------------------------===//
// Gradients that add
//===----------------------------------------------------------------------===//

/// The only reader of the first result, where that adds something of its type
/// to it.
template <typename OpT> static AddOp findAddition(OpT Gradient) {
  Value Rows = Gradient->getResult(0);
  if (Gradient.getAddend() || !Rows.hasOneUse())
    return nullptr;
  auto Add = dyn_cast<AddOp>(*Rows.user_begin());
  if (!Add || Add.getLhs().getType() != Rows.getType() ||
      Add.getRhs().getType() != Rows.getType() ||
      Add->getAttr(PhaseAttrName) != Gradient->getAttr(PhaseAttrName))
    return nullptr;
  return Add;
}

/// The sum takes the place of the gradient, or the gradient that of the sum,
/// whichever leaves every reader behind what it reads. Returns whether it does.
template <typename OpT> static bool joinAddition(OpT Gradient) {
  AddOp Add = findAddition(Gradient);
  if (!Add || isControlled(Add) || isControlled(Gradient))
    return false;
  Value Rows = Gradient->getResult(0);
  Value Added = Add.getLhs() == Rows ? Add.getRhs() : Add.getLhs();
  Value Addend =
      isa<EmbeddingBackwardOp>(Gradient) ? skipWidening(Added) : Added;
  // Of a norm whose operand is its weight too, both gradients are added.
  if (Addend.getDefiningOp() == Gradient)
    return false;
  if (!isBefore(Addend, Gradient)) {
    if (!isReadBehind(Gradient, Add))
      return false;
    Gradient->moveBefore(Add);
  }
  Gradient.getAddendMutable().assign(Addend);
  takePlace(Gradient, Gradient, Add);
  Add.getResult().replaceAllUsesWith(Rows);
  Add->erase();
  if (Operation *Cast = Added.getDefiningOp(); Cast && isOpTriviallyDead(Cast))
    Cast->erase();
  return true;
}

bool remat::addInGradient(LayerNormBackwardOp Gradient) {
  return joinAddition(Gradient);
}

void remat::fuseRowOperations(func::FuncOp Func) {
  Block &Body = Func.getBody().front();
  for (auto Gradient : llvm::to_vector(Body.getOps<LayerNormBackwardOp>()))
    joinAddition(Gradient);
  for (auto Gradient : llvm::to_vector(Body.getOps<RMSNormBackwardOp>()))
    joinAddition(Gradient);
  for (auto Gradient : llvm::to_vector(Body.getOps<EmbeddingBackwardOp>()))
    joinAddition(Gradient);
  for (auto Loss : llvm::to_vector(Body.getOps<CrossEntropyOp>()))
    fuseLoss(Loss);
}
