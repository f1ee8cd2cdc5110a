//===- AccumulateChecks.cpp - what micro-batches cannot be ----------------===//

#include "Accumulate.h"
#include "remat/IR/RematOps.h"

using namespace mlir;
using namespace remat;

RankedTensorType remat::prepend(int64_t Leading, RankedTensorType Type) {
  SmallVector<int64_t> Shape = {Leading};
  llvm::append_range(Shape, Type.getShape());
  RankedTensorType Result = Type.clone(Shape);
  return getByteSize(Result) ? Result : RankedTensorType();
}

LogicalResult remat::checkStack(Location Loc, int64_t Count, const Twine &What,
                                Type Of) {
  auto Type = cast<RankedTensorType>(Of);
  if (Type.getRank() == MaxRank)
    return emitError(Loc) << Count << " micro-batches of " << What << " ("
                          << Type << ") have " << MaxRank + 1
                          << " dimensions, more than the " << MaxRank
                          << " that are supported";
  if (!prepend(Count, Type))
    return emitError(Loc) << Count << " micro-batches of " << What << " ("
                          << Type << ") do not fit 64-bit sizes";
  return success();
}

LogicalResult remat::checkUpdates(ArrayRef<Operation *> Body, int64_t Count) {
  for (Operation *Op : Body) {
    if (!Op->hasTrait<RunsOnce>())
      continue;
    InFlightDiagnostic Diag = Op->emitError()
                              << "'" << Op->getName()
                              << "' would run in each of " << Count
                              << " micro-batches, an update runs once a step";
    Diag.attachNote() << WhereToAccumulate;
    return Diag;
  }
  return success();
}
