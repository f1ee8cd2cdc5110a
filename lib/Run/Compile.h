//===- Compile.h - from the file to a program -------------------*- C++ -*-===//

#ifndef REMAT_LIB_RUN_COMPILE_H
#define REMAT_LIB_RUN_COMPILE_H

#include "Options.h"
#include "remat/runtime/Program.h"
#include <memory>
#include <optional>
#include <vector>

namespace remat::run {

struct CompiledFile {
  std::vector<uint8_t> Bytes;
  std::shared_ptr<const runtime::Program> Program; ///< verified
  CompileReport Report;
  /// See computeGraphDigest; only of a graph whose run writes checkpoints.
  std::string GraphDigest;
  /// What is to be shown besides; of a graph, where the options ask for it.
  std::optional<CompileRecord> Record;
};

enum class Outcome {
  Done,
  Refused, ///< the budget cannot be met; the report says why
  Failed,
};

/// The device that the graph of `Options.File` is compiled for; of a program
/// nothing. Prints diagnostics, and fails where there is no graph.
Outcome findDevice(const ToolOptions &Options,
                   std::optional<std::string> &Name);

/// Compiles the graph of `Options.File`, or loads the program that it is.
/// Prints diagnostics. Sets the budget in `Options` where it was `max`, and
/// that no learning rate is to be written where a graph has it.
Outcome compileFile(ToolOptions &Options, CompiledFile &Compiled);

} // namespace remat::run

#endif // REMAT_LIB_RUN_COMPILE_H
