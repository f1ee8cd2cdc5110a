//===- Launch.cpp - one launch of a kernel as text ------------------------===//

#include "remat/Target/CUDA/Launch.h"
#include <algorithm>

using namespace remat::cuda;

void remat::cuda::addSource(const KernelSource &Source,
                            std::vector<const KernelSource *> &Sources) {
  if (std::find(Sources.begin(), Sources.end(), &Source) != Sources.end())
    return;
  for (const KernelSource *Included : Source.Includes)
    addSource(*Included, Sources);
  Sources.push_back(&Source);
}

std::string remat::cuda::printKernel(const Launch &Launch,
                                     std::string_view Name) {
  return Launch.Comment + "extern \"C\" __global__ void __launch_bounds__(" +
         std::to_string(Launch.Block[0]) + ") " + std::string(Name) +
         "(\n    " + Launch.Parameters + ") {\n" + Launch.Body + "}\n";
}
