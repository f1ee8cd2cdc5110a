//===- TypeUtils.h - shapes, bytes and broadcasting -------------*- C++ -*-===//
//
// What every layer asks of tensor types. Byte products are checked: a type
// whose size does not fit int64_t gives nothing and is refused by the verifier
// of the operation or function that names it.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_IR_TYPEUTILS_H
#define REMAT_IR_TYPEUTILS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include <cstdint>
#include <optional>

namespace remat {

/// Bytes of one element: i1 takes one byte, others their width.
int64_t getElementBytes(mlir::Type ElementType);

/// Number of elements, or nothing if it does not fit int64_t.
std::optional<int64_t> getNumElements(llvm::ArrayRef<int64_t> Shape);

/// Bytes of a static tensor in row-major order, or nothing on overflow.
std::optional<int64_t> getByteSize(mlir::Type TensorType);

/// NumPy's broadcast of two shapes, or nothing if they do not match.
std::optional<llvm::SmallVector<int64_t>>
broadcastShapes(llvm::ArrayRef<int64_t> Lhs, llvm::ArrayRef<int64_t> Rhs);

/// The largest rank of a tensor.
inline constexpr int64_t MaxRank = 16;

/// Checks what every value of a graph must satisfy beyond its element type: no
/// dimension of size zero, at most MaxRank dimensions, no encoding, and a byte
/// size that fits int64_t. Explains itself through `EmitError`. Types that are
/// no static tensors pass: their operation refuses them.
llvm::LogicalResult
verifySizedTensor(mlir::Type Type,
                  llvm::function_ref<mlir::InFlightDiagnostic()> EmitError);

/// Checks that `Type` may be a value of a graph: a ranked tensor of static
/// shape and known element type that passes `verifySizedTensor`.
llvm::LogicalResult
verifyGraphTensor(mlir::Type Type,
                  llvm::function_ref<mlir::InFlightDiagnostic()> EmitError);

} // namespace remat

#endif // REMAT_IR_TYPEUTILS_H
