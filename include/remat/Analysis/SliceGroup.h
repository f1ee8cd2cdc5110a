//===- SliceGroup.h - operations that can run slice by slice ----*- C++ -*-===//
//
// The operations around a large value that can all be cut along the dimensions
// that one of its dimensions runs through: they can run one slice after the
// other, and of the large values only a slice is there at a time.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_ANALYSIS_SLICEGROUP_H
#define REMAT_ANALYSIS_SLICEGROUP_H

#include "remat/IR/RematOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

namespace remat {

struct SliceGroup {
  /// The operations, in the block's order, each with the loop that is cut.
  llvm::MapVector<mlir::Operation *, Loop> Ops;
  /// The dimension along which each value is cut: results of the operations,
  /// and operands that come from elsewhere.
  llvm::DenseMap<mlir::Value, int64_t> Cut;

  bool contains(mlir::Value V) const {
    mlir::Operation *Op = V.getDefiningOp();
    return Op && Ops.contains(Op);
  }
  /// Whether an operation that is not one of these, or the return, reads `V`.
  bool isReadElsewhere(mlir::Value V) const;
  /// Bytes that need not be there at a time if `Count` slices run, less what
  /// the sums and the copies of slices take. Negative where that is more.
  int64_t getGain(int64_t Count) const;
};

/// The group of the values of at least a fourth of `Seed`'s bytes that hang
/// together with it, cut along its dimension `Dim` into `Count` parts. Nothing
/// where an operation among them cannot be cut so, where a size is no multiple
/// of `Count`, or where what lies between two of the operations cannot run
/// before or behind all of them.
std::optional<SliceGroup> findSliceGroup(mlir::Value Seed, int64_t Dim,
                                         int64_t Count);

} // namespace remat

#endif // REMAT_ANALYSIS_SLICEGROUP_H
