//===- CheckpointParts.h - a checkpoint that several ranks wrote -*- C++
//-*-===//
//
// Each rank has a file, with its part of each tensor; parts that several ranks
// hold are in the file of the first. Rank 0's makes the checkpoint: it says how
// tensors are cut, and has the checksums of all files. The others are beside
// it: "step-0000000300.rank-2-of-4.safetensors".
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_LIB_CHECKPOINTPARTS_H
#define REMAT_RUNTIME_LIB_CHECKPOINTPARTS_H

#include "remat/runtime/Safetensors.h"
#include "remat/runtime/Session.h"
#include <map>

namespace remat::runtime {

/// Adds to the metadata how the program's tensors are cut.
void describeParts(const Program &P, SafetensorsHeader &Header);

/// A checkpoint's tensors as arguments of a program without steps, cut as those
/// of the program that wrote it.
Result<Program> readParts(const SafetensorsHeader &Header,
                          const std::string &Path);

/// Reads tensors of a checkpoint, whatever their cuts were.
class StoredParts {
public:
  static Result<StoredParts> open(const std::string &Path);
  const Program &getProgram() const { return Stored; }

  /// Writes what this rank holds of an argument, which has the stored name and
  /// whole shape.
  Status load(Session &S, const Argument &A);

private:
  Result<const TensorReader *> getFile(uint32_t Rank);
  Status readPart(uint32_t Rank, const Argument &A, uint64_t Offset, void *To,
                  uint64_t Bytes);
  Status readWhole(const AllParts &Parts, const Argument &A, uint64_t Offset,
                   void *To, uint64_t Bytes);

  std::string Path;
  Program Stored;
  std::map<uint32_t, TensorReader> Files; ///< that are open, by rank
  std::vector<char> Buffer;
};

} // namespace remat::runtime

#endif // REMAT_RUNTIME_LIB_CHECKPOINTPARTS_H
