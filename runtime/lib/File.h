//===- File.h - failures of files as errors ---------------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_LIB_FILE_H
#define REMAT_RUNTIME_LIB_FILE_H

#include "remat/Support/File.h"
#include "remat/runtime/Result.h"

namespace remat::runtime {

inline Status toStatus(FileFailure Failed) {
  return Failed ? Status(Error(ErrorCode::IO, std::move(*Failed))) : Status();
}

} // namespace remat::runtime

#endif // REMAT_RUNTIME_LIB_FILE_H
