//===- Network.cpp - layers and losses --------------------------*- C++ -*-===//

#include "OpUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "remat/IR/ElementTypes.h"
#include "remat/IR/RematOps.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// matmul
//===----------------------------------------------------------------------===//

namespace {
/// Sizes of a matrix product as its operands give them.
struct MatmulSizes {
  ArrayRef<int64_t> LhsBatch, RhsBatch;
  int64_t M, LhsK, RhsK, N;
};
} // namespace

static MatmulSizes getSizes(MatmulOp Op) {
  ArrayRef<int64_t> Lhs = Op.getLhs().getType().getShape();
  ArrayRef<int64_t> Rhs = Op.getRhs().getType().getShape();
  MatmulSizes Sizes = {Lhs.drop_back(2),    Rhs.drop_back(2),
                       Lhs[Lhs.size() - 2], Lhs.back(),
                       Rhs[Rhs.size() - 2], Rhs.back()};
  if (Op.getTransposeLhs())
    std::swap(Sizes.M, Sizes.LhsK);
  if (Op.getTransposeRhs())
    std::swap(Sizes.RhsK, Sizes.N);
  return Sizes;
}

LogicalResult MatmulOp::verify() {
  RankedTensorType Lhs = getLhs().getType(), Rhs = getRhs().getType();
  RankedTensorType Result = getResult().getType();
  if (Lhs.getRank() < 2 || Rhs.getRank() < 2)
    return emitOpError() << "operands " << Lhs << " and " << Rhs
                         << " must have at least 2 dimensions";
  if (Lhs.getElementType() != Rhs.getElementType())
    return emitOpError() << "operands have element types "
                         << Lhs.getElementType() << " and "
                         << Rhs.getElementType()
                         << "; convert one of them with remat.cast";
  if (Result.getElementType() != Lhs.getElementType() &&
      !Result.getElementType().isF32())
    return emitOpError() << "result element type " << Result.getElementType()
                         << " is neither the operands' " << Lhs.getElementType()
                         << " nor f32";

  MatmulSizes Sizes = getSizes(*this);
  if (Sizes.LhsK != Sizes.RhsK)
    return emitOpError() << "sums over " << Sizes.LhsK
                         << " elements of the left operand, but " << Sizes.RhsK
                         << " of the right one";
  if (!Sizes.LhsBatch.empty() && !Sizes.RhsBatch.empty() &&
      Sizes.LhsBatch != Sizes.RhsBatch)
    return emitOpError() << "batch dimensions of " << Lhs << " and " << Rhs
                         << " differ";

  SmallVector<int64_t> Expected(Sizes.LhsBatch.empty() ? Sizes.RhsBatch
                                                       : Sizes.LhsBatch);
  Expected.append({Sizes.M, Sizes.N});
  if (Result.getShape() != ArrayRef(Expected))
    return emitOpError() << "result is " << Result << ", but the operands give "
                         << Result.clone(Expected);
  if (Value Bias = getBias()) {
    RankedTensorType Own = Lhs.clone({Sizes.N}), Wide = Result.clone({Sizes.N});
    if (Bias.getType() != Own && Bias.getType() != Wide) {
      InFlightDiagnostic Diag = emitOpError() << "bias is " << Bias.getType()
                                              << ", not " << Own;
      if (Wide != Own)
        Diag << " or " << Wide;
      return Diag;
    }
  }
  if (Value Addend = getAddend(); Addend && Addend.getType() != Result)
    return emitOpError() << "addend is " << Addend.getType() << ", not "
                         << Result;
  return success();
}

LogicalResult MatmulOp::canonicalize(MatmulOp Op, PatternRewriter &Rewriter) {
  Value Bias = Op.getBias();
  Type Element = Op.getResult().getType().getElementType();
  if (!Bias || getTensorType(Bias).getElementType() == Element)
    return failure();
  auto Cast = CastOp::create(Rewriter, Op.getLoc(),
                             getTensorType(Bias).clone(Element), Bias);
  takePhase(Cast, Op);
  Rewriter.modifyOpInPlace(Op, [&] { Op.getBiasMutable().assign(Cast); });
  return success();
}

double MatmulOp::getFlops() {
  return 2.0 * countElements(getResult()) *
         static_cast<double>(getSizes(*this).LhsK);
}

//===----------------------------------------------------------------------===//
// softmax, layer_norm
//===----------------------------------------------------------------------===//

LogicalResult SoftmaxOp::verify() {
  if (getOperand().getType().getRank() == 0)
    return emitOpError("operand has no dimension to normalise");
  return success();
}

// Flops of row operations count their passes over the elements.
double SoftmaxOp::getFlops() { return 5.0 * countElements(getResult()); }
double SoftmaxBackwardOp::getFlops() {
  return 4.0 * countElements(getResult());
}
double LayerNormOp::getFlops() { return 8.0 * countElements(getOperand()); }
double LayerNormBackwardOp::getFlops() {
  return (getWithSum() ? 15.0 : 14.0) * countElements(getOperand());
}

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *Context,
                                            std::optional<Location> Loc,
                                            Adaptor Operands,
                                            SmallVectorImpl<Type> &Types) {
  RankedTensorType Type = getTensorType(Operands.getOperand());
  RankedTensorType Scale = getTensorType(Operands.getScale());
  if (Type.getRank() == 0)
    return emitOptionalError(Loc, "operand has no dimension to normalise");
  if (Scale != Operands.getBias().getType() || Scale.getRank() != 1 ||
      Scale.getDimSize(0) != Type.getShape().back())
    return emitOptionalError(
        Loc, "scale ", Scale, " and bias ", Operands.getBias().getType(),
        " must be of one type with the ", Type.getShape().back(),
        " elements of the operand's last dimension");
  auto Statistics = RankedTensorType::get(Type.getShape().drop_back(),
                                          Float32Type::get(Context));
  Types.append({Type, Statistics, Statistics});
  return success();
}

LogicalResult LayerNormOp::verify() {
  if (getEpsilon().isNegative())
    return emitOpError("epsilon is negative");
  return success();
}

// Statistics, scale and bias keep their types.
Precision LayerNormOp::getPrecision() { return Precision::any; }
Precision LayerNormOp::getOperandPrecision(unsigned Operand) {
  return Operand == 0 ? Precision::any : Precision::written;
}
unsigned LayerNormOp::getNumCastResults() { return 1; }

SmallVector<unsigned> LayerNormOp::getReusableOperands(unsigned Result) {
  return Result == 0 ? SmallVector<unsigned>{0} : SmallVector<unsigned>{};
}

/// What a norm's gradient adds has the type of the gradient.
static LogicalResult checkAddend(std::optional<Location> Loc, Value Addend,
                                 RankedTensorType Type) {
  if (!Addend || Addend.getType() == Type)
    return success();
  return emitOptionalError(Loc, "addend ", Addend.getType(), " must be ", Type);
}

/// grad, operand and addend have one type; only the first result has it.
static SmallVector<unsigned> getReusableOfGradient(MutableOperandRange Addend,
                                                   unsigned Result) {
  if (Result != 0)
    return {};
  SmallVector<unsigned> Reusable = {0, 1};
  for (OpOperand &Operand : Addend)
    Reusable.push_back(Operand.getOperandNumber());
  return Reusable;
}

LogicalResult LayerNormBackwardOp::inferReturnTypes(
    MLIRContext *Context, std::optional<Location> Loc, Adaptor Operands,
    SmallVectorImpl<Type> &Types) {
  RankedTensorType Type = getTensorType(Operands.getOperand());
  RankedTensorType Scale = getTensorType(Operands.getScale());
  if (Type.getRank() == 0 || Operands.getGrad().getType() != Type)
    return emitOptionalError(Loc, "grad ", Operands.getGrad().getType(),
                             " and operand ", Type,
                             " must be of one type with a last dimension");
  if (Scale.getRank() != 1 || Scale.getDimSize(0) != Type.getShape().back())
    return emitOptionalError(Loc, "scale ", Scale, " must have the ",
                             Type.getShape().back(),
                             " elements of the operand's last dimension");
  auto Statistics = RankedTensorType::get(Type.getShape().drop_back(),
                                          Float32Type::get(Context));
  if (Operands.getMean().getType() != Statistics ||
      Operands.getRstd().getType() != Statistics)
    return emitOptionalError(Loc, "mean ", Operands.getMean().getType(),
                             " and rstd ", Operands.getRstd().getType(),
                             " must be ", Statistics);
  Types.append({Type, Scale, Scale});
  if (Operands.getWithSum())
    Types.push_back(Type.clone(Scale.getShape()));
  return checkAddend(Loc, Operands.getAddend(), Type);
}

SmallVector<unsigned>
LayerNormBackwardOp::getReusableOperands(unsigned Result) {
  return getReusableOfGradient(getAddendMutable(), Result);
}

//===----------------------------------------------------------------------===//
// rms_norm
//===----------------------------------------------------------------------===//

double RMSNormOp::getFlops() { return 5.0 * countElements(getOperand()); }
double RMSNormBackwardOp::getFlops() {
  return 10.0 * countElements(getOperand());
}

/// The type of the statistic of rms_norm; fails where operand and weight do not
/// fit each other.
static FailureOr<RankedTensorType>
inferRootMeanSquare(MLIRContext *Context, std::optional<Location> Loc,
                    RankedTensorType Operand, RankedTensorType Weight) {
  if (Operand.getRank() == 0)
    return emitOptionalError(Loc, "operand has no dimension to normalise");
  int64_t Columns = Operand.getShape().back();
  if (Weight.getRank() != 1 || Weight.getDimSize(0) != Columns)
    return emitOptionalError(Loc, "weight ", Weight, " must have the ", Columns,
                             " elements of the operand's last dimension");
  return RankedTensorType::get(Operand.getShape().drop_back(),
                               Float32Type::get(Context));
}

LogicalResult RMSNormOp::inferReturnTypes(MLIRContext *Context,
                                          std::optional<Location> Loc,
                                          Adaptor Operands,
                                          SmallVectorImpl<Type> &Types) {
  RankedTensorType Type = getTensorType(Operands.getOperand());
  FailureOr<RankedTensorType> Rstd = inferRootMeanSquare(
      Context, Loc, Type, getTensorType(Operands.getWeight()));
  if (failed(Rstd))
    return failure();
  Types.append({Type, *Rstd});
  return success();
}

LogicalResult RMSNormOp::verify() {
  if (getEpsilon().isNegative())
    return emitOpError("epsilon is negative");
  return success();
}

// Statistic and weight keep their types.
Precision RMSNormOp::getPrecision() { return Precision::any; }
Precision RMSNormOp::getOperandPrecision(unsigned Operand) {
  return Operand == 0 ? Precision::any : Precision::written;
}
unsigned RMSNormOp::getNumCastResults() { return 1; }

SmallVector<unsigned> RMSNormOp::getReusableOperands(unsigned Result) {
  return Result == 0 ? SmallVector<unsigned>{0} : SmallVector<unsigned>{};
}

LogicalResult RMSNormBackwardOp::inferReturnTypes(
    MLIRContext *Context, std::optional<Location> Loc, Adaptor Operands,
    SmallVectorImpl<Type> &Types) {
  RankedTensorType Type = getTensorType(Operands.getOperand());
  RankedTensorType Weight = getTensorType(Operands.getWeight());
  if (Operands.getGrad().getType() != Type)
    return emitOptionalError(Loc, "grad ", Operands.getGrad().getType(),
                             " and operand ", Type, " must be of one type");
  FailureOr<RankedTensorType> Rstd =
      inferRootMeanSquare(Context, Loc, Type, Weight);
  if (failed(Rstd))
    return failure();
  if (Operands.getRstd().getType() != *Rstd)
    return emitOptionalError(Loc, "rstd ", Operands.getRstd().getType(),
                             " must be ", *Rstd);
  Types.append({Type, Weight});
  return checkAddend(Loc, Operands.getAddend(), Type);
}

SmallVector<unsigned> RMSNormBackwardOp::getReusableOperands(unsigned Result) {
  return getReusableOfGradient(getAddendMutable(), Result);
}

//===----------------------------------------------------------------------===//
// embedding
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> Loc,
                                            Adaptor Operands,
                                            SmallVectorImpl<Type> &Types) {
  RankedTensorType Table = getTensorType(Operands.getTable());
  if (Table.getRank() != 2)
    return emitOptionalError(
        Loc, "table ", Table,
        " must have 2 dimensions: rows and their elements");
  SmallVector<int64_t> Shape(getTensorType(Operands.getIds()).getShape());
  Shape.push_back(Table.getDimSize(1));
  Types.push_back(Table.clone(Shape));
  return success();
}

double EmbeddingOp::getFlops() { return 0.0; }
// A gather touches the rows that it takes, not the whole table.
double EmbeddingOp::getBytes() {
  return static_cast<double>(getByteSize(getIds().getType()).value_or(0)) +
         2.0 * static_cast<double>(getByteSize(getType()).value_or(0));
}
double EmbeddingBackwardOp::getFlops() { return countElements(getGrad()); }

LogicalResult EmbeddingBackwardOp::verify() {
  RankedTensorType Table = getTableGrad().getType();
  if (Table.getRank() != 2)
    return emitOpError() << "result " << Table << " must have 2 dimensions";
  SmallVector<int64_t> Shape(getIds().getType().getShape());
  Shape.push_back(Table.getDimSize(1));
  RankedTensorType Grad = getGrad().getType();
  if (Grad.getShape() != ArrayRef(Shape))
    return emitOpError() << "grad is " << Grad << ", but ids and result give "
                         << Table.clone(Shape);
  if (!isLossless(Grad.getElementType(), Table.getElementType()))
    return emitOpError() << "grad has elements of " << Grad.getElementType()
                         << ", which are no narrower floats than the result's "
                         << Table.getElementType();
  if (!getAddend())
    return success();
  RankedTensorType Addend = getTensorType(getAddend());
  if (Addend.getShape() != Table.getShape() ||
      !isLossless(Addend.getElementType(), Table.getElementType()))
    return emitOpError() << "addend is " << Addend << ", but the result "
                         << Table << " must be of its shape and no narrower";
  return success();
}

SmallVector<unsigned>
EmbeddingBackwardOp::getReusableOperands(unsigned Result) {
  if (!getAddend() || getAddend().getType() != getTableGrad().getType())
    return {};
  return {getAddendMutable()[0].getOperandNumber()};
}

OpFoldResult EmbeddingBackwardOp::fold(FoldAdaptor) {
  Value Narrow = skipWidening(getGrad());
  if (Narrow == getGrad())
    return {};
  getGradMutable().assign(Narrow);
  return getResult();
}

//===----------------------------------------------------------------------===//
// losses
//===----------------------------------------------------------------------===//

/// Checks targets against logits; gives the type of the rows' log-sum-exp.
static FailureOr<RankedTensorType> checkTargets(std::optional<Location> Loc,
                                                RankedTensorType Logits,
                                                RankedTensorType Targets) {
  if (Logits.getRank() == 0)
    return emitOptionalError(Loc, "logits have no dimension of classes");
  if (Targets.getShape() != Logits.getShape().drop_back())
    return emitOptionalError(Loc, "targets ", Targets,
                             " must have the shape of the rows of logits ",
                             Logits);
  return RankedTensorType::get(Targets.getShape(),
                               Float32Type::get(Logits.getContext()));
}

/// Appends the types of a loss and of the log-sum-exp of its rows.
static LogicalResult inferLoss(MLIRContext *Context,
                               std::optional<Location> Loc, Value Logits,
                               Value Targets, SmallVectorImpl<Type> &Types) {
  FailureOr<RankedTensorType> Lse =
      checkTargets(Loc, getTensorType(Logits), getTensorType(Targets));
  if (failed(Lse))
    return failure();
  Types.append({RankedTensorType::get({}, Float32Type::get(Context)), *Lse});
  return success();
}

LogicalResult CrossEntropyOp::inferReturnTypes(MLIRContext *Context,
                                               std::optional<Location> Loc,
                                               Adaptor Operands,
                                               SmallVectorImpl<Type> &Types) {
  return inferLoss(Context, Loc, Operands.getLogits(), Operands.getTargets(),
                   Types);
}

LogicalResult CrossEntropyBackwardOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> Loc, Adaptor Operands,
    SmallVectorImpl<Type> &Types) {
  RankedTensorType Logits = getTensorType(Operands.getLogits());
  FailureOr<RankedTensorType> Lse =
      checkTargets(Loc, Logits, getTensorType(Operands.getTargets()));
  if (failed(Lse))
    return failure();
  if (Operands.getLse().getType() != *Lse)
    return emitOptionalError(Loc, "lse is ", Operands.getLse().getType(),
                             ", not ", *Lse);
  Types.push_back(Logits);
  return success();
}

double CrossEntropyOp::getFlops() { return 4.0 * countElements(getLogits()); }
double CrossEntropyBackwardOp::getFlops() {
  return 4.0 * countElements(getLogits());
}

SmallVector<unsigned> CrossEntropyBackwardOp::getReusableOperands(unsigned) {
  return {1}; // the logits
}

LogicalResult CrossEntropyWithGradOp::inferReturnTypes(
    MLIRContext *Context, std::optional<Location> Loc, Adaptor Operands,
    SmallVectorImpl<Type> &Types) {
  if (failed(inferLoss(Context, Loc, Operands.getLogits(),
                       Operands.getTargets(), Types)))
    return failure();
  Types.push_back(Operands.getLogits().getType());
  return success();
}

double CrossEntropyWithGradOp::getFlops() {
  return 8.0 * countElements(getLogits());
}

SmallVector<unsigned>
CrossEntropyWithGradOp::getReusableOperands(unsigned Result) {
  return Result == 2 ? SmallVector<unsigned>{1} : SmallVector<unsigned>{};
}

double MseOp::getFlops() { return 3.0 * countElements(getPrediction()); }
