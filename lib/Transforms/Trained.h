//===- Trained.h - parameters that an optimizer updates ---------*- C++ -*-===//

#ifndef REMAT_LIB_TRANSFORMS_TRAINED_H
#define REMAT_LIB_TRANSFORMS_TRAINED_H

#include "Updates.h"
#include "remat/Transforms/GraphSignature.h"

namespace remat {

/// A trained parameter and what its update makes of it.
struct Trained {
  unsigned Argument;
  std::string Name;
  const UpdateRule *Rule;
  mlir::Value Gradient;
  /// What the gradient, and so the states, are a part of; null for all of it.
  PartAttr Part;
  /// Where the parameter is whole and its update is of a flat part: the axes.
  mlir::ArrayAttr UpdateAxes;
  mlir::Value Rate = {};
  llvm::SmallVector<std::pair<mlir::BlockArgument, std::string>> States = {};
  mlir::BlockArgument Average = {}; ///< over the steps, or null
  mlir::Value NewParameter = {};
  llvm::SmallVector<mlir::Value> NewStates = {};
  mlir::Value NewAverage = {};
};

/// The parameters of a graph whose gradients are results; none of one that is
/// not trained. `Kind` is the optimizer of those that name no other.
mlir::LogicalResult collectTrained(mlir::func::FuncOp Graph, UpdateKind Kind,
                                   llvm::SmallVectorImpl<Trained> &Parameters);

/// The type of what an update makes new.
mlir::RankedTensorType getUpdatedType(mlir::func::FuncOp Graph,
                                      const Trained &T);

/// The axes over which ranks have parts; null where each has all.
mlir::ArrayAttr getPartAxes(PartAttr Part, MeshAttr Mesh);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_TRAINED_H
