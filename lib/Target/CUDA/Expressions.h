//===- Expressions.h - scalar functions in CUDA C++ -------------*- C++ -*-===//

#ifndef REMAT_LIB_TARGET_CUDA_EXPRESSIONS_H
#define REMAT_LIB_TARGET_CUDA_EXPRESSIONS_H

#include "mlir/IR/Operation.h"
#include <optional>
#include <string>

namespace remat::cuda {

/// What a scalar function computes of its operands' elements `a`, `b`, `c`;
/// nothing of another operation.
std::optional<std::string> getExpression(mlir::Operation *Op);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_EXPRESSIONS_H
