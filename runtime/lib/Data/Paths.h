//===- Paths.h - the files that a path stands for ---------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_LIB_DATA_PATHS_H
#define REMAT_RUNTIME_LIB_DATA_PATHS_H

#include "remat/runtime/Result.h"
#include <string>
#include <vector>

namespace remat::runtime {

/// The file of that name; of a folder its files that are not hidden; else what
/// the glob pattern matches. Sorted by name. An error if there is none.
Result<std::vector<std::string>> listFiles(const std::string &Path);

/// What is in a folder and not hidden, by name: its folders, or all but them.
Result<std::vector<std::string>> listFolder(const std::string &Path,
                                            bool Folders);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_LIB_DATA_PATHS_H
