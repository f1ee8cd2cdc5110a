//===- FreeMemory.cpp - the budget that a device has room for -------------===//

#include "remat/Driver/FreeMemory.h"
#include "remat/IR/GraphFile.h"
#include "remat/IR/RematDialect.h"
#include "remat/runtime/Device.h"

using namespace remat;

static constexpr uint64_t LeastMargin = uint64_t(256) << 20;

uint64_t remat::getMargin(uint64_t FreeBytes) {
  return std::max(FreeBytes / 16, LeastMargin);
}

/// As the pass remat-set-target decides it.
static std::string getDevice(mlir::ModuleOp Graph,
                             const CompileOptions &Options) {
  if (!Options.Device.empty())
    return Options.Device;
  mlir::func::FuncOp Func = getGraph(Graph);
  return stringifyDeviceKind(getTargetAttr(Func).getDevice()).str();
}

runtime::Result<FreeMemory> remat::resolveMaxBudget(mlir::ModuleOp Graph,
                                                    CompileOptions &Options) {
  FreeMemory Found;
  Found.Device = getDevice(Graph, Options);
  runtime::DeviceOptions Asking;
  Asking.Threads = 1; // nothing is run
  auto Device = runtime::createDevice(Found.Device, Asking);
  if (!Device)
    return Device.getError().within("budget max");
  runtime::Result<runtime::MemoryInfo> Info = (*Device)->getMemoryInfo();
  if (!Info)
    return Info.getError().within("budget max");
  Found.FreeBytes = Info->FreeBytes;
  Found.MarginBytes = getMargin(Found.FreeBytes);
  if (Found.FreeBytes <= Found.MarginBytes)
    return runtime::Error(
        runtime::ErrorCode::OutOfMemory,
        "budget max: the device '" + Found.Device + "' has " +
            std::to_string(Found.FreeBytes) + " bytes free, and " +
            std::to_string(Found.MarginBytes) + " are left alone");
  Found.BudgetBytes = static_cast<int64_t>(Found.FreeBytes - Found.MarginBytes);
  Options.Budget.Kind = Budget::Kind::Bytes;
  Options.Budget.Bytes = Found.BudgetBytes;
  return Found;
}
