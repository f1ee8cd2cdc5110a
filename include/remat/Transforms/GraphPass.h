//===- GraphPass.h - the base of every pass ---------------------*- C++ -*-===//

#ifndef REMAT_TRANSFORMS_GRAPHPASS_H
#define REMAT_TRANSFORMS_GRAPHPASS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "remat/IR/RematDialect.h"

namespace remat {

/// A pass over a function that is a graph: `runOnGraph` may rely on one block
/// of this dialect's operations that ends in a return. A declaration is left
/// alone; any other function is an error.
class GraphPass : public mlir::OperationPass<mlir::func::FuncOp> {
protected:
  explicit GraphPass(mlir::TypeID Id) : OperationPass(Id) {}
  GraphPass(const GraphPass &) = default;

  virtual void runOnGraph() = 0;

  /// The stage from which on the pass is refused, if there is one.
  virtual std::optional<Stage> getEnd() const { return std::nullopt; }

private:
  void runOnOperation() final;
};

/// A pass over a graph that has not reached stage `End`.
template <Stage End> class GraphPassBefore : public GraphPass {
protected:
  using GraphPass::GraphPass;
  std::optional<Stage> getEnd() const final { return End; }
};

/// The stage that `Func` says it has reached.
std::optional<Stage> getStage(mlir::func::FuncOp Func);
void setStage(mlir::func::FuncOp Func, Stage Reached);

} // namespace remat

#endif // REMAT_TRANSFORMS_GRAPHPASS_H
