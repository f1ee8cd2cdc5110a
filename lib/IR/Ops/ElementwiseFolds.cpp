//===- ElementwiseFolds.cpp - folders of elementwise ops --------*- C++ -*-===//
//
// Constants are folded where the device would compute the very same bits: the
// four arithmetic operations on f32 (narrower floats are computed in f32 and
// rounded once) and on integers, which wrap.
//
//===----------------------------------------------------------------------===//

#include "remat/IR/ElementTypes.h"
#include "remat/IR/RematOps.h"
#include "llvm/ADT/APSInt.h"
#include "llvm/ADT/STLFunctionalExtras.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Splats
//===----------------------------------------------------------------------===//

/// The value of a splat of floats, null for everything else.
static std::optional<APFloat> getFloatSplat(Attribute Attr) {
  auto Splat = dyn_cast_or_null<SplatElementsAttr>(Attr);
  if (!Splat || !isa<FloatType>(Splat.getElementType()))
    return std::nullopt;
  return Splat.getSplatValue<APFloat>();
}

static std::optional<APInt> getIntSplat(Attribute Attr) {
  auto Splat = dyn_cast_or_null<SplatElementsAttr>(Attr);
  if (!Splat || !isa<IntegerType>(Splat.getElementType()))
    return std::nullopt;
  return Splat.getSplatValue<APInt>();
}

/// Whether `Attr` is a splat of the number `Value`.
static bool isSplatOf(Attribute Attr, int64_t Value) {
  if (std::optional<APFloat> Float = getFloatSplat(Attr))
    return Float->isExactlyValue(static_cast<double>(Value));
  if (std::optional<APInt> Int = getIntSplat(Attr))
    return Int->getSExtValue() == Value;
  return false;
}

/// A splat of `Value`, rounded to the element type.
static Attribute getFloatSplat(ShapedType Type, APFloat Value) {
  bool LosesInfo = false;
  Value.convert(cast<FloatType>(Type.getElementType()).getFloatSemantics(),
                APFloat::rmNearestTiesToEven, &LosesInfo);
  return DenseElementsAttr::get(Type, Value);
}

static APFloat toSingle(APFloat Value) {
  bool LosesInfo = false;
  Value.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven,
                &LosesInfo);
  return Value;
}

/// Folds a binary operation on two splats; null if they are none.
static Attribute
foldSplats(Type ResultType, ArrayRef<Attribute> Operands,
           llvm::function_ref<APFloat(const APFloat &, const APFloat &)> Float,
           llvm::function_ref<APInt(const APInt &, const APInt &)> Int) {
  auto Type = cast<ShapedType>(ResultType);
  auto LhsFloat = getFloatSplat(Operands[0]),
       RhsFloat = getFloatSplat(Operands[1]);
  if (LhsFloat && RhsFloat)
    return getFloatSplat(Type, Float(toSingle(*LhsFloat), toSingle(*RhsFloat)));
  auto LhsInt = getIntSplat(Operands[0]), RhsInt = getIntSplat(Operands[1]);
  if (LhsInt && RhsInt)
    return DenseElementsAttr::get(Type, Int(*LhsInt, *RhsInt));
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

OpFoldResult NegOp::fold(FoldAdaptor Operands) {
  if (auto Inner = getOperand().getDefiningOp<NegOp>())
    return Inner.getOperand();
  if (std::optional<APFloat> Value = getFloatSplat(Operands.getOperand()))
    return getFloatSplat(getType(), llvm::neg(*Value));
  return {};
}

/// `x op neutral` is x, unless the broadcast made it larger. The trait
/// Commutative has put a constant on the right already.
template <typename OpT>
static Value foldNeutral(OpT Op, Attribute Rhs, int64_t Neutral) {
  bool Same = Op.getLhs().getType() == Op.getType();
  return Same && isSplatOf(Rhs, Neutral) ? Value(Op.getLhs()) : Value();
}

OpFoldResult AddOp::fold(FoldAdaptor Operands) {
  if (Value Lhs = foldNeutral(*this, Operands.getRhs(), 0))
    return Lhs;
  return foldSplats(
      getType(), Operands.getOperands(),
      [](const APFloat &A, const APFloat &B) { return A + B; },
      [](const APInt &A, const APInt &B) { return A + B; });
}

OpFoldResult SubOp::fold(FoldAdaptor Operands) {
  if (Value Lhs = foldNeutral(*this, Operands.getRhs(), 0))
    return Lhs;
  return foldSplats(
      getType(), Operands.getOperands(),
      [](const APFloat &A, const APFloat &B) { return A - B; },
      [](const APInt &A, const APInt &B) { return A - B; });
}

OpFoldResult MulOp::fold(FoldAdaptor Operands) {
  if (Value Lhs = foldNeutral(*this, Operands.getRhs(), 1))
    return Lhs;
  return foldSplats(
      getType(), Operands.getOperands(),
      [](const APFloat &A, const APFloat &B) { return A * B; },
      [](const APInt &A, const APInt &B) { return A * B; });
}

OpFoldResult DivOp::fold(FoldAdaptor Operands) {
  if (Value Lhs = foldNeutral(*this, Operands.getRhs(), 1))
    return Lhs;
  return foldSplats(
      getType(), Operands.getOperands(),
      [](const APFloat &A, const APFloat &B) { return A / B; },
      [](const APInt &A, const APInt &B) {
        return B.isZero() ? APInt::getZero(A.getBitWidth()) : A.sdiv(B);
      });
}

//===----------------------------------------------------------------------===//
// select, cast, dropout
//===----------------------------------------------------------------------===//

OpFoldResult SelectOp::fold(FoldAdaptor Operands) {
  if (std::optional<APInt> Condition = getIntSplat(Operands.getCondition())) {
    Value Chosen = Condition->isZero() ? getFalseValue() : getTrueValue();
    if (Chosen.getType() == getType())
      return Chosen;
  }
  if (getTrueValue() == getFalseValue() &&
      getTrueValue().getType() == getType())
    return getTrueValue();
  return {};
}

/// Converts a splat; null where the result is not defined (a float that does
/// not fit an integer).
static Attribute foldCast(ShapedType Type, Attribute Operand) {
  std::optional<APFloat> Float = getFloatSplat(Operand);
  std::optional<APInt> Int = getIntSplat(Operand);
  // No constant holds what nothing computes with.
  bool IsStorage = isa<FloatType>(Type.getElementType()) &&
                   !isComputedFloat(Type.getElementType());
  if ((!Float && !Int) || IsStorage)
    return nullptr;
  auto To = dyn_cast<IntegerType>(Type.getElementType());
  if (!To) {
    if (Float)
      return getFloatSplat(Type, *Float);
    APFloat Value(APFloat::IEEEsingle());
    bool Signed = Int->getBitWidth() > 1;
    Value.convertFromAPInt(*Int, Signed, APFloat::rmNearestTiesToEven);
    return getFloatSplat(Type, Value);
  }
  if (To.getWidth() == 1) {
    bool NotZero = Float ? !Float->isZero() : !Int->isZero();
    return DenseElementsAttr::get(Type, APInt(1, NotZero));
  }
  if (Int)
    return DenseElementsAttr::get(Type, Int->getBitWidth() == 1
                                            ? Int->zext(To.getWidth())
                                            : Int->sextOrTrunc(To.getWidth()));
  APSInt Value(To.getWidth(), /*isUnsigned=*/false);
  bool IsExact = false;
  if (Float->convertToInteger(Value, APFloat::rmTowardZero, &IsExact) &
      APFloat::opInvalidOp)
    return nullptr;
  return DenseElementsAttr::get(Type, static_cast<APInt>(Value));
}

OpFoldResult CastOp::fold(FoldAdaptor Operands) {
  if (getOperand().getType() == getType())
    return getOperand();
  if (Attribute Value = foldCast(getType(), Operands.getOperand()))
    return Value;
  // A first cast that lost nothing does not matter.
  auto Inner = getOperand().getDefiningOp<CastOp>();
  if (!Inner || !isLossless(Inner.getOperand().getType().getElementType(),
                            Inner.getType().getElementType()))
    return {};
  if (Inner.getOperand().getType() == getType())
    return Inner.getOperand();
  getOperandMutable().assign(Inner.getOperand());
  return getResult();
}

OpFoldResult DropoutOp::fold(FoldAdaptor) {
  if (getP().isZero())
    return getOperand();
  return {};
}
