//===- FreeMemory.h - the budget that a device has room for -----*- C++ -*-===//

#ifndef REMAT_DRIVER_FREEMEMORY_H
#define REMAT_DRIVER_FREEMEMORY_H

#include "remat/Pipeline.h"
#include "remat/runtime/Result.h"

namespace remat {

/// What became of the budget `max`.
struct FreeMemory {
  std::string Device;
  uint64_t FreeBytes = 0; ///< of the device, now
  /// What of it is left alone: for what the budget does not count (code of
  /// kernels, handles of libraries, the process) and for others.
  uint64_t MarginBytes = 0;
  int64_t BudgetBytes = 0;
};

/// A sixteenth of the free bytes, at least 256 MiB.
uint64_t getMargin(uint64_t FreeBytes);

/// Asks the device that `Graph` is compiled for under `Options` what it has
/// free, and makes that, less a margin, the budget of `Options`. Fails where
/// there is no such device here, or hardly anything is free.
runtime::Result<FreeMemory> resolveMaxBudget(mlir::ModuleOp Graph,
                                             CompileOptions &Options);

} // namespace remat

#endif // REMAT_DRIVER_FREEMEMORY_H
