//===- Checkpoints.h - where a run begins and what it leaves ----*- C++ -*-===//

#ifndef REMAT_LIB_RUN_CHECKPOINTS_H
#define REMAT_LIB_RUN_CHECKPOINTS_H

#include "Options.h"
#include "Progress.h"
#include "remat/runtime/Checkpoint.h"
#include <optional>

namespace remat::run {

/// The checkpoints of one run; without --checkpoint it does nothing.
class Checkpoints {
public:
  /// Takes the folder and, with --resume, loads its newest checkpoint into the
  /// session, whose arguments are written.
  static runtime::Result<Checkpoints> open(runtime::Session &Session,
                                           const ToolOptions &Options,
                                           runtime::RunFacts Facts);

  /// Steps that were done before this run.
  uint64_t getFirstStep() const { return FirstStep; }
  /// The file that the run goes on from; "" where it begins.
  const std::string &getResumedFrom() const { return ResumedFrom; }

  /// Keeps with each checkpoint from now on what the run has found out; and
  /// what the run noted that this one goes on from.
  void note(const std::string &Name, std::string Text) {
    Facts[Name] = std::move(Text);
  }
  std::optional<std::string> getNote(const std::string &Name) const {
    auto It = Noted.find(Name);
    return It == Noted.end() ? std::nullopt : std::optional(It->second);
  }

  /// Writes a checkpoint where one is due. If it cannot be written there is a
  /// warning, and training goes on.
  void finishStep(runtime::Session &Session, uint64_t Done,
                  TrainingProgress &Progress);
  /// Writes the last one.
  runtime::Status finish(runtime::Session &Session, uint64_t Done);
  /// Writes the last one, of a run that ends before its end because of `Why`,
  /// between two steps. Gives the error that says where it goes on.
  runtime::Error leave(runtime::Session &Session, uint64_t Done,
                       const runtime::Error &Why);
  /// The same for an interrupt that came `Where`, such as "before step 3".
  runtime::Error interrupt(runtime::Session &Session, uint64_t Done,
                           const std::string &Where);

private:
  runtime::Status resume(runtime::Session &Session);
  runtime::Status save(runtime::Session &Session, uint64_t Done);

  CheckpointOptions Options;
  int64_t Steps = 0;
  bool Quiet = false;
  runtime::RunFacts Facts;
  runtime::RunFacts Noted; ///< all facts of the checkpoint that was loaded
  std::optional<runtime::CheckpointFolder> Folder;
  uint64_t FirstStep = 0;
  std::string ResumedFrom;
  /// The newest one, and its steps; none before the first.
  std::string Newest;
  std::optional<uint64_t> Saved;
};

} // namespace remat::run

#endif // REMAT_LIB_RUN_CHECKPOINTS_H
