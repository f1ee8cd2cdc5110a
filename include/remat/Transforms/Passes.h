//===- Passes.h - the passes of the compiler --------------------*- C++ -*-===//

#ifndef REMAT_TRANSFORMS_PASSES_H
#define REMAT_TRANSFORMS_PASSES_H

#include "remat/IR/RematDialect.h"
#include "remat/Transforms/GraphPass.h"
#include "remat/Transforms/RealOption.h"
#include <cstdint>
#include <memory>
#include <string>

namespace remat {

#define GEN_PASS_DECL
#include "remat/Transforms/Passes.h.inc"

/// Makes every pass of Passes.td known on the command line.
void registerPasses();

} // namespace remat

#endif // REMAT_TRANSFORMS_PASSES_H
