//===- Targets.cpp - from an attribute to a target ------------------------===//

#include "remat/Target/Targets.h"
#include "remat/Analysis/Cost.h"
#include "remat/Analysis/CostTable.h"
#include "remat/Analysis/ScanBody.h"
#include "remat/Target/CUDA/CUDATarget.h"

using namespace mlir;
using namespace remat;

namespace {

/// The machine that runs the host program: one kernel for each operation.
class HostTarget : public RooflineTarget {
public:
  using RooflineTarget::RooflineTarget;

  SmallVector<KernelAttr> getImplementations(Operation *Op) const override {
    if (auto Scan = dyn_cast<ScanOp>(Op))
      return getScanKernels(*this, Scan);
    return {KernelAttr::get(Op->getContext(), KernelKind::own,
                            getMicroseconds(Op), /*workspace=*/0,
                            /*launches=*/1)};
  }
  InFlightDiagnostic emitNoImplementation(Operation *Op) const override {
    return emitNoScanKernel(cast<ScanOp>(Op));
  }
};

} // namespace

static std::unique_ptr<Target> createHostTarget(TargetAttr Attr) {
  // One desktop core's order of magnitude; only ratios matter to the planner.
  Roofline Rates;
  Rates.MatrixFlops32 = 5e10;
  Rates.MatrixFlops16 = 2.5e10;
  Rates.ScalarFlops = 2e9;
  Rates.BytesPerSecond = 1e10;
  Rates.LaunchMicroseconds = 0.5;
  // Processes of one machine: an order of magnitude, like the others.
  Links &L = Rates.Between;
  L.StartMicroseconds = 15;
  L.HopMicroseconds = L.FarHopMicroseconds = 10;
  L.BytesPerSecond = L.FarBytesPerSecond = 2e9;
  return std::make_unique<HostTarget>(Attr, Rates);
}

std::unique_ptr<Target> remat::createTarget(TargetAttr Attr) {
  switch (Attr.getDevice()) {
  case DeviceKind::host:
    return createHostTarget(Attr);
  case DeviceKind::cuda:
    return cuda::createTarget(Attr);
  }
  llvm_unreachable("a target is for a device that is listed");
}

std::unique_ptr<Target> remat::createTarget(func::FuncOp Func) {
  std::unique_ptr<Target> Where = createTarget(getTargetAttr(Func));
  if (auto Costs = Func->getAttrOfType<DictionaryAttr>(CostsAttrName))
    return useCosts(std::move(Where), Costs);
  return Where;
}
