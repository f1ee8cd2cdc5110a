//===- CheckpointFormat.h - names and texts of checkpoints ------*- C++ -*-===//

#ifndef REMAT_RUNTIME_LIB_CHECKPOINTFORMAT_H
#define REMAT_RUNTIME_LIB_CHECKPOINTFORMAT_H

#include "remat/runtime/Program.h"
#include <optional>

namespace remat::runtime {

/// What the metadata says of a checkpoint; its facts are named "run.seed".
inline constexpr char FormatKey[] = "format", Format[] = "remat.checkpoint",
                      PartFormat[] = "remat.checkpoint.part",
                      VersionKey[] = "version", Version[] = "1",
                      RankedVersion[] = "2", ///< of several ranks
    StepsKey[] = "steps", FactBegin[] = "run.";

/// The last tensor of a file: the SHA-256 of its header and of all tensors
/// before, as 64 hexadecimal digits; of rank 0's those of the other files, too,
/// in their order. Safetensors has no other place for what is known at the end.
inline constexpr char ChecksumName[] = "remat.sha256";
inline constexpr uint64_t ChecksumBytes = 64;

inline bool isKept(const Argument &A) { return A.Role != Role::Input; }

/// Where the checkpoint of so many steps lies, which is rank 0's file; and the
/// steps that the name of such a file says.
std::string getPath(const std::string &Folder, uint64_t Steps);
std::optional<uint64_t> readName(std::string_view Name);

/// The file of a rank beside that of rank 0.
std::string getPartPath(const std::string &Main, uint32_t Rank, uint32_t Ranks);
/// The name of the main file of a file beside it; "" for other names.
std::string getMainName(const std::string &Name);

struct NamedCheckpoint {
  uint64_t Steps;
  std::string Path;
};
/// The checkpoints of a folder by their names, the newest first.
Result<std::vector<NamedCheckpoint>> listCheckpoints(const std::string &Folder);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_LIB_CHECKPOINTFORMAT_H
