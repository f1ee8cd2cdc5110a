//===- Devices.cpp - the devices of this build ----------------------------===//

#include "lib/BuiltinDevices.h"

namespace remat::runtime {

Result<std::unique_ptr<Device>> createHostDevice(const DeviceOptions &Options);
#ifdef REMAT_RUNTIME_CUDA
/// Defined in runtime/cuda; loads the CUDA libraries or says what is missing.
Result<std::unique_ptr<Device>> createCUDADevice(const DeviceOptions &Options);
#endif

std::vector<DeviceEntry> getBuiltinDevices() {
  return {
      {"host", createHostDevice},
#ifdef REMAT_RUNTIME_CUDA
      {"cuda", createCUDADevice},
#endif
  };
}

} // namespace remat::runtime
