//===- ElementTypes.h - MLIR's types and the table's ------------*- C++ -*-===//

#ifndef REMAT_IR_ELEMENTTYPES_H
#define REMAT_IR_ELEMENTTYPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "remat/Support/ElementTypes.h"
#include <optional>

namespace remat {

/// The row of the table that `Type` is; nothing for types of no graph.
std::optional<ElementType> getElementType(mlir::Type Type);

/// Whether `Type` is a float that operations compute with.
bool isComputedFloat(mlir::Type Type);

/// Whether every value of type `From` is a value of type `To`.
bool isLossless(mlir::Type From, mlir::Type To);

} // namespace remat

#endif // REMAT_IR_ELEMENTTYPES_H
