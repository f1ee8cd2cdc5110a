//===- AttentionTarget.h - the kernels of attention -------------*- C++ -*-===//

#ifndef REMAT_LIB_TARGET_CUDA_ATTENTIONTARGET_H
#define REMAT_LIB_TARGET_CUDA_ATTENTIONTARGET_H

#include "remat/IR/RematDialect.h"

namespace remat::cuda {

/// What can run attention or its backward on `Where`, as
/// Target::getImplementations gives it.
llvm::SmallVector<KernelAttr> getAttentionImplementations(TargetAttr Where,
                                                          mlir::Operation *Op);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_ATTENTIONTARGET_H
