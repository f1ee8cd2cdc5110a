//===- CostTable.h - times of operations that were measured -----*- C++ -*-===//
//
// What a profile (`remat-run --profile`) says of operations, by what decides
// how long one takes: its name, attributes, types and kernel. A function
// carries the times as `remat.costs`, and its target takes them for those of
// its model.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_ANALYSIS_COSTTABLE_H
#define REMAT_ANALYSIS_COSTTABLE_H

#include "remat/Analysis/Target.h"
#include <memory>
#include <string>

namespace remat {

/// What operations have in common that take equally long: `Op` as text without
/// names of values and what passes note on it, by `Kernel`. Of a group of
/// operations a digest.
std::string getCostKey(mlir::Operation *Op, KernelAttr Kernel);

/// `Where`, whose kernels take the times of `Costs` where it has them.
std::unique_ptr<Target> useCosts(std::unique_ptr<Target> Where,
                                 mlir::DictionaryAttr Costs);

} // namespace remat

#endif // REMAT_ANALYSIS_COSTTABLE_H
