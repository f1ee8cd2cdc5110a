//===- KernelLibrary.h - hand-written kernels of structured ops -*- C++ -*-===//
//
// For each structured operation, the CUDA C++ kernels that run it: templates
// whose shapes and types are filled in. Pointwise groups are printed elsewhere.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TARGET_CUDA_KERNELLIBRARY_H
#define REMAT_TARGET_CUDA_KERNELLIBRARY_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"
#include <array>
#include <cstdint>
#include <string>

namespace remat::cuda {

/// What a kernel is called with, in order: tensors and the workspace as
/// pointers, numbers as `int64` and `float`.
struct Argument {
  enum class Kind { Operand, Result, Workspace, Int, Float };
  enum Kind Kind;
  unsigned Index = 0; ///< of the operand or result
  int64_t Int = 0;    ///< the number, or the byte offset in the workspace
  double Float = 0;
};

/// One launch: a kernel's source text (one `extern "C" __global__` function,
/// named `Name`, after the common prelude) and how it is called. Two launches
/// with the same source (but for the name) share one kernel.
struct Launch {
  std::string Name;   ///< a legal C identifier that says what it does
  std::string Source; ///< with the placeholder `@NAME@` where the name stands
  std::array<int64_t, 3> Grid = {1, 1, 1}; ///< may be more than a GPU takes
  std::array<uint32_t, 3> Block = {1, 1, 1};
  uint32_t SharedBytes = 0;
  llvm::SmallVector<Argument> Arguments;
};

/// Text before all kernels: types, conversions, vector loads, reductions,
/// Philox.
std::string getPrelude();

/// The prelude's name of an element type: "float", "bf16", "f16", "int",
/// "int64" or "bool".
llvm::StringRef getTypeName(mlir::Type ElementType);

/// Bytes, a power of two up to 256, that the address of `Value` is a multiple
/// of: 256 for a buffer, less for a view into one. Known from the views that
/// lead to `Value` and, once memory is assigned, from its offset.
int64_t getAlignment(mlir::Value Value);

/// Whether own kernels exist for this operation (else a library runs it).
bool hasKernels(mlir::Operation *Op);

/// Elements of the widest heads that own kernels of attention take: what fits
/// in shared memory.
int64_t getWidestAttention();

/// Appends the launches that run `Op`, in order.
void getLaunches(mlir::Operation *Op, llvm::SmallVectorImpl<Launch> &Launches);

/// Bytes of workspace that these launches need.
int64_t getWorkspaceBytes(mlir::Operation *Op);

} // namespace remat::cuda

#endif // REMAT_TARGET_CUDA_KERNELLIBRARY_H
