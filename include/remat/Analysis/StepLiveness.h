//===- StepLiveness.h - bytes alive at each step, kept up to date -*- C++ -*-=//
//
// The one place that knows from where to where a value needs memory, and which
// result takes over whose bytes. A step is one operation, or several that will
// be one kernel at the place of the last of them; steps can be merged, and the
// bytes alive follow. Memory assignment asks for a function as it is, the fuser
// for what it would be.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_ANALYSIS_STEPLIVENESS_H
#define REMAT_ANALYSIS_STEPLIVENESS_H

#include "remat/Analysis/Uses.h"
#include "llvm/ADT/SetVector.h"

namespace remat {

/// `Bytes` rounded up to whole units; nothing takes less than one unit.
/// Nothing if that does not fit int64_t.
std::optional<int64_t> alignBytes(int64_t Bytes);

/// The shape over which `Op` is elementwise, or rolls; nothing if it cannot be
/// part of a pointwise group.
std::optional<llvm::ArrayRef<int64_t>> getPointwiseShape(mlir::Operation *Op);

/// Whether `Reader` reads `V` by a roll: other elements than those at the
/// places of its result.
bool rolls(mlir::Operation *Reader, mlir::Value V);

/// Whether `V` is a sum over all dimensions but the last, of an operation of
/// its own or of a kernel.
bool isSum(mlir::Value V);

/// Whether `Op` is a constant that a group makes anew instead of reading it.
bool isSplatConstant(mlir::Operation *Op);

/// Whether `Result` may be written over the bytes of `Root` while its operation
/// still reads them: it reads them whole, and only through operands that the
/// operation lets this result overwrite. True if it does not read them.
bool mayOverwrite(mlir::OpResult Result, mlir::Value Root,
                  const Storages &Places);

/// Operations that run as one, in block order. Empty where a view stands or
/// where a step was that became part of another.
struct Step {
  llvm::SmallVector<mlir::Operation *, 4> Ops;
  bool isGroup() const { return Ops.size() > 1; }
};

class StepLiveness {
public:
  /// A sum of sizes that fit 64 bits each.
  using Sum = __int128;

  /// What is assumed of splat constants: each is written once, or every
  /// pointwise operation will be part of a kernel that makes them anew.
  enum class Splats { Stored, MadeInKernels };

  /// Block order is the order of execution.
  StepLiveness(mlir::func::FuncOp Func, Splats Mode);

  /// Steps by the position of their last operation in the block.
  unsigned getNumPositions() const { return Steps.size(); }
  const Step &getStep(unsigned Position) const { return Steps[Position]; }
  /// Where `Op` runs; the number of positions for the terminator. A view has a
  /// position, though it does not run.
  int64_t getPosition(mlir::Operation *Op) const { return Positions.at(Op); }
  /// How many steps there were from one position to a later one.
  unsigned getDistance(unsigned From, unsigned To) const {
    return Ordinals[To] - Ordinals[From];
  }

  /// Values that the step reads from others, in a fixed order; no constants
  /// that it makes anew.
  llvm::SmallVector<mlir::Value> getInputs(const Step &S) const;
  /// Values of the step that others read, in order.
  llvm::SmallVector<mlir::Value> getOutputs(const Step &S) const;

  /// The first and last position that need a value's bytes.
  struct Interval {
    int64_t Begin, End, Bytes;
  };
  /// Of a value that is no view; nothing if it has no memory of its own that
  /// begins and ends: an argument or what overwrites one, a constant of the
  /// program, a value inside a kernel.
  std::optional<Interval> getInterval(mlir::Value Root) const;
  /// The last position that reads `Root`, which is no view; -1 if none does.
  int64_t getLastRead(mlir::Value Root) const {
    mlir::Operation *Reader = Readers.get(Root);
    return Reader ? getPosition(Reader) : -1;
  }

  /// A result and the value that dies at its step, whose bytes it takes over.
  using Reuse = std::pair<mlir::Value, mlir::Value>;
  llvm::SmallVector<Reuse> getReuses(unsigned Position) const;

  /// Bytes of all intervals that a position needs; one more entry for the end
  /// of the function.
  llvm::ArrayRef<Sum> getLive() const { return Live; }

  /// Makes the operations of step `From` part of the later step `To`.
  void merge(unsigned From, unsigned To);
  /// Takes the last merge back; once.
  void undoMerge();
  /// What was alive at the positions of the last merge, from the first step's
  /// on, before it.
  llvm::ArrayRef<Sum> getLiveBeforeMerge() const { return Last.Live; }

  const Storages &getStorages() const { return Places; }
  const Overwrites &getOverwrites() const { return Written; }

private:
  using Roots = llvm::SmallSetVector<mlir::Value, 16>;
  using PositionSet = llvm::SmallSetVector<unsigned, 8>;

  /// What it takes to undo a merge.
  struct Merge {
    unsigned From = 0, To = 0;
    llvm::SmallVector<mlir::Operation *, 4> Ops;
    llvm::SmallVector<std::pair<mlir::Value, mlir::Operation *>> Readers;
    llvm::SmallVector<Sum> Live;
  };

  void findLive();
  bool isMadeAnew(mlir::Operation *Reader, mlir::Value Operand) const;
  bool mayReuseInGroup(const Step &S, mlir::Value Result, mlir::Value Root,
                       llvm::ArrayRef<mlir::Value> Inputs) const;
  void moveOps(unsigned From, unsigned To,
               llvm::ArrayRef<mlir::Operation *> Ops);
  void noteReads(mlir::Operation *Reader);
  /// Adds `Sign` times what `Values` and the reuses at `InPlace` contribute to
  /// the bytes alive at the positions of the last merge.
  void addContributions(const Roots &Values, const PositionSet &InPlace,
                        int64_t Sign);

  Splats Mode;
  llvm::SmallVector<Step> Steps;
  llvm::DenseMap<mlir::Operation *, int64_t> Positions;
  llvm::SmallVector<unsigned> Ordinals; ///< of steps, views not counted
  Storages Places;
  Overwrites Written;
  LastReaders Readers;
  llvm::SmallVector<Sum> Live;
  Merge Last;
};

} // namespace remat

#endif // REMAT_ANALYSIS_STEPLIVENESS_H
