//===- Uses.h - who reads and who overwrites which bytes --------*- C++ -*-===//
//
// A view has no bytes of its own: who reads it reads those of the value that it
// shows, its root. All questions of who reads and who overwrites bytes are
// asked here, so that views are looked through in one way. Only the verifier of
// assigned memory follows the bytes themselves.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_ANALYSIS_USES_H
#define REMAT_ANALYSIS_USES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include <cstdint>
#include <optional>

namespace remat {

/// Alignment of every buffer, and the unit that sizes are rounded up to.
inline constexpr int64_t BufferAlignment = 256;

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

/// Visits every operand that shows the bytes of `V`, where those of the
/// operations that `Shows` accepts show what their result does. Ends when the
/// callback returns true; says whether it did.
bool anyUse(mlir::Value V, llvm::function_ref<bool(mlir::Operation *)> Shows,
            llvm::function_ref<bool(mlir::OpOperand &)> Visit);

/// Visits every operand that reads the bytes of `V`, also through views, until
/// the callback returns true; says whether it did. Views do not read.
bool anyRead(mlir::Value V, llvm::function_ref<bool(mlir::OpOperand &)> Visit);

/// Index of the result that takes over the memory of `Argument`, if it is
/// donated.
std::optional<unsigned> getDonatedResult(mlir::BlockArgument Argument);

/// Which values are written over the memory of donated arguments. An argument
/// that is donated to the result that returns it is not overwritten.
class Overwrites {
public:
  explicit Overwrites(mlir::func::FuncOp Func);

  /// The argument over which `V`, which is no view, is written; else null.
  mlir::BlockArgument getArgument(mlir::Value V) const {
    return Arguments.lookup(V);
  }
  /// The value that is written over `Argument`; else null. It may be another
  /// argument where results are not legal yet.
  mlir::Value getValue(mlir::BlockArgument Argument) const {
    return Values.lookup(Argument);
  }
  /// The operation that writes over `Argument`; else null.
  mlir::Operation *getWriter(mlir::BlockArgument Argument) const {
    mlir::Value V = getValue(Argument);
    return V ? V.getDefiningOp() : nullptr;
  }
  /// Visits each operation that overwrites an argument with each operand by
  /// which another operation reads that argument, the return included.
  void forEachOtherRead(
      llvm::function_ref<void(mlir::Operation *Writer, mlir::OpOperand &Read)>
          Visit) const;
  /// Whether any but its writer reads `Argument`, which has one.
  bool isReadByOthers(mlir::BlockArgument Argument) const;

private:
  llvm::SmallVector<mlir::BlockArgument> Order; ///< those that are overwritten
  llvm::DenseMap<mlir::Value, mlir::BlockArgument> Arguments;
  llvm::DenseMap<mlir::BlockArgument, mlir::Value> Values;
};

/// The last operation that reads each value's bytes, in block order.
class LastReaders {
public:
  /// Operands that `Ignores` accepts do not count.
  LastReaders(mlir::Block &Body, const Storages &Places,
              llvm::function_ref<bool(mlir::OpOperand &)> Ignores = nullptr);

  /// Of `Root`, which is no view; the terminator if the function returns it,
  /// null if nobody reads it.
  mlir::Operation *get(mlir::Value Root) const { return Last.lookup(Root); }
  /// For whoever moves operations.
  void set(mlir::Value Root, mlir::Operation *Reader) { Last[Root] = Reader; }

private:
  llvm::DenseMap<mlir::Value, mlir::Operation *> Last;
};

} // namespace remat

#endif // REMAT_ANALYSIS_USES_H
