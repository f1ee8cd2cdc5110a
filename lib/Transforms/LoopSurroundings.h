//===- LoopSurroundings.h - what is there while a loop runs -----*- C++ -*-===//

#ifndef REMAT_LIB_TRANSFORMS_LOOPSURROUNDINGS_H
#define REMAT_LIB_TRANSFORMS_LOOPSURROUNDINGS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "remat/Analysis/Target.h"
#include "remat/IR/RematOps.h"
#include <optional>

namespace remat {

/// Views of what a scan reads become part of its body: so no bytes are read
/// under two names.
void sinkViews(ScanOp Loop);

/// What was made part of a loop's body: what it takes in each step, the bytes
/// of all that it makes and works with, and those of what lives as long as the
/// loop because it reads it there.
struct SunkInvariants {
  double Microseconds = 0;
  int64_t Bytes = 0, ReadBytes = 0;
};

/// Computes in each step again what a scan reads and is cheap to compute, or is
/// gathered from parts: then it is there only while it is needed. Nothing where
/// there is nothing of the kind.
std::optional<SunkInvariants> sinkInvariants(ScanOp Loop, const Target &Where);

/// Bytes that are there in each step of a loop and not in its body: arguments
/// that it does not read, constants, the rows of other steps. The body of the
/// loop, as a function, gets them as further arguments, between the bytes that
/// are bound and the workspace. Then a plan of the body counts all that there
/// is, by the names and classes that it has outside.
class LoopSurroundings {
public:
  mlir::LogicalResult addTo(mlir::func::FuncOp Body, mlir::func::FuncOp Around,
                            ScanOp Loop, const Target &Where);
  /// Moves the workspace of the body, whose memory is assigned, back to what is
  /// bound. The arguments stay: `takeBody` drops them.
  void removeFrom(mlir::func::FuncOp Body) const;

  /// Bytes of what another plan of the function around would not have there.
  int64_t getMovableBytes() const { return MovableBytes; }

private:
  int64_t Bound = 0, Bytes = 0, MovableBytes = 0;
};

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_LOOPSURROUNDINGS_H
