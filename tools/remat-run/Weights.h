//===- Weights.h - tensors between sessions and files -----------*- C++ -*-===//

#ifndef REMAT_TOOLS_RUN_WEIGHTS_H
#define REMAT_TOOLS_RUN_WEIGHTS_H

#include "remat/runtime/Safetensors.h"
#include "remat/runtime/Session.h"
#include <initializer_list>
#include <string>

namespace remat::run {

/// Writes the parameters from a safetensors file. Each parameter must be there
/// with its element type and shape; other tensors of the file are ignored.
runtime::Status loadParameters(runtime::Session &Session,
                               const std::string &Path);

/// Writes those inputs that `File` holds; every tensor of it must be an input.
runtime::Status writeInputs(runtime::Session &Session,
                            const runtime::TensorFile &File);

/// Saves the parameters, in the order of the arguments.
runtime::Status saveParameters(runtime::Session &Session,
                               const std::string &Path);

/// Saves the results of these roles. InvalidArgument if there is none.
runtime::Status saveResults(runtime::Session &Session, const std::string &Path,
                            std::initializer_list<runtime::Role> Roles);

} // namespace remat::run

#endif // REMAT_TOOLS_RUN_WEIGHTS_H
