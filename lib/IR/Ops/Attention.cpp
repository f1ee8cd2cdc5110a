//===- Attention.cpp - attention and its backward ---------------*- C++ -*-===//

#include "OpUtils.h"
#include "remat/IR/AttentionSizes.h"
#include "remat/IR/RematOps.h"

using namespace mlir;
using namespace remat;

static RankedTensorType getOutputType(const AttentionSizes &S, Type Element) {
  return RankedTensorType::get({S.Batch, S.Queries, S.Heads, S.Width}, Element);
}

static RankedTensorType getLseType(const AttentionSizes &S, Type Element) {
  return RankedTensorType::get({S.Batch, S.Heads, S.Queries},
                               Float32Type::get(Element.getContext()));
}

/// Whether key and value may go with `Query`; its heads read theirs in groups.
static LogicalResult checkKeys(std::optional<Location> Loc,
                               RankedTensorType Query, RankedTensorType Key,
                               Type Value) {
  if (Key != Value)
    return emitOptionalError(Loc, "key ", Key, " and value ", Value,
                             " must be of one type");
  ArrayRef<int64_t> Shape = Query.getShape();
  if (Key.getRank() != 4 || Key != Query.clone({Shape[0], Key.getDimSize(1),
                                                Key.getDimSize(2), Shape[3]}))
    return emitOptionalError(
        Loc, "key ", Key, " and query ", Query,
        " may differ in the numbers of tokens and heads only");
  int64_t Heads = Shape[2], KeyHeads = Key.getDimSize(2);
  if (KeyHeads == 0 || Heads % KeyHeads != 0)
    return emitOptionalError(Loc, Heads,
                             " heads of the query are no multiple of the ",
                             KeyHeads, " of the key");
  return success();
}

/// Reads the sizes off [packed] or [query, key, value].
static FailureOr<AttentionSizes> getSizes(std::optional<Location> Loc,
                                          ValueRange Qkv) {
  RankedTensorType First = Qkv.empty() ? nullptr : getTensorType(Qkv[0]);
  if (Qkv.size() == 1) {
    ArrayRef<int64_t> Shape = First.getShape();
    if (Shape.size() != 5 || Shape[2] != 3)
      return emitOptionalError(Loc, "packed operand ", First,
                               " must be [batch, tokens, 3, heads, head size]");
    return AttentionSizes{Shape[0], Shape[1], Shape[1],
                          Shape[3], Shape[3], Shape[4]};
  }
  if (Qkv.size() != 3)
    return emitOptionalError(Loc, "there are ", Qkv.size(),
                             " operands; one packed operand or query, key and "
                             "value are needed");
  ArrayRef<int64_t> Shape = First.getShape();
  if (Shape.size() != 4)
    return emitOptionalError(Loc, "query ", First,
                             " must be [batch, tokens, heads, head size]");
  RankedTensorType Key = getTensorType(Qkv[1]);
  if (failed(checkKeys(Loc, First, Key, Qkv[2].getType())))
    return failure();
  return AttentionSizes{Shape[0], Shape[1],          Key.getDimSize(1),
                        Shape[2], Key.getDimSize(2), Shape[3]};
}

AttentionSizes AttentionSizes::of(ValueRange Qkv) {
  return *getSizes(std::nullopt, Qkv);
}

double AttentionSizes::countScores(bool IsCausal,
                                   std::optional<int64_t> Window) const {
  auto T = static_cast<double>(Queries), S = static_cast<double>(Keys);
  double Pairs = T * S;
  if (IsCausal)
    Pairs *= 0.5;
  // Each query sees the window but for the first ones, which see half of it.
  if (auto W = static_cast<double>(Window.value_or(Queries)); Window && W < T)
    Pairs = std::min(Pairs, T * W - 0.5 * W * W);
  return static_cast<double>(Batch) * static_cast<double>(Heads) * Pairs;
}

/// What the forward and the backward check alike.
template <typename OpT>
static LogicalResult verifyOptions(OpT Op, const AttentionSizes &Sizes) {
  if (Value Mask = Op.getMask()) {
    RankedTensorType Type = getTensorType(Mask);
    SmallVector<int64_t> Scores = {Sizes.Batch, Sizes.Heads, Sizes.Queries,
                                   Sizes.Keys};
    if (!Type.getElementType().isInteger(1) &&
        !isa<FloatType>(Type.getElementType()))
      return Op.emitOpError()
             << "mask is " << Type << "; its elements must be i1 or float";
    auto Shape = broadcastShapes(Type.getShape(), Scores);
    if (!Shape || *Shape != Scores)
      return Op.emitOpError()
             << "mask " << Type << " does not broadcast to the scores ["
             << Scores << "]";
  }
  if (std::optional<int64_t> Window = Op.getWindow()) {
    if (*Window <= 0)
      return Op.emitOpError()
             << "window is " << *Window << "; it must be positive";
    if (!Op.getCausal())
      return Op.emitOpError()
             << "window is " << *Window << ", but attention is not causal";
  }
  double P = Op.getDropoutP().convertToDouble();
  if (!(P >= 0.0 && P < 1.0))
    return Op.emitOpError() << "dropout_p is " << P << "; it must be in [0, 1)";
  if (!Op.getSeed() != !Op.getStep())
    return Op.emitOpError("seed and step must be given together");
  if (P > 0.0 && !Op.getSeed())
    return Op.emitOpError() << "dropout_p is " << P
                            << ", but there are no seed and step to draw from";
  return success();
}

/// Flops of the matrix products over scores, without those that no query sees
/// by its place.
template <typename OpT> static double countFlops(OpT Op, double Products) {
  AttentionSizes Sizes = AttentionSizes::of(Op.getQkv());
  return Sizes.countScores(Op.getCausal(), Op.getWindow()) *
         (Products * 2.0 * static_cast<double>(Sizes.Width) + 5.0);
}

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> Loc,
                                            Adaptor Operands,
                                            SmallVectorImpl<Type> &Types) {
  FailureOr<AttentionSizes> Sizes = getSizes(Loc, Operands.getQkv());
  if (failed(Sizes))
    return failure();
  Type Element = getTensorType(Operands.getQkv()[0]).getElementType();
  Types.append({getOutputType(*Sizes, Element), getLseType(*Sizes, Element)});
  return success();
}

LogicalResult AttentionOp::verify() {
  FailureOr<AttentionSizes> Sizes = getSizes(getLoc(), getQkv());
  return failed(Sizes) ? failure() : verifyOptions(*this, *Sizes);
}

double AttentionOp::getFlops() { return countFlops(*this, 2.0); }

bool AttentionOp::drawsNumbers() { return !getDropoutP().isZero(); }

// The mask is of any type, the log-sum-exp stays f32.
Precision AttentionOp::getPrecision() { return Precision::low; }
Precision AttentionOp::getOperandPrecision(unsigned Operand) {
  return Operand < getQkv().size() ? Precision::low : Precision::any;
}
unsigned AttentionOp::getNumCastResults() { return 1; }

//===----------------------------------------------------------------------===//
// attention_backward
//===----------------------------------------------------------------------===//

LogicalResult AttentionBackwardOp::verify() {
  FailureOr<AttentionSizes> Sizes = getSizes(getLoc(), getQkv());
  if (failed(Sizes))
    return failure();
  Type Element = getTensorType(getQkv()[0]).getElementType();
  RankedTensorType Result = getOutputType(*Sizes, Element);
  RankedTensorType Lse = getLseType(*Sizes, Element);
  if (getGrad().getType() != Result || getOutput().getType() != Result)
    return emitOpError() << "grad " << getGrad().getType() << " and output "
                         << getOutput().getType() << " must be " << Result;
  if (getLse().getType() != Lse)
    return emitOpError() << "lse is " << getLse().getType() << ", not " << Lse;
  if (getQkvGrads().getTypes() != getQkv().getTypes())
    return emitOpError() << "results must have the types of the "
                         << getQkv().size() << " operands behind 'qkv'";
  return verifyOptions(*this, *Sizes);
}

// Five products (Dao et al., 2022): scores again, then the gradients of value,
// probabilities, query and key.
double AttentionBackwardOp::getFlops() { return countFlops(*this, 5.0); }

bool AttentionBackwardOp::drawsNumbers() { return !getDropoutP().isZero(); }
