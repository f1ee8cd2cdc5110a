//===- Passes.td - the passes of the compiler ------------------*- tablegen -*-===//
//
// In the order of the pipeline. Each pass shows IR before and after; a test
// under test/Transforms runs that very example.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_PASSES
#define REMAT_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

#endif // REMAT_TRANSFORMS_PASSES
