//===- Passes.cpp - what all passes have in common ------------------------===//

#include "remat/Transforms/Passes.h"
#include "remat/IR/GraphFile.h"

namespace remat {

void GraphPass::runOnOperation() {
  mlir::func::FuncOp Func = getOperation();
  if (Func.isDeclaration())
    return;
  if (failed(verifyGraphBody(Func)))
    return signalPassFailure();
  runOnGraph();
}

#define GEN_PASS_REGISTRATION
#include "remat/Transforms/Passes.h.inc"

void registerPasses() { registerRematPasses(); }

} // namespace remat
