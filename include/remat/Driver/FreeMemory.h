//===- FreeMemory.h - the budget that a device has room for -----*- C++ -*-===//

#ifndef REMAT_DRIVER_FREEMEMORY_H
#define REMAT_DRIVER_FREEMEMORY_H

#include "remat/Pipeline.h"
#include "remat/runtime/Ranks.h"

namespace remat {

/// The device that `Graph` is compiled for under `Options`.
std::string getDeviceName(mlir::ModuleOp Graph, const CompileOptions &Options);

/// The budget `max`, and the line that tells the user its numbers.
struct MaxBudget {
  int64_t Bytes;
  std::string Line;
};

/// What the device has free less a margin: a sixteenth of it and at least 256
/// MiB are left for what the budget does not count (code of kernels, handles of
/// libraries, the process) and for others. Ranks of one machine share what the
/// host has free, and all get the least that any of them has. Null is one rank.
/// All ranks call it. Fails where there is no such device here, or hardly
/// anything is free.
runtime::Result<MaxBudget> findMaxBudget(const std::string &Device,
                                         runtime::Ranks *R);

/// Makes that the budget in `Options` for `Graph`, and gives the line. For one
/// rank.
runtime::Result<std::string> resolveMaxBudget(mlir::ModuleOp Graph,
                                              CompileOptions &Options);

} // namespace remat

#endif // REMAT_DRIVER_FREEMEMORY_H
