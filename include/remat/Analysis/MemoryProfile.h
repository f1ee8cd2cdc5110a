//===- MemoryProfile.h - bytes at each operation ----------------*- C++ -*-===//

#ifndef REMAT_ANALYSIS_MEMORYPROFILE_H
#define REMAT_ANALYSIS_MEMORYPROFILE_H

#include "remat/Analysis/Liveness.h"
#include "remat/Analysis/Target.h"
#include <array>

namespace remat {

/// What a byte is for, in reports; the order is the program format's.
enum class MemoryClass {
  Parameters,
  Gradients,
  OptimizerState,
  Activations,
  Temporaries,
  Workspaces,
  Inputs,
  Outputs,
  Constants
};
inline constexpr unsigned NumMemoryClasses = 9;

/// "parameters", "optimizer_state", ...
llvm::StringRef getMemoryClassName(MemoryClass Class);

/// What the bytes of `V` are for. A value that takes over a donated argument
/// has that argument's class; what the forward made and the backward reads is
/// an activation, also if it was recomputed.
MemoryClass getMemoryClass(mlir::Value V);

/// The same for many values of a function that stays as it is: the uses of a
/// value are looked at once for all its views.
class MemoryClasses {
public:
  explicit MemoryClasses(mlir::func::FuncOp Func);
  MemoryClass get(mlir::Value V) const;

private:
  MemoryClass find(mlir::Value Root) const;
  MemoryClass getResultClass(unsigned Index) const;

  mlir::func::FuncOp Func;
  Storages Places;
  /// By the index of the result that takes its memory over.
  llvm::DenseMap<unsigned, mlir::BlockArgument> Donors;
  mutable llvm::DenseMap<mlir::Value, MemoryClass> Known; ///< of roots
};

/// The memory that runs of a function need: for each operation the buffers that
/// live there and its workspace.
class MemoryProfile {
public:
  MemoryProfile(const BufferLiveness &Liveness, const Target &Where);

  /// Bytes at each operation; one more entry for the end of the function.
  llvm::ArrayRef<int64_t> getBytes() const { return Bytes; }
  /// Workspace bytes of each operation, aligned.
  llvm::ArrayRef<int64_t> getWorkspaces() const { return Workspaces; }
  int64_t getPeak() const { return Bytes[PeakPosition]; }
  /// The first operation at the peak; the number of operations for the end.
  int64_t getPeakPosition() const { return PeakPosition; }

  /// The values that occupy the buffers alive at a position, largest first.
  llvm::SmallVector<mlir::Value> getLiveValues(int64_t Position) const;
  /// Exact bytes by class at a position, alignment excluded.
  std::array<int64_t, NumMemoryClasses> getClasses(int64_t Position) const;

private:
  mlir::Value getOccupant(const Buffer &B, int64_t Position) const;

  const BufferLiveness &Liveness;
  llvm::SmallVector<int64_t> Bytes, Workspaces, ExactWorkspaces;
  int64_t PeakPosition = 0;
};

} // namespace remat

#endif // REMAT_ANALYSIS_MEMORYPROFILE_H
