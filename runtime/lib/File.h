//===- File.h - whole files ---------------------------------------*- C++
//-*-===//

#ifndef REMAT_RUNTIME_LIB_FILE_H
#define REMAT_RUNTIME_LIB_FILE_H

#include "remat/runtime/Result.h"
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace remat::runtime {

/// The bytes of a regular file.
Result<std::vector<uint8_t>> readFile(const std::string &Path);

/// Writes beside `Path` and renames.
Status writeFile(const std::string &Path, std::span<const uint8_t> Bytes);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_LIB_FILE_H
