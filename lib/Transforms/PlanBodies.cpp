//===- PlanBodies.cpp - memory of the bodies of scans ---------------------===//
//
// Each body is a function of its own here (ScanBody.h), which the passes that
// plan a graph plan once, the innermost first. To all that comes after, a scan
// is one operation with a workspace.
//
//===----------------------------------------------------------------------===//

#include "MicroBatches.h"
#include "mlir/Pass/PassManager.h"
#include "remat/Analysis/ScanBody.h"
#include "remat/Analysis/Uses.h"
#include "remat/Transforms/FitBudget.h"
#include "remat/Transforms/Passes.h"

using namespace mlir;
using namespace remat;

namespace remat {
#define GEN_PASS_DEF_PLANBODIES
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

/// Bytes of the program lie where they are loaded once; a workspace is made
/// anew in each step.
static LogicalResult verifyConstants(ScanOp Scan) {
  for (Operation &Op : Scan.getBlock())
    if (isResidentConstant(&Op)) {
      InFlightDiagnostic Diag =
          Op.emitOpError("of several values cannot lie in the body of a scan");
      Diag.attachNote() << "run --canonicalize, which moves it out";
      return Diag;
    }
  return success();
}

/// Carries that begin with one constant get one each, so that they begin in the
/// bytes of their results: the constant is made there, and not copied.
static void ownConstants(ScanOp Scan) {
  OpBuilder B(Scan);
  for (OpOperand &Init : Scan.getInitsMutable())
    if (auto Constant = Init.get().getDefiningOp<ConstantOp>();
        Constant && Constant.getValue().isSplat() && !Constant->hasOneUse())
      Init.set(B.clone(*Constant)->getResult(0));
}

FailureOr<OwningOpRef<func::FuncOp>> remat::prepareBody(ScanOp Scan,
                                                        bool Fuse) {
  if (failed(verifyConstants(Scan)))
    return failure();
  FailureOr<OwningOpRef<func::FuncOp>> Body = outlineBody(Scan);
  if (failed(Body))
    return failure();
  PassManager PM(Scan.getContext(), func::FuncOp::getOperationName());
  if (Fuse)
    PM.addPass(createFuse({"before-plan"}));
  PM.addPass(createSinkConstants());
  PM.addPass(createLegalizeResults());
  if (failed(PM.run(**Body)))
    return failure();
  return Body;
}

namespace {

struct PlanBodiesPass : remat::impl::PlanBodiesBase<PlanBodiesPass> {
  using PlanBodiesBase::PlanBodiesBase;

  void runOnGraph() override {
    SmallVector<ScanOp> Scans;
    getOperation().walk([&](ScanOp Scan) {
      ownConstants(Scan);
      if (!Scan.getArena() && !Scan->hasAttr(MicroBatchesAttrName))
        Scans.push_back(Scan);
    });
    for (ScanOp Scan : Scans)
      if (failed(plan(Scan)))
        return signalPassFailure();
  }

private:
  /// The order stays and nothing is computed twice: what a body holds is little
  /// beside what the scan stacks, and every step would pay for it.
  LogicalResult plan(ScanOp Scan) const {
    FailureOr<OwningOpRef<func::FuncOp>> Body = prepareBody(Scan, Fuse);
    if (failed(Body))
      return failure();
    PassManager PM(Scan.getContext(), func::FuncOp::getOperationName());
    FitBudgetOptions Options;
    Options.Budget = "unlimited";
    Options.Strategy = "none";
    Options.Fuse = Fuse;
    PM.addPass(createFitBudget(Options, {}));
    if (failed(PM.run(**Body)))
      return failure();
    takeBody(Scan, **Body);
    return success();
  }
};

} // namespace
