//===- Remedies.h - what would make a refused graph fit ---------*- C++ -*-===//

#ifndef REMAT_DRIVER_REMEDIES_H
#define REMAT_DRIVER_REMEDIES_H

#include "remat/Pipeline.h"

namespace remat {

/// Looks for other ways to compile a graph that was refused (an option changed,
/// or its operations no longer marked to be kept) and adds those whose smallest
/// budget is smaller to `Report.Refused`, the smallest first. Ends after about
/// `Seconds`: what has not been compiled by then is not named, but for the
/// optimizer's state, whose bytes are counted. `Module` is the graph as it was
/// parsed; it stays as it is. Nothing is printed.
void findRemedies(mlir::ModuleOp Module, const CompileOptions &Options,
                  double Seconds, CompileReport &Report);

} // namespace remat

#endif // REMAT_DRIVER_REMEDIES_H
