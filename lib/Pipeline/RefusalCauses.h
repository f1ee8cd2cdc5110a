//===- RefusalCauses.h - the controls that a refusal is due to --*- C++ -*-===//

#ifndef REMAT_LIB_PIPELINE_REFUSALCAUSES_H
#define REMAT_LIB_PIPELINE_REFUSALCAUSES_H

#include "remat/Pipeline.h"

namespace remat {

/// Compiles `Graph` without each of the controls, and without all where none
/// alone does, and writes down what meets the refused budget.
void findCauses(mlir::ModuleOp Graph, const CompileOptions &Options,
                Refusal &Refused);

/// The notes that say so.
void attachCauses(mlir::Diagnostic &Refusal, const remat::Refusal &Refused);

} // namespace remat

#endif // REMAT_LIB_PIPELINE_REFUSALCAUSES_H
