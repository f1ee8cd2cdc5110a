//===- Device.cpp - which devices there are -------------------------------===//

#include "remat/runtime/Device.h"
#include "lib/Guard.h"

using namespace remat::runtime;

namespace remat::runtime {
Result<std::unique_ptr<Device>> createHostDevice(const DeviceOptions &Options);
#ifdef REMAT_RUNTIME_CUDA
/// Defined in runtime/cuda; loads the CUDA libraries or says what is missing.
Result<std::unique_ptr<Device>> createCUDADevice(const DeviceOptions &Options);
#endif
} // namespace remat::runtime

namespace {
struct Entry {
  std::string Name;
  DeviceFactory Factory;
};
} // namespace

static std::vector<Entry> &getRegistry() {
  static std::vector<Entry> Registry = {
      {"host", createHostDevice},
#ifdef REMAT_RUNTIME_CUDA
      {"cuda", createCUDADevice},
#endif
  };
  return Registry;
}

Result<std::unique_ptr<Device>>
remat::runtime::createDevice(std::string_view Name,
                             const DeviceOptions &Options) {
  return guard([&]() -> Result<std::unique_ptr<Device>> {
    std::string Known;
    for (const Entry &E : getRegistry()) {
      if (E.Name == Name)
        return E.Factory(Options);
      Known += (Known.empty() ? "" : ", ") + E.Name;
    }
    return Error(ErrorCode::Unavailable,
                 "no device named '" + std::string(Name) +
                     "' in this build; it has " + Known);
  });
}

std::vector<std::string> remat::runtime::getDeviceNames() {
  std::vector<std::string> Names;
  for (const Entry &E : getRegistry())
    Names.push_back(E.Name);
  return Names;
}

void remat::runtime::registerDevice(std::string Name, DeviceFactory Factory) {
  for (Entry &E : getRegistry())
    if (E.Name == Name) {
      E.Factory = std::move(Factory);
      return;
    }
  getRegistry().push_back({std::move(Name), std::move(Factory)});
}
