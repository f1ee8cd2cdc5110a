//===- Kernel.h - the host's kernels ----------------------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_HOST_KERNEL_H
#define REMAT_RUNTIME_HOST_KERNEL_H

#include "ops/Op.h"
#include <span>
#include <string_view>

namespace remat::runtime {

class Context;

/// What runs an op that its signature has checked.
struct HostKernel {
  std::string_view Name;
  Status (*Run)(const OpCall &Op, Context &C);
};

/// The kernel of an op, or null.
const HostKernel *findKernel(std::string_view Name);

/// Tables of the files under kernels/.
std::span<const HostKernel> getElementwiseKernels();
std::span<const HostKernel> getRandomKernels();
std::span<const HostKernel> getShapeKernels();
std::span<const HostKernel> getReductionKernels();
std::span<const HostKernel> getMatmulKernels();
std::span<const HostKernel> getMomentKernels();
std::span<const HostKernel> getNormKernels();
std::span<const HostKernel> getAttentionKernels();
std::span<const HostKernel> getEmbeddingKernels();
std::span<const HostKernel> getIndexKernels();
std::span<const HostKernel> getLossKernels();
std::span<const HostKernel> getOptimizerKernels();
std::span<const HostKernel> getConvolutionKernels();
std::span<const HostKernel> getPoolingKernels();
std::span<const HostKernel> getGroupKernels();
std::span<const HostKernel> getLoopKernels();
std::span<const HostKernel> getCollectiveKernels();

} // namespace remat::runtime

#endif // REMAT_RUNTIME_HOST_KERNEL_H
