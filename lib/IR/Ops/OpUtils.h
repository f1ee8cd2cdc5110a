//===- OpUtils.h - helpers of the operations' verifiers ---------*- C++ -*-===//

#ifndef REMAT_LIB_IR_OPS_OPUTILS_H
#define REMAT_LIB_IR_OPS_OPUTILS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "remat/IR/RematDialect.h"
#include "llvm/ADT/APFloat.h"

namespace remat {

inline mlir::RankedTensorType getTensorType(mlir::Value Value) {
  return llvm::cast<mlir::RankedTensorType>(Value.getType());
}

/// The number of elements as a floating-point count of operations.
inline double countElements(mlir::Value Value) {
  return static_cast<double>(getTensorType(Value).getNumElements());
}

/// A byte count or offset: an i64 that is not negative.
inline bool isByteCount(mlir::Attribute Attr) {
  auto Integer = llvm::dyn_cast<mlir::IntegerAttr>(Attr);
  return Integer && Integer.getType().isSignlessInteger(64) &&
         Integer.getInt() >= 0;
}

/// Makes `New` part of the phase of `Old`, of which it takes a part over.
inline void takePhase(mlir::Operation *New, mlir::Operation *Old) {
  if (mlir::Attribute Phase = Old->getAttr(PhaseAttrName))
    New->setAttr(PhaseAttrName, Phase);
}

/// Checks that `Dim` is a dimension of `Type`.
mlir::LogicalResult checkDim(std::optional<mlir::Location> Loc, int64_t Dim,
                             mlir::RankedTensorType Type);

/// Checks that `Dims` are dimensions of `Type`, sorted and without repetition.
mlir::LogicalResult checkReducedDims(std::optional<mlir::Location> Loc,
                                     llvm::ArrayRef<int64_t> Dims,
                                     mlir::RankedTensorType Type);

/// Checks what holds of a function that has reached a stage; see #remat.stage.
mlir::LogicalResult verifyStage(mlir::FunctionOpInterface Func, Stage Reached);

} // namespace remat

#endif // REMAT_LIB_IR_OPS_OPUTILS_H
