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
  std::string Bounds = std::to_string(Launch.Block[0]);
  if (Launch.BlocksPerMultiprocessor)
    Bounds += ", " + std::to_string(Launch.BlocksPerMultiprocessor);
  return Launch.Comment + "extern \"C\" __global__ void __launch_bounds__(" +
         Bounds + ") " + std::string(Name) + "(\n    " + Launch.Parameters +
         ") {\n  beginKernel();\n" + Launch.Body + "}\n";
}
