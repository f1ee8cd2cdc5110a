//===- Targets.h - from an attribute to a target ----------------*- C++ -*-===//

#ifndef REMAT_TARGET_TARGETS_H
#define REMAT_TARGET_TARGETS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "remat/Analysis/Target.h"
#include <memory>

namespace remat {

/// What `Attr` stands for.
std::unique_ptr<Target> createTarget(TargetAttr Attr);

/// Where `Func` runs: its `remat.target`, or the host, with the times of its
/// `remat.costs`.
std::unique_ptr<Target> createTarget(mlir::func::FuncOp Func);

} // namespace remat

#endif // REMAT_TARGET_TARGETS_H
