//===- Inputs.h - what each step reads --------------------------*- C++ -*-===//

#ifndef REMAT_TOOLS_RUN_INPUTS_H
#define REMAT_TOOLS_RUN_INPUTS_H

#include "Options.h"
#include "remat/runtime/Safetensors.h"
#include "remat/runtime/Session.h"
#include "remat/runtime/Tokens.h"
#include <optional>

namespace remat::run {

/// Fills the inputs of a session before each step: from the files that the
/// options name, at random otherwise.
class InputFeeder {
public:
  /// Reads the files. Fails if they do not fit the session's inputs.
  static runtime::Result<InputFeeder> create(runtime::Session &Session,
                                             const ToolOptions &Options);

  /// Writes every input for step `Step`.
  runtime::Status feed(runtime::Session &Session, uint64_t Step);

private:
  runtime::Status openTokens(runtime::Session &Session,
                             const std::string &Path);
  runtime::Status feedTokens(runtime::Session &Session, uint64_t Step);

  uint64_t Seed = 0;
  std::optional<runtime::TensorFile> File;
  std::optional<runtime::TokenBatches> Batches;
  /// Argument numbers of the inputs that a token file fills.
  std::optional<uint32_t> Tokens, Targets;
  std::vector<int64_t> TokenIds, TargetIds;
};

} // namespace remat::run

#endif // REMAT_TOOLS_RUN_INPUTS_H
