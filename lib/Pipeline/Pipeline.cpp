//===- Pipeline.cpp - the one way from a graph to a program ---------------===//

#include "remat/Pipeline.h"
#include "Functions.h"
#include "RefusalCauses.h"
#include "Slices.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "remat/IR/GraphFile.h"
#include "remat/IR/Refusal.h"
#include "remat/IR/RematDialect.h"
#include "remat/Target/Program.h"
#include "remat/Transforms/FitBudget.h"
#include "remat/Transforms/Passes.h"
#include <chrono>

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// The passes
//===----------------------------------------------------------------------===//

static AddOptimizerOptions getOptimizer(const OptimizerOptions &O) {
  AddOptimizerOptions Pass;
  Pass.kind = O.Kind;
  Pass.rate = O.LearningRate;
  Pass.beta1 = O.Beta1;
  Pass.beta2 = O.Beta2;
  Pass.epsilon = O.Epsilon;
  Pass.weightDecay = O.WeightDecay;
  Pass.momentum = O.Momentum;
  Pass.clipNorm = O.ClipNorm;
  Pass.schedule = O.Schedule;
  Pass.warmupSteps = O.WarmupSteps;
  Pass.holdSteps = O.HoldSteps;
  Pass.decaySteps = O.DecaySteps;
  Pass.decayFactor = O.DecayFactor;
  Pass.gradientNorm = O.GradientNorm;
  Pass.skipNonfinite = O.SkipNonfinite;
  Pass.lossScale = O.LossScale;
  Pass.dynamicLossScale = O.DynamicLossScale;
  Pass.lossScaleInterval = O.LossScaleInterval;
  Pass.ema = O.Average;
  return Pass;
}

static FitBudgetOptions getFitting(const CompileOptions &O) {
  FitBudgetOptions Pass;
  Pass.Budget = O.Budget.str();
  Pass.Strategy = O.Strategy;
  Pass.Effort = O.PlannerEffort;
  Pass.Seed = O.PlannerSeed;
  Pass.Fuse = O.Fuse;
  Pass.ScopeBudgets.assign(O.Controls.ScopeBudgets.begin(),
                           O.Controls.ScopeBudgets.end());
  return Pass;
}

static void addControls(OpPassManager &PM, const Controls &C) {
  if (C.Keep.empty() && C.Recompute.empty() && C.Prefer.empty())
    return;
  ControlOptions Pass;
  Pass.Kept.assign(C.Keep.begin(), C.Keep.end());
  Pass.Recomputed.assign(C.Recompute.begin(), C.Recompute.end());
  Pass.Preferred.assign(C.Prefer.begin(), C.Prefer.end());
  PM.addPass(createControl(Pass));
}

/// Where ranks share the work of a batch, or somebody thinks so.
static void addShards(OpPassManager &PM, const CompileOptions &O) {
  if (O.Parallel.TensorRanks < 2 && O.Shards.empty())
    return;
  ShardOptions Pass;
  Pass.Shards.assign(O.Shards.begin(), O.Shards.end());
  PM.addPass(createShard(Pass));
}

static int64_t getDataRanks(const CompileOptions &O) {
  return O.Ranks / O.Parallel.TensorRanks;
}

static void addDistribution(OpPassManager &PM, const CompileOptions &O) {
  if (getDataRanks(O) < 2)
    return;
  DistributeOptions Pass;
  Pass.sharding = ShardingNames[static_cast<size_t>(O.Parallel.Sharded)];
  Pass.optimizer = O.Optimizer.Kind;
  Pass.bucket = O.BucketBytes;
  Pass.microBatches = O.MicroBatches;
  PM.addPass(createDistribute(Pass));
}

/// Simplifies, splits and lays out the graph.
static void addSimplification(OpPassManager &PM, const CompileOptions &O) {
  PM.addPass(createCanonicalizerPass());
  PM.addPass(createCSEPass());
  if (O.Slices > 1) {
    PM.addPass(createSplit({O.Slices}));
    PM.addPass(createCanonicalizerPass());
    PM.addPass(createCSEPass());
  }
  PM.addPass(createChannelsLast());
}

/// From the forward to a whole step. What is to be done to micro-batches is
/// done before they are the body of a loop.
static void addTraining(OpPassManager &PM, const CompileOptions &Options) {
  DifferentiateOptions Scale;
  // Only an optimizer divides by it again.
  if (Options.Optimizer.Kind != "none") {
    Scale.lossScale = Options.Optimizer.LossScale;
    Scale.dynamicLossScale = Options.Optimizer.DynamicLossScale;
  }
  PM.addPass(createDifferentiate(Scale));
  addShards(PM, Options);
  if (Options.MicroBatches > 1) {
    addSimplification(PM, Options);
    addControls(PM, Options.Controls);
    PM.addPass(createAccumulate({Options.MicroBatches}));
  }
  addDistribution(PM, Options);
  if (Options.Optimizer.Kind != "none")
    PM.addPass(createAddOptimizer(getOptimizer(Options.Optimizer)));
}

static void buildPasses(OpPassManager &PM, const CompileOptions &Options,
                        CompileReport *Report, FitRecord *Record) {
  OpPassManager &FuncPM = PM.nest<func::FuncOp>();
  SetTargetOptions Where{Options.Device,
                         Options.Arch,
                         Options.Attention,
                         Options.Deterministic,
                         /*Costs=*/{},
                         getDataRanks(Options),
                         Options.Parallel.TensorRanks};
  Where.Costs.assign(Options.Costs.begin(), Options.Costs.end());
  FuncPM.addPass(createSetTarget(Where));
  FuncPM.addPass(createCancelTransposes());
  if (!Options.Freeze.empty()) {
    FreezeOptions Freeze;
    Freeze.Frozen.assign(Options.Freeze.begin(), Options.Freeze.end());
    FuncPM.addPass(createFreeze(Freeze));
  }
  if (!Options.Autocast.empty())
    FuncPM.addPass(createAutocast({Options.Autocast}));
  FuncPM.addPass(createPadClasses());
  addControls(FuncPM, Options.Controls);
  if (Options.Function.empty())
    addTraining(FuncPM, Options);
  else
    addDistribution(FuncPM, Options);
  addSimplification(FuncPM, Options);
  FuncPM.addPass(createFormRolls());
  if (Options.Halves)
    FuncPM.addPass(createHalveParameters());
  FuncPM.addPass(createJoinAddends());
  FuncPM.addPass(createJoinSums());
  if (Options.Fuse)
    FuncPM.addPass(createFuse({"before-plan"}));
  FuncPM.addPass(createSinkConstants());
  addControls(FuncPM, Options.Controls);
  FuncPM.addPass(createPlanBodies({Options.Fuse}));
  FuncPM.addPass(createLegalizeResults());
  FuncPM.addPass(createFitBudget(
      getFitting(Options),
      {Report, Options.Interrupt, Options.Explain, Record, Options.Watcher,
       Options.Controls.Keep, Options.Seeds, Options.Function}));
}

std::string remat::printPipeline(const CompileOptions &Options) {
  OpPassManager PM(ModuleOp::getOperationName());
  buildPasses(PM, Options, nullptr, nullptr);
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  PM.printAsTextualPipeline(OS);
  return Text;
}

void remat::buildPipeline(OpPassManager &PM, const CompileOptions &Options) {
  buildPasses(PM, Options, nullptr, nullptr);
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

namespace {

/// Adds each pass's seconds to the report under the pass's name. The budget
/// loop writes its own phases.
class PhaseTimes : public PassInstrumentation {
public:
  explicit PhaseTimes(CompileReport &Report) : Report(Report) {}

  void runBeforePass(Pass *P, Operation *) override {
    Starts[P] = Clock::now();
  }
  void runAfterPass(Pass *P, Operation *) override {
    StringRef Name = P->getArgument();
    Name.consume_front("remat-");
    if (Name.empty() || Name == "fit-budget")
      return;
    std::chrono::duration<double> Time = Clock::now() - Starts[P];
    Report.Seconds.push_back({Name.str(), Time.count()});
  }

private:
  using Clock = std::chrono::steady_clock;
  CompileReport &Report;
  DenseMap<Pass *, Clock::time_point> Starts;
};

} // namespace

LogicalResult remat::planFunction(ModuleOp Module,
                                  const CompileOptions &Options,
                                  CompileReport &Report, FitRecord *Record) {
  PassManager PM(Module.getContext());
  PM.addInstrumentation(std::make_unique<PhaseTimes>(Report));
  buildPasses(PM, Options, &Report, Record);
  return PM.run(Module);
}

/// Lets the budget loop emit into `Record` the programs that it shows.
static FitRecord makeFitRecord(CompileRecord &Record) {
  auto Emit = [](RecordedProgram &Into) {
    return [&Into](func::FuncOp Func) {
      EmitOptions Options;
      Options.CompileKernels = false; // it will not run
      Options.Times = &Into.Times;
      return emitProgram(Func, Options, Into.Bytes);
    };
  };
  return {Emit(Record.Unplanned), Emit(Record.Smallest), {}};
}

/// Ranks that share a batch are a part of all.
static LogicalResult checkRanks(func::FuncOp Func, const CompileOptions &O) {
  int64_t Sharing = O.Parallel.TensorRanks;
  if (O.Ranks % Sharing == 0)
    return success();
  InFlightDiagnostic Diag = Func.emitError()
                            << "tensor=" << Sharing << " needs a multiple of "
                            << Sharing << " ranks, got " << O.Ranks;
  Diag.attachNote() << "start that many, such as by 'mpirun -n " << Sharing
                    << "'; --ranks says how many a program is for that is "
                       "only compiled";
  return Diag;
}

static LogicalResult compileOnce(ModuleOp Module, const CompileOptions &Options,
                                 std::vector<uint8_t> &Program,
                                 CompileReport &Report, CompileRecord *Record) {
  Report = CompileReport();
  if (failed(verifyGraph(Module)) ||
      failed(checkRanks(getGraph(Module), Options)))
    return failure();
  FitRecord Fitting;
  if (Record)
    Fitting = makeFitRecord(*Record);
  FitRecord *Into = Record ? &Fitting : nullptr;
  LogicalResult Passed = getOtherFunctions(Module).empty()
                             ? planFunction(Module, Options, Report, Into)
                             : planFunctions(Module, Options, Report, Into);
  if (Record)
    Record->Frontier = std::move(Fitting.Frontier);
  if (failed(Passed))
    return failure();
  SmallVector<func::FuncOp> Functions = {getGraph(Module)};
  llvm::append_range(Functions, getOtherFunctions(Module));

  auto Start = std::chrono::steady_clock::now();
  EmitOptions Emit;
  Emit.CompileKernels = Options.CompileKernels;
  Emit.Times = Record ? &Record->Times : nullptr;
  LogicalResult Emitted = emitProgram(Functions, Emit, Program);
  std::chrono::duration<double> Time = std::chrono::steady_clock::now() - Start;
  Report.Seconds.push_back({"emit", Time.count()});
  return Emitted;
}

static bool addsInAnyOrder(ModuleOp Module, const CompileOptions &Options) {
  return Options.Deterministic == "false" ||
         !getTargetAttr(getGraph(Module)).getDeterministic();
}

LogicalResult remat::compile(ModuleOp Module, const CompileOptions &Options,
                             std::vector<uint8_t> &Program,
                             CompileReport &Report, CompileRecord *Record) {
  if (Options.AddsEvaluation && failed(addEvaluation(Module)))
    return failure();
  if (Options.BitwiseBudget && addsInAnyOrder(Module, Options))
    return Module.emitError(
        "equal bits at every budget, and sums in any order: bitwise-budget "
        "and deterministic=false exclude each other");
  if (Options.Slices == 0)
    return compileInSlices(Module, Options, Program, Report, Record);
  if (!Options.FindsCauses || Options.Controls.empty())
    return compileOnce(Module, Options, Program, Report, Record);
  OwningOpRef<ModuleOp> Graph(Module.clone());
  std::optional<Diagnostic> Refused;
  {
    RefusalHolder Holder(Module.getContext());
    if (succeeded(compileOnce(Module, Options, Program, Report, Record)))
      return success();
    Refused = Holder.take();
  }
  if (Report.Refused)
    findCauses(*Graph, Options, *Report.Refused);
  if (Refused) {
    if (Report.Refused)
      attachCauses(*Refused, *Report.Refused);
    Module.getContext()->getDiagEngine().emit(std::move(*Refused));
  }
  return failure();
}

//===----------------------------------------------------------------------===//
// The command line
//===----------------------------------------------------------------------===//

/// Parses "name=value name=value" with the names of getCompileOptions().
static LogicalResult
parsePipelineOptions(StringRef Text, CompileOptions &Options,
                     function_ref<LogicalResult(const Twine &)> Error) {
  SmallVector<StringRef> Words;
  Text.split(Words, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef Word : Words) {
    auto [Name, Value] = Word.split('=');
    if (std::optional<std::string> Bad = setCompileOption(Options, Name, Value))
      return Error("option '" + Name + "': " + *Bad);
  }
  return success();
}

void remat::registerPipeline() {
  registerPassPipeline(
      "remat-pipeline",
      "from a graph to a planned graph with assigned memory: "
      "remat-pipeline=\"budget=50% strategy=search ...\"",
      [](OpPassManager &PM, StringRef Text,
         function_ref<LogicalResult(const Twine &)> Error) {
        CompileOptions Options;
        if (failed(parsePipelineOptions(Text, Options, Error)))
          return failure();
        buildPipeline(PM, Options);
        return success();
      },
      [](function_ref<void(const mlir::detail::PassOptions &)>) {});
}
