//===- PrintAnalyses.cpp - what the analyses say --------------------------===//

#include "remat/Analysis/Cost.h"
#include "remat/Analysis/MemoryProfile.h"
#include "remat/Analysis/ValueNames.h"
#include "remat/IR/RematOps.h"
#include "remat/Target/Targets.h"
#include "remat/Transforms/Passes.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace remat;

namespace remat {
#define GEN_PASS_DEF_PRINTLIVENESS
#define GEN_PASS_DEF_PRINTMEMORYPROFILE
#define GEN_PASS_DEF_PRINTCOST
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

namespace {

struct PrintLivenessPass : remat::impl::PrintLivenessBase<PrintLivenessPass> {
  void runOnGraph() override {
    FailureOr<BufferLiveness> Liveness =
        BufferLiveness::compute(getOperation());
    if (failed(Liveness))
      return signalPassFailure();
    llvm::raw_ostream &OS = llvm::outs();
    OS << "liveness of @" << getOperation().getName() << ": "
       << Liveness->getOperations().size() << " operations\n";
    ValueNames Names(getOperation());
    for (const Buffer &B : Liveness->getBuffers()) {
      OS << "  [" << B.Begin << ", " << B.End << "] " << B.Bytes << " bytes: ";
      llvm::interleave(
          B.Values, OS, [&](Value V) { OS << Names.get(V); }, " -> ");
      OS << "\n";
    }
  }
};

struct PrintMemoryProfilePass
    : remat::impl::PrintMemoryProfileBase<PrintMemoryProfilePass> {
  using PrintMemoryProfileBase::PrintMemoryProfileBase;

  void runOnGraph() override {
    FailureOr<BufferLiveness> Liveness =
        BufferLiveness::compute(getOperation());
    if (failed(Liveness))
      return signalPassFailure();
    MemoryProfile Profile(*Liveness, *createTarget(getOperation()));
    int64_t Peak = Profile.getPeakPosition();
    llvm::raw_ostream &OS = llvm::outs();
    OS << "memory of @" << getOperation().getName() << ": peak "
       << Profile.getPeak() << " bytes at " << Peak << "\n";
    for (auto [Position, Op] : llvm::enumerate(Liveness->getOperations()))
      OS << "  " << Position << ": " << Op->getName().stripDialect() << " "
         << Profile.getBytes()[Position] << "\n";
    OS << "  end: " << Profile.getBytes().back() << "\n";
    OS << "  alive at the peak:\n";
    ValueNames Names(getOperation());
    for (Value V : Profile.getLiveValues(Peak))
      OS << "    " << Names.get(V) << " "
         << Liveness->getBuffers()[Liveness->getBuffer(V)].Bytes << " "
         << getMemoryClassName(getMemoryClass(V)) << "\n";
  }
};

struct PrintCostPass : remat::impl::PrintCostBase<PrintCostPass> {
  using PrintCostBase::PrintCostBase;

  void runOnGraph() override {
    std::unique_ptr<Target> Where = createTarget(getOperation());
    llvm::raw_ostream &OS = llvm::outs();
    OS << "cost of @" << getOperation().getName() << " on "
       << stringifyDeviceKind(Where->getAttr().getDevice()) << "\n";
    for (Operation &Op :
         getOperation().getBody().front().without_terminator()) {
      OpCost Cost = getCost(&Op);
      OS << "  " << Op.getName().stripDialect() << ": "
         << llvm::format("%.0f flops, %.0f bytes", Cost.Flops, Cost.Bytes);
      for (KernelAttr Kernel : Where->getImplementations(&Op))
        OS << llvm::format(", %.3f us", Kernel.getMicroseconds()) << " "
           << Kernel.getName() << " workspace " << Kernel.getWorkspace();
      OS << "\n";
    }
  }
};

} // namespace
