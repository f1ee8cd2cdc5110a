//===- ShardPlan.h - which part of each value a rank has --------*- C++ -*-===//
//
// The choice that remat-shard makes before it changes anything, in the manner
// of GSPMD (Xu et al., 2021): each operation runs in one of the ways that its
// loops allow, and where a value is made otherwise than it is read, ranks talk.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_SHARDPLAN_H
#define REMAT_LIB_TRANSFORMS_SHARDPLAN_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "remat/IR/RematOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace remat {

/// What a rank has of a value.
struct Layout {
  enum Kind {
    Whole, ///< all of it
    Cut,   ///< a part along `Dim`
    Sum    ///< a summand of the shape of the whole, in f32 where it is a float
  };
  Kind Is = Whole;
  int64_t Dim = 0;
  /// The dimension is so many equal blocks one behind the other, each of which
  /// is cut: query, key and value in one matrix are three.
  int64_t Blocks = 1;

  static Layout cut(int64_t Dim, int64_t Blocks = 1) {
    return {Cut, Dim, Blocks};
  }
  bool operator==(const Layout &Other) const = default;
};

/// One way to run an operation.
struct Way {
  enum Kind {
    Whole,   ///< every rank all of it
    Slice,   ///< a slice of the loop `Along`
    Placed,  ///< a slice of a loop of PlacedLoopOpInterface
    Regroup, ///< moves the blocks of what is cut already
    Linear   ///< on summands of its operands
  };
  Kind Is = Whole;
  llvm::SmallVector<Layout> Operands, Results;
  Loop Along = {};
};

/// Which layouts arguments come in and results must have.
struct ShardBoundary {
  llvm::DenseMap<mlir::Value, Layout> Arguments; ///< whole if not named
  llvm::SmallVector<Layout> Returned;
};

class ShardPlan {
public:
  /// For `Count` ranks.
  ShardPlan(mlir::func::FuncOp Graph, int64_t Count);

  /// Chooses a way for each operation, so that few bytes are sent: first in the
  /// order of the graph what is cheapest there, then each operation again while
  /// that saves bytes. Last, what is read in parts is made in parts.
  void choose(ShardBoundary Boundary);

  const Way &getWay(mlir::Operation *Op) const { return Ways.at(Op); }
  Layout getLayout(mlir::Value V) const;
  /// The other layouts in which operations read `V`, each once.
  llvm::SmallVector<Layout> getReads(mlir::Value V) const;
  /// What a rank sends in a step.
  double getBytes() const;
  int64_t getCount() const { return Count; }
  const ShardBoundary &getBoundary() const { return Boundary; }

private:
  std::vector<Way> listWays(mlir::Operation *Op) const;
  llvm::SmallVector<int64_t> listBlocksAround(mlir::Operation *Op,
                                              const Loop &Along) const;
  void addSlices(mlir::Operation *Op, std::vector<Way> &Ways) const;
  void addLinear(mlir::Operation *Op, std::vector<Way> &Ways) const;
  std::optional<Way> makeSlice(const Loop &Along, Way::Kind Is, int64_t Blocks,
                               mlir::Operation *Op) const;
  bool isPinned(mlir::Value V) const;
  void keepPinned(mlir::Operation *Op, std::vector<Way> &Ways) const;
  double getCost(mlir::Value V) const;
  double getCostAround(mlir::Operation *Op) const;
  double getSumCost(mlir::Value V) const;
  void chooseFirst(mlir::Operation *Op);
  bool improve(mlir::Operation *Op);
  void shrink(mlir::Operation *Op);

  mlir::Block &Body;
  int64_t Count;
  ShardBoundary Boundary;
  /// Whether operations get their first ways: those behind are not known.
  bool IsFirst = false;
  llvm::SmallVector<mlir::Operation *> Ops;
  llvm::DenseMap<mlir::Operation *, Way> Ways;
  /// What an operation's loops are does not change: they are asked for once.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Loop>> Loops, Placed;
};

/// How an operation that moves whole blocks (reshape, slice, pad, concat) runs
/// on what an operand, the first that is cut, has of them; nothing where it
/// does not.
std::optional<Way> regroup(mlir::Operation *Op,
                           llvm::function_ref<Layout(mlir::Value)> GetLayout,
                           int64_t Count);
/// Makes such an operation, whose operands are cut already, that of the part.
void becomeRegrouped(mlir::Operation *Op, const Way &W, int64_t Count);

/// The numbers of blocks that operations of the graph make of dimensions of
/// size `Size`, from 2 up, so that each can be cut into `Count` parts.
llvm::SmallVector<int64_t> listBlocks(mlir::func::FuncOp Graph, int64_t Size,
                                      int64_t Count);

/// Rewrites the graph as one rank's step, along the axis `Axis`.
void applyShardPlan(mlir::func::FuncOp Graph, const ShardPlan &Plan,
                    mlir::StringRef Axis);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_SHARDPLAN_H
