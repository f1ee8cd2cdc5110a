//===- Kernel.cpp - the host's kernels by name ----------------------------===//

#include "host/Kernel.h"
#include <map>

using namespace remat::runtime;

const HostKernel *remat::runtime::findKernel(std::string_view Name) {
  static const auto All = [] {
    std::map<std::string_view, const HostKernel *> Map;
    for (auto Table :
         {getElementwiseKernels(), getRandomKernels(), getShapeKernels(),
          getReductionKernels(), getMatmulKernels(), getMomentKernels(),
          getNormKernels(), getAttentionKernels(), getEmbeddingKernels(),
          getIndexKernels(), getLossKernels(), getConvolutionKernels(),
          getPoolingKernels(), getOptimizerKernels(), getGroupKernels(),
          getLoopKernels(), getCollectiveKernels()})
      for (const HostKernel &Kernel : Table)
        Map.emplace(Kernel.Name, &Kernel);
    return Map;
  }();
  auto It = All.find(Name);
  return It == All.end() ? nullptr : It->second;
}
