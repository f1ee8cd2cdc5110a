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
  int64_t ImpossibleBytes = 0;
  std::string PeakOp; ///< name and location of the op at the peak
  struct Live {
    std::string Name, Location;
    int64_t Bytes = 0;
  };
  std::vector<Live> Largest; ///< the largest values alive there
};

/// What the planner proved on its own problem, in which every operation is a
/// kernel of its own and takes the time that the device's model says.
struct PlannerCertificate {
  double Ms = 0, LowerBoundMs = 0, Gap = 0;
};

struct CompileReport {
  std::string Device = "host", Arch; ///< of the target; no arch for the host
  std::optional<int64_t> BudgetBytes;
  int64_t UnplannedPeakBytes = 0, PredictedPeakBytes = 0;
  /// The smallest budget that any plan made here fits, and the largest that is
  /// proven to fit no program: between them nothing is known.
  int64_t SmallestFeasibleBytes = 0, ImpossibleBytes = 0;
  /// Of the program as it runs, kernels of several operations included. The
  /// overhead is over the fastest program made here for whatever budget.
  double PredictedOverhead = 0, PredictedMs = 0;
  int64_t RecomputedOps = 0;
  /// Bytes at the peak by class, in SEEDS.md's names: "parameters",
  /// "gradients", "optimizer_state", "activations", "temporaries",
  /// "workspaces", "inputs", "outputs", "constants", "slack".
  std::vector<std::pair<std::string, int64_t>> Classes;
  /// Seconds by phase, in order: "parse" is added by whoever parses.
  std::vector<std::pair<std::string, double>> Seconds;
  /// The certificate: no program within the budget, of whatever order,
  /// recomputation and grouping of elementwise operations, has a lower
  /// predicted time. The gap is how far this one is above that, as a part of
  /// the predicted time without recomputation (0.01: one percent).
  double LowerBoundMs = 0, Gap = 0;
  /// Empty where the plan fits the budget only thanks to fusion.
  std::optional<PlannerCertificate> Planner;
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
