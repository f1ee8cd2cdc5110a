//===- ProcessMemory.h - what a run takes of the host -----------*- C++ -*-===//

#ifndef REMAT_LIB_RUN_PROCESSMEMORY_H
#define REMAT_LIB_RUN_PROCESSMEMORY_H

#include <cstdint>
#include <optional>

namespace remat::run {

/// Resident memory of the process from the making of this on: the highest since
/// then, less what there was. It begins with giving back what earlier work has
/// freed, which would else be used again uncounted.
class ResidentGrowth {
public:
  ResidentGrowth();
  /// Nothing where the system does not say.
  std::optional<uint64_t> getBytes() const;

private:
  std::optional<uint64_t> Start;
};

} // namespace remat::run

#endif // REMAT_LIB_RUN_PROCESSMEMORY_H
