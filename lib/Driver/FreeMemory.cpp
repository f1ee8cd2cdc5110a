//===- FreeMemory.cpp - the budget that a device has room for -------------===//

#include "remat/Driver/FreeMemory.h"
#include "remat/IR/GraphFile.h"
#include "remat/IR/RematDialect.h"
#include "remat/runtime/Device.h"

using namespace remat;

static uint64_t getMargin(uint64_t FreeBytes) {
  return std::max(FreeBytes / 16, uint64_t(256) << 20);
}

/// As the pass remat-set-target decides it.
static std::string getDevice(mlir::ModuleOp Graph,
                             const CompileOptions &Options) {
  if (!Options.Device.empty())
    return Options.Device;
  mlir::func::FuncOp Func = getGraph(Graph);
  return stringifyDeviceKind(getTargetAttr(Func).getDevice()).str();
}

runtime::Result<std::string> remat::resolveMaxBudget(mlir::ModuleOp Graph,
                                                     CompileOptions &Options) {
  std::string Name = getDevice(Graph, Options);
  runtime::DeviceOptions Asking;
  Asking.Threads = 1; // nothing is run
  auto Device = runtime::createDevice(Name, Asking);
  if (!Device)
    return Device.getError().within("budget max");
  runtime::Result<runtime::MemoryInfo> Info = (*Device)->getMemoryInfo();
  if (!Info)
    return Info.getError().within("budget max");
  uint64_t Free = Info->FreeBytes, Margin = getMargin(Free);
  if (Free <= Margin)
    return runtime::Error(runtime::ErrorCode::OutOfMemory,
                          "budget max: the device '" + Name + "' has " +
                              std::to_string(Free) + " bytes free, and " +
                              std::to_string(Margin) + " are left alone");
  Options.Budget.Kind = Budget::Kind::Bytes;
  Options.Budget.Bytes = static_cast<int64_t>(Free - Margin);
  return "budget: max is " + std::to_string(Options.Budget.Bytes) +
         " bytes; of the " + std::to_string(Free) + " free on the " + Name +
         " device " + std::to_string(Margin) + " are left alone";
}
