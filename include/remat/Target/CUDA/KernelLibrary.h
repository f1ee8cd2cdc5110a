//===- KernelLibrary.h - hand-written kernels of structured ops -*- C++ -*-===//
//
// For each structured operation, the CUDA C++ kernels that run it: calls of the
// templates in lib/Target/CUDA/Kernels/*.cuh with its shapes and types.
// Pointwise groups are printed elsewhere.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TARGET_CUDA_KERNELLIBRARY_H
#define REMAT_TARGET_CUDA_KERNELLIBRARY_H

#include "mlir/IR/Operation.h"
#include "remat/Target/CUDA/KernelPlan.h"
#include "remat/Target/CUDA/Launch.h"
#include "llvm/ADT/SmallVector.h"

namespace remat::cuda {

/// What all kernels use: types, conversions, vector loads, reductions, Philox.
const KernelSource &getPreludeSource();

/// What printed elementwise kernels use: arithmetic that is never contracted.
const KernelSource &getExactSource();

/// The prelude's name of an element type: "float", "bf16", "f16", "int",
/// "int64", "bool" or "f8e4m3".
llvm::StringRef getTypeName(mlir::Type ElementType);

/// Bytes, a power of two up to 256, that the address of `Value` is a multiple
/// of: 256 for a buffer, less for a view into one. Known from the views that
/// lead to `Value` and, once memory is assigned, from its offset.
int64_t getAlignment(mlir::Value Value);

/// Whether own kernels exist for this operation.
bool hasKernels(mlir::Operation *Op);

/// What makes the products of own attention: each thread, or tensor cores, of a
/// warp's rows or of four warps' together.
enum class AttentionUnit { Scalar, Warp, WarpGroup };

/// That of the own kernels of attention or its backward.
AttentionUnit getAttentionUnit(mlir::Operation *Attention);

/// Elements of the widest heads that own kernels of attention take: what fits
/// in shared memory.
int64_t getWidestAttention();

/// What the own kernels of `Op` take; an elementwise one has one launch.
KernelNeeds getKernelNeeds(mlir::Operation *Op);

/// How the rows of `Sum`, a sum over all dimensions but the last, are shared
/// out, whichever kernel makes it: the order of a sum is always the same.
ReducePlan getSumPlan(mlir::Operation *Sum);

/// Appends the launch that makes result `Result` of a kernel, its member `Sum`,
/// from partial sums in f32 at byte `Partials` of the workspace.
void addSumJoin(mlir::Operation *Sum, unsigned Result, int64_t Partials,
                llvm::SmallVectorImpl<Launch> &Launches);

/// Appends the launches that run `Op`, which has kernels, in order.
void getLaunches(mlir::Operation *Op, llvm::SmallVectorImpl<Launch> &Launches);

} // namespace remat::cuda

#endif // REMAT_TARGET_CUDA_KERNELLIBRARY_H
