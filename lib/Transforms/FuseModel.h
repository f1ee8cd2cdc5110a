//===- FuseModel.h - which steps may become one kernel ----------*- C++ -*-===//
//
// Private to remat-fuse. The steps of the program that fusion would make, and
// which of them may be merged: what the liveness says of their bytes, whether
// the order stays right, and what a kernel can hold.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_FUSEMODEL_H
#define REMAT_LIB_TRANSFORMS_FUSEMODEL_H

#include "remat/Analysis/StepLiveness.h"
#include "remat/IR/RematOps.h"

namespace remat {

bool readsSplatConstant(mlir::Operation *Op);

/// Whether one kernel can compute both, where `Consumer` reads `Producer`.
bool mayShareKernel(mlir::Operation *Producer, mlir::Operation *Consumer);

/// Whether the operand is as large as what the elementwise operation makes.
bool readsInFull(mlir::Operation *Op, mlir::Value Operand);

/// Whether the plan keeps its choices where both are one operation for it:
/// before planning, whether a value lives from the forward to the backward is
/// still to be decided, and so is what a user asked to be kept.
bool leavesPlanFree(mlir::Operation *Producer, mlir::Operation *Consumer);

/// Replaces cheap elementwise operations by a clone beside each reader where
/// that saves traffic and keeps nothing alive for longer. Block order must be
/// the order of execution.
void cloneCheapOperations(mlir::func::FuncOp Func);

/// Moves groups up to what only they read, so that this can become part of
/// them, where their results are no larger. Returns whether any moved.
bool hoistReaders(mlir::func::FuncOp Func);

class FuseModel {
public:
  explicit FuseModel(mlir::func::FuncOp Func);

  const StepLiveness &getSteps() const { return Steps; }

  struct MergeRules {
    bool SeveralOutputs =
        false;             ///< the producer's values may be read elsewhere
    bool Siblings = false; ///< the consumer may read what the producer reads,
                           ///< in place of what that makes
    bool UseHeadroom = false; ///< stay below the peak instead of locally level
    bool UpdatesMove = false; ///< what overwrites an argument moves behind its
                              ///< readers later (remat-legalize-results)
  };
  /// Merges the step at `Producer` into the later one at `Consumer` if the
  /// result is legal and does not raise the peak. Both must be pointwise over
  /// one shape.
  bool tryMerge(unsigned Producer, unsigned Consumer, const MergeRules &Rules);

private:
  mlir::Operation *getWriter(mlir::Value Root) const;
  bool isLegal(unsigned Producer, unsigned Consumer,
               const MergeRules &Rules) const;
  bool isSmall(const Step &First, const Step &Second) const;
  StepLiveness::Sum getPeak() const;
  StepLiveness::Sum getUnwrittenBytes(unsigned Producer,
                                      unsigned Consumer) const;
  StepLiveness::Sum getSummedBytes(unsigned Position) const;

  StepLiveness Steps;
  StepLiveness::Sum InitialPeak;
};

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_FUSEMODEL_H
