//===- BuiltinDevices.h - the devices of a build ----------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_LIB_BUILTINDEVICES_H
#define REMAT_RUNTIME_LIB_BUILTINDEVICES_H

#include "remat/runtime/Device.h"

namespace remat::runtime {

struct DeviceEntry {
  std::string Name;
  DeviceFactory Factory;
};

/// The devices that were built in. Defined in runtime/Devices.cpp: nothing in
/// lib/ knows a device by name.
std::vector<DeviceEntry> getBuiltinDevices();

} // namespace remat::runtime

#endif // REMAT_RUNTIME_LIB_BUILTINDEVICES_H
