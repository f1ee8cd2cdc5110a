//===- CUDAModel.cpp - what a CUDA device costs ---------------------------===//

#include "remat/Analysis/Cost.h"

using namespace remat;

std::unique_ptr<TargetModel> remat::createCUDAModel(llvm::StringRef Arch,
                                                    llvm::StringRef Attention) {
  // H100 and H200 class: half of the data sheet's dense rates.
  Roofline Rates;
  Rates.MatrixFlops32 = 2e14;
  Rates.MatrixFlops16 = 5e14;
  Rates.ScalarFlops = 3e13;
  Rates.BytesPerSecond = 3e12;
  Rates.LaunchMicroseconds = 2;
  return std::make_unique<RooflineModel>("cuda", Arch, Rates);
}
