//===- Target.h - where a graph runs ----------------------------*- C++ -*-===//
//
// What a target says of operations: the kernels that can run them, and what
// those take. Planning, memory assignment and emission ask the same object, so
// that what is predicted is what runs. lib/Target has the targets.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_ANALYSIS_TARGET_H
#define REMAT_ANALYSIS_TARGET_H

#include "mlir/IR/Operation.h"
#include "remat/IR/RematDialect.h"

namespace remat {

class Target {
public:
  explicit Target(TargetAttr Attr) : Attr(Attr) {}
  virtual ~Target() = default;

  TargetAttr getAttr() const { return Attr; }

  /// The ways to run `Op`, best first; none if the target cannot run it. Values
  /// are the same for all of them, so that a budget does not change numbers.
  virtual llvm::SmallVector<KernelAttr>
  getImplementations(mlir::Operation *Op) const = 0;

  /// Says at `Op`, for which there is no implementation, why.
  virtual mlir::InFlightDiagnostic
  emitNoImplementation(mlir::Operation *Op) const = 0;

  /// Time of one kernel of elementwise operations that does so much arithmetic
  /// and moves so many bytes. Grows with both; a kernel takes no longer than
  /// several that do the same together.
  virtual double getElementwiseMicroseconds(double Flops,
                                            double Bytes) const = 0;

  /// Whether a kernel of elementwise operations that stores `Sum`'s operand, a
  /// sum over all dimensions but the last, should make the sum too.
  virtual bool sumsInKernels(mlir::Operation * /*Sum*/) const { return false; }

  /// What `Op` would take if only its arithmetic, or only its traffic, took
  /// time, each at the most that the device does.
  struct Ceilings {
    double ArithmeticMicroseconds = 0, TrafficMicroseconds = 0;
  };
  virtual Ceilings getCeilings(mlir::Operation *Op) const = 0;

private:
  TargetAttr Attr;
};

/// The kernel of `Op` that its `remat.choice` names, else the target's best;
/// null if there is none.
KernelAttr getKernel(const Target &Where, mlir::Operation *Op);

/// The same, where nothing may be wrong: a diagnostic at `Op` if the target has
/// no implementation of it, or not the one that `remat.choice` names.
mlir::FailureOr<KernelAttr> verifyKernel(const Target &Where,
                                         mlir::Operation *Op);

} // namespace remat

#endif // REMAT_ANALYSIS_TARGET_H
