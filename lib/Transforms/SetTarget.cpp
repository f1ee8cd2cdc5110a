//===- SetTarget.cpp - says where a graph runs ----------------------------===//

#include "ReadCosts.h"
#include "remat/IR/RematDialect.h"
#include "remat/Support/Parallel.h"
#include "remat/Transforms/Passes.h"

using namespace mlir;
using namespace remat;

namespace remat {
#define GEN_PASS_DEF_SETTARGET
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

namespace {

struct SetTargetPass : remat::impl::SetTargetBase<SetTargetPass> {
  using SetTargetBase::SetTargetBase;

  /// The target that the options ask for; what they leave open is as the graph
  /// has it. Null, with a diagnostic, for one that does not exist.
  TargetAttr getWanted(TargetAttr Old) {
    func::FuncOp Func = getOperation();
    auto Kind = Device.empty() ? Old.getDevice() : symbolizeDeviceKind(Device);
    if (!Kind) {
      emitError(Func.getLoc(), "unknown device '")
          << Device.getValue() << "': use host or cuda";
      return {};
    }
    bool SameDevice = *Kind == Old.getDevice();
    auto Kernels = !Attention.empty() ? symbolizeAttentionKernels(Attention)
                   : SameDevice       ? Old.getAttention()
                                      : AttentionKernels::automatic;
    if (!Kernels) {
      emitError(Func.getLoc(), "unknown attention kernels '")
          << Attention.getValue() << "': use auto, cudnn or own";
      return {};
    }
    if (Deterministic != "" && Deterministic != "true" &&
        Deterministic != "false") {
      emitError(Func.getLoc(),
                "expected true or false for deterministic, got '")
          << Deterministic.getValue() << "'";
      return {};
    }
    if (*Kind == DeviceKind::host) // the others speak of CUDA
      return TargetAttr::get(&getContext(), *Kind, "",
                             AttentionKernels::automatic,
                             /*deterministic=*/true);
    bool Repeats = !Deterministic.empty()
                       ? Deterministic == "true"
                       : !SameDevice || Old.getDeterministic();
    std::string Name = !Arch.empty() ? Arch.getValue()
                       : SameDevice  ? Old.getArch().str()
                                     : "sm_90";
    auto Emit = [&] { return emitError(Func.getLoc()); };
    return TargetAttr::getChecked(function_ref<InFlightDiagnostic()>(Emit),
                                  &getContext(), *Kind, StringRef(Name),
                                  *Kernels, Repeats);
  }

  LogicalResult set() {
    func::FuncOp Func = getOperation();
    TargetAttr Old = getTargetAttr(Func), Wanted = getWanted(Old);
    if (!Wanted)
      return failure();
    if (Wanted != Old && Func->hasAttr(TargetAttrName))
      return emitError(Func.getLoc(), "the graph is for ")
             << Old << ", not for " << Wanted;
    if (Wanted != Old && Func->hasAttr(ArenaAttrName)) {
      InFlightDiagnostic Diag = emitError(Func.getLoc(), "memory is assigned "
                                                         "for ")
                                << Old << ", not for " << Wanted;
      Diag.attachNote() << "set the target before remat-plan and "
                           "remat-assign-memory";
      return Diag;
    }
    // The host is what no attribute means.
    if (Wanted != Old)
      Func->setAttr(TargetAttrName, Wanted);
    return success();
  }

  LogicalResult setCosts() {
    func::FuncOp Func = getOperation();
    NamedAttrList All;
    if (auto Old = Func->getAttrOfType<DictionaryAttr>(CostsAttrName))
      All.append(Old.getValue());
    for (const std::string &Path : Costs) {
      DictionaryAttr Read = readCosts(Path, Func.getLoc());
      if (!Read)
        return failure();
      for (NamedAttribute Cost : Read)
        All.set(Cost.getName(), Cost.getValue());
    }
    if (!Costs.empty())
      Func->setAttr(CostsAttrName, All.getDictionary(&getContext()));
    return success();
  }

  /// Axes of one rank are no axes.
  LogicalResult setMesh() {
    func::FuncOp Func = getOperation();
    SmallVector<StringAttr> Names;
    SmallVector<int64_t> Sizes;
    for (auto [Name, Size] : {std::pair(StringRef(DataAxis), Data.getValue()),
                              {StringRef(TensorAxis), Tensor}})
      if (Size != 1) {
        Names.push_back(StringAttr::get(&getContext(), Name));
        Sizes.push_back(Size);
      }
    if (Names.empty())
      return success();
    MeshAttr Old = getMesh(Func);
    auto Emit = [&] { return emitError(Func.getLoc()); };
    auto Mesh =
        MeshAttr::getChecked(function_ref<InFlightDiagnostic()>(Emit),
                             &getContext(), ArrayRef(Names), ArrayRef(Sizes));
    if (!Mesh)
      return failure();
    if (Old && Old != Mesh)
      return emitError(Func.getLoc(), "the graph is for ranks ")
             << Old << ", not for " << Mesh;
    Func->setAttr(MeshAttrName, Mesh);
    return success();
  }

  void runOnGraph() override {
    if (failed(set()) || failed(setCosts()) || failed(setMesh()))
      signalPassFailure();
  }
};

} // namespace
