//===- Array.h - arrays in files --------------------------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_LIB_DATA_ARRAY_H
#define REMAT_RUNTIME_LIB_DATA_ARRAY_H

#include "lib/Data/ArrayTypes.h"
#include "remat/Support/File.h"
#include <memory>
#include <span>
#include <vector>

namespace remat::runtime {

/// An array with a record in each row of its first dimension, that is read
/// where a record lies: C order, little-endian.
class Array {
public:
  std::string Path; ///< of the file
  std::string Name; ///< within it; of a .npy file the file's, without its end
  ArrayType Type = ArrayType::F32;
  std::vector<int64_t> Shape;

  std::shared_ptr<const InputFile> File;
  uint64_t Offset = 0; ///< of the first element

  uint64_t getNumRecords() const { return Shape.empty() ? 0 : Shape.front(); }
  uint64_t getRecordElements() const;
  uint64_t getRecordBytes() const {
    return getRecordElements() * getInfo(Type).Width;
  }
  /// "tensor<4x3xuint8>"
  std::string describe() const;
  /// Reads a record; several threads may read at once.
  Status read(uint64_t Record, std::span<char> Bytes) const;
};

/// The arrays of a .npy, .npz or .safetensors file. Files are untrusted and
/// fully checked: every record that an array's shape promises lies in the file.
Result<std::vector<Array>> openArrays(const std::string &Path);

/// Whether a file is taken for one of arrays, by its first bytes and its name.
bool isArrayFile(const std::string &Path);

/// A text of a file for a message: what is not ASCII's is a question mark.
std::string printable(std::string Text);

/// What each format reads. `Begin` and `Bytes` are where an .npy file lies in
/// `File`: it may be a part of an archive.
Result<Array> parseNpy(const InputFile &File, uint64_t Begin, uint64_t Bytes);
/// An archive as numpy.savez writes it; a compressed one is refused.
Result<std::vector<Array>> parseNpz(const InputFile &File);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_LIB_DATA_ARRAY_H
