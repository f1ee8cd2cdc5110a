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
#include "remat/Target/Program.h"
#include "remat/Transforms/FitReport.h"
#include "llvm/Support/JSON.h"
#include <cstdint>
#include <vector>

namespace remat {

/// What a compilation found; "parse" among its seconds is added by whoever
/// parses.
using CompileReport = FitReport;

/// A program of the graph that is not the one asked for, to be shown.
struct RecordedProgram {
  std::vector<uint8_t> Bytes; ///< empty: was not made
  std::vector<StepTime> Times;
};

/// What a compilation found beside its program and report.
struct CompileRecord {
  std::vector<StepTime> Times; ///< of the program's steps
  RecordedProgram Unplanned;   ///< every operation once
  RecordedProgram Smallest;    ///< of a refused budget: the least arena found
  std::vector<FrontierPoint> Frontier;
};

/// The report with the keys that users know from `remat-run --report`. A
/// refused budget has null as its predicted peak and says why under "refused".
llvm::json::Object toJSON(const CompileOptions &Options,
                          const CompileReport &Report);

/// What `--explain` prints: a sentence or two for each decision.
std::string printExplanation(const PlanExplanation &Explained);

/// Adds every pass from the verified graph up to assigned memory.
void buildPipeline(mlir::OpPassManager &PM, const CompileOptions &Options);

/// The same passes as text, for `remat-opt --pass-pipeline`.
std::string printPipeline(const CompileOptions &Options);

/// Compiles the graph in `Module` (which becomes the planned graph) to a
/// program. Functions beside `main` are run forward only, between the steps of
/// `main`, in the same arena. Emits diagnostics on failure. A refused budget
/// fails with `Report.Refused` set; every other failure leaves it empty. A
/// record changes neither the program nor the report, but for the seconds that
/// it takes.
mlir::LogicalResult compile(mlir::ModuleOp Module,
                            const CompileOptions &Options,
                            std::vector<uint8_t> &Program,
                            CompileReport &Report,
                            CompileRecord *Record = nullptr);

/// Which build of the compiler this is: two builds whose texts are equal make
/// the same program of the same graph and options.
std::string describeCompiler();

/// Which library compiles the kernels of programs for `Device` now: NVRTC and
/// its file. Empty for the host, and where there is none.
std::string describeKernelCompiler(llvm::StringRef Device);

/// What the function is called that evaluates what `main` trains.
inline constexpr llvm::StringLiteral EvaluationName = "evaluate";

/// Adds the function that evaluates: where the graph has none, the forward of
/// `main`. Fails with a diagnostic where that is not what evaluation means: it
/// draws random numbers, writes states or has no loss.
mlir::LogicalResult addEvaluation(mlir::ModuleOp Module);

/// Registers `--remat-pipeline` with its options.
void registerPipeline();

} // namespace remat

#endif // REMAT_PIPELINE_H
