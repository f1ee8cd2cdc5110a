//===- Window.cpp - convolution and pooling -------------------------------===//

#include "OpUtils.h"
#include "remat/IR/RematOps.h"

using namespace mlir;
using namespace remat;

namespace {
/// How a window moves, as the attributes say it.
struct Movement {
  ArrayRef<int64_t> Strides, Low, High, Dilation;
};
} // namespace

template <typename T> static Movement getMovement(T &Op) {
  return {Op.getStrides(), Op.getLow(), Op.getHigh(), Op.getDilation()};
}

/// Checks one attribute: an entry for each of `Rank` dimensions, none below
/// `Least`, and none so large that products of two could overflow.
static LogicalResult checkEntries(std::optional<Location> Loc, StringRef Name,
                                  ArrayRef<int64_t> Entries, size_t Rank,
                                  int64_t Least) {
  if (Entries.size() != Rank)
    return emitOptionalError(Loc, Name, " has ", Entries.size(),
                             " entries, but the window moves over ", Rank,
                             " dimensions");
  for (int64_t Entry : Entries)
    if (Entry < Least || Entry > std::numeric_limits<int32_t>::max())
      return emitOptionalError(Loc, Name, " has the entry ", Entry,
                               ", which is not from ", Least, " to 2147483647");
  return success();
}

/// The sizes that a window of `Size` elements gives of `Extent` elements.
static FailureOr<SmallVector<int64_t>> inferWindow(std::optional<Location> Loc,
                                                   ArrayRef<int64_t> Extent,
                                                   ArrayRef<int64_t> Size,
                                                   const Movement &M) {
  size_t Rank = Size.size();
  if (Rank < 1 || Rank > 3)
    return emitOptionalError(Loc, "a window moves over 1 to 3 dimensions, not ",
                             Rank);
  if (failed(checkEntries(Loc, "window", Size, Rank, 1)) ||
      failed(checkEntries(Loc, "strides", M.Strides, Rank, 1)) ||
      failed(checkEntries(Loc, "low", M.Low, Rank, 0)) ||
      failed(checkEntries(Loc, "high", M.High, Rank, 0)) ||
      failed(checkEntries(Loc, "dilation", M.Dilation, Rank, 1)))
    return failure();
  SmallVector<int64_t> Sizes;
  for (size_t Dim = 0; Dim < Rank; ++Dim) {
    int64_t Reach = M.Dilation[Dim] * (Size[Dim] - 1) + 1;
    int64_t Room = Extent[Dim] + M.Low[Dim] + M.High[Dim] - Reach;
    if (Room < 0)
      return emitOptionalError(Loc, "a window that reaches over ", Reach,
                               " elements does not fit dimension ", Dim, " of ",
                               Extent[Dim], " elements padded by ", M.Low[Dim],
                               " and ", M.High[Dim]);
    Sizes.push_back(Room / M.Strides[Dim] + 1);
  }
  return Sizes;
}

//===----------------------------------------------------------------------===//
// convolution
//===----------------------------------------------------------------------===//

/// `Type` with the last dimension as number `To`, and the reverse.
static RankedTensorType moveLast(RankedTensorType Type, int64_t To) {
  SmallVector<int64_t> Shape(Type.getShape());
  if (To < Type.getRank())
    std::rotate(Shape.begin() + To, Shape.end() - 1, Shape.end());
  return Type.clone(Shape);
}
static RankedTensorType moveToLast(RankedTensorType Type, int64_t From) {
  SmallVector<int64_t> Shape(Type.getShape());
  if (From < Type.getRank())
    std::rotate(Shape.begin() + From, Shape.begin() + From + 1, Shape.end());
  return Type.clone(Shape);
}

/// The type of the result of a convolution whose channels come first.
static FailureOr<RankedTensorType>
inferChannelsFirst(std::optional<Location> Loc, RankedTensorType Operand,
                   RankedTensorType Weight, const Movement &M, int64_t Groups) {
  if (Operand.getElementType() != Weight.getElementType())
    return emitOptionalError(Loc, "element types of ", Operand, " and ", Weight,
                             " differ");
  if (Operand.getRank() < 3 || Operand.getRank() != Weight.getRank())
    return emitOptionalError(Loc, "operand ", Operand, " and weight ", Weight,
                             " need batch, channels and the same 1 to 3 "
                             "dimensions");
  int64_t Channels = Operand.getDimSize(1), Outputs = Weight.getDimSize(0);
  if (Groups < 1 || Channels % Groups != 0 || Outputs % Groups != 0)
    return emitOptionalError(Loc, Groups, " groups do not divide ", Channels,
                             " input and ", Outputs, " output channels");
  if (Weight.getDimSize(1) != Channels / Groups)
    return emitOptionalError(Loc, "weight ", Weight, " reads ",
                             Weight.getDimSize(1),
                             " channels, but a group has ", Channels / Groups);
  auto Sizes = inferWindow(Loc, Operand.getShape().drop_front(2),
                           Weight.getShape().drop_front(2), M);
  if (failed(Sizes))
    return failure();
  SmallVector<int64_t> Shape = {Operand.getDimSize(0), Outputs};
  Shape.append(*Sizes);
  return Operand.clone(Shape);
}

/// The type of the result of a convolution.
static FailureOr<RankedTensorType>
inferConvolution(std::optional<Location> Loc, RankedTensorType Operand,
                 RankedTensorType Weight, const Movement &M, int64_t Groups,
                 bool ChannelsLast) {
  if (!ChannelsLast)
    return inferChannelsFirst(Loc, Operand, Weight, M, Groups);
  auto Type = inferChannelsFirst(Loc, moveLast(Operand, 1), moveLast(Weight, 1),
                                 M, Groups);
  if (failed(Type))
    return failure();
  return moveToLast(*Type, 1);
}

/// Checks that a convolution of such types gives `Grad`'s.
static LogicalResult verifyGradient(Operation *Op, RankedTensorType Operand,
                                    RankedTensorType Weight,
                                    RankedTensorType Grad, const Movement &M,
                                    int64_t Groups, bool ChannelsLast) {
  auto Type =
      inferConvolution(Op->getLoc(), Operand, Weight, M, Groups, ChannelsLast);
  if (failed(Type))
    return failure();
  if (*Type != Grad)
    return Op->emitOpError()
           << "a convolution of " << Operand << " with " << Weight << " gives "
           << *Type << ", but the gradient is " << Grad;
  return success();
}

LogicalResult ConvolutionOp::inferReturnTypes(MLIRContext *,
                                              std::optional<Location> Loc,
                                              Adaptor Operands,
                                              SmallVectorImpl<Type> &Types) {
  auto Type = inferConvolution(Loc, getTensorType(Operands.getOperand()),
                               getTensorType(Operands.getWeight()),
                               getMovement(Operands), Operands.getGroups(),
                               Operands.getChannelsLast());
  if (failed(Type))
    return failure();
  Types.push_back(*Type);
  return success();
}

LogicalResult ConvolutionInputGradOp::verify() {
  return verifyGradient(*this, getResult().getType(), getWeight().getType(),
                        getGrad().getType(), getMovement(*this), getGroups(),
                        getChannelsLast());
}

LogicalResult ConvolutionWeightGradOp::verify() {
  return verifyGradient(*this, getOperand().getType(), getResult().getType(),
                        getGrad().getType(), getMovement(*this), getGroups(),
                        getChannelsLast());
}

/// A multiplication and an addition for each element of the convolution's
/// result and of the weight of its channel.
static double countProducts(Value Result, Value Weight) {
  return 2.0 * countElements(Result) * countElements(Weight) /
         static_cast<double>(getTensorType(Weight).getDimSize(0));
}

double ConvolutionOp::getFlops() {
  return countProducts(getResult(), getWeight());
}
double ConvolutionInputGradOp::getFlops() {
  return countProducts(getGrad(), getWeight());
}
double ConvolutionWeightGradOp::getFlops() {
  return countProducts(getGrad(), getResult());
}

//===----------------------------------------------------------------------===//
// max_pool
//===----------------------------------------------------------------------===//

template <typename T>
static FailureOr<RankedTensorType> inferPool(std::optional<Location> Loc,
                                             RankedTensorType Operand, T Op) {
  ArrayRef<int64_t> Window = Op.getWindow(), Shape = Operand.getShape();
  if (Window.size() > Shape.size())
    return emitOptionalError(Loc, "window has ", Window.size(),
                             " entries, but the operand ", Operand, " has ",
                             Shape.size(), " dimensions");
  if (Op.getChannelsLast() && Window.size() == Shape.size())
    return emitOptionalError(Loc, "the operand ", Operand,
                             " has no dimension of channels behind those of "
                             "the window");
  ArrayRef<int64_t> Channels = Shape.take_back(Op.getChannelsLast() ? 1 : 0);
  Shape = Shape.drop_back(Channels.size());
  auto Sizes =
      inferWindow(Loc, Shape.take_back(Window.size()), Window, getMovement(Op));
  if (failed(Sizes))
    return failure();
  SmallVector<int64_t> Result(Shape.drop_back(Window.size()));
  Result.append(*Sizes);
  Result.append(Channels.begin(), Channels.end());
  return Operand.clone(Result);
}

LogicalResult MaxPoolOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location> Loc,
                                          Adaptor Operands,
                                          SmallVectorImpl<Type> &Types) {
  auto Type = inferPool(Loc, getTensorType(Operands.getOperand()), Operands);
  if (failed(Type))
    return failure();
  Types.push_back(*Type);
  return success();
}

LogicalResult
MaxPoolBackwardOp::inferReturnTypes(MLIRContext *, std::optional<Location> Loc,
                                    Adaptor Operands,
                                    SmallVectorImpl<Type> &Types) {
  RankedTensorType Operand = getTensorType(Operands.getOperand());
  auto Type = inferPool(Loc, Operand, Operands);
  if (failed(Type))
    return failure();
  if (Operands.getGrad().getType() != *Type)
    return emitOptionalError(Loc, "grad ", Operands.getGrad().getType(),
                             " must be ", *Type);
  Types.push_back(Operand);
  return success();
}

static double countElementsOfWindows(Value Windows, ArrayRef<int64_t> Window) {
  double Count = countElements(Windows);
  for (int64_t Size : Window)
    Count *= static_cast<double>(Size);
  return Count;
}

double MaxPoolOp::getFlops() {
  return countElementsOfWindows(getResult(), getWindow());
}
// Each element looks for the largest of all windows that it is in.
double MaxPoolBackwardOp::getFlops() {
  double Size = countElementsOfWindows(getGrad(), getWindow());
  return Size * Size / countElements(getGrad());
}
