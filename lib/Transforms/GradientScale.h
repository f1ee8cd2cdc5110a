//===- GradientScale.h - what gradients are multiplied by -------*- C++ -*-===//
//
// Clipping, the loss scale, and whether gradients are finite: numbers of a step
// that all its updates share, and the states that follow them.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_GRADIENTSCALE_H
#define REMAT_LIB_TRANSFORMS_GRADIENTSCALE_H

#include "remat/Transforms/GraphSignature.h"

namespace remat {

/// The argument of the graph that a dynamic loss scale is.
inline constexpr llvm::StringLiteral LossScaleName = "loss_scale";

/// What is made of the gradients; what is not asked for is null.
struct GradientScale {
  mlir::Value Norm;   ///< of the gradients of the loss, before clipping
  mlir::Value Finite; ///< i1: whether loss and gradients are finite
  /// What each gradient is multiplied by.
  mlir::Value Factor;
};

/// What is asked for.
struct GradientScaleOptions {
  double ClipNorm = 0; ///< 0: no clipping
  bool ReportsNorm = false, Skips = false;
  /// What the loss was scaled by, an f32 number, or null.
  mlir::Value LossScale;

  /// Whether updates must wait until all gradients are there.
  bool needsAll() const { return ClipNorm != 0 || Skips; }
};

/// A gradient, and the axes of the mesh over which ranks hold parts of it; null
/// where each has all of it.
struct ScaledGradient {
  mlir::Value Gradient;
  mlir::ArrayAttr Axes;
};

/// Makes them; where `needsAll`, the builder stands behind all gradients, else
/// before the first operation that reads one. A norm that is only reported is
/// made gradient by gradient.
GradientScale buildGradientScale(mlir::OpBuilder &B, mlir::Location Loc,
                                 llvm::ArrayRef<ScaledGradient> Gradients,
                                 mlir::Value Loss,
                                 const GradientScaleOptions &Options);

/// The scale of the next step and how many steps in a row were finite, as
/// torch.amp.GradScaler (PyTorch 2) has them: half the scale where the
/// gradients were not finite, twice the scale after `Interval` finite steps.
std::pair<mlir::Value, mlir::Value>
buildNextLossScale(mlir::OpBuilder &B, mlir::Location Loc, mlir::Value Scale,
                   mlir::Value Count, mlir::Value Finite, int64_t Interval);

/// Finds the state that a dynamic loss scale is, or says that there is none.
mlir::LogicalResult findLossScale(mlir::func::FuncOp Graph,
                                  mlir::BlockArgument &Found);

/// Appends a state that counts steps, from 0.
mlir::BlockArgument appendCount(mlir::func::FuncOp Graph,
                                SignatureEditor &Signature,
                                llvm::StringRef Name);

/// The new average of a parameter over the updates: the first update's
/// parameter, then Decay * Average + (1 - Decay) * Parameter. Where `Finite` is
/// there and false there was no update.
mlir::Value buildAverage(mlir::OpBuilder &B, mlir::Value Average,
                         mlir::Value Parameter, mlir::Value Updates,
                         double Decay, mlir::Value Finite);

/// Makes the states that the forward updates, such as running statistics, stay
/// as they are in a step that is not finite.
void keepStates(mlir::func::FuncOp Graph, SignatureEditor &Signature,
                mlir::Value Finite);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_GRADIENTSCALE_H
