//===- RematOps.h - operations and interfaces -------------------*- C++ -*-===//

#ifndef REMAT_IR_REMATOPS_H
#define REMAT_IR_REMATOPS_H

#include "remat/IR/RematDialect.h"
#include "remat/IR/TypeUtils.h"

namespace remat {

/// An operation that must run exactly once a step: never recomputed.
template <typename ConcreteType>
class RunsOnce : public mlir::OpTrait::TraitBase<ConcreteType, RunsOnce> {};

// What these say of an operation stands in RematBase.td.
template <typename ConcreteType>
class ScalarFunction
    : public mlir::OpTrait::TraitBase<ConcreteType, ScalarFunction> {};
template <typename ConcreteType>
class Pointwise : public mlir::OpTrait::TraitBase<ConcreteType, Pointwise> {};
template <typename ConcreteType>
class Rowwise : public mlir::OpTrait::TraitBase<ConcreteType, Rowwise> {};
template <typename ConcreteType>
class CheapToRepeat
    : public mlir::OpTrait::TraitBase<ConcreteType, CheapToRepeat> {};
template <typename ConcreteType>
class CopiesOperand
    : public mlir::OpTrait::TraitBase<ConcreteType, CopiesOperand> {};
template <typename ConcreteType>
class UsesMatrixUnits
    : public mlir::OpTrait::TraitBase<ConcreteType, UsesMatrixUnits> {};

/// What autocast does with the float types of an operation.
enum class Precision {
  written,    ///< they stay as the user wrote them
  low,        ///< operands and results get the low type
  full,       ///< operands and results get f32
  follow,     ///< low as soon as one operand is, as written otherwise
  any,        ///< operands stay as they come, results follow by type inference
  low_result, ///< as written, and a cast of the result to the low type goes on
};

/// An operation whose policy depends on nothing.
template <Precision Policy> struct HasPrecision {
  template <typename ConcreteType>
  class Impl : public mlir::OpTrait::TraitBase<ConcreteType, Impl> {
  public:
    static Precision getPrecision() { return Policy; }
  };
};

/// A loop of an operation; see LoopOpInterface.
struct Loop {
  /// Stands for a dimension where there is none.
  static constexpr int64_t None = -1;
  /// The dimension of each operand that the loop runs through; with `None`
  /// every slice reads all of it.
  llvm::SmallVector<int64_t> Operands;
  /// The same of each result; with `None` it is the sum over the slices, or,
  /// with `IsMean`, the mean.
  llvm::SmallVector<int64_t> Results;
  bool IsMean = false;
  /// The operand that is the gradient of such a mean, if one is: a slice takes
  /// its share of it.
  std::optional<unsigned> Shared = std::nullopt;
  /// An operand that is added to the sum, if one is: one slice adds it, and the
  /// others add zeros.
  std::optional<unsigned> Once = std::nullopt;
  /// Whether results without the loop are whole in each slice, and no sums.
  bool IsShared = false;
};

/// What a rank sends, or gets if that is more, in an operation over ranks.
struct Traffic {
  double Bytes = 0;
  int64_t Rounds = 0; ///< exchanges that wait for the one before
};

namespace detail {
llvm::SmallVector<Loop> getPointwiseLoops(mlir::Operation *Op);
void cutResults(mlir::Operation *Op, const Loop &Along, int64_t Count);
mlir::LogicalResult verifySizedTensors(mlir::Operation *Op);
mlir::LogicalResult
inferBroadcastType(std::optional<mlir::Location> Loc, mlir::ValueRange Operands,
                   llvm::SmallVectorImpl<mlir::Type> &Types);
/// One operation for each element of the largest operand or result.
double countElementwiseFlops(mlir::Operation *Op);
/// Bytes of all operands and results.
double countBytes(mlir::Operation *Op);
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

namespace remat {

/// Whether `Op` is a sum of floats over all dimensions but the last, of which
/// there are at least two.
bool isColumnSum(mlir::Operation *Op);

/// What a cast widens to `V`, where it is of floats that operations compute
/// with and loses nothing; else `V`.
mlir::Value skipWidening(mlir::Value V);

} // namespace remat

#endif // REMAT_IR_REMATOPS_H
