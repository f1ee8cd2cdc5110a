//===- UpdateBuilder.h - shorthands for operations of updates ---*- C++ -*-===//

#ifndef REMAT_LIB_TRANSFORMS_UPDATEBUILDER_H
#define REMAT_LIB_TRANSFORMS_UPDATEBUILDER_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "remat/IR/RematOps.h"

namespace remat {

/// Shorthands: all values are f32, numbers are rank-0 constants.
class UpdateBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using mlir::ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  mlir::Value number(double Value) {
    auto Shape = mlir::RankedTensorType::get({}, getF32Type());
    return ConstantOp::create(
        *this, mlir::DenseElementsAttr::get(Shape, getF32FloatAttr(Value)));
  }
  /// A number of steps, i64.
  mlir::Value count(int64_t Count) {
    auto Shape = mlir::RankedTensorType::get({}, getI64Type());
    return ConstantOp::create(
        *this, mlir::DenseElementsAttr::get(Shape, getI64IntegerAttr(Count)));
  }
  mlir::Value select(mlir::Value Condition, mlir::Value A, mlir::Value B) {
    return SelectOp::create(*this, Condition, A, B);
  }
  mlir::Value add(mlir::Value A, mlir::Value B) {
    return AddOp::create(*this, A, B);
  }
  mlir::Value sub(mlir::Value A, mlir::Value B) {
    return SubOp::create(*this, A, B);
  }
  mlir::Value mul(mlir::Value A, mlir::Value B) {
    return MulOp::create(*this, A, B);
  }
  mlir::Value mul(mlir::Value A, double B) { return mul(A, number(B)); }
  mlir::Value div(mlir::Value A, mlir::Value B) {
    return DivOp::create(*this, A, B);
  }
  mlir::Value max(mlir::Value A, double B) {
    return MaxOp::create(*this, A, number(B));
  }
  mlir::Value min(mlir::Value A, mlir::Value B) {
    return MinOp::create(*this, A, B);
  }
  mlir::Value sqrt(mlir::Value A) { return SqrtOp::create(*this, A); }
  mlir::Value rsqrt(mlir::Value A) { return RsqrtOp::create(*this, A); }
  /// Old * Decay + New * (1 - Decay).
  mlir::Value average(mlir::Value Old, mlir::Value New, double Decay) {
    return add(mul(Old, Decay), mul(New, 1.0 - Decay));
  }
  /// Old + (New - Old) * Share.
  mlir::Value approach(mlir::Value Old, mlir::Value New, mlir::Value Share) {
    return add(Old, mul(sub(New, Old), Share));
  }
  mlir::Value mean(mlir::Value A, llvm::ArrayRef<int64_t> Dims, bool KeepDims) {
    return ReduceOp::create(*this, Reduction::mean, A, Dims, KeepDims);
  }
  /// The root of the mean square of all elements.
  mlir::Value rootMeanSquare(mlir::Value A) {
    auto Rank = llvm::cast<mlir::RankedTensorType>(A.getType()).getRank();
    return sqrt(mean(mul(A, A), llvm::to_vector(llvm::seq<int64_t>(Rank)),
                     /*KeepDims=*/false));
  }
  /// A matrix product, summed and given in f32.
  mlir::Value product(mlir::Value A, mlir::Value B, bool TransposeA = false,
                      bool TransposeB = false) {
    auto getType = [](mlir::Value V) {
      return llvm::cast<mlir::RankedTensorType>(V.getType());
    };
    auto Type = mlir::RankedTensorType::get(
        {getType(A).getDimSize(TransposeA), getType(B).getDimSize(!TransposeB)},
        getF32Type());
    return MatmulOp::create(*this, Type, A, B, /*bias=*/mlir::Value(),
                            /*addend=*/mlir::Value(), TransposeA, TransposeB);
  }
  mlir::Value to(mlir::Type Element, mlir::Value A) {
    auto From = llvm::cast<mlir::RankedTensorType>(A.getType());
    if (From.getElementType() == Element)
      return A;
    return CastOp::create(*this, From.clone(Element), A);
  }
};

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_UPDATEBUILDER_H
