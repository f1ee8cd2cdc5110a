//===- Shape.cpp - shapes and reductions ------------------------*- C++ -*-===//

#include "OpUtils.h"
#include "remat/IR/RematOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;

/// Checks that a per-dimension attribute has one entry a dimension.
static LogicalResult checkLength(std::optional<Location> Loc, StringRef Name,
                                 ArrayRef<int64_t> Values,
                                 RankedTensorType Type) {
  if (static_cast<int64_t>(Values.size()) == Type.getRank())
    return success();
  return emitOptionalError(Loc, Name, " has ", Values.size(),
                           " entries, but the operand ", Type, " has ",
                           Type.getRank(), " dimensions");
}

//===----------------------------------------------------------------------===//
// reshape, broadcast
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  RankedTensorType From = getOperand().getType(), To = getResult().getType();
  if (From.getElementType() != To.getElementType())
    return emitOpError() << "result element type " << To.getElementType()
                         << " differs from the operand's "
                         << From.getElementType();
  // A count that does not fit is the type's fault, which is checked later.
  auto Elements = getNumElements(From.getShape()),
       NewElements = getNumElements(To.getShape());
  if (Elements && NewElements && *Elements != *NewElements)
    return emitOpError() << "result has " << *NewElements
                         << " elements, the operand " << *Elements;
  return success();
}

std::optional<int64_t> ReshapeOp::getViewOffset() { return 0; }

LogicalResult BroadcastOp::verify() {
  RankedTensorType From = getOperand().getType(), To = getResult().getType();
  if (From.getElementType() != To.getElementType())
    return emitOpError() << "result element type " << To.getElementType()
                         << " differs from the operand's "
                         << From.getElementType();
  auto Shape = broadcastShapes(From.getShape(), To.getShape());
  if (!Shape || ArrayRef(*Shape) != To.getShape())
    return emitOpError() << "operand " << From << " does not broadcast to "
                         << To;
  return success();
}

//===----------------------------------------------------------------------===//
// transpose
//===----------------------------------------------------------------------===//

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> Loc,
                                            Adaptor Operands,
                                            SmallVectorImpl<Type> &Types) {
  auto Type = cast<RankedTensorType>(Operands.getOperand().getType());
  ArrayRef<int64_t> Permutation = Operands.getPermutation();
  if (failed(checkLength(Loc, "permutation", Permutation, Type)))
    return failure();
  SmallVector<bool> Seen(Type.getRank());
  SmallVector<int64_t> Shape;
  for (int64_t Dim : Permutation) {
    if (Dim < 0 || Dim >= Type.getRank() || Seen[Dim])
      return emitOptionalError(Loc, "permutation names dimension ", Dim,
                               Dim < 0 || Dim >= Type.getRank()
                                   ? ", which the operand does not have"
                                   : " twice");
    Seen[Dim] = true;
    Shape.push_back(Type.getDimSize(Dim));
  }
  Types.push_back(Type.clone(Shape));
  return success();
}

//===----------------------------------------------------------------------===//
// slice, pad, concat
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::inferReturnTypes(MLIRContext *,
                                        std::optional<Location> Loc,
                                        Adaptor Operands,
                                        SmallVectorImpl<Type> &Types) {
  auto Type = cast<RankedTensorType>(Operands.getOperand().getType());
  ArrayRef<int64_t> Offsets = Operands.getOffsets(),
                    Sizes = Operands.getSizes();
  if (failed(checkLength(Loc, "offsets", Offsets, Type)) ||
      failed(checkLength(Loc, "sizes", Sizes, Type)))
    return failure();
  for (int64_t Dim = 0; Dim < Type.getRank(); ++Dim) {
    int64_t Size = Type.getDimSize(Dim);
    // Compared without a sum, which could overflow.
    if (Offsets[Dim] < 0 || Sizes[Dim] < 1 || Offsets[Dim] > Size ||
        Sizes[Dim] > Size - Offsets[Dim])
      return emitOptionalError(Loc, "dimension ", Dim, ": ", Sizes[Dim],
                               " elements from offset ", Offsets[Dim],
                               " are not within the operand's ", Size);
  }
  Types.push_back(Type.clone(Sizes));
  return success();
}

std::optional<int64_t> SliceOp::getViewOffset() {
  // Contiguous: before the first dimension that takes more than one element
  // anything goes, behind it every dimension is whole.
  RankedTensorType Type = getOperand().getType();
  int64_t Offset = 0, Stride = getElementBytes(Type.getElementType());
  bool Partial = false;
  for (int64_t Dim = Type.getRank() - 1; Dim >= 0; --Dim) {
    if (Partial && getSizes()[Dim] != 1)
      return std::nullopt;
    Partial |= getSizes()[Dim] != Type.getDimSize(Dim);
    Offset += getOffsets()[Dim] * Stride;
    Stride *= Type.getDimSize(Dim);
  }
  return Offset;
}

LogicalResult PadOp::inferReturnTypes(MLIRContext *,
                                      std::optional<Location> Loc,
                                      Adaptor Operands,
                                      SmallVectorImpl<Type> &Types) {
  auto Type = cast<RankedTensorType>(Operands.getOperand().getType());
  ArrayRef<int64_t> Low = Operands.getLow(), High = Operands.getHigh();
  if (failed(checkLength(Loc, "low", Low, Type)) ||
      failed(checkLength(Loc, "high", High, Type)))
    return failure();
  SmallVector<int64_t> Shape(Type.getShape());
  for (int64_t Dim = 0; Dim < Type.getRank(); ++Dim)
    if (Low[Dim] < 0 || High[Dim] < 0 ||
        llvm::AddOverflow(Shape[Dim], Low[Dim], Shape[Dim]) ||
        llvm::AddOverflow(Shape[Dim], High[Dim], Shape[Dim]))
      return emitOptionalError(Loc, "dimension ", Dim, ": padding of ",
                               Low[Dim], " and ", High[Dim],
                               " is negative or too large");
  Types.push_back(Type.clone(Shape));
  return success();
}

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> Loc,
                                         Adaptor Operands,
                                         SmallVectorImpl<Type> &Types) {
  if (Operands.getOperands().empty())
    return emitOptionalError(Loc, "there must be at least one operand");
  auto First = cast<RankedTensorType>(Operands.getOperands().front().getType());
  int64_t Dim = Operands.getDim();
  if (Dim < 0 || Dim >= First.getRank())
    return emitOptionalError(Loc, "dim is ", Dim, ", but the operands have ",
                             First.getRank(), " dimensions");
  SmallVector<int64_t> Shape(First.getShape());
  for (Value Operand : Operands.getOperands().drop_front()) {
    auto Type = cast<RankedTensorType>(Operand.getType());
    SmallVector<int64_t> Expected(Type.getShape());
    if (Type.getRank() == First.getRank())
      Expected[Dim] = First.getDimSize(Dim);
    if (Type.getElementType() != First.getElementType() ||
        ArrayRef(Expected) != First.getShape())
      return emitOptionalError(Loc, "operands ", First, " and ", Type,
                               " differ in more than the size of dimension ",
                               Dim);
    if (llvm::AddOverflow(Shape[Dim], Type.getDimSize(Dim), Shape[Dim]))
      return emitOptionalError(Loc, "the size of dimension ", Dim,
                               " does not fit 64 bits");
  }
  Types.push_back(First.clone(Shape));
  return success();
}

//===----------------------------------------------------------------------===//
// roll
//===----------------------------------------------------------------------===//

LogicalResult RollOp::verify() {
  RankedTensorType Type = getOperand().getType();
  int64_t Dim = getDim(), Shift = getShift();
  if (failed(checkDim(getLoc(), Dim, Type)))
    return failure();
  if (Shift < 0 || Shift >= Type.getDimSize(Dim))
    return emitOpError() << "shift is " << Shift << ", not in [0, "
                         << Type.getDimSize(Dim) << ") of dimension " << Dim;
  return success();
}

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

LogicalResult remat::checkReducedDims(std::optional<Location> Loc,
                                      ArrayRef<int64_t> Dims,
                                      RankedTensorType Type) {
  int64_t Last = -1;
  for (int64_t Dim : Dims) {
    if (Dim < 0 || Dim >= Type.getRank())
      return emitOptionalError(Loc, "dims names dimension ", Dim,
                               ", but the operand ", Type, " has ",
                               Type.getRank(), " dimensions");
    if (Dim <= Last)
      return emitOptionalError(Loc,
                               "dims must be sorted, without repetition: ", Dim,
                               " comes behind ", Last);
    Last = Dim;
  }
  return success();
}

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> Loc,
                                         Adaptor Operands,
                                         SmallVectorImpl<Type> &Types) {
  auto Type = cast<RankedTensorType>(Operands.getOperand().getType());
  if (Operands.getKind() == Reduction::mean &&
      !isa<FloatType>(Type.getElementType()))
    return emitOptionalError(Loc, "the mean of ", Type.getElementType(),
                             " is not defined; cast to a float type first");
  if (failed(checkReducedDims(Loc, Operands.getDims(), Type)))
    return failure();
  SmallVector<int64_t> Shape;
  for (int64_t Dim = 0; Dim < Type.getRank(); ++Dim) {
    if (!llvm::is_contained(Operands.getDims(), Dim))
      Shape.push_back(Type.getDimSize(Dim));
    else if (Operands.getKeepDims())
      Shape.push_back(1);
  }
  Types.push_back(Type.clone(Shape));
  return success();
}

// A sum over everything, a loss above all, is small and loses much when it is
// rounded.
Precision ReduceOp::getPrecision() {
  bool ToOne = getResult().getType().getNumElements() == 1;
  return ToOne && getKind() != Reduction::max ? Precision::full
                                              : Precision::follow;
}

double ReduceOp::getFlops() {
  return static_cast<double>(getOperand().getType().getNumElements());
}
