//===- MatmulCache.h - measured algorithms, kept in a file ------*- C++ -*-===//

#ifndef REMAT_RUNTIME_CUDA_MATMULCACHE_H
#define REMAT_RUNTIME_CUDA_MATMULCACHE_H

#include "remat/runtime/Result.h"
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace remat::runtime::cuda {

/// cuBLASLt's algorithm: opaque, valid for one version of the library.
using Algorithm = std::array<uint64_t, 8>;

/// Algorithms by device, library version and problem, in a text file of one
/// line each: key, tab, 16-digit words.
class MatmulCache {
public:
  /// Reads `Path`; a missing file is an empty cache, other lines are ignored.
  static Result<MatmulCache> open(std::string Path, std::string Prefix);

  std::optional<Algorithm> find(const std::string &Key) const;
  /// Remembers an algorithm and appends it to the file.
  Status add(const std::string &Key, const Algorithm &Value);

private:
  MatmulCache(std::string Path, std::string Prefix)
      : Path(std::move(Path)), Prefix(std::move(Prefix)) {}

  std::string Path, Prefix;
  std::map<std::string, Algorithm> Known;
};

} // namespace remat::runtime::cuda

#endif // REMAT_RUNTIME_CUDA_MATMULCACHE_H
