//===- SourceNames.h - what a graph text calls its values -------*- C++ -*-===//

#ifndef REMAT_LIB_IR_SOURCENAMES_H
#define REMAT_LIB_IR_SOURCENAMES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"

namespace remat {

/// Parses a text and keeps what it calls the results of its operations, which
/// MLIR forgets: an operation that the text gives no location of its own gets
/// loc("%h"("file":line:column)), with all names, "%a, %b", where each result
/// has one. Null on failure.
mlir::OwningOpRef<mlir::ModuleOp>
parseWithSourceNames(const llvm::SourceMgr &Sources,
                     mlir::MLIRContext &Context);

} // namespace remat

#endif // REMAT_LIB_IR_SOURCENAMES_H
