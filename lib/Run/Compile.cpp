//===- Compile.cpp - from the file to a program ---------------------------===//

#include "Compile.h"
#include "Progress.h"
#include "RunFacts.h"
#include "remat/Driver/FreeMemory.h"
#include "remat/Driver/PlanCache.h"
#include "remat/Driver/ProgramReport.h"
#include "remat/Driver/RefusalPage.h"
#include "remat/Driver/Remedies.h"
#include "remat/IR/GraphFile.h"
#include "remat/Support/Tool.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"
#include <unistd.h>

using namespace remat;
using namespace remat::run;

static Outcome fail(const ToolOptions &Options, const llvm::Twine &Message) {
  llvm::WithColor::error(Options.getErrors(), "remat-run") << Message << '\n';
  return Outcome::Failed;
}

/// FlatBuffers writes the format's identifier behind the root's offset.
static bool isProgram(llvm::StringRef Bytes) {
  return Bytes.size() >= 8 && Bytes.substr(4, 4) == "RMAT";
}

/// Loads what the compiler or a file gave: the independent check of a program.
static Outcome load(const ToolOptions &Options, CompiledFile &Compiled) {
  auto Program = runtime::Program::load(Compiled.Bytes);
  if (!Program)
    return fail(Options, Program.getError().getMessage());
  Compiled.Program = std::move(*Program);
  return Outcome::Done;
}

static Outcome loadProgram(llvm::StringRef Bytes, ToolOptions &Options,
                           CompiledFile &Compiled) {
  if (!Options.CompileFlags.empty())
    return fail(Options, "'" + Options.File + "' is a compiled program: " +
                             Options.CompileFlags.front() +
                             " has no effect on it");
  Compiled.Bytes.assign(Bytes.bytes_begin(), Bytes.bytes_end());
  if (Outcome How = load(Options, Compiled); How != Outcome::Done)
    return How;
  Compiled.Report = makeReport(*Compiled.Program);
  return Outcome::Done;
}

/// How long other ways to compile are tried once a budget is refused.
static constexpr double RemedySeconds = 3;

/// Says why, and what would do.
static void explainRefusal(const ToolOptions &Options, llvm::StringRef Text,
                           mlir::MLIRContext &Context,
                           const GraphDiagnostics &Texts,
                           CompileReport &Report) {
  // Compilation has changed the module.
  if (!Options.Quiet)
    if (auto Graph = parseGraph(Text, Options.File, Context))
      findRemedies(*Graph, Options.Compile, RemedySeconds, Report);
  static constexpr llvm::StringLiteral Prefix = "remat-run: error: ";
  llvm::WithColor::error(Options.getErrors(), "remat-run") << renderRefusal(
      Options.Compile, *Report.Refused, Screen::of(STDERR_FILENO),
      Texts.getLine(Report.Refused->PeakLocation), Prefix.size());
}

/// Compiles with the progress of planning shown.
static mlir::LogicalResult compileModule(mlir::ModuleOp Module,
                                         ToolOptions &Options,
                                         const std::vector<PlanSeed> &Seeds,
                                         CompiledFile &Compiled) {
  CompileReport &Report = Compiled.Report;
  PlanningProgress Progress(Options, *Module.getContext());
  CompileOptions Seeded = Options.Compile;
  Seeded.Seeds = &Seeds;
  mlir::LogicalResult Done =
      compile(Module, Seeded, Compiled.Bytes, Report,
              Compiled.Record ? &*Compiled.Record : nullptr);
  if (failed(Done))
    return Done;
  // Once there is a plan there is nothing to be taken.
  if (Interrupted && !Report.Interrupted)
    return mlir::emitError(mlir::UnknownLoc::get(Module.getContext()))
           << "interrupted";
  return Done;
}

/// The program is there all the same.
static void keep(const ToolOptions &Options, CachedCompilation &Kept,
                 const PlanCache &Cache, const CompiledFile &Compiled) {
  FileFailure Failed = Kept.store(Compiled.Bytes, Compiled.Report);
  if (Failed && Cache.isNamed())
    llvm::WithColor::warning(Options.getErrors(), "remat-run")
        << "the program is not kept: " << *Failed << '\n';
}

/// Makes what the device has free the budget, where that is asked for.
static Outcome chooseBudget(LazyGraph &Graph, ToolOptions &Options) {
  if (Options.Compile.Budget.Kind != Budget::Kind::Max)
    return Outcome::Done;
  if (!Graph.get())
    return Outcome::Failed;
  auto Line = resolveMaxBudget(Graph.get(), Options.Compile);
  if (!Line)
    return fail(Options, Line.getError().getMessage());
  if (!Options.Quiet)
    llvm::outs() << *Line << '\n';
  return Outcome::Done;
}

/// Compiles what is not kept from before.
static Outcome compileGraph(LazyGraph &Graph, llvm::StringRef Text,
                            const GraphDiagnostics &Diagnostics,
                            CachedCompilation &Kept, ToolOptions &Options,
                            CompiledFile &Compiled) {
  mlir::ModuleOp Module = Graph.get();
  if (!Module)
    return Outcome::Failed;
  if (Options.wantsRecord())
    Compiled.Record.emplace();
  mlir::LogicalResult Done =
      compileModule(Module, Options, Kept.findSeeds(), Compiled);
  CompileReport &Report = Compiled.Report;
  Report.Seconds.insert(Report.Seconds.begin(), {"parse", Graph.getSeconds()});
  if (Report.Refused) {
    explainRefusal(Options, Text, *Module.getContext(), Diagnostics, Report);
    return Outcome::Refused;
  }
  if (failed(Done))
    return Outcome::Failed;
  if (Report.Interrupted)
    llvm::WithColor::warning(Options.getErrors(), "remat-run")
        << "planning was interrupted; the best plan until then is taken\n";
  return Outcome::Done;
}

namespace {
/// What a graph file is read with; `File` is null where it cannot be read.
struct GraphReader {
  GraphReader(const ToolOptions &Options, bool ShowRefusals)
      : Diagnostics(Context, Options.getErrors(), ShowRefusals) {
    Context.printOpOnDiagnostic(false);
    Reading.Diagnostics = &Diagnostics;
    File = readGraphFile(Options.File, Context, Reading);
  }

  mlir::MLIRContext Context{mlir::MLIRContext::Threading::DISABLED};
  GraphDiagnostics Diagnostics;
  GraphFileOptions Reading;
  std::unique_ptr<llvm::MemoryBuffer> File;
};
} // namespace

Outcome run::findDevice(const ToolOptions &Options,
                        std::optional<std::string> &Name) {
  GraphReader From(Options, /*ShowRefusals=*/true);
  if (!From.File)
    return Outcome::Failed;
  llvm::StringRef Text = From.File->getBuffer();
  if (isProgram(Text))
    return Outcome::Done;
  LazyGraph Graph(Text, Options.File, From.Context, From.Reading);
  if (!Graph.get())
    return Outcome::Failed;
  Name = getDeviceName(Graph.get(), Options.Compile);
  return Outcome::Done;
}

Outcome run::compileFile(ToolOptions &Options, CompiledFile &Compiled) {
  GraphReader From(Options, /*ShowRefusals=*/false);
  if (!From.File)
    return Outcome::Failed;
  llvm::StringRef Text = From.File->getBuffer();
  if (isProgram(Text))
    return loadProgram(Text, Options, Compiled);

  if (Options.EvaluateAverages && Options.Compile.Optimizer.Average == 0)
    return fail(Options,
                "--evaluate-ema needs --ema, which keeps the averages");
  // A graph gets the learning rate as the argument's initial value.
  Options.RateGiven = false;
  LazyGraph Graph(Text, Options.File, From.Context, From.Reading);
  if (!Options.Checkpoints.Folder.empty()) {
    if (!Graph.get())
      return Outcome::Failed;
    Compiled.GraphDigest = computeGraphDigest(Graph.get());
  }
  PlanCache Cache;
  if (FileFailure Failed = Cache.open(Options.Cache))
    return fail(Options, *Failed);
  if (Outcome How = chooseBudget(Graph, Options); How != Outcome::Done)
    return How;
  CachedCompilation Kept(Cache, Options.File, Text, Options.Compile);
  if (!Options.wantsRecord() && Kept.find(Compiled.Bytes, Compiled.Report))
    return load(Options, Compiled);
  if (Outcome How =
          compileGraph(Graph, Text, From.Diagnostics, Kept, Options, Compiled);
      How != Outcome::Done)
    return How;
  keep(Options, Kept, Cache, Compiled);
  return load(Options, Compiled);
}
