//===- KernelChoice.h - one way to run an operation -------------*- C++ -*-===//

#ifndef REMAT_LIB_TARGET_CUDA_KERNELCHOICE_H
#define REMAT_LIB_TARGET_CUDA_KERNELCHOICE_H

#include "remat/IR/RematDialect.h"

namespace remat::cuda {

inline KernelAttr makeKernel(TargetAttr Where, KernelKind Kind,
                             double Microseconds, int64_t Workspace,
                             int64_t Launches, int64_t Slices = 1,
                             bool Deterministic = true) {
  return KernelAttr::get(Where.getContext(), Kind, Microseconds, Workspace,
                         Launches, Slices, Deterministic);
}

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_KERNELCHOICE_H
