//===- Moments.cpp - statistics over any dimensions -------------*- C++ -*-===//

#include "OpUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "remat/IR/RematOps.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// moments
//===----------------------------------------------------------------------===//

LogicalResult MomentsOp::inferReturnTypes(MLIRContext *Context,
                                          std::optional<Location> Loc,
                                          Adaptor Operands,
                                          SmallVectorImpl<Type> &Types) {
  RankedTensorType Type = getTensorType(Operands.getOperand());
  if (failed(checkReducedDims(Loc, Operands.getDims(), Type)))
    return failure();
  SmallVector<int64_t> Shape(Type.getShape());
  for (int64_t Dim : Operands.getDims())
    Shape[Dim] = 1;
  Types.append(2, RankedTensorType::get(Shape, Float32Type::get(Context)));
  return success();
}

double MomentsOp::getFlops() { return 4.0 * countElements(getOperand()); }

// It reads any type, and its results keep theirs.
Precision MomentsOp::getPrecision() { return Precision::any; }
Precision MomentsOp::getOperandPrecision(unsigned) { return Precision::any; }
unsigned MomentsOp::getNumCastResults() { return 0; }

//===----------------------------------------------------------------------===//
// normalize
//===----------------------------------------------------------------------===//

/// Checks that `Statistic` repeats to the shape of `Operand`.
static LogicalResult checkStatistic(std::optional<Location> Loc,
                                    RankedTensorType Operand,
                                    RankedTensorType Statistic) {
  bool Fits = Statistic.getRank() == Operand.getRank();
  for (int64_t Dim = 0; Fits && Dim < Operand.getRank(); ++Dim)
    Fits = Statistic.getDimSize(Dim) == 1 ||
           Statistic.getDimSize(Dim) == Operand.getDimSize(Dim);
  if (Fits)
    return success();
  return emitOptionalError(Loc, "mean ", Statistic,
                           " must have the rank of the operand ", Operand,
                           " and in each dimension its size or 1");
}

LogicalResult NormalizeOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> Loc,
                                            Adaptor Operands,
                                            SmallVectorImpl<Type> &Types) {
  RankedTensorType Type = getTensorType(Operands.getOperand());
  RankedTensorType Mean = getTensorType(Operands.getMean());
  if (failed(checkStatistic(Loc, Type, Mean)))
    return failure();
  for (auto [Name, Value] : {std::pair("rstd", Operands.getRstd()),
                             {"scale", Operands.getScale()},
                             {"bias", Operands.getBias()}})
    if (Value.getType() != Mean)
      return emitOptionalError(Loc, Name, " ", Value.getType(),
                               " must be of the mean's type ", Mean);
  Types.push_back(Type);
  return success();
}

// Statistics, scale and bias keep their types.
Precision NormalizeOp::getPrecision() { return Precision::any; }
Precision NormalizeOp::getOperandPrecision(unsigned Operand) {
  return Operand == 0 ? Precision::any : Precision::written;
}
unsigned NormalizeOp::getNumCastResults() { return 1; }

LogicalResult NormalizeSumsOp::inferReturnTypes(MLIRContext *,
                                                std::optional<Location> Loc,
                                                Adaptor Operands,
                                                SmallVectorImpl<Type> &Types) {
  RankedTensorType Type = getTensorType(Operands.getOperand());
  if (Operands.getGrad().getType() != Type)
    return emitOptionalError(Loc, "grad ", Operands.getGrad().getType(),
                             " and operand ", Type, " must be of one type");
  RankedTensorType Mean = getTensorType(Operands.getMean());
  if (failed(checkStatistic(Loc, Type, Mean)))
    return failure();
  ValueRange Affine = Operands.getAffine();
  if (!Affine.empty() && Affine.size() != 3)
    return emitOptionalError(Loc, "relu has ", Affine.size(),
                             " operands, which must be rstd, scale and bias");
  for (Value V : Affine)
    if (V.getType() != Mean)
      return emitOptionalError(Loc,
                               "rstd, scale and bias are not all of the "
                               "mean's type ",
                               Mean, ": ", V.getType());
  Types.append(2, Mean);
  return success();
}

/// Of relu(normalize(x)) the gradient is masked by its result, which is as
/// large as x: the sign follows from x, which is read anyway. A backward that
/// has the masked gradient for elementwise operations makes it from x as well.
LogicalResult NormalizeSumsOp::canonicalize(NormalizeSumsOp Op,
                                            PatternRewriter &Rewriter) {
  auto Masked = Op.getGrad().getDefiningOp<ReluBackwardOp>();
  auto Relu = Masked ? Masked.getOutput().getDefiningOp<ReluOp>() : ReluOp();
  auto Forward =
      Relu ? Relu.getOperand().getDefiningOp<NormalizeOp>() : NormalizeOp();
  if (!Op.getAffine().empty() || !Forward ||
      Forward.getOperand() != Op.getOperand() ||
      Forward.getMean() != Op.getMean() ||
      Op->getAttr(PhaseAttrName) == Forward->getAttr(PhaseAttrName))
    return failure();
  // The phase keeps this normalize and the forward's apart.
  Rewriter.setInsertionPoint(Masked);
  auto Again = cast<NormalizeOp>(Rewriter.clone(*Forward));
  takePhase(Again, Op);
  Again->removeAttr(KeepAttrName);
  Value Grad = Masked.getGrad();
  Rewriter.modifyOpInPlace(
      Masked, [&] { Masked.getOutputMutable().assign(Again.getResult()); });
  Rewriter.modifyOpInPlace(Op, [&] {
    Op.getGradMutable().assign(Grad);
    Op.getAffineMutable().assign(
        {Forward.getRstd(), Forward.getScale(), Forward.getBias()});
  });
  return success();
}

double NormalizeSumsOp::getFlops() { return 4.0 * countElements(getOperand()); }
