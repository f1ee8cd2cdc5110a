//===- Liveness.h - which bytes are needed when -----------------*- C++ -*-===//
//
// The memory of a function whose block order is its order of execution: which
// values share a buffer, and from which operation to which each buffer lives.
// Everything but the offsets is decided here.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_ANALYSIS_LIVENESS_H
#define REMAT_ANALYSIS_LIVENESS_H

#include "remat/Analysis/Uses.h"

namespace remat {

/// `Bytes` rounded up to whole units; nothing takes less than one unit.
/// Nothing if that does not fit int64_t.
std::optional<int64_t> alignBytes(int64_t Bytes);

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
    mlir::Operation *Reader = Readers.get(Places.get(V).Root);
    return Reader ? Positions.at(Reader) : -1;
  }
  /// Bytes of all buffers that live at each operation, workspaces excluded.
  const llvm::SmallVector<int64_t> &getLiveBytes() const { return LiveBytes; }

private:
  explicit BufferLiveness(mlir::func::FuncOp Func)
      : Readers(Func.getBody().front(), Places), Written(Func) {}

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
  llvm::SmallVector<int64_t> LiveBytes;
  Storages Places;
  LastReaders Readers;
  Overwrites Written;
};

/// Whether `Result` may be written over the bytes of `Root` while its operation
/// still reads them: it reads them whole, and only through operands that the
/// operation lets this result overwrite. True if it does not read them.
bool mayOverwrite(mlir::OpResult Result, mlir::Value Root,
                  const Storages &Places);

} // namespace remat

#endif // REMAT_ANALYSIS_LIVENESS_H
