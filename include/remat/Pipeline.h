//===- Pipeline.h - the one way from a graph to a program -------*- C++ -*-===//
//
// remat-opt --remat-pipeline, remat-run, the C API and the README's figure all
// mean this pipeline.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PIPELINE_H
#define REMAT_PIPELINE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace remat {

/// A memory budget as a user writes it.
struct Budget {
  enum class Kind { Unlimited, Bytes, PercentOfUnplanned };
  enum Kind Kind = Kind::Unlimited;
  int64_t Bytes = 0;
  double Percent = 100.0;

  /// Parses "unlimited", "123", "4GiB", "512MiB", "16KiB", "2GB", "50%".
  /// Returns nothing if the text is none of these or does not fit int64_t.
  static std::optional<Budget> parse(llvm::StringRef Text);
};

struct OptimizerOptions {
  std::string Kind = "adamw"; ///< "adamw", "sgd" or "none"
  double LearningRate = 1e-3;
  double Beta1 = 0.9, Beta2 = 0.999, Epsilon = 1e-8;
  double WeightDecay = 0.01;
  double Momentum = 0.0;
  double ClipNorm = 0.0; ///< 0: no clipping
};

struct CompileOptions {
  std::string Device = "host";    ///< "host" or "cuda"
  std::string Arch = "sm_90";     ///< for "cuda"
  std::string Attention = "auto"; ///< "auto", "cudnn" or "own", for "cuda"
  std::string Strategy = "search";
  struct Budget Budget;
  OptimizerOptions Optimizer;
  std::string Autocast; ///< "", "bf16" or "f16"
  int64_t MicroBatches = 1;
  int64_t PlannerEffort = 1; ///< a count, not a clock
  uint64_t PlannerSeed = 0;
  bool Fuse = true;
  bool OffsetsExact = true;   ///< exact packing when best-fit misses the load
  std::string ProfilePath;    ///< measured op times, JSON; "": roofline
  bool CompileKernels = true; ///< run NVRTC; false: source text only
};

/// Why a budget was refused: what DESIGN.md asks a refusal to name.
struct Refusal {
  int64_t BudgetBytes = 0, UnplannedPeakBytes = 0, SmallestFeasibleBytes = 0;
  std::string PeakOp; ///< name and location of the op at the peak
  struct Live {
    std::string Name, Location;
    int64_t Bytes = 0;
  };
  std::vector<Live> Largest; ///< the largest values alive there
};

struct CompileReport {
  std::optional<int64_t> BudgetBytes;
  int64_t UnplannedPeakBytes = 0, PredictedPeakBytes = 0;
  int64_t SmallestFeasibleBytes = 0;
  double PredictedOverhead = 0, PredictedMs = 0;
  int64_t RecomputedOps = 0;
  /// Bytes at the peak by class, in SEEDS.md's names: "parameters",
  /// "gradients", "optimizer_state", "activations", "temporaries",
  /// "workspaces", "inputs", "outputs", "constants", "slack".
  std::vector<std::pair<std::string, int64_t>> Classes;
  /// Seconds by phase, in order: "parse" is added by whoever parses.
  std::vector<std::pair<std::string, double>> Seconds;
  double LowerBound = 0, Gap = 0; ///< of the planner's certificate
  std::optional<Refusal> Refused;
};

/// Adds every pass from the verified graph up to assigned memory.
void buildPipeline(mlir::OpPassManager &PM, const CompileOptions &Options);

/// Compiles the graph in `Module` (which becomes the planned graph) to a
/// program. Emits diagnostics on failure. A refused budget fails with
/// `Report.Refused` set; every other failure leaves it empty.
mlir::LogicalResult compile(mlir::ModuleOp Module,
                            const CompileOptions &Options,
                            std::vector<uint8_t> &Program,
                            CompileReport &Report);

/// Registers `--remat-pipeline` with its options.
void registerPipeline();

} // namespace remat

#endif // REMAT_PIPELINE_H
