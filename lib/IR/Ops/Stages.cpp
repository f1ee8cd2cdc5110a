//===- Stages.cpp - what holds at each stage of a function ------*- C++ -*-===//
//
// The table of #remat.stage as a verifier. A pass that runs out of order, or a
// hand that edits, meets it here and not in wrong memory. The operations
// themselves are not verified yet when this runs: it looks at attributes only.
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"
#include "remat/IR/RematOps.h"

using namespace mlir;
using namespace remat;

namespace {

class StageVerifier {
public:
  StageVerifier(FunctionOpInterface Func, Stage Reached)
      : Func(Func), Reached(Reached) {}

  LogicalResult run();

private:
  LogicalResult verifyGradients();
  LogicalResult verifyDonations();
  LogicalResult verifyNotYet(Operation *Op, Stage Of,
                             ArrayRef<StringRef> Names);
  LogicalResult verifyAssigned();

  InFlightDiagnostic emitError(Operation *Op) const {
    return Op->emitError() << "at stage '" << stringifyStage(Reached) << "' ";
  }
  bool hasRole(DictionaryAttr Attrs, Role Of) const {
    auto Attr = Attrs ? Attrs.getAs<RoleAttr>(RoleAttrName) : RoleAttr();
    return Attr && Attr.getValue() == Of;
  }
  SmallVector<unsigned> getResultsOfRole(Role Of) {
    SmallVector<unsigned> Found;
    for (unsigned I = 0; I < Func.getNumResults(); ++I)
      if (hasRole(Func.getResultAttrDict(I), Of))
        Found.push_back(I);
    return Found;
  }
  SmallVector<unsigned> getParameters() {
    SmallVector<unsigned> Found;
    for (unsigned I = 0; I < Func.getNumArguments(); ++I)
      if (hasRole(Func.getArgAttrDict(I), Role::parameter))
        Found.push_back(I);
    return Found;
  }

  FunctionOpInterface Func;
  const Stage Reached;
};

} // namespace

LogicalResult StageVerifier::verifyGradients() {
  size_t Parameters = getParameters().size();
  size_t Gradients = getResultsOfRole(Role::gradient).size();
  if (Gradients >= Parameters)
    return success();
  return emitError(Func) << "there are " << Gradients << " gradients for "
                         << Parameters << " parameters";
}

LogicalResult StageVerifier::verifyDonations() {
  SmallVector<unsigned> Gradients = getResultsOfRole(Role::gradient);
  if (!Gradients.empty())
    return emitError(Func) << "result #" << Gradients.front()
                           << " is still a gradient";
  for (unsigned I : getParameters())
    if (!Func.getArgAttr(I, DonatedAttrName))
      return emitError(Func)
             << "parameter #" << I << " has no '" << DonatedAttrName << "'";
  return success();
}

/// What the stage `Of` writes must not stand here before it.
LogicalResult StageVerifier::verifyNotYet(Operation *Op, Stage Of,
                                          ArrayRef<StringRef> Names) {
  if (Reached >= Of)
    return success();
  for (StringRef Name : Names)
    if (Op->hasAttr(Name))
      return emitError(Op) << "there is no '" << Name << "' yet";
  return success();
}

LogicalResult StageVerifier::verifyAssigned() {
  if (!Func->hasAttr(ArenaAttrName))
    return emitError(Func) << "the function has no '" << ArenaAttrName << "'";
  for (unsigned I = 0; I < Func.getNumArguments(); ++I)
    if (!Func.getArgAttr(I, OffsetAttrName))
      return emitError(Func)
             << "argument #" << I << " has no '" << OffsetAttrName << "'";
  for (Operation &Op : Func.getFunctionBody().getOps())
    if (!Op.hasTrait<OpTrait::IsTerminator>() && !Op.hasAttr(OffsetsAttrName))
      return emitError(&Op)
             << "the operation has no '" << OffsetsAttrName << "'";
  return success();
}

LogicalResult StageVerifier::run() {
  if (Func.isExternal())
    return success();
  if (Reached == Stage::differentiated && failed(verifyGradients()))
    return failure();
  if (Reached == Stage::optimized && failed(verifyDonations()))
    return failure();
  if (Reached == Stage::assigned)
    return verifyAssigned();
  if (failed(
          verifyNotYet(Func, Stage::assigned, {ArenaAttrName, PlanAttrName})))
    return failure();
  // A scan's body whose memory is assigned is ahead of the function.
  auto IsAhead = [](Operation *Op) {
    auto Scan = dyn_cast<ScanOp>(Op->getParentOp());
    return Scan && Scan.getArena();
  };
  auto Walked =
      Func.getFunctionBody().walk<WalkOrder::PreOrder>([&](Operation *Op) {
        if (IsAhead(Op))
          return WalkResult::skip();
        bool Bad = failed(verifyNotYet(
                       Op, Stage::planned,
                       {IdAttrName, OriginAttrName, ChoiceAttrName})) ||
                   failed(verifyNotYet(Op, Stage::assigned,
                                       {OffsetsAttrName, WorkspaceAttrName}));
        return Bad ? WalkResult::interrupt() : WalkResult::advance();
      });
  return failure(Walked.wasInterrupted());
}

LogicalResult remat::verifyStage(FunctionOpInterface Func, Stage Reached) {
  return StageVerifier(Func, Reached).run();
}
