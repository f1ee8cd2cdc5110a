//===- ReadCosts.h - a profile's times by what they are of ------*- C++ -*-===//

#ifndef REMAT_LIB_TRANSFORMS_READCOSTS_H
#define REMAT_LIB_TRANSFORMS_READCOSTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

namespace remat {

/// The microseconds by key (see getCostKey) that the profile `Path` holds, as
/// `remat.costs` has them: the mean where several steps have one key. What each
/// step takes longer alone than among the others is the same for all, and is
/// subtracted. Emits an error at `Loc` and returns null where the file is no
/// such profile.
mlir::DictionaryAttr readCosts(llvm::StringRef Path, mlir::Location Loc);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_READCOSTS_H
