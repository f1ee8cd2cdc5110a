//===- Slices.h - in how many slices is fastest -----------------*- C++ -*-===//

#ifndef REMAT_LIB_PIPELINE_SLICES_H
#define REMAT_LIB_PIPELINE_SLICES_H

#include "remat/Pipeline.h"

namespace remat {

/// `compile` with the number of slices that is predicted to be fastest within
/// the budget; the least memory where the budget is the smallest. What needs no
/// recomputation whole stays whole. A budget in parts of the peak is of that of
/// the whole.
mlir::LogicalResult compileInSlices(mlir::ModuleOp Module,
                                    const CompileOptions &Options,
                                    std::vector<uint8_t> &Program,
                                    CompileReport &Report,
                                    CompileRecord *Record);

} // namespace remat

#endif // REMAT_LIB_PIPELINE_SLICES_H
