//===- PointwiseText.h - names and literals of printed kernels --*- C++ -*-===//
//
// Private to lib/Target/CUDA.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_POINTWISETEXT_H
#define REMAT_LIB_TARGET_CUDA_POINTWISETEXT_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/ArrayRef.h"
#include <string>

namespace remat::cuda {

/// `Number`, rounded to a float, as a literal that reads back to its bits.
std::string printFloatLiteral(const llvm::APFloat &Number);

/// `Expression` over a, b, c, ... with the operands' names in their places.
std::string substitute(llvm::StringRef Expression,
                       llvm::ArrayRef<std::string> Names);

/// "32x64", or "scalar".
std::string printShape(llvm::ArrayRef<int64_t> Shape);

/// Says in one legal identifier what the kernel of `Ops` does; its shape keeps
/// it apart from functions such as exp.
std::string getPointwiseName(llvm::ArrayRef<mlir::Operation *> Ops,
                             llvm::ArrayRef<int64_t> Shape);

/// The comment above that kernel: its operations and its shape.
std::string printPointwiseComment(llvm::ArrayRef<mlir::Operation *> Ops,
                                  llvm::ArrayRef<int64_t> Shape, bool HasSums);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_POINTWISETEXT_H
