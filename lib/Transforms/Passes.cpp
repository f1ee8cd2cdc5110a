//===- Passes.cpp - what all passes have in common ------------------------===//

#include "remat/Transforms/Passes.h"
#include "remat/IR/GraphFile.h"

namespace remat {

std::optional<Stage> getStage(mlir::func::FuncOp Func) {
  auto Attr = Func->getAttrOfType<StageAttr>(StageAttrName);
  return Attr ? std::optional(Attr.getValue()) : std::nullopt;
}

void setStage(mlir::func::FuncOp Func, Stage Reached) {
  Func->setAttr(StageAttrName, StageAttr::get(Func.getContext(), Reached));
}

/// Whether the function is not too far for a pass that ends at a stage.
static mlir::LogicalResult checkStage(mlir::func::FuncOp Func,
                                      llvm::StringRef Pass,
                                      std::optional<Stage> End) {
  std::optional<Stage> Reached = getStage(Func);
  if (!End || !Reached || *Reached < *End)
    return mlir::success();
  mlir::InFlightDiagnostic Diag = Func.emitError()
                                  << Pass << " comes too late: the graph is "
                                  << stringifyStage(*Reached) << " already";
  Diag.attachNote() << "run it on the graph as it was before it was "
                    << stringifyStage(*End);
  return Diag;
}

void GraphPass::runOnOperation() {
  mlir::func::FuncOp Func = getOperation();
  if (Func.isDeclaration())
    return;
  if (failed(verifyGraphBody(Func)) ||
      failed(checkStage(Func, getArgument(), getEnd())))
    return signalPassFailure();
  runOnGraph();
}

#define GEN_PASS_REGISTRATION
#include "remat/Transforms/Passes.h.inc"

void registerPasses() { registerRematPasses(); }

} // namespace remat
