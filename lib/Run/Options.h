//===- Options.h - the command line of remat-run ----------------*- C++ -*-===//

#ifndef REMAT_LIB_RUN_OPTIONS_H
#define REMAT_LIB_RUN_OPTIONS_H

#include "remat/Pipeline.h"
#include "remat/runtime/Ranks.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace remat::run {

struct CheckpointOptions {
  std::string Folder;   ///< "": none are written
  int64_t Every = 1000; ///< steps; 0: only at the end
  int64_t Keep = 3;
  bool Resume = false;
};

struct ToolOptions {
  std::string File; ///< a graph, or a program that was emitted before; "-"
  CompileOptions Compile;
  /// The given options that only compilation heeds, as they were written: an
  /// emitted program refuses them.
  std::vector<std::string> CompileFlags;

  int64_t Steps = 10;
  uint64_t Seed = 0;
  unsigned Threads = 0; ///< of the host device; 0: those of MachineShare
  /// How long a rank waits for another: unless given, so much less than half a
  /// minute that the run of a rank that hangs has ended by then.
  runtime::Ranks::Milliseconds RankTimeout{20000};
  bool RateGiven = false; ///< and not compiled in: written before the steps
  /// Steps between two evaluations, 0 for none; and batches of each.
  int64_t EvaluateEvery = 0, EvaluateSteps = 10;
  bool EvaluateAverages = false; ///< instead of the parameters
  bool CompileOnly = false, Poison = false, Ranges = false, Quiet = false;
  bool NanCheck = false;
  bool PrintPipeline = false;
  std::string OnNonfinite = "warn"; ///< "stop" or "skip"

  CheckpointOptions Checkpoints;

  // Files, "" where none is asked for.
  std::vector<std::string> Data, EvaluateData; ///< files, folders, patterns
  unsigned DataThreads = 2;             ///< that make batches ready; 0: none
  std::string Augment, EvaluateAugment; ///< of pictures
  bool AugmentsByChance = true;         ///< see DataOptions
  std::string Inputs, Weights, SaveBest, SaveAverages;
  std::string Report, EmitProgram, Save, SaveGradients, SaveOutputs, Profile;
  std::string Metrics;
  std::string MatmulAlgorithms; ///< measured on this GPU, see DeviceOptions
  std::string Page, Timeline, Table, Trace; ///< forms of the views
  std::optional<std::string> Cache;         ///< a folder or "off"

  /// Those of the job that this process was started in; null: it is alone.
  std::shared_ptr<runtime::Ranks> TheRanks;
  bool isFirst() const { return !TheRanks || TheRanks->getRank() == 0; }
  /// Where compilation says what is wrong; null: standard error.
  llvm::raw_ostream *Errors = nullptr;
  llvm::raw_ostream &getErrors() const {
    return Errors ? *Errors : llvm::errs();
  }

  /// Whether more is to be told of the compilation than its program and report.
  bool wantsRecord() const { return wantsViews() || !Profile.empty(); }
  /// Whether other programs of the graph are to be shown.
  bool wantsViews() const {
    return !Page.empty() || !Timeline.empty() || !Table.empty() ||
           !Trace.empty();
  }
};

/// Fills `Options` from the command line. Returns the exit code when the
/// process is to end: 0 after --help, 1 after a message about a bad value.
std::optional<int> parseOptions(int Argc, const char *const *Argv,
                                ToolOptions &Options);

} // namespace remat::run

#endif // REMAT_LIB_RUN_OPTIONS_H
