//===- Index.cpp - elements by index, order and scans ---------------------===//

#include "OpUtils.h"
#include "remat/IR/RematOps.h"

using namespace mlir;
using namespace remat;

LogicalResult remat::checkDim(std::optional<Location> Loc, int64_t Dim,
                              RankedTensorType Type) {
  if (Dim >= 0 && Dim < Type.getRank())
    return success();
  return emitOptionalError(Loc, "dim is ", Dim, ", but ", Type, " has ",
                           Type.getRank(), " dimensions");
}

/// Checks that two tensors differ at most in the size of dimension `Dim`.
static LogicalResult checkLines(std::optional<Location> Loc,
                                RankedTensorType Whole,
                                RankedTensorType Indices, int64_t Dim) {
  if (failed(checkDim(Loc, Dim, Whole)))
    return failure();
  SmallVector<int64_t> Expected(Whole.getShape());
  if (Indices.getRank() == Whole.getRank())
    Expected[Dim] = Indices.getDimSize(Dim);
  if (Indices.getShape() != ArrayRef(Expected))
    return emitOptionalError(Loc, Whole, " and indices ", Indices,
                             " differ in more than the size of dimension ",
                             Dim);
  return success();
}

LogicalResult GatherOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> Loc,
                                         Adaptor Operands,
                                         SmallVectorImpl<Type> &Types) {
  RankedTensorType Type = getTensorType(Operands.getOperand());
  RankedTensorType Indices = getTensorType(Operands.getIndices());
  if (failed(checkLines(Loc, Type, Indices, Operands.getDim())))
    return failure();
  Types.push_back(Type.clone(Indices.getShape()));
  return success();
}

LogicalResult ScatterAddOp::verify() {
  RankedTensorType Updates = getUpdates().getType();
  RankedTensorType Indices = getIndices().getType();
  RankedTensorType Result = getResult().getType();
  if (Updates.getShape() != Indices.getShape())
    return emitOpError() << "indices " << Indices << " and updates " << Updates
                         << " must be of one shape";
  if (Result.getElementType() != Updates.getElementType())
    return emitOpError() << "element types of updates " << Updates
                         << " and result " << Result << " differ";
  return checkLines(getLoc(), Result, Indices, getDim());
}

double ScatterAddOp::getFlops() { return countElements(getUpdates()); }

LogicalResult TopKOp::inferReturnTypes(MLIRContext *Context,
                                       std::optional<Location> Loc,
                                       Adaptor Operands,
                                       SmallVectorImpl<Type> &Types) {
  RankedTensorType Type = getTensorType(Operands.getOperand());
  int64_t Dim = Operands.getDim(), K = Operands.getK();
  if (failed(checkDim(Loc, Dim, Type)))
    return failure();
  if (K < 1 || K > Type.getDimSize(Dim))
    return emitOptionalError(Loc, "k is ", K, ", but dimension ", Dim, " has ",
                             Type.getDimSize(Dim), " elements");
  SmallVector<int64_t> Shape(Type.getShape());
  Shape[Dim] = K;
  Types.push_back(Type.clone(Shape));
  Types.push_back(RankedTensorType::get(Shape, IntegerType::get(Context, 64)));
  return success();
}

double TopKOp::getFlops() {
  return countElements(getOperand()) * static_cast<double>(getK());
}

LogicalResult CumsumOp::verify() {
  return checkDim(getLoc(), getDim(), getOperand().getType());
}

double CumsumOp::getFlops() { return countElements(getOperand()); }
