//===- Control.cpp - what is kept, said from outside the graph ------------===//

#include "remat/Analysis/NamePattern.h"
#include "remat/Analysis/Uses.h"
#include "remat/Analysis/ValueNames.h"
#include "remat/IR/RematOps.h"
#include "remat/Transforms/Passes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace remat;

namespace remat {
#define GEN_PASS_DEF_CONTROL
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

namespace {

/// One control as a user gave it.
struct Control {
  StringRef Option;
  Keep Policy;
  NamePattern Pattern;

  std::string str() const {
    return ("--" + Option + " '" + Pattern.getText() + "'").str();
  }
};

class Controller {
public:
  explicit Controller(func::FuncOp Func) : Func(Func), Names(Func) {}

  LogicalResult add(StringRef Option, Keep Policy, ArrayRef<std::string> Texts);
  LogicalResult run();

private:
  bool matches(const Control &C, Operation *Op) const;
  LogicalResult emitNoMatch(const Control &C);
  LogicalResult give(const Control &C, Operation *Op);
  LogicalResult giveToViews(const Control &C, Operation *Op);

  func::FuncOp Func;
  ValueNames Names;
  SmallVector<Control> Controls;
  llvm::MapVector<Operation *, const Control *> Given;
};

} // namespace

LogicalResult Controller::add(StringRef Option, Keep Policy,
                              ArrayRef<std::string> Texts) {
  for (StringRef Text : Texts) {
    std::optional<NamePattern> Pattern = NamePattern::parse(Text);
    if (!Pattern)
      return emitError(Func.getLoc(), Option)
             << " is '" << Text << "'; it must be " << NamePatternHelp;
    Controls.push_back({Option, Policy, std::move(*Pattern)});
  }
  return success();
}

bool Controller::matches(const Control &C, Operation *Op) const {
  // What is returned has the user's name; what the text calls it names it too.
  std::string Source = getLocationName(Op->getLoc());
  SmallVector<StringRef> Written;
  StringRef(Source).split(Written, ", ");
  if (llvm::any_of(Written,
                   [&](StringRef Name) { return C.Pattern.matches(Name); }))
    return true;
  return C.Pattern.matches(Names.get(Op)) ||
         llvm::any_of(Op->getResults(), [&](Value Result) {
           return C.Pattern.matches(Names.get(Result));
         });
}

LogicalResult Controller::emitNoMatch(const Control &C) {
  for (BlockArgument Argument : Func.getArguments())
    if (C.Pattern.matches(Names.get(Argument)))
      return emitError(Argument.getLoc(), C.str())
             << " names an argument, which is there for the whole step";
  return emitError(Func.getLoc(), C.str())
         << " names no value of the graph"
         << describeNearNames(C.Pattern, Names.listResults(Func));
}

/// Writes a control down for an operation. One that says "must" is no other
/// than one that says "prefer", but stronger.
LogicalResult Controller::give(const Control &C, Operation *Op) {
  auto Written = Op->getAttrOfType<KeepAttr>(KeepAttrName);
  auto Contradicts = [&](Keep Other) {
    return (C.Policy == Keep::never) != (Other == Keep::never);
  };
  if (Written && Contradicts(Written.getValue()))
    return emitError(Op->getLoc(), C.str())
           << " names '" << Names.get(Op) << "', of which the graph says "
           << Written;
  const Control *&Known = Given[Op];
  if (Known && Contradicts(Known->Policy))
    return emitError(Op->getLoc(), Known->str())
           << " and " << C.str() << " both name '" << Names.get(Op) << "'";
  if (!Known || C.Policy != Keep::prefer)
    Known = &C;
  return success();
}

/// A view shows its operand's bytes: who drops these, drops it.
LogicalResult Controller::giveToViews(const Control &C, Operation *Op) {
  for (Operation *User : Op->getUsers())
    if (isView(User) && !User->hasAttr(PhaseAttrName) &&
        (failed(give(C, User)) || failed(giveToViews(C, User))))
      return failure();
  return success();
}

LogicalResult Controller::run() {
  // Later on, values may be gone: into kernels, or by simplification.
  bool IsWhole = !getStage(Func);
  for (const Control &C : Controls) {
    bool Found = false;
    for (Operation &Op : Func.getBody().front().without_terminator()) {
      if (Op.getNumResults() == 0 || Op.hasAttr(PhaseAttrName) ||
          isResidentConstant(&Op) || !matches(C, &Op))
        continue;
      Found = true;
      if (failed(give(C, &Op)) ||
          (C.Policy == Keep::never && failed(giveToViews(C, &Op))))
        return failure();
    }
    if (!Found && IsWhole)
      return emitNoMatch(C);
  }
  for (auto [Op, C] : Given)
    if (!Op->hasAttr(KeepAttrName) || C->Policy != Keep::prefer)
      Op->setAttr(KeepAttrName, KeepAttr::get(Op->getContext(), C->Policy));
  return success();
}

namespace {

struct ControlPass : remat::impl::ControlBase<ControlPass> {
  using ControlBase::ControlBase;

  void runOnGraph() override {
    Controller Of(getOperation());
    if (failed(Of.add("keep", Keep::must, *Kept)) ||
        failed(Of.add("recompute", Keep::never, *Recomputed)) ||
        failed(Of.add("prefer", Keep::prefer, *Preferred)) || failed(Of.run()))
      signalPassFailure();
  }
};

} // namespace
