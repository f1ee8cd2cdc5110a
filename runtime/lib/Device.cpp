//===- Device.cpp - which devices there are -------------------------------===//

#include "remat/runtime/Device.h"
#include "lib/BuiltinDevices.h"
#include "lib/Guard.h"

using namespace remat::runtime;

static std::vector<DeviceEntry> &getRegistry() {
  static std::vector<DeviceEntry> Registry = getBuiltinDevices();
  return Registry;
}

Result<std::unique_ptr<Device>>
remat::runtime::createDevice(std::string_view Name,
                             const DeviceOptions &Options) {
  return guard([&]() -> Result<std::unique_ptr<Device>> {
    std::string Known;
    for (const DeviceEntry &E : getRegistry()) {
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
  for (const DeviceEntry &E : getRegistry())
    Names.push_back(E.Name);
  return Names;
}

void remat::runtime::registerDevice(std::string Name, DeviceFactory Factory) {
  for (DeviceEntry &E : getRegistry())
    if (E.Name == Name) {
      E.Factory = std::move(Factory);
      return;
    }
  getRegistry().push_back({std::move(Name), std::move(Factory)});
}
