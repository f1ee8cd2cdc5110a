//===- MatmulCache.h - measured algorithms, kept in a file ------*- C++ -*-===//

#ifndef REMAT_RUNTIME_CUDA_MATMULCACHE_H
#define REMAT_RUNTIME_CUDA_MATMULCACHE_H

#include "remat/runtime/Result.h"
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace remat::runtime::cuda {

/// cuBLASLt's algorithm: opaque, valid for one version of the library.
using Algorithm = std::array<uint64_t, 8>;

/// Algorithms by device, library version and problem, in a text of one line
/// each: key, tab, 16-digit words. Keys begin with `Prefix`, the part of it
/// that says which device and version.
class MatmulCache {
public:
  /// Those of `Text`; lines of another form are ignored.
  static MatmulCache parse(std::string_view Text, std::string Prefix);
  /// Those of file `Path`; a missing file is an empty cache.
  static Result<MatmulCache> open(std::string Path, std::string Prefix);
  /// Those that were measured beforehand and are part of the runtime
  /// (MatmulAlgorithms.inc).
  static MatmulCache getShipped(std::string Prefix);

  std::optional<Algorithm> find(const std::string &Key) const;
  /// Remembers an algorithm and appends it to the file, if there is one.
  Status add(const std::string &Key, const Algorithm &Value);

private:
  MatmulCache(std::string Path, std::string Prefix)
      : Path(std::move(Path)), Prefix(std::move(Prefix)) {}

  std::string Path, Prefix;
  std::map<std::string, Algorithm> Known;
};

} // namespace remat::runtime::cuda

#endif // REMAT_RUNTIME_CUDA_MATMULCACHE_H
