//===- FreeMemory.cpp - the budget that a device has room for -------------===//

#include "remat/Driver/FreeMemory.h"
#include "remat/IR/GraphFile.h"
#include "remat/IR/RematDialect.h"
#include "remat/Support/Numbers.h"
#include "remat/runtime/Device.h"
#include "remat/runtime/Machine.h"
#include "remat/runtime/Together.h"
#include <algorithm>

using namespace remat;

static uint64_t getMargin(uint64_t FreeBytes) {
  return std::max(FreeBytes / 16, uint64_t(256) << 20);
}

/// As the pass remat-set-target decides it.
std::string remat::getDeviceName(mlir::ModuleOp Graph,
                                 const CompileOptions &Options) {
  if (!Options.Device.empty())
    return Options.Device;
  mlir::func::FuncOp Func = getGraph(Graph);
  return stringifyDeviceKind(getTargetAttr(Func).getDevice()).str();
}

/// What the device of this rank has free for it.
static runtime::Result<uint64_t> findFreeBytes(const std::string &Name,
                                               const runtime::Ranks *R,
                                               uint32_t NumRanks) {
  runtime::DeviceOptions Asking;
  Asking.Threads = 1; // nothing is run
  Asking.Ordinal = R ? static_cast<int>(R->getLocalRank()) : 0;
  auto Device = runtime::createDevice(Name, Asking);
  if (!Device)
    return Device.getError();
  runtime::Result<runtime::MemoryInfo> Info = (*Device)->getMemoryInfo();
  if (!Info)
    return Info.getError();
  return Name == "host" ? Info->FreeBytes / NumRanks : Info->FreeBytes;
}

runtime::Result<MaxBudget> remat::findMaxBudget(const std::string &Name,
                                                runtime::Ranks *R) {
  auto Share = runtime::shareMachine(R);
  if (!Share)
    return Share.getError();
  runtime::Result<uint64_t> Own =
      runtime::Error(runtime::ErrorCode::Unavailable, "not asked");
  runtime::Status Asked = runtime::workTogether(R, [&]() -> runtime::Status {
    Own = findFreeBytes(Name, R, Share->NumRanks);
    return Own ? runtime::Status() : Own.getError();
  });
  if (!Asked)
    return Asked.getError().within("budget max");
  uint64_t Free = *Own;
  std::string Of;
  if (R) {
    auto All = runtime::allGather(*R, std::to_string(Free));
    if (!All)
      return All.getError();
    for (const std::string &Said : *All)
      Free = std::min(Free, parseNumber<uint64_t>(Said).value_or(Free));
    Of = " for the rank that has the least";
  }
  uint64_t Margin = getMargin(Free);
  if (Free <= Margin)
    return runtime::Error(runtime::ErrorCode::OutOfMemory,
                          "budget max: the device '" + Name + "' has " +
                              std::to_string(Free) + " bytes free" + Of +
                              ", and " + std::to_string(Margin) +
                              " are left alone");
  auto Bytes = static_cast<int64_t>(Free - Margin);
  return MaxBudget{Bytes, "budget: max is " + std::to_string(Bytes) +
                              " bytes; of the " + std::to_string(Free) +
                              " free on the " + Name + " device" + Of + " " +
                              std::to_string(Margin) + " are left alone"};
}

runtime::Result<std::string> remat::resolveMaxBudget(mlir::ModuleOp Graph,
                                                     CompileOptions &Options) {
  auto Found = findMaxBudget(getDeviceName(Graph, Options), nullptr);
  if (!Found)
    return Found.getError();
  Options.Budget = Budget::ofBytes(Found->Bytes);
  return std::move(Found->Line);
}
