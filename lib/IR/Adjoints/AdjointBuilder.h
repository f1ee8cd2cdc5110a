//===- AdjointBuilder.h - what adjoints are written with --------*- C++ -*-===//
//
// Shorthands for the few operations that adjoints are made of. Scalars are
// rank-0 constants, which broadcast. An adjoint of several elementwise steps
// computes in f32 and rounds once, as one kernel would: `f32` opens a value,
// `cast` closes it; on f32 graphs both are the value itself.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_IR_ADJOINTS_ADJOINTBUILDER_H
#define REMAT_LIB_IR_ADJOINTS_ADJOINTBUILDER_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "remat/IR/RematOps.h"

namespace remat {

class AdjointBuilder : public mlir::ImplicitLocOpBuilder {
public:
  AdjointBuilder(mlir::OpBuilder &Builder, mlir::Operation *Forward)
      : ImplicitLocOpBuilder(Forward->getLoc(), Builder) {}

  /// A rank-0 constant.
  mlir::Value scalar(double Value, mlir::Type ElementType);
  /// A rank-0 constant of the element type of `Like`.
  mlir::Value scalarLike(double Value, mlir::Value Like);
  /// `Operand` with another element type; itself if it has it already.
  mlir::Value cast(mlir::Value Operand, mlir::Type ElementType);
  mlir::Value f32(mlir::Value Operand) { return cast(Operand, getF32Type()); }
  /// `Operand` under another shape; itself if it has it already.
  mlir::Value reshape(mlir::Value Operand, llvm::ArrayRef<int64_t> Shape);
  /// Sums over the dimensions that broadcasting `Shape` would have repeated;
  /// null of null.
  mlir::Value sumTo(mlir::Value Operand, llvm::ArrayRef<int64_t> Shape);

  mlir::Value add(mlir::Value Lhs, mlir::Value Rhs);
  mlir::Value sub(mlir::Value Lhs, mlir::Value Rhs);
  mlir::Value mul(mlir::Value Lhs, mlir::Value Rhs);
  mlir::Value mul(mlir::Value Lhs, double Rhs);
  mlir::Value div(mlir::Value Lhs, mlir::Value Rhs);
  mlir::Value neg(mlir::Value Operand);
  mlir::Value compare(Predicate How, mlir::Value Lhs, mlir::Value Rhs);
  mlir::Value select(mlir::Value Condition, mlir::Value True,
                     mlir::Value False);

  /// The gradient of a unary operation's operand, which `Body` makes of that of
  /// the result and of `Read`, a value of the forward or null: in f32 and
  /// rounded to the type of `Grad`, or as they come.
  mlir::Value
  unary(mlir::Value Grad, mlir::Value Read, bool InF32,
        llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> Body);
  /// `Grad` where `Wins` holds between `Self` and `Other`, half of it where
  /// they are equal, zero elsewhere.
  mlir::Value gradientWhere(Predicate Wins, mlir::Value Self, mlir::Value Other,
                            mlir::Value Grad);
  /// `Grad` times `Along` / (Y^2 + X^2), in f32.
  mlir::Value angleGradient(mlir::Value Y, mlir::Value X, mlir::Value Along,
                            mlir::Value Grad);
  /// d(x^y)/dx = y x^(y-1), 0 where y is 0; null if that is everywhere.
  mlir::Value powBaseGradient(mlir::Value Base, mlir::Value Exponent,
                              mlir::Value Grad);
  /// d(x^y)/dy = x^y ln x, 0 where x is 0: the limit for every y > 0.
  mlir::Value powExponentGradient(mlir::Value Base, mlir::Value Result,
                                  mlir::Value Grad);
};

inline mlir::RankedTensorType tensorType(mlir::Value V) {
  return llvm::cast<mlir::RankedTensorType>(V.getType());
}
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value V) {
  return tensorType(V).getShape();
}
inline mlir::Type elementOf(mlir::Value V) {
  return tensorType(V).getElementType();
}

} // namespace remat

#endif // REMAT_LIB_IR_ADJOINTS_ADJOINTBUILDER_H
