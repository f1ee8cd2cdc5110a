//===- Safetensors.h - weight files -----------------------------*- C++ -*-===//
//
// The safetensors format: a little-endian u64 header size, that many bytes of
// JSON, then the tensors' bytes. Files are untrusted and fully checked.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_SAFETENSORS_H
#define REMAT_RUNTIME_SAFETENSORS_H

#include "remat/runtime/Program.h"
#include "remat/runtime/Result.h"
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace remat::runtime {

/// A tensor of a weight file. Dimensions may be 0 here.
struct StoredTensor {
  DType Type = DType::F32;
  std::vector<int64_t> Shape;
  std::vector<uint8_t> Data; ///< little-endian, row-major
};

/// A weight file: tensors in the order of their bytes, and free text.
struct TensorFile {
  std::vector<std::pair<std::string, StoredTensor>> Tensors;
  std::map<std::string, std::string> Metadata;

  const StoredTensor *find(std::string_view Name) const;
};

/// The largest header that is read: 100 MB, as other readers have it.
inline constexpr uint64_t MaxSafetensorsHeader = 100'000'000;

/// Parses a whole file. InvalidFile when: the header is longer than the file or
/// the limit, is not a JSON object of the right form, nests deeper than it can,
/// names an unknown element type (F64, U8 and the like are not known here) or a
/// name twice; shape and byte range disagree; ranges overlap or leave a hole.
Result<TensorFile> parseSafetensors(std::span<const uint8_t> Bytes);
Result<TensorFile> readSafetensors(const std::string &Path);

/// Bytes of a file with these tensors, in this order. InvalidArgument if sizes
/// disagree, a name repeats, or a name is not UTF-8.
Result<std::vector<uint8_t>> formatSafetensors(const TensorFile &File);
/// Writes beside `Path` and renames, so that a reader never sees half a file.
Status writeSafetensors(const std::string &Path, const TensorFile &File);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_SAFETENSORS_H
