//===- Liveness.h - which bytes are needed when -----------------*- C++ -*-===//
//
// The memory of a function whose block order is its order of execution: which
// values share a buffer, and from which operation to which each buffer lives.
// Everything but the offsets is decided here.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_ANALYSIS_LIVENESS_H
#define REMAT_ANALYSIS_LIVENESS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include <cstdint>
#include <optional>

namespace remat {

/// Alignment of every buffer, and the unit that sizes are rounded up to.
inline constexpr int64_t BufferAlignment = 256;

/// `Bytes` rounded up to whole units; nothing takes less than one unit.
/// Nothing if that does not fit int64_t.
std::optional<int64_t> alignBytes(int64_t Bytes);

/// Whether the result of `Op` is bytes of operand 0, so that it needs neither
/// memory nor a step. A contiguous slice that is not aligned is a copy.
bool isView(mlir::Operation *Op);

/// A constant whose bytes are part of the program: not a splat.
bool isResidentConstant(mlir::Operation *Op);

/// The value whose bytes a value shows, through views, and where they begin in
/// it.
struct Storage {
  mlir::Value Root;
  int64_t Offset = 0;
};
Storage getStorage(mlir::Value V);

/// The same for many values of a function that stays as it is: each view is
/// looked through once, where a chain of N views would be N steps for each.
class Storages {
public:
  Storage get(mlir::Value V) const;

private:
  mutable llvm::DenseMap<mlir::Value, Storage> Known; ///< of views
};

/// Visits every operand that reads the bytes of `V`, also through views, until
/// the callback returns true; says whether it did.
bool anyRead(mlir::Value V, llvm::function_ref<bool(mlir::OpOperand &)> Visit);

/// Index of the result that takes over the memory of `Argument`, if it is
/// donated.
std::optional<unsigned> getDonatedResult(mlir::BlockArgument Argument);

/// For each value that is written over a donated argument's memory, that
/// argument. An argument that is donated to the result that returns it is not
/// listed.
llvm::DenseMap<mlir::Value, mlir::BlockArgument>
getOverwrites(mlir::func::FuncOp Func);

/// Memory that one value, or several in turn, occupy.
struct Buffer {
  int64_t Bytes = 0; ///< aligned
  /// First and last operation, by position in the block, that need it. -1: it
  /// is there before the first; the number of operations: to the end.
  int64_t Begin = 0, End = 0;
  /// The values that own the buffer one after the other, in place; views of
  /// them are not listed.
  llvm::SmallVector<mlir::Value, 1> Values;

  bool isLiveAt(int64_t Position) const {
    return Begin <= Position && Position <= End;
  }
};

class BufferLiveness {
public:
  /// Fails with a diagnostic if a size does not fit int64_t, or if a donated
  /// argument cannot be overwritten by its result in this order.
  static mlir::FailureOr<BufferLiveness> compute(mlir::func::FuncOp Func);

  /// The operations in order of execution, without the terminator.
  llvm::ArrayRef<mlir::Operation *> getOperations() const { return Ops; }
  int64_t getPosition(mlir::Operation *Op) const { return Positions.at(Op); }

  llvm::ArrayRef<Buffer> getBuffers() const { return Buffers; }
  /// Number of the buffer that holds `V`, also if `V` is a view.
  unsigned getBuffer(mlir::Value V) const {
    return BufferOf.at(Places.get(V).Root);
  }
  const Storages &getStorages() const { return Places; }
  /// Position of the last reader of `V`'s bytes as `V` made them, its views'
  /// readers included; the number of operations if the function returns them.
  int64_t getLastRead(mlir::Value V) const {
    return LastReads.lookup_or(Places.get(V).Root, -1);
  }
  /// Bytes of all buffers that live at each operation, workspaces excluded.
  const llvm::SmallVector<int64_t> &getLiveBytes() const { return LiveBytes; }

private:
  mlir::LogicalResult addOperation(mlir::Operation *Op, int64_t Position);
  mlir::LogicalResult addResult(mlir::OpResult Result, int64_t Position);
  std::optional<unsigned> findReusable(mlir::OpResult Result,
                                       int64_t Position) const;
  mlir::LogicalResult addBuffer(mlir::Value V, int64_t Begin, int64_t End);
  void join(mlir::Value V, unsigned Number, int64_t End);
  mlir::LogicalResult sumLiveBytes(mlir::func::FuncOp Func);

  llvm::SmallVector<mlir::Operation *> Ops;
  llvm::DenseMap<mlir::Operation *, int64_t> Positions;
  llvm::SmallVector<Buffer> Buffers;
  llvm::DenseMap<mlir::Value, unsigned> BufferOf;
  llvm::DenseMap<mlir::Value, int64_t> LastReads;
  llvm::DenseMap<mlir::Value, mlir::BlockArgument> Overwrites;
  llvm::SmallVector<int64_t> LiveBytes;
  Storages Places;
};

/// Whether `Result` may be written over the bytes of `Root` while its operation
/// still reads them: it reads them whole, and only through operands that the
/// operation lets this result overwrite. True if it does not read them.
bool mayOverwrite(mlir::OpResult Result, mlir::Value Root,
                  const Storages &Places);

} // namespace remat

#endif // REMAT_ANALYSIS_LIVENESS_H
