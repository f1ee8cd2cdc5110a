//===- Parts.h - parts of tensors that ranks hold ---------------*- C++ -*-===//
//
// A tensor that is cut flat is flattened to one dimension, padded with zeros so
// that all parts are equal, and cut; see #remat.cut.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_PARTS_H
#define REMAT_LIB_TRANSFORMS_PARTS_H

#include "remat/Transforms/GraphSignature.h"

namespace remat {

/// `Whole` as one dimension of a multiple of `Ranks` elements.
mlir::Value flatten(mlir::OpBuilder &B, mlir::Location Loc, mlir::Value Whole,
                    int64_t Ranks);

/// The whole of shape `Shape` that `flatten` made `Flat` of.
mlir::Value unflatten(mlir::OpBuilder &B, mlir::Location Loc, mlir::Value Flat,
                      llvm::ArrayRef<int64_t> Shape);

/// The rank's part of `Whole`, cut flat over `Axes`.
mlir::Value takePart(mlir::OpBuilder &B, mlir::Location Loc, mlir::Value Whole,
                     mlir::ArrayAttr Axes);

/// The whole of shape `Shape` of the ranks' parts, cut flat over `Axes`.
mlir::Value joinParts(mlir::OpBuilder &B, mlir::Location Loc, mlir::Value Part,
                      mlir::ArrayAttr Axes, llvm::ArrayRef<int64_t> Shape);

/// What argument `Index` is a part of, with one more flat cut over `Axes`.
PartAttr addFlatCut(mlir::func::FuncOp Graph, unsigned Index,
                    mlir::ArrayAttr Axes);

/// Makes argument `Index` its flat part over `Axes`: the whole is gathered
/// where the argument was read. Where all readers cast it to one type, elements
/// of that type travel.
void makePart(mlir::func::FuncOp Graph, SignatureEditor &Signature,
              unsigned Index, mlir::ArrayAttr Axes);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_PARTS_H
