//===- Cost.h - arithmetic and traffic of operations ------------*- C++ -*-===//

#ifndef REMAT_ANALYSIS_COST_H
#define REMAT_ANALYSIS_COST_H

#include "mlir/IR/Operation.h"
#include "remat/Analysis/TargetModel.h"
#include "llvm/ADT/StringMap.h"

namespace remat {

/// What one execution of an operation does.
struct OpCost {
  double Flops = 0;
  double Bytes = 0; ///< each operand read once, each result written once
};
OpCost getCost(mlir::Operation *Op);

/// Rates of a device. An operation takes the longer of its arithmetic and its
/// traffic, plus a fixed launch time (the roofline: Williams et al., 2009).
struct Roofline {
  double MatrixFlops32 = 0;  ///< a second, f32 matrix products
  double MatrixFlops16 = 0;  ///< a second, bf16 and f16 matrix products
  double ScalarFlops = 0;    ///< a second, everything else
  double BytesPerSecond = 0; ///< to and from memory
  double LaunchMicroseconds = 0;
};

/// A device whose operations have one kernel each, no workspace, and times from
/// a roofline. Devices refine it operation by operation.
class RooflineModel : public TargetModel {
public:
  RooflineModel(llvm::StringRef Device, llvm::StringRef Arch,
                const Roofline &Rates)
      : Device(Device), Arch(Arch), Rates(Rates) {}

  llvm::StringRef getDevice() const override { return Device; }
  llvm::StringRef getArch() const override { return Arch; }
  llvm::SmallVector<KernelChoice>
  getChoices(mlir::Operation *Op) const override;
  double getElementwiseMicroseconds(double Flops, double Bytes) const override;

protected:
  /// Time of one execution; zero for what needs no step.
  double getMicroseconds(mlir::Operation *Op) const;

private:
  std::string Device, Arch;
  Roofline Rates;
};

/// The model of the machine that runs the host program.
std::unique_ptr<TargetModel> createHostModel();

/// The model of a CUDA device: lib/Analysis/CUDAModel.cpp.
std::unique_ptr<TargetModel> createCUDAModel(llvm::StringRef Arch,
                                             llvm::StringRef Attention);

/// The kernel of `Op` that its `remat.choice` names, else the first one.
KernelChoice getChoice(const TargetModel &Model, mlir::Operation *Op);

} // namespace remat

#endif // REMAT_ANALYSIS_COST_H
