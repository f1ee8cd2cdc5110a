//===- Accumulate.h - what micro-batches can be -----------------*- C++ -*-===//

#ifndef REMAT_LIB_TRANSFORMS_ACCUMULATE_H
#define REMAT_LIB_TRANSFORMS_ACCUMULATE_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

namespace remat {

/// The note of what comes of another place in the pipeline.
inline constexpr llvm::StringLiteral WhereToAccumulate =
    "run remat-accumulate behind remat-differentiate and before "
    "remat-add-optimizer";

/// `Type` with a leading dimension `Leading`, or null if its bytes overflow.
mlir::RankedTensorType prepend(int64_t Leading, mlir::RankedTensorType Type);

/// An error at `Loc` unless `Count` of an input or output `What` can be
/// stacked.
mlir::LogicalResult checkStack(mlir::Location Loc, int64_t Count,
                               const llvm::Twine &What, mlir::Type Of);

/// An error where operations that run in each of `Count` micro-batches include
/// an update, which is made once a step, of what is summed over them.
mlir::LogicalResult checkUpdates(llvm::ArrayRef<mlir::Operation *> Body,
                                 int64_t Count);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_ACCUMULATE_H
