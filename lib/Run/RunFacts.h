//===- RunFacts.h - what makes a run the same run ---------------*- C++ -*-===//

#ifndef REMAT_LIB_RUN_RUNFACTS_H
#define REMAT_LIB_RUN_RUNFACTS_H

#include "Compile.h"
#include "Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "remat/runtime/Checkpoint.h"

namespace remat::run {

/// A digest of a graph, whatever its comments, locations and names of values.
std::string computeGraphDigest(mlir::ModuleOp Graph);

/// What the bits of a run's results depend on besides the arguments that a
/// checkpoint holds: seed, inputs, graph, options. A compiled program does not
/// know its graph and options: these are left out. Nothing without
/// --checkpoint, which alone asks.
runtime::Result<runtime::RunFacts> collectFacts(const ToolOptions &Options,
                                                const CompiledFile &Compiled);

/// An error that names the first fact which both have and which differs, with
/// both values.
runtime::Status compareFacts(const runtime::Checkpoint &From,
                             const runtime::RunFacts &Facts);

} // namespace remat::run

#endif // REMAT_LIB_RUN_RUNFACTS_H
