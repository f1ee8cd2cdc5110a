//===- Job.h - the ranks of a run -------------------------------*- C++ -*-===//

#ifndef REMAT_LIB_RUN_JOB_H
#define REMAT_LIB_RUN_JOB_H

#include "Compile.h"
#include "Options.h"
#include "remat/runtime/Checkpoint.h"
#include "remat/runtime/Result.h"

namespace remat::run {

/// Takes these ranks, or where they are null finds the other ranks of the job
/// that this process was started in, if it was, and compiles for as many. What
/// is printed and written of the run is rank 0's: the options of the others ask
/// for none of it.
runtime::Status joinRanks(ToolOptions &Options,
                          std::shared_ptr<runtime::Ranks> Given);

/// `compileFile` on every rank. All have the same outcome: ranks that would run
/// programs that are not the same are an error of all of them.
Outcome compileTogether(ToolOptions &Options, CompiledFile &Compiled);

/// An error, on every rank, where ranks were told different things.
runtime::Status compareRanks(const ToolOptions &Options,
                             const runtime::RunFacts &Facts);

/// Whether any rank was interrupted. All ranks call it.
runtime::Result<bool> checkInterrupt(const ToolOptions &Options);

} // namespace remat::run

#endif // REMAT_LIB_RUN_JOB_H
