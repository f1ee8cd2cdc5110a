//===- Report.h - what remat-run writes down --------------------*- C++ -*-===//

#ifndef REMAT_LIB_RUN_REPORT_H
#define REMAT_LIB_RUN_REPORT_H

#include "Compile.h"
#include "Train.h"
#include <span>
#include <string>

namespace remat::run {

/// Writes the report, the profile and the views that the options ask for. `Ran`
/// is null after --compile-only or a refusal: what a run would have measured is
/// then null, and `loss` is empty.
runtime::Status writeReports(const ToolOptions &Options,
                             const CompiledFile &Compiled,
                             const RunResult *Ran);

/// Writes a whole file or says why not.
runtime::Status writeFile(const std::string &Path,
                          std::span<const uint8_t> Bytes);

} // namespace remat::run

#endif // REMAT_LIB_RUN_REPORT_H
