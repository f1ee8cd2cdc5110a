//===- FreeMemory.h - the budget that a device has room for -----*- C++ -*-===//

#ifndef REMAT_DRIVER_FREEMEMORY_H
#define REMAT_DRIVER_FREEMEMORY_H

#include "remat/Pipeline.h"
#include "remat/runtime/Result.h"

namespace remat {

/// Asks the device that `Graph` is compiled for under `Options`, whose budget
/// is `max`, what it has free, and makes that the budget, less a margin: a
/// sixteenth of it and at least 256 MiB are left for what the budget does not
/// count (code of kernels, handles of libraries, the process) and for others.
/// Gives the line that tells the user the numbers. Fails where there is no such
/// device here, or hardly anything is free.
runtime::Result<std::string> resolveMaxBudget(mlir::ModuleOp Graph,
                                              CompileOptions &Options);

} // namespace remat

#endif // REMAT_DRIVER_FREEMEMORY_H
