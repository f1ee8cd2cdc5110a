//===- FuseModel.h - groups of operations and what they cost ----*- C++ -*-===//
//
// Private to remat-fuse. A unit is a step of the program that fusion would
// make: one operation, or several that become one kernel at the place of the
// last of them. The model knows the bytes alive at each unit, exactly as the
// liveness analysis would find them, while units are merged.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_FUSEMODEL_H
#define REMAT_LIB_TRANSFORMS_FUSEMODEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "remat/Analysis/Liveness.h"
#include "remat/IR/RematOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace remat {

/// The shape over which `Op` is elementwise; nothing if it cannot be part of a
/// pointwise group.
std::optional<llvm::ArrayRef<int64_t>> getPointwiseShape(mlir::Operation *Op);

/// Whether `Op` is a constant that a group makes anew instead of reading it.
bool isSplatConstant(mlir::Operation *Op);
bool readsSplatConstant(mlir::Operation *Op);

/// Whether one kernel can compute both, where `Consumer` reads `Producer`.
bool mayShareKernel(mlir::Operation *Producer, mlir::Operation *Consumer);

/// Replaces cheap elementwise operations by a clone beside each reader where
/// that saves traffic and keeps nothing alive for longer. Block order must be
/// the order of execution.
void cloneCheapOperations(mlir::func::FuncOp Func);

struct FuseUnit {
  /// In block order; empty once merged into another unit.
  llvm::SmallVector<mlir::Operation *, 4> Ops;
  bool isGroup() const { return Ops.size() > 1; }
};

class FuseModel {
public:
  explicit FuseModel(mlir::func::FuncOp Func);

  unsigned getNumUnits() const { return Units.size(); }
  const FuseUnit &getUnit(unsigned Number) const { return Units[Number]; }
  /// The unit of `Op`; nothing for views and the terminator.
  std::optional<unsigned> getUnitOf(mlir::Operation *Op) const {
    auto It = UnitOf.find(Op);
    return It == UnitOf.end() ? std::nullopt : std::optional(It->second);
  }

  /// Values that the unit reads from others, in a fixed order; splat
  /// constants are not among them.
  llvm::SmallVector<mlir::Value> getInputs(const FuseUnit &Unit) const;
  /// Values of the unit that others read, in order.
  llvm::SmallVector<mlir::Value> getOutputs(const FuseUnit &Unit) const;

  struct MergeRules {
    bool SeveralOutputs =
        false;                ///< the producer's values may be read elsewhere
    bool UseHeadroom = false; ///< stay below the peak instead of locally level
  };
  /// Merges `Producer` into the later unit `Consumer` if the result is legal
  /// and does not raise the peak. Both must be pointwise over one shape.
  bool tryMerge(unsigned Producer, unsigned Consumer, const MergeRules &Rules);

  /// A digest for tests and remarks: the largest number of bytes alive at a
  /// unit, arguments and workspaces excluded.
  int64_t getPeak() const;

private:
  /// The first and last unit that need a value's bytes.
  struct Interval {
    int64_t Begin, End, Bytes;
  };
  using Roots = llvm::SmallSetVector<mlir::Value, 16>;
  using UnitSet = llvm::SmallSetVector<unsigned, 8>;

  std::optional<Interval> getInterval(mlir::Value Root) const;
  void noteRead(mlir::Operation *Reader, int64_t At);
  void findLive();
  /// Bytes that outputs of a unit take over from its inputs.
  int64_t getInPlaceBytes(unsigned Number) const;
  bool mayReuse(const FuseUnit &Unit, mlir::Value Output,
                mlir::Value Root) const;
  mlir::Operation *getWriter(mlir::Value Root) const;
  bool isLegal(unsigned Producer, unsigned Consumer,
               const MergeRules &Rules) const;
  bool isSmall(const FuseUnit &First, const FuseUnit &Second) const;
  /// Adds `Sign` times what `Values` and the in-place reuse of `InPlace`
  /// contribute to the bytes alive at units `First`, `First` + 1, ...
  void addContributions(const Roots &Values, const UnitSet &InPlace,
                        int64_t First, int64_t Sign,
                        llvm::MutableArrayRef<int64_t> Sum) const;
  void moveOps(unsigned From, unsigned To,
               llvm::ArrayRef<mlir::Operation *> Ops);
  /// The part of `addContributions` that in-place reuse has.
  void addInPlace(const UnitSet &InPlace, int64_t First, int64_t Sign,
                  llvm::MutableArrayRef<int64_t> Sum) const;

  llvm::SmallVector<FuseUnit> Units;
  llvm::DenseMap<mlir::Operation *, unsigned> UnitOf;
  /// For views: the number of the first unit behind it.
  llvm::DenseMap<mlir::Operation *, unsigned> ViewPosition;
  const Overwrites Written;
  /// For each value with bytes of its own the last unit that reads them, also
  /// through views; the number of units if the function returns them. Of a
  /// splat constant, readers that make it anew do not count.
  llvm::DenseMap<mlir::Value, int64_t> LastReads;
  Storages Places;
  llvm::SmallVector<int64_t> Live;
  int64_t InitialPeak = 0;
};

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_FUSEMODEL_H
