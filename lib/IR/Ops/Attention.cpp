//===- Attention.cpp - attention and its backward ---------------*- C++ -*-===//

#include "OpUtils.h"
#include "remat/IR/RematOps.h"

using namespace mlir;
using namespace remat;

namespace {
/// Sizes of attention: batch, queries, keys, heads, elements of a head.
struct AttentionSizes {
  int64_t B, T, S, H, D;
  Type Element;

  RankedTensorType getOutputType() const {
    return RankedTensorType::get({B, T, H, D}, Element);
  }
  RankedTensorType getLseType() const {
    return RankedTensorType::get({B, H, T},
                                 Float32Type::get(Element.getContext()));
  }
};
} // namespace

/// Reads the sizes off [packed] or [query, key, value].
static FailureOr<AttentionSizes> getSizes(std::optional<Location> Loc,
                                          ValueRange Qkv) {
  if (Qkv.size() == 1) {
    RankedTensorType Packed = getTensorType(Qkv[0]);
    ArrayRef<int64_t> Shape = Packed.getShape();
    if (Shape.size() != 5 || Shape[2] != 3)
      return emitOptionalError(Loc, "packed operand ", Packed,
                               " must be [batch, tokens, 3, heads, head size]");
    return AttentionSizes{Shape[0], Shape[1], Shape[1],
                          Shape[3], Shape[4], Packed.getElementType()};
  }
  if (Qkv.size() != 3)
    return emitOptionalError(Loc, "there are ", Qkv.size(),
                             " operands; one packed operand or query, key and "
                             "value are needed");
  RankedTensorType Query = getTensorType(Qkv[0]), Key = getTensorType(Qkv[1]);
  ArrayRef<int64_t> Shape = Query.getShape();
  if (Shape.size() != 4)
    return emitOptionalError(Loc, "query ", Query,
                             " must be [batch, tokens, heads, head size]");
  if (Key != Qkv[2].getType())
    return emitOptionalError(Loc, "key ", Key, " and value ", Qkv[2].getType(),
                             " must be of one type");
  AttentionSizes Sizes = {
      Shape[0], Shape[1], Key.getRank() == 4 ? Key.getDimSize(1) : 0,
      Shape[2], Shape[3], Query.getElementType()};
  if (Key != Query.clone({Sizes.B, Sizes.S, Sizes.H, Sizes.D}))
    return emitOptionalError(Loc, "key ", Key, " and query ", Query,
                             " may differ in the number of tokens only");
  return Sizes;
}

/// What the forward and the backward check alike.
template <typename OpT>
static LogicalResult verifyOptions(OpT Op, const AttentionSizes &Sizes) {
  if (Value Mask = Op.getMask()) {
    RankedTensorType Type = getTensorType(Mask);
    SmallVector<int64_t> Scores = {Sizes.B, Sizes.H, Sizes.T, Sizes.S};
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

/// Flops of the matrix products over scores, of which a causal mask leaves
/// half.
template <typename OpT> static double countFlops(OpT Op, double Products) {
  FailureOr<AttentionSizes> Sizes = getSizes(std::nullopt, Op.getQkv());
  if (failed(Sizes))
    return 0.0;
  double Scores = static_cast<double>(Sizes->B) *
                  static_cast<double>(Sizes->H) *
                  static_cast<double>(Sizes->T) * static_cast<double>(Sizes->S);
  if (Op.getCausal())
    Scores *= 0.5;
  return Scores * (Products * 2.0 * static_cast<double>(Sizes->D) + 5.0);
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
  Types.append({Sizes->getOutputType(), Sizes->getLseType()});
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
  if (getGrad().getType() != Sizes->getOutputType() ||
      getOutput().getType() != Sizes->getOutputType())
    return emitOpError() << "grad " << getGrad().getType() << " and output "
                         << getOutput().getType() << " must be "
                         << Sizes->getOutputType();
  if (getLse().getType() != Sizes->getLseType())
    return emitOpError() << "lse is " << getLse().getType() << ", not "
                         << Sizes->getLseType();
  if (getQkvGrads().getTypes() != getQkv().getTypes())
    return emitOpError() << "results must have the types of the "
                         << getQkv().size() << " operands behind 'qkv'";
  return verifyOptions(*this, *Sizes);
}

// Five products (Dao et al., 2022): scores again, then the gradients of value,
// probabilities, query and key.
double AttentionBackwardOp::getFlops() { return countFlops(*this, 5.0); }

bool AttentionBackwardOp::drawsNumbers() { return !getDropoutP().isZero(); }
