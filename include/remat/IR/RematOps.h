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
mlir::LogicalResult verifySizedTensors(mlir::Operation *Op);
mlir::LogicalResult
inferBroadcastType(std::optional<mlir::Location> Loc, mlir::ValueRange Operands,
                   llvm::SmallVectorImpl<mlir::Type> &Types);
/// One operation for each element of the largest operand or result.
double countElementwiseFlops(mlir::Operation *Op);
/// The operands whose type has the shape and element width of result `Result`.
llvm::SmallVector<unsigned> sameShapeOperands(mlir::Operation *Op,
                                              unsigned Result);
} // namespace detail

/// An operation whose tensors are checked by `verifySizedTensor`.
template <typename ConcreteType>
class SizedTensors
    : public mlir::OpTrait::TraitBase<ConcreteType, SizedTensors> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *Op) {
    return detail::verifySizedTensors(Op);
  }
};

/// An operation whose only result has the broadcast shape of all operands and
/// their common element type.
template <typename ConcreteType>
class BroadcastResult
    : public mlir::OpTrait::TraitBase<ConcreteType, BroadcastResult> {
public:
  static mlir::LogicalResult
  inferReturnTypes(mlir::MLIRContext *, std::optional<mlir::Location> Loc,
                   mlir::ValueRange Operands, mlir::DictionaryAttr,
                   mlir::OpaqueProperties, mlir::RegionRange,
                   llvm::SmallVectorImpl<mlir::Type> &Types) {
    return detail::inferBroadcastType(Loc, Operands, Types);
  }
};

} // namespace remat

#include "remat/IR/RematInterfaces.h.inc"
#define GET_OP_CLASSES
#include "remat/IR/RematOps.h.inc"

#endif // REMAT_IR_REMATOPS_H
