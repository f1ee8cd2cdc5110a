//===- Memory.h - offsets in one arena --------------------------*- C++ -*-===//
//
// Memory assignment and its check as functions, for the pipeline's budget loop;
// the passes of the same names call them.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_MEMORY_H
#define REMAT_TRANSFORMS_MEMORY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "remat/Analysis/Target.h"
#include <cstdint>
#include <optional>

namespace remat {

/// Inserts copies so that every donated argument can be overwritten by its
/// result in some order, which `sortOverwrites` then makes, and no other result
/// shows bytes that are overwritten. Afterwards it holds: the result of a
/// donated argument is that argument or the result of an operation that may
/// write over it, and all other readers of the argument can stand before that
/// operation.
mlir::LogicalResult legalizeResults(mlir::func::FuncOp Func);

/// Moves operations down, and no more than needed, so that each one that
/// overwrites a donated argument stands behind all other readers of it. Fails
/// if there is no such order.
mlir::LogicalResult sortOverwrites(mlir::func::FuncOp Func);

/// Gives `Function` as arguments with their offsets all that `Planned`, whose
/// memory is assigned, holds between two steps: parameters, states, counters
/// and constants; its inputs are free. What `Function` names it reads where it
/// lies, and what it does not stays as it is. Fails with a diagnostic where
/// `Function` has anything else but inputs, or writes what it shares.
mlir::LogicalResult shareMemory(mlir::func::FuncOp Planned,
                                mlir::func::FuncOp Function);

/// Makes parameters of `Function` that `Planned` has in flat parts such parts,
/// which are gathered where they are read.
void gatherParts(mlir::func::FuncOp Planned, mlir::func::FuncOp Function);

/// Lets `Function` read the averages that `Planned` keeps in place of the
/// parameters, in their types; parameters without one, which are frozen, as
/// they are. `Given` is what `Planned` was made of. Comes before shareMemory.
void readAverages(mlir::func::FuncOp Given, mlir::func::FuncOp Planned,
                  mlir::func::FuncOp Function);

/// What memory assignment found.
struct Assignment {
  int64_t ArenaBytes = 0;
  int64_t LoadBytes = 0; ///< most bytes alive at once: no arena is smaller
};

/// Gives every value and workspace an offset in the arena (`remat.offsets`,
/// `remat.offset`, `remat.workspace`, `remat.choice`, `remat.arena_bytes`), for
/// the block order as it is. An argument that has its offset keeps it. Offsets
/// are made by best fit in several orders; where those miss `Target` (without
/// it: the load), by a search of at most `NodeLimit` nodes.
mlir::FailureOr<Assignment> assignMemory(mlir::func::FuncOp Func,
                                         const Target &Where, int64_t NodeLimit,
                                         std::optional<int64_t> Target);

/// Checks assigned memory by running the offsets: every read finds the bytes of
/// the value that it names, results and resident values are there at the end,
/// and the arena ends where the last of them does. Shares nothing with
/// `assignMemory` but the meaning of views and in-place operands.
mlir::LogicalResult verifyMemory(mlir::func::FuncOp Func);

} // namespace remat

#endif // REMAT_TRANSFORMS_MEMORY_H
