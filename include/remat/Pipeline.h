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
#include "remat/CompileOptions.h"
#include "llvm/Support/JSON.h"
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace remat {

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
  /// Of the planner's certificate: no plan of this graph that meets its target
  /// takes less, and how far this one may be above that (0.01: one percent).
  double LowerBoundMs = 0, Gap = 0;
  std::optional<Refusal> Refused;
};

/// The report with the keys that users know from `remat-run --report`. A
/// refused budget has null as its predicted peak and says why under "refused".
llvm::json::Object toJSON(const CompileOptions &Options,
                          const CompileReport &Report);

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
