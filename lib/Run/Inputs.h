//===- Inputs.h - what each step reads --------------------------*- C++ -*-===//

#ifndef REMAT_LIB_RUN_INPUTS_H
#define REMAT_LIB_RUN_INPUTS_H

#include "Options.h"
#include "remat/runtime/Data/BatchSource.h"
#include "remat/runtime/Data/Prefetcher.h"
#include "remat/runtime/HostMemory.h"
#include "remat/runtime/Safetensors.h"
#include "remat/runtime/Session.h"
#include <optional>

namespace remat::run {

/// Fills the inputs of a session before each step: from the files that the
/// options name, at random otherwise.
class InputFeeder {
public:
  /// Reads the files. Fails if they do not fit the session's inputs.
  static runtime::Result<InputFeeder> create(runtime::Session &Session,
                                             const ToolOptions &Options);

  /// What tells the data of the options from other data: "none" without.
  runtime::Result<std::string> describeData() const;

  /// Writes every input for step `Step`.
  runtime::Status feed(runtime::Session &Session, uint64_t Step);

private:
  uint64_t Seed = 0;
  std::optional<runtime::TensorFile> File;
  std::unique_ptr<runtime::BatchSource> Data;
  std::unique_ptr<runtime::HostMemory> Memory;  ///< of `Batches`
  std::unique_ptr<runtime::Prefetcher> Batches; ///< of `Data`
};

} // namespace remat::run

#endif // REMAT_LIB_RUN_INPUTS_H
