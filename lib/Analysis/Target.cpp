//===- Target.cpp - the kernel that an operation is given -----------------===//

#include "remat/Analysis/Target.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace remat;

KernelAttr remat::getKernel(const Target &Where, Operation *Op) {
  if (auto Chosen = Op->getAttrOfType<KernelAttr>(ChoiceAttrName))
    return Chosen;
  SmallVector<KernelAttr> Known = Where.getImplementations(Op);
  return Known.empty() ? KernelAttr() : Known.front();
}

FailureOr<KernelAttr> remat::verifyKernel(const Target &Where, Operation *Op) {
  SmallVector<KernelAttr> Known = Where.getImplementations(Op);
  if (Known.empty())
    return Where.emitNoImplementation(Op);
  auto Chosen = Op->getAttrOfType<KernelAttr>(ChoiceAttrName);
  if (!Chosen)
    return Known.front();
  if (llvm::is_contained(Known, Chosen))
    return Chosen;
  InFlightDiagnostic Diag = Op->emitOpError("is to be run by ")
                            << Chosen << ", which " << Where.getAttr()
                            << " does not have for it";
  Diag.attachNote() << "its best is " << Known.front()
                    << "; plan and assign memory for the target that emits";
  return Diag;
}
