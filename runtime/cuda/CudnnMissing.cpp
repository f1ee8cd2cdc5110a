//===- CudnnMissing.cpp - a build without cuDNN ---------------------------===//

#include "cuda/Cudnn.h"

using namespace remat::runtime;
using namespace remat::runtime::cuda;

Result<std::unique_ptr<CudnnLibrary>> CudnnLibrary::load(Stream) {
  return Error(ErrorCode::Unavailable,
               "this build has no cuDNN: its headers were not there when it "
               "was configured; compile the program with own kernels");
}
