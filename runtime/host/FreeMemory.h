//===- FreeMemory.h - what the host can still give --------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_HOST_FREEMEMORY_H
#define REMAT_RUNTIME_HOST_FREEMEMORY_H

#include <cstdint>
#include <string>

namespace remat::runtime {

/// Bytes that programs can take without others losing theirs to the disk: what
/// the system says is available, and what the control groups (version 2) of
/// this process leave of their limits, whichever is least. 0 where nothing is
/// said. `Root` stands before /proc and /sys.
uint64_t getAvailableBytes(const std::string &Root = "");

} // namespace remat::runtime

#endif // REMAT_RUNTIME_HOST_FREEMEMORY_H
