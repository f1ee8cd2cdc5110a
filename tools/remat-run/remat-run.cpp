//===- remat-run.cpp - compiles a graph within a budget and trains it -----===//
//
// Exit codes: 0 done, 2 the budget was refused, 1 any other error.
//
//===----------------------------------------------------------------------===//

#include "Compile.h"
#include "Options.h"
#include "Progress.h"
#include "Report.h"
#include "RunFacts.h"
#include "Train.h"
#include "common-llvm/LLVMTool.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>

using namespace remat;
using namespace remat::run;

static int fail(const runtime::Error &E) {
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

static int runTool(int Argc, char **Argv) {
  ToolOptions Options;
  if (std::optional<int> Code = parseOptions(Argc, Argv, Options))
    return *Code;
  if (std::optional<std::string> Failed = checkFiles(Options))
    return fail(runtime::Error(runtime::ErrorCode::IO, *Failed));

  CompiledFile Compiled;
  Outcome How = compileFile(Options, Compiled);
  if (How == Outcome::Failed)
    return ExitError;
  if (How == Outcome::Refused) {
    runtime::Status Written = writeReports(Options, Compiled, nullptr);
    return Written ? ExitRefused : fail(Written.getError());
  }
  printPlan(Options, Compiled.Report);
  if (Compiled.Report.Explained)
    llvm::outs() << printExplanation(*Compiled.Report.Explained);
  if (!Options.EmitProgram.empty())
    if (runtime::Status Written =
            writeFile(Options.EmitProgram, Compiled.Bytes);
        !Written)
      return fail(Written.getError());
  if (Options.CompileOnly) {
    runtime::Status Written = writeReports(Options, Compiled, nullptr);
    return Written ? ExitDone : fail(Written.getError());
  }

  // The runtime catches what is thrown for want of memory and says where.
  throwWithoutMemory(true);
  runtime::Result<runtime::RunFacts> Facts = collectFacts(Options, Compiled);
  if (!Facts)
    return fail(Facts.getError());
  runtime::Result<RunResult> Ran =
      train(Compiled.Program, Options, std::move(*Facts));
  if (!Ran)
    return fail(Ran.getError());
  runtime::Status Written = writeReports(Options, Compiled, &*Ran);
  if (Written)
    Written = Ran->LastCheckpoint;
  return Written ? ExitDone : fail(Written.getError());
}

int main(int Argc, char **Argv) {
  startLLVMTool("remat-run");
  return finishLLVMTool(runTool(Argc, Argv));
}
