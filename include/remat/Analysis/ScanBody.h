//===- ScanBody.h - the body of a scan as a function ------------*- C++ -*-===//
//
// A body is planned, checked and emitted as a function of its own, by what does
// that for graphs. Its arena has two parts:
//
//   [0, BoundBytes)   stands for bytes outside: a carry for the result that it
//                     is carried in, a slice and a stacked value for their row,
//                     what is read for itself
//   above             the workspace of the scan, the same in each step
//
// Each argument has its place in it from the begin. Carries are arguments that
// are donated to their next value. So is, for each stacked value, one more
// argument that nobody reads: its bytes are where the value is to be written. A
// row whose bytes are not aligned cannot be used where it lies: its argument is
// in the workspace, and the runtime copies.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_ANALYSIS_SCANBODY_H
#define REMAT_ANALYSIS_SCANBODY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "remat/Analysis/Target.h"
#include "remat/IR/RematOps.h"

namespace remat {

/// Marks the scan that runs a step's micro-batches: nothing but arguments,
/// results and what it reads or makes itself is there while it runs, and its
/// body is planned within the budget, by remat-fit-budget.
inline constexpr llvm::StringLiteral MicroBatchesAttrName = "micro_batches";

/// The end of what is bound, where the workspace begins.
mlir::FailureOr<int64_t> getBoundBytes(ScanOp Scan);

/// A copy of the body as a function for the target of the function around
/// `Scan`. If the body's memory is assigned, so is the function's. A diagnostic
/// where a size does not fit 64 bits.
mlir::FailureOr<mlir::OwningOpRef<mlir::func::FuncOp>> outlineBody(ScanOp Scan);

/// Makes the function, whose memory is assigned, the body.
void takeBody(ScanOp Scan, mlir::func::FuncOp Body);

/// Whether rows of this type are used where they lie in a stack; others are
/// copied.
bool isAlignedRow(mlir::Type Row);

/// What copying rows takes in each step.
double getCopyMicroseconds(const Target &Where, ScanOp Scan);

/// How `Scan` runs: `steps` times the kernels of its body. None if its body has
/// no assigned memory, or an operation there has no kernel.
llvm::SmallVector<KernelAttr> getScanKernels(const Target &Where, ScanOp Scan);

/// Says at `Scan`, which has no kernel, why.
mlir::InFlightDiagnostic emitNoScanKernel(ScanOp Scan);

} // namespace remat

#endif // REMAT_ANALYSIS_SCANBODY_H
