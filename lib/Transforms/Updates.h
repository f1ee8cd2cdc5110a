//===- Updates.h - updates of parameters made of operations -----*- C++ -*-===//
//
// Optimizers that have no operation of their own are written as elementwise
// operations and reductions, which the fuser groups.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_UPDATES_H
#define REMAT_LIB_TRANSFORMS_UPDATES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "remat/IR/RematDialect.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace remat {

/// The numbers of an optimizer, named as the options of remat-add-optimizer.
struct UpdateSettings {
  double Beta1, Beta2, Epsilon, WeightDecay, Momentum;
};

/// A state that an update keeps for a parameter, an f32 tensor of zeros.
struct UpdateState {
  std::string Suffix; ///< of the parameter's name, ".exp_avg"
  llvm::SmallVector<int64_t> Shape;
};

/// What one update reads: the parameter, its gradient of any float type, the
/// states, and scalars: the learning rate, the finished updates, and what all
/// gradients are multiplied by or null.
struct UpdateInputs {
  mlir::Value Parameter, Gradient;
  llvm::SmallVector<mlir::Value> States;
  mlir::Value Rate, Step, Scale;
  /// Where this i1 number is there and false, parameter and states stay as they
  /// are.
  mlir::Value Finite;
};

struct UpdateResults {
  mlir::Value NewParameter;
  llvm::SmallVector<mlir::Value> NewStates;
};

/// Makes an update by its rule; one that is not to be made changes nothing.
UpdateResults buildUpdate(const struct UpdateRule &Rule, mlir::OpBuilder &B,
                          mlir::Location Loc, const UpdateInputs &Inputs,
                          const UpdateSettings &Settings);

/// An optimizer.
struct UpdateRule {
  UpdateKind Kind;
  llvm::SmallVector<UpdateState> (*GetStates)(mlir::RankedTensorType Parameter,
                                              const UpdateSettings &);
  UpdateResults (*Build)(mlir::OpBuilder &, mlir::Location,
                         const UpdateInputs &, const UpdateSettings &);
  /// Whether each element is updated by itself, so that a part of a parameter
  /// is too.
  bool IsElementwise;
};

/// The rule that updates such a parameter where the optimizer is `Kind`: muon
/// leaves what is not a matrix to adamw.
const UpdateRule &getUpdateRule(UpdateKind Kind,
                                mlir::RankedTensorType Parameter);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_UPDATES_H
