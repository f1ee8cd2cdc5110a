//===- Checkpoint.h - a training that can go on later -----------*- C++ -*-===//
//
// A folder of checkpoints has a safetensors file for each, named after the
// steps that were done: "step-0000000300.safetensors". It holds every argument
// of the program but the inputs, what the run was told, and a checksum of all
// that. A file gets its name when it is whole and on the disk, and only then
// are older ones removed.
//
// Where several ranks run the program, all call what follows, with one folder.
// Each writes a file of its own; rank 0's, which has the name above, comes last
// and makes them a checkpoint. It is read by any number of ranks, whatever they
// hold of each tensor.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CHECKPOINT_H
#define REMAT_RUNTIME_CHECKPOINT_H

#include "remat/Support/Folder.h"
#include "remat/runtime/Session.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace remat::runtime {

/// What a run was told, by name: such as its seed. It is kept as it is.
using RunFacts = std::map<std::string, std::string>;

/// A checkpoint that was found whole.
struct Checkpoint {
  std::string Path;
  uint64_t Steps = 0; ///< that were done
  RunFacts Facts;
};

struct CheckpointSearch {
  std::optional<Checkpoint> Newest;
  /// Newer files that are not whole, or no checkpoints: which, and why.
  std::vector<std::string> Skipped;
};

/// Reads the files of a folder, the newest first, up to one that is whole: each
/// of its bytes is what was written. Finds nothing where there is no file of
/// such a name, or no folder; an error where there are files but none is whole.
/// What is passed over only rank 0 knows.
Result<CheckpointSearch> findCheckpoint(const std::string &Folder,
                                        Ranks *TheRanks = nullptr);

/// Writes the arguments of a checkpoint to a session. The program may be
/// another one, but its arguments' names, types and shapes must be those of the
/// checkpoint, whole; nothing is written otherwise.
Status loadCheckpoint(Session &Session, const Checkpoint &From);

/// A folder that checkpoints are written to, by one run at a time. Partial
/// files in it are taken for those of killed processes.
class CheckpointFolder {
public:
  /// Makes the folder, unless it is there, and checks that a file can be
  /// written there. Removes what a killed process left unfinished.
  static Result<CheckpointFolder> open(const std::string &Path,
                                       Ranks *TheRanks = nullptr);

  /// Whether there was no checkpoint when it was opened.
  bool wasEmpty() const { return WasEmpty; }

  /// Writes the checkpoint of `Steps` steps that are done, then removes older
  /// ones but for the `Keep` newest, this one among them. Those of more steps
  /// stay. If it fails, all that were there are there. Makes the folder anew
  /// where it was removed; fails where another with checkpoints took its place.
  /// Gives the file's path.
  Result<std::string> save(Session &Session, uint64_t Steps,
                           const RunFacts &Facts, uint64_t Keep);

private:
  Status take();
  Status keepFolder();

  std::string Path;
  FolderLock Lock;
  bool WasEmpty = true;
};

} // namespace remat::runtime

#endif // REMAT_RUNTIME_CHECKPOINT_H
