//===- CUDATarget.h - the kernels of a CUDA device and their cost -*- C++
//-*-===//

#ifndef REMAT_TARGET_CUDA_CUDATARGET_H
#define REMAT_TARGET_CUDA_CUDATARGET_H

#include "remat/Analysis/Target.h"
#include <memory>

namespace remat::cuda {

/// The target that `Attr`, of device `cuda`, names.
std::unique_ptr<Target> createTarget(TargetAttr Attr);

} // namespace remat::cuda

#endif // REMAT_TARGET_CUDA_CUDATARGET_H
