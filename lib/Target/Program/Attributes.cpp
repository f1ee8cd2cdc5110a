//===- Attributes.cpp - from MLIR's attributes to the program's -----------===//
//
// Driven by each op's own list of attributes, so that a new op needs nothing
// here. The two exceptions are attributes that follow from operands.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "remat/IR/ElementTypes.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace remat;

namespace {

using AttributeList = std::vector<std::unique_ptr<program::AttributeT>>;

program::AttributeT &append(AttributeList &List, StringRef Name) {
  List.push_back(std::make_unique<program::AttributeT>());
  List.back()->name = Name.str();
  return *List.back();
}

void setSplat(program::AttributeT &Out, DenseElementsAttr Elements) {
  if (isa<FloatType>(Elements.getElementType()))
    Out.floats = {Elements.getSplatValue<FloatAttr>().getValueAsDouble()};
  else if (Elements.getElementType().isInteger(1))
    Out.ints = {Elements.getSplatValue<bool>()};
  else
    Out.ints = {Elements.getSplatValue<APInt>().getSExtValue()};
}

bool isFalse(Attribute Value) {
  auto Bool = dyn_cast<BoolAttr>(Value);
  return Bool && !Bool.getValue();
}

void setValue(program::AttributeT &Out, Attribute Value) {
  TypeSwitch<Attribute>(Value)
      .Case<UnitAttr, BoolAttr>([&](auto) { Out.ints = {1}; })
      .Case<IntegerAttr>([&](auto A) { Out.ints = {A.getInt()}; })
      .Case<FloatAttr>([&](auto A) { Out.floats = {A.getValueAsDouble()}; })
      .Case<DenseI64ArrayAttr>([&](auto A) { Out.ints = A.asArrayRef().vec(); })
      .Case<DenseElementsAttr>([&](auto A) {
        if (A.isSplat())
          setSplat(Out, A);
      })
      .Case<StringAttr>([&](auto A) { Out.text = A.str(); })
      .Case<PredicateAttr, ReductionAttr, GeluAttr, DistributionAttr>(
          [&](auto A) { Out.text = stringifyEnum(A.getValue()).str(); });
}

/// The program says how attention's operands are packed and always its scale.
template <typename OpTy>
void addAttentionAttributes(OpTy Op, AttributeList &List) {
  if (Op.getQkv().size() == 1)
    append(List, "packed").ints = {1};
  if (!Op.getScale()) {
    auto Query = cast<RankedTensorType>(Op.getQkv().front().getType());
    append(List, "scale").floats = {
        1.0 / std::sqrt(static_cast<double>(Query.getShape().back()))};
  }
}

/// A program names ranks by numbers, not axes.
void addGroup(CollectiveOpInterface Op, AttributeList &List) {
  llvm::append_range(append(List, "group").ints,
                     getMesh(Op).getGroup(Op.getAxes()));
}

} // namespace

AttributeList remat::convertAttributes(Operation *Op) {
  AttributeList List;
  if (auto Inherent =
          dyn_cast_or_null<DictionaryAttr>(Op->getPropertiesAsAttribute()))
    for (NamedAttribute Named : Inherent) {
      StringRef Name = Named.getName();
      if (Name == "axes" && isa<CollectiveOpInterface>(Op)) {
        addGroup(cast<CollectiveOpInterface>(Op), List);
        continue;
      }
      if (Name == "operandSegmentSizes" || Name == "resultSegmentSizes" ||
          isFalse(Named.getValue()))
        continue;
      setValue(append(List, Name), Named.getValue());
    }
  TypeSwitch<Operation *>(Op).Case<AttentionOp, AttentionBackwardOp>(
      [&](auto Attention) { addAttentionAttributes(Attention, List); });
  llvm::sort(List,
             [](const auto &L, const auto &R) { return L->name < R->name; });
  return List;
}

program::DType remat::convertElementType(Type Type) {
  // The format's numbers are those of the table.
#define REMAT_ROW(Name, Text, Kind, Stored, Computed, Sum)                     \
  static_assert(static_cast<unsigned>(program::DType::Name) ==                 \
                static_cast<unsigned>(ElementType::Name));
  REMAT_ELEMENT_TYPES(REMAT_ROW)
#undef REMAT_ROW
  return static_cast<program::DType>(
      *getElementType(getElementTypeOrSelf(Type)));
}

SmallVector<Value> remat::getProgramOperands(Operation *Op) {
  SmallVector<Value> Operands;
  // Segments that are lists have no operand that may be missing.
  if (!isa<ScanOp>(Op) && Op->hasTrait<OpTrait::AttrSizedOperandSegments>()) {
    auto Segments = Op->getAttrOfType<DenseI32ArrayAttr>("operandSegmentSizes");
    unsigned Next = 0;
    for (int32_t Size : Segments.asArrayRef()) {
      if (Size == 0)
        Operands.push_back(Value());
      for (int32_t I = 0; I < Size; ++I)
        Operands.push_back(Op->getOperand(Next++));
    }
    // Products without an addend are as programs had them before there was one.
    if (isa<MatmulOp>(Op) && !Operands.back())
      Operands.pop_back();
    return Operands;
  }
  Operands.append(Op->operand_begin(), Op->operand_end());
  // A single optional operand has no segment sizes.
  TypeSwitch<Operation *>(Op)
      .Case([&](LayerNormBackwardOp) { Operands.resize(6); })
      .Case([&](RMSNormBackwardOp) { Operands.resize(5); })
      .Case([&](AdamWOp) { Operands.resize(7); });
  return Operands;
}
