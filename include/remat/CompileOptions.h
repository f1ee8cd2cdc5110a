//===- CompileOptions.h - what a compilation is asked for -------*- C++ -*-===//
//
// The options of a compilation, and the one table of their names and ranges
// that the command line, the pass pipeline and the C API share.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_COMPILEOPTIONS_H
#define REMAT_COMPILEOPTIONS_H

#include "remat/Support/Budget.h"
#include "remat/Support/Parallel.h"
#include "remat/Support/PlanProgress.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace remat {

struct PlanSeed;

struct OptimizerOptions {
  std::string Kind = "adamw"; ///< a rule of remat-add-optimizer, or "none"
  double LearningRate = 1e-3;
  double Beta1 = 0.9, Beta2 = 0.999, Epsilon = 1e-8;
  double WeightDecay = 0.01;
  double Momentum = 0.0;
  double ClipNorm = 0.0;             ///< 0: no clipping
  std::string Schedule = "constant"; ///< of the learning rate
  int64_t WarmupSteps = 0, HoldSteps = 0, DecaySteps = 0;
  double DecayFactor = 0.1; ///< what is left of the rate after the decay
  bool GradientNorm = false, SkipNonfinite = false;
  /// What the loss is scaled by, 0: nothing; or where a dynamic scale begins.
  double LossScale = 0.0;
  bool DynamicLossScale = false;
  int64_t LossScaleInterval = 2000; ///< finite steps until a dynamic one grows
  double Average = 0.0; ///< decay of the averages of parameters, 0: none
};

/// Micro-batches a step.
inline constexpr int64_t MaxMicroBatches = 4096;

/// Slices that large values are made and used in.
inline constexpr int64_t MaxSlices = 1024;

/// Bytes of gradients that are summed over ranks at once (Li et al., 2020).
inline constexpr int64_t DefaultBucketBytes = int64_t(25) << 20;

/// What is kept for the backward, said from outside the graph; names and globs
/// as `NamePattern` takes them.
struct Controls {
  std::vector<std::string> Keep, Recompute, Prefer;
  std::vector<std::string> ScopeBudgets; ///< "h.1=4MiB"

  bool empty() const {
    return Keep.empty() && Recompute.empty() && Prefer.empty() &&
           ScopeBudgets.empty();
  }
};

struct CompileOptions {
  /// The target: what is empty is as the graph says, else as in brackets.
  std::string Device;        ///< "host" or "cuda" ("host")
  std::string Arch;          ///< for "cuda" ("sm_90")
  std::string Attention;     ///< "auto", "cudnn" or "own", for "cuda" ("auto")
  std::string Deterministic; ///< "true" or "false", for "cuda" ("true")
  std::vector<std::string> Costs; ///< profiles whose times are taken
  std::string Strategy = "search";
  struct Budget Budget;
  OptimizerOptions Optimizer;
  std::string Autocast;            ///< "", "bf16" or "f16"
  std::vector<std::string> Freeze; ///< names and globs of parameters
  /// How ranks cut parameters, as `ShardRequest` takes it.
  std::vector<std::string> Shards;
  int64_t MicroBatches = 1;
  struct Parallel Parallel;
  int64_t Ranks = 1; ///< processes that run the program side by side
  int64_t BucketBytes = DefaultBucketBytes;
  int64_t Slices = 1; ///< 0: what is fastest within the budget
  /// Whether a program has the bits of the one without a budget in any case.
  bool BitwiseBudget = false;
  int64_t PlannerEffort = 1; ///< a count, not a clock
  uint64_t PlannerSeed = 0;
  bool Fuse = true;
  bool Halves = true; ///< f32 parameters whose bf16 is read lie in two halves
  struct Controls Controls;
  /// Patterns of names of values that the report explains ("all" for all).
  std::vector<std::string> Explain;
  /// Whether a refusal says which of the controls it is due to, by compiling
  /// without each.
  bool FindsCauses = true;
  /// The function beside `main` that is compiled; it is run forward only. ""
  /// for `main`.
  std::string Function;
  /// Whether the graph gets a function that evaluates where it has none.
  bool AddsEvaluation = false;
  /// Whether that function reads the averages that `ema` keeps in place of the
  /// parameters.
  bool EvaluatesAverages = false;
  bool CompileKernels = true; ///< run NVRTC; false: source text only
  /// Once it is true planning ends, with an error; may be null.
  const std::atomic<bool> *Interrupt = nullptr;
  /// Looks on while planning; may be null.
  const PlanWatcher *Watcher = nullptr;
  /// Plans of the same graph with the same options for other budgets, that the
  /// program is to be no slower than where they fit; may be null.
  const std::vector<PlanSeed> *Seeds = nullptr;
};

/// One option as users name it.
struct CompileOption {
  llvm::StringLiteral Name; ///< "budget", "learning-rate", ...
  llvm::StringRef Value;    ///< what its value looks like, for help
  llvm::StringLiteral Help;
  bool OfOptimizer;
  /// May be given several times, and each adds to those before.
  bool Repeatable = false;
};

/// All options, in the order in which help shows them.
llvm::ArrayRef<CompileOption> getCompileOptions();

/// Sets option `Name` from `Text`. Returns nothing on success; otherwise what
/// was expected and what was given, and `Options` is as it was.
std::optional<std::string> setCompileOption(CompileOptions &Options,
                                            llvm::StringRef Name,
                                            llvm::StringRef Text);

/// The options whose values change what a program computes, as name and text;
/// the others change how, and the result has the same bits. Which kernels a
/// device has (`device`, `arch`, `attention`) is not among them.
std::vector<std::pair<std::string, std::string>>
getNumericOptions(const CompileOptions &Options);

} // namespace remat

#endif // REMAT_COMPILEOPTIONS_H
