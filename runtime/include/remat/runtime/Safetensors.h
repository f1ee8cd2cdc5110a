//===- Safetensors.h - weight files -----------------------------*- C++ -*-===//
//
// The safetensors format: a little-endian u64 header size, that many bytes of
// JSON, then the tensors' bytes. Files are untrusted and fully checked.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_SAFETENSORS_H
#define REMAT_RUNTIME_SAFETENSORS_H

#include "remat/Support/File.h"
#include "remat/runtime/Program.h"
#include "remat/runtime/Result.h"
#include <cstdint>
#include <map>
#include <memory>
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

/// What the header of a file says of one tensor.
struct TensorEntry {
  std::string Name;
  DType Type = DType::F32;
  std::vector<int64_t> Shape;
  uint64_t Offset = 0; ///< of its bytes behind the header
  uint64_t Bytes = 0;
};

/// The header of a file: tensors in the order of their bytes, and free text.
struct SafetensorsHeader {
  std::vector<TensorEntry> Tensors;
  std::map<std::string, std::string> Metadata;

  const TensorEntry *find(std::string_view Name) const;
};

/// Reads a file piece by piece: only its header is in memory.
class TensorReader {
public:
  static Result<TensorReader> open(const std::string &Path);
  const SafetensorsHeader &getHeader() const { return Header; }
  /// Where in the file the offsets of the header count from.
  uint64_t getDataBegin() const { return DataBegin; }
  /// Reads bytes of a tensor of the header from its byte `Offset` on.
  Status read(const TensorEntry &Tensor, uint64_t Offset, void *Data,
              uint64_t Bytes) const;

private:
  std::unique_ptr<InputFile> File;
  SafetensorsHeader Header;
  uint64_t DataBegin = 0;
};

/// Writes a file piece by piece. Until `finish` nothing has changed at its
/// path.
class TensorWriter {
public:
  /// Writes the header; the offsets in it are not read. InvalidArgument if
  /// sizes disagree, a name repeats, or a name is not UTF-8.
  static Result<TensorWriter> create(const std::string &Path,
                                     const SafetensorsHeader &Header);
  /// The next bytes of the tensors, in the header's order.
  Status write(const void *Data, uint64_t Bytes);
  /// InvalidArgument unless all bytes of all tensors were written.
  Status finish();

private:
  std::unique_ptr<OutputFile> File;
  uint64_t Missing = 0;
};

/// Parses a whole file. InvalidFile when: the header is longer than the file or
/// the limit, is not a JSON object of the right form, nests deeper than it can,
/// names an unknown element type (F64, U8 and the like are not known here) or a
/// name twice; shape and byte range disagree; ranges overlap or leave a hole.
Result<TensorFile> parseSafetensors(std::span<const uint8_t> Bytes);
Result<TensorFile> readSafetensors(const std::string &Path);

/// Bytes of a file with these tensors, in this order. InvalidArgument if sizes
/// disagree, a name repeats, or a name is not UTF-8.
Result<std::vector<uint8_t>> formatSafetensors(const TensorFile &File);
/// A reader of `Path` never sees half a file.
Status writeSafetensors(const std::string &Path, const TensorFile &File);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_SAFETENSORS_H
