//===- AttentionMissing.cpp - a build without cuDNN -----------------------===//

#include "cuda/Attention.h"

using namespace remat::runtime;
using namespace remat::runtime::cuda;

Result<std::unique_ptr<AttentionLibrary>> AttentionLibrary::load(Stream) {
  return Error(
      ErrorCode::Unavailable,
      "this build has no cuDNN: its headers were not there when it "
      "was configured; compile the program with own attention kernels");
}
