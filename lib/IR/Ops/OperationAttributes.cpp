//===- OperationAttributes.cpp - checks of remat.* attributes ---*- C++ -*-===//
//
// What passes write at operations and at functions: the second table of
// RematDialect.td as a verifier.
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "remat/IR/RematOps.h"

using namespace mlir;
using namespace remat;

static bool isMicroseconds(NamedAttribute Cost) {
  auto Time = dyn_cast<FloatAttr>(Cost.getValue());
  return Time && Time.getValueAsDouble() >= 0 && Time.getValue().isFinite();
}

/// Nothing if the attribute is right, else what it must be.
static std::optional<StringRef>
explainOperationAttribute(Operation *Op, NamedAttribute Named) {
  StringRef Name = Named.getName();
  Attribute Value = Named.getValue();
  auto Check = [](bool Right, StringRef Must) {
    return Right ? std::nullopt : std::optional(Must);
  };
  if (Name == ArenaAttrName)
    return Check(isa<FunctionOpInterface>(Op) && isByteCount(Value),
                 "must be a byte count on a function");
  if (Name == StageAttrName)
    return Check(isa<FunctionOpInterface>(Op) && isa<StageAttr>(Value),
                 "must be a #remat.stage on a function");
  if (Name == PlanAttrName)
    return Check(isa<FunctionOpInterface>(Op) && isa<PlanAttr>(Value),
                 "must be a #remat.plan on a function");
  if (Name == SlicesAttrName) {
    auto List = dyn_cast<ArrayAttr>(Value);
    return Check(isa<FunctionOpInterface>(Op) && List &&
                     llvm::all_of(List, llvm::IsaPred<SlicedAttr>),
                 "must be an array of #remat.sliced on a function");
  }
  if (Name == TargetAttrName)
    return Check(isa<FunctionOpInterface>(Op) && isa<TargetAttr>(Value),
                 "must be a #remat.target on a function");
  if (Name == CostsAttrName) {
    auto Costs = dyn_cast<DictionaryAttr>(Value);
    return Check(isa<FunctionOpInterface>(Op) && Costs &&
                     llvm::all_of(Costs, isMicroseconds),
                 "must be microseconds from 0 by name on a function");
  }
  if (Name == MeshAttrName)
    return Check(isa<FunctionOpInterface>(Op) && isa<MeshAttr>(Value),
                 "must be a #remat.mesh on a function");
  if (!isa_and_nonnull<RematDialect>(Op->getDialect()))
    return "is for operations of this dialect";
  if (Name == PhaseAttrName)
    return Check(isa<PhaseAttr>(Value), "must be #remat.phase<backward> or "
                                        "#remat.phase<optimizer>");
  if (Name == KeepAttrName)
    return Check(isa<KeepAttr>(Value), "must be #remat.keep<must>, "
                                       "#remat.keep<never> or "
                                       "#remat.keep<prefer>");
  if (Name == OriginAttrName || Name == IdAttrName)
    return Check(isByteCount(Value), "must be an i64 that is not negative");
  if (Name == ChoiceAttrName)
    return Check(isa<KernelAttr>(Value), "must be a #remat.kernel");
  auto Numbers = dyn_cast<DenseI64ArrayAttr>(Value);
  bool NotNegative =
      Numbers && llvm::all_of(Numbers.asArrayRef(),
                              [](int64_t Number) { return Number >= 0; });
  if (Name == OffsetsAttrName)
    return Check(NotNegative && Numbers.size() == Op->getNumResults(),
                 "must have one byte offset for each result");
  if (Name == WorkspaceAttrName)
    return Check(NotNegative && Numbers.size() == 2,
                 "must have a byte offset and a byte count");
  return "is no attribute that the dialect has for operations";
}

/// Whether a function says its type: its own verifier, which comes later, asks
/// for it.
static bool hasType(Operation *Op) {
  auto Func = dyn_cast<func::FuncOp>(Op);
  return !Func || Func.getFunctionTypeAttr();
}

LogicalResult RematDialect::verifyOperationAttribute(Operation *Op,
                                                     NamedAttribute Named) {
  if (!hasType(Op))
    return success();
  if (std::optional<StringRef> Fault = explainOperationAttribute(Op, Named))
    return Op->emitError() << "'" << Named.getName().getValue() << "' "
                           << *Fault;
  if (auto Reached = dyn_cast<StageAttr>(Named.getValue()))
    return verifyStage(cast<FunctionOpInterface>(Op), Reached.getValue());
  return success();
}
