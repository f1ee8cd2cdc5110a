//===- RematOps.h - operations and interfaces -------------------*- C++ -*-===//

#ifndef REMAT_IR_REMATOPS_H
#define REMAT_IR_REMATOPS_H

#include "remat/IR/RematDialect.h"
#include "remat/IR/TypeUtils.h"

namespace remat {

/// An operation that must run exactly once a step: never recomputed.
template <typename ConcreteType>
class RunsOnce : public mlir::OpTrait::TraitBase<ConcreteType, RunsOnce> {};

namespace detail {
/// One operation for each element of the largest operand or result.
double countElementwiseFlops(mlir::Operation *Op);
/// The operands whose type has the shape and element width of result `Result`.
llvm::SmallVector<unsigned> sameShapeOperands(mlir::Operation *Op,
                                              unsigned Result);
} // namespace detail
} // namespace remat

#include "remat/IR/RematInterfaces.h.inc"
#define GET_OP_CLASSES
#include "remat/IR/RematOps.h.inc"

#endif // REMAT_IR_REMATOPS_H
