//===- Run.cpp - compiles a graph within a budget and trains it -----------===//

#include "remat/Run/Run.h"
#include "Compile.h"
#include "Job.h"
#include "Options.h"
#include "Progress.h"
#include "Report.h"
#include "RunFacts.h"
#include "Train.h"
#include "remat/Tool/LLVMTool.h"
#include "remat/runtime/Together.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>

using namespace remat;
using namespace remat::run;

/// Of several ranks, the others are told.
static int fail(const ToolOptions &Options, const runtime::Error &E) {
  if (Options.TheRanks)
    Options.TheRanks->abort(E.getMessage());
  llvm::outs().flush();
  llvm::WithColor::error(llvm::errs(), "remat-run") << E.getMessage() << '\n';
  return ExitError;
}

/// Asked before the work begins: what takes hours must not be lost because a
/// folder is missing.
static std::optional<std::string> checkFiles(const ToolOptions &O) {
  const std::pair<const char *, std::string> Outputs[] = {
      {"--report", O.Report},
      {"--metrics", O.Metrics},
      {"--emit-program", O.EmitProgram},
      {"--save", O.Save},
      {"--save-ema", O.SaveAverages},
      {"--save-best", O.SaveBest},
      {"--save-gradients", O.SaveGradients},
      {"--save-outputs", O.SaveOutputs},
      {"--profile", O.Profile},
      {"--report-html", O.Page},
      {"--timeline", O.Timeline},
      {"--timeline-csv", O.Table},
      {"--trace", O.Trace}};
  return checkOutputs(Outputs);
}

/// Writes the reports. The other ranks wait until rank 0 has.
static int finish(const ToolOptions &Options, const CompiledFile &Compiled,
                  const RunResult *Ran, int Code) {
  runtime::Status Written = runtime::workTogether(Options.TheRanks.get(), [&] {
    return writeReports(Options, Compiled, Ran);
  });
  if (Written && Ran)
    Written = Ran->LastCheckpoint;
  return Written ? Code : fail(Options, Written.getError());
}

static int runFile(ToolOptions &Options) {
  if (Options.isFirst())
    if (std::optional<std::string> Failed = checkFiles(Options))
      return fail(Options, runtime::Error(runtime::ErrorCode::IO, *Failed));
  CompiledFile Compiled;
  Outcome How = compileTogether(Options, Compiled);
  if (How == Outcome::Failed)
    return ExitError;
  if (How == Outcome::Refused)
    return finish(Options, Compiled, nullptr, ExitRefused);
  printPlan(Options, Compiled.Report);
  if (Compiled.Report.Explained && Options.isFirst())
    llvm::outs() << printExplanation(*Compiled.Report.Explained);
  if (!Options.EmitProgram.empty())
    if (runtime::Status Written =
            writeFile(Options.EmitProgram, Compiled.Bytes);
        !Written)
      return fail(Options, Written.getError());
  if (Options.CompileOnly)
    return finish(Options, Compiled, nullptr, ExitDone);

  // The runtime catches what is thrown for want of memory and says where.
  throwWithoutMemory(true);
  runtime::Result<runtime::RunFacts> Facts = collectFacts(Options, Compiled);
  if (!Facts)
    return fail(Options, Facts.getError());
  runtime::Result<RunResult> Ran =
      train(Compiled.Program, Options, std::move(*Facts));
  if (!Ran)
    return fail(Options, Ran.getError());
  return finish(Options, Compiled, &*Ran, ExitDone);
}

static int runJob(int Argc, const char *const *Argv,
                  std::shared_ptr<runtime::Ranks> Ranks) {
  ToolOptions Options;
  if (std::optional<int> Code = parseOptions(Argc, Argv, Options))
    return *Code;
  if (runtime::Status Joined = joinRanks(Options, std::move(Ranks)); !Joined)
    return fail(Options, Joined.getError());
  int Code = runFile(Options);
  // Whoever started the ranks may end all once one has ended with an error:
  // they end when all have said what they have to say.
  llvm::outs().flush();
  if (Options.TheRanks)
    if (runtime::Status Met = barrier(*Options.TheRanks);
        !Met && Code != ExitError)
      return fail(Options, Met.getError());
  return Code;
}

int remat::runTool(int Argc, const char *const *Argv,
                   std::shared_ptr<runtime::Ranks> Ranks) {
  startLLVMTool("remat-run");
  return finishLLVMTool(runJob(Argc, Argv, std::move(Ranks)));
}
