//===- Graph.cpp - graph texts, before and between the passes -------------===//
//
// `graph` compiles and runs a text as remat-run does. `stages` gives a text to
// each pass and to each translation, as remat-opt and remat-translate do.
//
//===----------------------------------------------------------------------===//

#include "Shared.h"
#include "Target.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "remat/IR/GraphFile.h"
#include "remat/IR/RematDialect.h"
#include "remat/Pipeline.h"
#include "remat/Target/Program.h"
#include "remat/Transforms/Passes.h"
#include "remat/runtime/Program.h"

using namespace mlir;
using namespace remat;
using namespace remat::fuzz;

/// The largest arena of a graph that is run, and the most operations of one
/// that is planned: what stays well within the time of one input.
static constexpr uint64_t MaxArenaBytes = 1 << 18;
static constexpr size_t MaxOps = 200;

namespace {

/// A context whose diagnostics are written, but nowhere.
class Quiet {
public:
  Quiet()
      : Context(MLIRContext::Threading::DISABLED),
        Handler(&Context, [](Diagnostic &D) {
          (void)D.str();
          return success();
        }) {
    Context.printOpOnDiagnostic(false);
  }
  MLIRContext Context;

private:
  ScopedDiagnosticHandler Handler;
};

} // namespace

/// Options that depend on the text only. CUDA kernels are not compiled.
static CompileOptions chooseOptions(Random &R) {
  CompileOptions O;
  O.CompileKernels = false;
  auto Choose = [&](const char *Name,
                    std::initializer_list<const char *> From) {
    const char *Value = From.begin()[R.draw(From.size())];
    if (std::optional<std::string> Bad = setCompileOption(O, Name, Value))
      fail(std::string(Name) + ": " + *Bad);
  };
  Choose("device", {"host", "host", "cuda"});
  Choose("budget", {"unlimited", "unlimited", "95%", "80%", "60%"});
  // The planner has targets of its own; its search, sanitized, takes seconds.
  Choose("strategy", {"none", "none", "sqrt", "mincut"});
  Choose("accumulate", {"1", "1", "2"});
  Choose("fuse", {"true", "true", "false"});
  Choose("optimizer", {"adamw", "sgd", "none"});
  Choose("clip-norm", {"0", "0", "1"});
  Choose("momentum", {"0", "0.9"});
  if (R.oneIn(3))
    Choose("autocast", {"bf16", "f16"});
  Choose("schedule", {"constant", "constant", "cosine"});
  Choose("decay-steps", {O.Optimizer.Schedule == "constant" ? "0" : "7"});
  Choose("skip-nonfinite", {"false", "false", "true"});
  Choose("gradient-norm", {"false", "false", "true"});
  if (R.oneIn(4))
    Choose("loss-scale", {"dynamic", "1024"});
  if (R.oneIn(4))
    Choose("ema", {"0.9"});
  return O;
}

Outcome remat::fuzz::runGraph(Bytes Data) {
  Quiet Q;
  OwningOpRef<ModuleOp> Module = parseGraph(asText(Data), "graph", Q.Context);
  if (!Module)
    return Outcome::Refused;
  if (getGraph(*Module).getBody().front().getOperations().size() > MaxOps)
    return Outcome::Read;
  Random R(hashOf(Data));
  CompileOptions Options = chooseOptions(R);
  std::vector<uint8_t> Program;
  CompileReport Report;
  if (failed(compile(*Module, Options, Program, Report)))
    return Outcome::Read;
  (void)toJSON(Options, Report);
  if (runOnHost(Program, MaxArenaBytes) == Outcome::Refused)
    fail("the loader refuses what the compiler made: " +
         runtime::Program::load(Program).getError().getMessage());
  return Outcome::Done;
}

//===----------------------------------------------------------------------===//
// Between the passes
//===----------------------------------------------------------------------===//

void remat::fuzz::registerAllPasses() {
  static const bool Once = [] {
    registerCanonicalizerPass();
    registerCSEPass();
    remat::registerPasses();
    remat::registerPipeline();
    return true;
  }();
  (void)Once;
}

/// Runs passes, as remat-opt names them, on a copy.
static bool runPasses(ModuleOp Module, StringRef Pipeline) {
  OwningOpRef<ModuleOp> Copy(Module.clone());
  PassManager PM(Module.getContext());
  if (failed(parsePassPipeline(Pipeline, PM)))
    fail("no such passes: " + Pipeline.str());
  return succeeded(PM.run(*Copy));
}

/// What remat-translate makes of a graph.
static bool translate(ModuleOp Module) {
  func::FuncOp Graph = getGraph(Module);
  EmitOptions Options;
  Options.CompileKernels = false;
  std::vector<uint8_t> Program;
  if (failed(emitProgram(Graph, Options, Program)))
    return false;
  std::string Error;
  if (!printProgram(Program, llvm::nulls(), Error))
    fail("a program does not print: " + Error);
  return runOnHost(Program, MaxArenaBytes) == Outcome::Done;
}

Outcome remat::fuzz::runStages(Bytes Data) {
  registerAllPasses();
  Quiet Q;
  llvm::MemoryBufferRef Text(asText(Data), "graph");
  if (failed(checkGraphText(Text, Q.Context)))
    return Outcome::Refused;
  Q.Context.loadDialect<func::FuncDialect, RematDialect>();
  // MLIR's lexer looks for a zero after the text.
  const std::string Terminated(asText(Data));
  auto Module = parseSourceString<ModuleOp>(Terminated, &Q.Context, "graph");
  if (!Module)
    return Outcome::Refused;
  size_t Ops = 0;
  Module->walk([&](Operation *) { ++Ops; });
  if (Ops > MaxOps)
    return Outcome::Read;
  // Every text goes to every pass: which one trusts it is not known before.
  unsigned Done = 0;
  for (const char *Pipeline :
       {"remat-autocast",
        "remat-accumulate{micro-batches=2}",
        "remat-differentiate",
        "remat-add-optimizer",
        "remat-add-optimizer{kind=sgd momentum=0.9 clip-norm=1}",
        "remat-fuse{mode=before-plan}",
        "remat-fuse{mode=after-plan}",
        "remat-set-target{device=cuda},remat-channels-last",
        "remat-sink-constants",
        "remat-plan-bodies",
        "remat-legalize-results",
        "remat-plan{strategy=mincut}",
        "remat-set-target{device=cuda},remat-plan{strategy=sqrt budget=20000}",
        "remat-dump-problem",
        "remat-assign-memory",
        "remat-set-target{device=cuda},remat-assign-memory{node-limit=100}",
        "remat-verify-memory",
        "remat-print-liveness",
        "remat-set-target{device=cuda},remat-print-cost",
        "canonicalize,cse"})
    Done +=
        runPasses(*Module, Pipeline == StringRef("canonicalize,cse")
                               ? std::string(Pipeline)
                               : "func.func(" + std::string(Pipeline) + ")");
  if (failed(verifyGraph(*Module)))
    return Outcome::Read;
  (void)printCUDA(getGraph(*Module), CUDATextOptions(), llvm::nulls());
  bool Translated = translate(*Module);
  Module->walk([](func::FuncOp Graph) {
    Graph->setAttr(TargetAttrName,
                   TargetAttr::get(Graph.getContext(), DeviceKind::cuda,
                                   "sm_90", AttentionKernels::automatic,
                                   /*deterministic=*/true));
  });
  Translated |= translate(*Module);
  return Translated || Done > 0 ? Outcome::Done : Outcome::Read;
}
