//===- Management.h - what a process holds on a GPU -------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_CUDA_MANAGEMENT_H
#define REMAT_RUNTIME_CUDA_MANAGEMENT_H

#include <cstdint>
#include <optional>

namespace remat::runtime::cuda {

/// Bytes that this process holds on the GPU at that place on the bus, by NVML.
/// Nothing if the library is not there, or does not say: in a container it may
/// know the process by another number, and some drivers do not count.
std::optional<uint64_t> getProcessBytes(const char *BusId);

} // namespace remat::runtime::cuda

#endif // REMAT_RUNTIME_CUDA_MANAGEMENT_H
