//===- TypeUtils.cpp - shapes, bytes and broadcasting -----------*- C++ -*-===//

#include "remat/IR/TypeUtils.h"
#include "remat/IR/ElementTypes.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace remat {

static bool isType(Type T, ElementType Row) {
  switch (Row) {
  case ElementType::F32:
    return T.isF32();
  case ElementType::BF16:
    return T.isBF16();
  case ElementType::F16:
    return T.isF16();
  case ElementType::I32:
    return T.isSignlessInteger(32);
  case ElementType::I64:
    return T.isSignlessInteger(64);
  case ElementType::I1:
    return T.isSignlessInteger(1);
  case ElementType::F8E4M3FN:
    return isa<Float8E4M3FNType>(T);
  }
  llvm_unreachable("all types are handled");
}

std::optional<ElementType> getElementType(Type T) {
  for (unsigned Row = 0; Row < NumElementTypes; ++Row)
    if (isType(T, static_cast<ElementType>(Row)))
      return static_cast<ElementType>(Row);
  return std::nullopt;
}

bool isComputedFloat(Type T) {
  std::optional<ElementType> Row = getElementType(T);
  return Row && isFloat(*Row);
}

bool isLossless(Type From, Type To) {
  if (From.isInteger(1) || From == To)
    return true;
  if (isa<FloatType>(From))
    return To.isF32();
  return From.isInteger(32) && To.isInteger(64);
}

int64_t getElementBytes(Type ElementType) {
  if (!ElementType.isIntOrFloat())
    return 0;
  return llvm::divideCeil(ElementType.getIntOrFloatBitWidth(), 8);
}

std::optional<int64_t> getNumElements(ArrayRef<int64_t> Shape) {
  // A zero anywhere makes the product zero, whatever the other factors do.
  if (llvm::is_contained(Shape, 0))
    return 0;
  int64_t Count = 1;
  for (int64_t Size : Shape)
    if (Size < 0 || llvm::MulOverflow(Count, Size, Count))
      return std::nullopt;
  return Count;
}

std::optional<int64_t> getByteSize(Type TensorType) {
  auto Tensor = dyn_cast<RankedTensorType>(TensorType);
  if (!Tensor)
    return std::nullopt;
  std::optional<int64_t> Count = getNumElements(Tensor.getShape());
  int64_t Bytes = 0;
  if (!Count || llvm::MulOverflow(
                    *Count, getElementBytes(Tensor.getElementType()), Bytes))
    return std::nullopt;
  return Bytes;
}

std::optional<SmallVector<int64_t>> broadcastShapes(ArrayRef<int64_t> Lhs,
                                                    ArrayRef<int64_t> Rhs) {
  if (Lhs.size() < Rhs.size())
    std::swap(Lhs, Rhs);
  SmallVector<int64_t> Shape(Lhs);
  size_t Lead = Lhs.size() - Rhs.size();
  for (size_t I = 0; I < Rhs.size(); ++I) {
    int64_t &Size = Shape[Lead + I];
    if (Size == 1)
      Size = Rhs[I];
    else if (Rhs[I] != 1 && Rhs[I] != Size)
      return std::nullopt;
  }
  return Shape;
}

/// The exact byte size in decimal, however large.
static SmallString<64> formatByteSize(RankedTensorType Tensor) {
  APInt Bytes(64 * (MaxRank + 1), getElementBytes(Tensor.getElementType()));
  for (int64_t Size : Tensor.getShape())
    Bytes *= APInt(Bytes.getBitWidth(), Size);
  SmallString<64> Text;
  Bytes.toStringUnsigned(Text);
  return Text;
}

LogicalResult verifySizedTensor(Type Type,
                                function_ref<InFlightDiagnostic()> EmitError) {
  auto Tensor = dyn_cast<RankedTensorType>(Type);
  if (!Tensor || !Tensor.hasStaticShape())
    return success();
  if (Tensor.getEncoding())
    return EmitError() << "tensor type " << Type << " has an encoding";
  if (Tensor.getRank() > MaxRank)
    return EmitError() << "tensor type has " << Tensor.getRank()
                       << " dimensions, more than the " << MaxRank
                       << " that are supported";
  for (auto [Index, Size] : llvm::enumerate(Tensor.getShape()))
    if (Size == 0)
      return EmitError() << "tensor type " << Type
                         << " has size 0 in dimension " << Index
                         << "; tensors have at least one element";
  if (!getByteSize(Tensor))
    return EmitError() << "tensor type " << Type << " takes "
                       << formatByteSize(Tensor) << " bytes, more than the "
                       << std::numeric_limits<int64_t>::max()
                       << " that can be addressed";
  return success();
}

LogicalResult verifyGraphTensor(Type Type,
                                function_ref<InFlightDiagnostic()> EmitError) {
  auto Tensor = dyn_cast<RankedTensorType>(Type);
  if (!Tensor || !Tensor.hasStaticShape())
    return EmitError() << "type " << Type
                       << " is no ranked tensor of static shape";
  mlir::Type Element = Tensor.getElementType();
  if (!getElementType(Element)) {
    InFlightDiagnostic Diag = EmitError()
                              << "element type " << Element << " is not ";
    for (unsigned Row = 0; Row < NumElementTypes; ++Row)
      Diag << (Row == 0                    ? ""
               : Row + 1 < NumElementTypes ? ", "
                                           : " or ")
           << StringRef(getName(static_cast<ElementType>(Row)));
    return Diag;
  }
  return verifySizedTensor(Tensor, EmitError);
}

} // namespace remat
