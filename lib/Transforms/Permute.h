//===- Permute.h - dimensions in another order ------------------*- C++ -*-===//
//
// Private to the passes that write operations anew over permuted tensors. An
// order says for each new dimension which old one it is.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_PERMUTE_H
#define REMAT_LIB_TRANSFORMS_PERMUTE_H

#include "remat/IR/RematOps.h"

namespace remat {

llvm::SmallVector<int64_t> permute(llvm::ArrayRef<int64_t> Numbers,
                                   llvm::ArrayRef<int64_t> Order);

/// `Type` with its dimensions in that order.
mlir::RankedTensorType permute(mlir::RankedTensorType Type,
                               llvm::ArrayRef<int64_t> Order);

/// Whether all that moves past each other has one element: the elements stay
/// where they are.
bool isViewInOrder(mlir::RankedTensorType Type, llvm::ArrayRef<int64_t> Order);

/// `V` with its dimensions in that order: a view where it can be one, else a
/// transpose.
mlir::Value reorder(mlir::OpBuilder &B, mlir::Value V,
                    llvm::ArrayRef<int64_t> Order);

/// With as many dimensions of one element before its own as make `Rank`.
mlir::RankedTensorType extendRank(mlir::RankedTensorType Type, int64_t Rank);
mlir::Value extendRank(mlir::OpBuilder &B, mlir::Value V, int64_t Rank);

/// Whether `writeInOrder` makes what the operation makes: concat, slice,
/// pad, roll and elementwise operations. Random numbers belong to places in
/// memory: what draws them keeps its order.
bool mayWriteInOrder(mlir::Operation *Op);

/// Writes `Op` anew over its operands in that order. What a concat, slice,
/// pad or roll says of dimensions moves along; all other attributes stay.
mlir::Operation *writeInOrder(mlir::OpBuilder &B, mlir::Operation *Op,
                              mlir::ValueRange Operands,
                              llvm::ArrayRef<int64_t> Order);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_PERMUTE_H
