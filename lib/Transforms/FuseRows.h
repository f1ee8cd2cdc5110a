//===- FuseRows.h - row operations that read their rows once ----*- C++ -*-===//
//
// Pairs of operations over the same rows that become one. Every value keeps its
// bits.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_FUSEROWS_H
#define REMAT_LIB_TRANSFORMS_FUSEROWS_H

#include "remat/IR/RematOps.h"

namespace remat {

/// Lets one operation stand for two over the same rows: a cross entropy and its
/// gradient, the gradient of a norm or of an embedding and an addition.
void fuseRowOperations(mlir::func::FuncOp Func);

/// Says of an operation that stands for both that it is made of them, in the
/// phase of `Last`.
void takePlace(mlir::Operation *New, mlir::Operation *First,
               mlir::Operation *Last);

/// Lets the gradient add what is added to its first result, where only that
/// addition reads it. Returns whether it now does.
bool addInGradient(LayerNormBackwardOp Gradient);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_FUSEROWS_H
