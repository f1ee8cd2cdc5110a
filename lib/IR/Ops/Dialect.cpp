//===- Dialect.cpp - registration and shared op behaviour -------*- C++ -*-===//

#include "../Adjoints/AdjointBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "remat/IR/RematOps.h"
#include "remat/Support/Architecture.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace remat;

/// A floating-point or integer literal; infinities have no literal.
static ParseResult parseDouble(AsmParser &Parser, FailureOr<APFloat> &Value) {
  double Number = 0.0;
  SMLoc Loc = Parser.getCurrentLocation();
  if (Parser.parseFloat(Number))
    return failure();
  if (!std::isfinite(Number))
    return Parser.emitError(Loc, "expected a finite number");
  Value = APFloat(Number);
  return success();
}

static void printDouble(AsmPrinter &Printer, const APFloat &Value) {
  Printer << Value;
}

/// `data = 4, tensor = 2`.
static ParseResult parseAxes(AsmParser &Parser, SmallVector<StringAttr> &Names,
                             SmallVector<int64_t> &Sizes) {
  return Parser.parseCommaSeparatedList([&]() -> ParseResult {
    std::string Name;
    if (Parser.parseKeywordOrString(&Name) || Parser.parseEqual() ||
        Parser.parseInteger(Sizes.emplace_back()))
      return failure();
    Names.push_back(StringAttr::get(Parser.getContext(), Name));
    return success();
  });
}

static void printAxes(AsmPrinter &Printer, ArrayRef<StringAttr> Names,
                      ArrayRef<int64_t> Sizes) {
  llvm::interleaveComma(llvm::zip_equal(Names, Sizes), Printer.getStream(),
                        [&](const auto &Axis) {
                          Printer.printKeywordOrString(std::get<0>(Axis));
                          Printer << " = " << std::get<1>(Axis);
                        });
}

#include "remat/IR/RematDialect.cpp.inc"
#include "remat/IR/RematEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "remat/IR/RematAttrs.cpp.inc"
#include "remat/IR/RematInterfaces.cpp.inc"
#define GET_OP_CLASSES
#include "remat/IR/RematOps.cpp.inc"

LogicalResult TargetAttr::verify(function_ref<InFlightDiagnostic()> EmitError,
                                 DeviceKind Device, StringRef Arch,
                                 AttentionKernels Attention,
                                 bool Deterministic) {
  if (Device == DeviceKind::host) {
    if (Arch.empty() && Attention == AttentionKernels::automatic &&
        Deterministic)
      return success();
    return EmitError() << "the host has no architecture, no choice of "
                          "attention kernels, and is deterministic";
  }
  if (!isCUDAArchitecture(Arch))
    return EmitError() << "expected a CUDA architecture such as sm_90, got '"
                       << Arch << "'";
  return success();
}

LogicalResult KernelAttr::verify(
    function_ref<InFlightDiagnostic()> EmitError, KernelKind Kind,
    // NOLINTNEXTLINE(performance-unnecessary-value-param): as generated
    APFloat Microseconds, int64_t Workspace, int64_t Slices, int64_t Launches,
    bool Deterministic) {
  if (!Microseconds.isFinite() || Microseconds.isNegative())
    return EmitError() << "a kernel takes a time from 0, not "
                       << Microseconds.convertToDouble();
  if (Workspace < 0 || Launches < 0)
    return EmitError() << "a workspace of " << Workspace << " bytes and "
                       << Launches << " launches: neither can be negative";
  if (Slices < 1 || (Slices > 1 && Kind != KernelKind::cudnn))
    return EmitError() << "a batch in " << Slices
                       << " slices: " << stringifyKernelKind(Kind) << " takes "
                       << (Kind == KernelKind::cudnn ? "1 or more" : "1");
  if (!Deterministic && Kind != KernelKind::cudnn)
    return EmitError() << "a kernel of " << stringifyKernelKind(Kind)
                       << " is deterministic";
  return success();
}

std::string KernelAttr::getName() const {
  std::string Name = stringifyKernelKind(getKind()).str();
  return getSlices() == 1 ? Name : Name + "/" + std::to_string(getSlices());
}

TargetAttr remat::getTargetAttr(Operation *Func) {
  if (auto Attr = Func->getAttrOfType<TargetAttr>(TargetAttrName))
    return Attr;
  return TargetAttr::get(Func->getContext(), DeviceKind::host, "",
                         AttentionKernels::automatic, /*deterministic=*/true);
}

ArrayRef<StringRef> remat::getUpdateKindNames() {
  static const SmallVector<StringRef> Names = [] {
    SmallVector<StringRef> All;
    for (uint32_t Kind = 0; Kind <= getMaxEnumValForUpdateKind(); ++Kind)
      All.push_back(stringifyUpdateKind(static_cast<UpdateKind>(Kind)));
    return All;
  }();
  return Names;
}

void RematDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "remat/IR/RematOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "remat/IR/RematAttrs.cpp.inc"
      >();
}

Operation *RematDialect::materializeConstant(OpBuilder &Builder,
                                             Attribute Value, Type Type,
                                             Location Loc) {
  auto Elements = dyn_cast<DenseElementsAttr>(Value);
  if (!Elements || Elements.getType() != Type)
    return nullptr;
  return ConstantOp::create(Builder, Loc, Elements);
}

//===----------------------------------------------------------------------===//
// Behaviour that operations share through traits and interface defaults
//===----------------------------------------------------------------------===//

double remat::detail::countElementwiseFlops(Operation *Op) {
  int64_t Largest = 0;
  auto Count = [&](Type Type) {
    if (auto Tensor = dyn_cast<RankedTensorType>(Type))
      Largest =
          std::max(Largest, getNumElements(Tensor.getShape()).value_or(0));
  };
  llvm::for_each(Op->getOperandTypes(), Count);
  llvm::for_each(Op->getResultTypes(), Count);
  return static_cast<double>(Largest);
}

double remat::detail::countBytes(Operation *Op) {
  double Bytes = 0.0;
  auto Add = [&](Type Type) {
    Bytes += static_cast<double>(getByteSize(Type).value_or(0));
  };
  llvm::for_each(Op->getOperandTypes(), Add);
  llvm::for_each(Op->getResultTypes(), Add);
  return Bytes;
}

SmallVector<unsigned> remat::detail::sameShapeOperands(Operation *Op,
                                                       unsigned Result) {
  SmallVector<unsigned> Reusable;
  auto Type = cast<RankedTensorType>(Op->getResult(Result).getType());
  for (auto [Index, Operand] : llvm::enumerate(Op->getOperandTypes())) {
    auto OperandType = cast<RankedTensorType>(Operand);
    if (OperandType.getShape() == Type.getShape() &&
        getElementBytes(OperandType.getElementType()) ==
            getElementBytes(Type.getElementType()))
      Reusable.push_back(Index);
  }
  return Reusable;
}

LogicalResult remat::detail::verifySizedTensors(Operation *Op) {
  for (auto [Index, Type] : llvm::enumerate(Op->getOperandTypes()))
    if (failed(verifySizedTensor(Type, [&, Index = Index] {
          return Op->emitOpError() << "operand #" << Index << ": ";
        })))
      return failure();
  for (auto [Index, Type] : llvm::enumerate(Op->getResultTypes()))
    if (failed(verifySizedTensor(Type, [&, Index = Index] {
          return Op->emitOpError() << "result #" << Index << ": ";
        })))
      return failure();
  return success();
}

LogicalResult remat::detail::inferBroadcastType(std::optional<Location> Loc,
                                                ValueRange Operands,
                                                SmallVectorImpl<Type> &Types) {
  RankedTensorType Result;
  for (Type Type : Operands.getTypes()) {
    auto Tensor = dyn_cast<RankedTensorType>(Type);
    if (!Tensor)
      return emitOptionalError(Loc, "operand type ", Type,
                               " is no ranked tensor");
    if (!Result) {
      Result = Tensor;
      continue;
    }
    if (Tensor.getElementType() != Result.getElementType())
      return emitOptionalError(
          Loc, "operands have element types ", Result.getElementType(), " and ",
          Tensor.getElementType(), "; convert one of them with remat.cast");
    auto Shape = broadcastShapes(Result.getShape(), Tensor.getShape());
    if (!Shape)
      return emitOptionalError(Loc, "operand shapes ", Result, " and ", Tensor,
                               " do not broadcast");
    Result = Result.clone(*Shape);
  }
  Types.push_back(Result);
  return success();
}
