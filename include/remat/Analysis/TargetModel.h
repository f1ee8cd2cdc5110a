//===- TargetModel.h - what a device costs ----------------------*- C++ -*-===//
//
// Time and workspace of operations on a device. Planning, memory assignment and
// emission ask the same model, so that what is predicted is what runs.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_ANALYSIS_TARGETMODEL_H
#define REMAT_ANALYSIS_TARGETMODEL_H

#include "mlir/IR/Operation.h"
#include <memory>
#include <string>

namespace remat {

/// One way to run an operation: more workspace may buy time.
struct KernelChoice {
  std::string Name;      ///< what the program's Step.choice says
  int64_t Workspace = 0; ///< bytes
  double Microseconds = 0;
};

class TargetModel {
public:
  virtual ~TargetModel() = default;

  virtual llvm::StringRef getDevice() const = 0; ///< "host" or "cuda"
  virtual llvm::StringRef getArch() const = 0;   ///< "" or "sm_90"

  /// The ways to run `Op`, best first; never empty. Values are the same for
  /// all choices of one operation, so that a budget does not change numbers.
  virtual llvm::SmallVector<KernelChoice>
  getChoices(mlir::Operation *Op) const = 0;

  /// Time of one kernel of elementwise operations that does so much arithmetic
  /// and moves so many bytes. Grows with both; a kernel takes no longer than
  /// several that do the same together.
  virtual double getElementwiseMicroseconds(double Flops,
                                            double Bytes) const = 0;

  /// The model for "host" or "cuda"; null for any other device. `Attention`
  /// is "auto", "cudnn" or "own".
  static std::unique_ptr<TargetModel> create(llvm::StringRef Device,
                                             llvm::StringRef Arch,
                                             llvm::StringRef Attention);
};

} // namespace remat

#endif // REMAT_ANALYSIS_TARGETMODEL_H
