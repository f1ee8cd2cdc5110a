//===- KernelPlan.h - how own CUDA kernels split their work -----*- C++ -*-===//
//
// The split of an operation into launches and the workspace between them. The
// planner asks for the bytes, the kernel library prints what they say. A split
// depends on types and attributes alone, never on a device or a budget: the
// order of every sum, and so every bit of the result, stays the same.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TARGET_CUDA_KERNELPLAN_H
#define REMAT_TARGET_CUDA_KERNELPLAN_H

#include "mlir/IR/Operation.h"
#include "remat/Support/EmbeddingRun.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace remat::cuda {

/// Of Hopper, for which kernels that fill a GPU split their work.
inline constexpr int64_t Multiprocessors = 132;

/// Rows handled by 32 threads each or by a block each.
struct RowPlan {
  int64_t Threads = 32; ///< of one row
  int64_t RowsPerBlock = 8;
  int64_t getBlockThreads() const { return Threads * RowsPerBlock; }
};
RowPlan getRowPlan(int64_t Columns);

/// A reduction of [Outer, Reduced, Inner] over its middle dimension, in
/// `Chunks` parts a result whose partial results lie in the workspace. Chunks
/// is 1 where one stage does.
struct ReducePlan {
  int64_t Outer = 1, Reduced = 1, Inner = 1;
  int64_t Chunks = 1;
  /// The reduced dimensions are not neighbours: one warp a result, strided.
  bool Strided = false;
  /// Instead, where they are all before and behind the kept ones, as those of a
  /// batch norm are: first rows of `Reduced` elements, then columns of as many.
  int64_t Columns = 1;
  int64_t getPartials() const {
    return Chunks == 1 && Columns == 1 ? 0 : Columns * Outer * Chunks * Inner;
  }
};
ReducePlan getReducePlan(llvm::ArrayRef<int64_t> Shape,
                         llvm::ArrayRef<int64_t> Dims);

/// Blocks of a normalisation's gradient; each leaves one partial row of the
/// sums over rows, which are the gradients of its weights.
int64_t getNormBackwardBlocks(int64_t Rows);

/// Parts in which a sum over all of `Elements` is made.
int64_t getFlatChunks(int64_t Elements);

/// The radix sort of embedding_backward, stable and of eight bits a pass, and
/// what lies in its workspace.
struct SortPlan {
  static constexpr int64_t Block = 1024; ///< ids that a block takes at a time
  static constexpr int64_t Digits = 256;
  int64_t Ids = 0, Rows = 0, Columns = 0, Passes = 0;
  int64_t Tile = 0, Tiles = 0; ///< ids of a block, and blocks
  int64_t getRuns() const { return Ids / EmbeddingRun; }
  /// Byte offsets in the workspace: two arrays each of keys and positions, the
  /// digit counts of each pass and tile, where each row's positions begin, the
  /// first of them, and the f32 sums of runs.
  int64_t getKeys(int64_t Which) const;
  int64_t getPositions(int64_t Which) const { return getKeys(2 + Which); }
  int64_t getCounts(int64_t Pass) const;
  int64_t getBegins() const { return getCounts(Passes); }
  int64_t getFirsts() const;
  int64_t getRunSums() const;
  int64_t getBytes() const { return getRunSums() + getRuns() * Columns * 4; }
};
SortPlan getSortPlan(int64_t Ids, int64_t TableRows, int64_t Columns);

/// What the own kernels of an operation take.
struct KernelNeeds {
  int64_t Workspace = 0; ///< bytes
  int64_t Launches = 1;
};

} // namespace remat::cuda

#endif // REMAT_TARGET_CUDA_KERNELPLAN_H
