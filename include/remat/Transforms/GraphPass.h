//===- GraphPass.h - the base of every pass ---------------------*- C++ -*-===//

#ifndef REMAT_TRANSFORMS_GRAPHPASS_H
#define REMAT_TRANSFORMS_GRAPHPASS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace remat {

/// A pass over a function that is a graph: `runOnGraph` may rely on one block
/// of this dialect's operations that ends in a return. A declaration is left
/// alone; any other function is an error.
class GraphPass : public mlir::OperationPass<mlir::func::FuncOp> {
protected:
  explicit GraphPass(mlir::TypeID Id) : OperationPass(Id) {}
  GraphPass(const GraphPass &) = default;

  virtual void runOnGraph() = 0;

private:
  void runOnOperation() final;
};

} // namespace remat

#endif // REMAT_TRANSFORMS_GRAPHPASS_H
