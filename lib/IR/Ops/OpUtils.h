//===- OpUtils.h - helpers of the operations' verifiers ---------*- C++ -*-===//

#ifndef REMAT_LIB_IR_OPS_OPUTILS_H
#define REMAT_LIB_IR_OPS_OPUTILS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/APFloat.h"

namespace remat {

inline mlir::RankedTensorType getTensorType(mlir::Value Value) {
  return llvm::cast<mlir::RankedTensorType>(Value.getType());
}

/// The number of elements as a floating-point count of operations.
inline double countElements(mlir::Value Value) {
  return static_cast<double>(getTensorType(Value).getNumElements());
}

} // namespace remat

#endif // REMAT_LIB_IR_OPS_OPUTILS_H
