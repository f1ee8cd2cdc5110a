//===- Liveness.h - which bytes are needed when -----------------*- C++ -*-===//
//
// The memory of a function whose block order is its order of execution: which
// values share a buffer, and from which operation to which each buffer lives.
// Everything but the offsets is decided here.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_ANALYSIS_LIVENESS_H
#define REMAT_ANALYSIS_LIVENESS_H

#include "remat/Analysis/StepLiveness.h"

namespace remat {

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
  int64_t getPosition(mlir::Operation *Op) const {
    return Steps.getPosition(Op);
  }

  llvm::ArrayRef<Buffer> getBuffers() const { return Buffers; }
  /// Number of the buffer that holds `V`, also if `V` is a view.
  unsigned getBuffer(mlir::Value V) const {
    return BufferOf.at(getStorages().get(V).Root);
  }
  const Storages &getStorages() const { return Steps.getStorages(); }
  /// Bytes of all buffers that live at each operation, workspaces excluded.
  const llvm::SmallVector<int64_t> &getLiveBytes() const { return LiveBytes; }

private:
  explicit BufferLiveness(mlir::func::FuncOp Func)
      : Steps(Func, StepLiveness::Splats::Stored) {}

  mlir::LogicalResult addOperation(mlir::Operation *Op, int64_t Position);
  mlir::LogicalResult addOverwrite(mlir::OpResult Result, int64_t Position,
                                   mlir::BlockArgument Argument);
  mlir::LogicalResult addBuffer(mlir::Value V, int64_t Begin, int64_t End);
  void join(mlir::Value V, unsigned Number, int64_t End);
  mlir::LogicalResult sumLiveBytes(mlir::func::FuncOp Func);

  StepLiveness Steps;
  llvm::SmallVector<mlir::Operation *> Ops;
  llvm::SmallVector<Buffer> Buffers;
  llvm::DenseMap<mlir::Value, unsigned> BufferOf;
  llvm::SmallVector<int64_t> LiveBytes;
};

} // namespace remat

#endif // REMAT_ANALYSIS_LIVENESS_H
