//===- ReverseWalk.h - gradients through a block ----------------*- C++ -*-===//
//
// One walk backward over a block of operations, a graph or the body of a scan.
// The adjoint of each operation comes from its DifferentiableOpInterface.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_IR_REVERSEWALK_H
#define REMAT_IR_REVERSEWALK_H

#include "mlir/IR/Builders.h"
#include "remat/IR/RematOps.h"
#include "llvm/ADT/DenseSet.h"

namespace remat {

/// Adds to `Active` what depends on its values: float tensors that operations
/// of `Body` make of them. No gradient passes a stop_gradient.
void markActive(mlir::Block &Body, llvm::DenseSet<mlir::Value> &Active);

/// Whether gradients can flow to a value at all.
bool isFloatTensor(mlir::Value V);

class ReverseWalk {
public:
  /// Gradients flow to the values of `Active` only, and are built by `Builder`;
  /// both must outlive the walk.
  ReverseWalk(mlir::OpBuilder &Builder,
              const llvm::DenseSet<mlir::Value> &Active)
      : Builder(Builder), Active(Active) {}

  /// Adds in the order of the calls, so that sums are the same at every run.
  void accumulate(mlir::Value Of, mlir::Value Gradient, mlir::Location Loc);
  /// Null for zero.
  mlir::Value getGradient(mlir::Value Of) const { return Gradients.lookup(Of); }

  /// Builds the adjoints of `Ops`, the last one first.
  mlir::LogicalResult run(llvm::ArrayRef<mlir::Operation *> Ops);

private:
  mlir::LogicalResult visit(mlir::Operation *Op);

  mlir::OpBuilder &Builder;
  const llvm::DenseSet<mlir::Value> &Active;
  llvm::DenseMap<mlir::Value, mlir::Value> Gradients;
};

/// The scan with each carry stacked as its steps find it, which is what its
/// adjoint reads; `Scan` itself where it does that already, else erased.
ScanOp stackCarries(ScanOp Scan);

} // namespace remat

#endif // REMAT_IR_REVERSEWALK_H
