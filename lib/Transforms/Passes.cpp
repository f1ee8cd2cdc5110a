//===- Passes.cpp - registration of the passes ----------------------------===//

#include "remat/Transforms/Passes.h"

namespace remat {

#define GEN_PASS_REGISTRATION
#include "remat/Transforms/Passes.h.inc"

void registerPasses() { registerRematPasses(); }

} // namespace remat
