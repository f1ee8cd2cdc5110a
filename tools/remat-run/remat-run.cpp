//===- remat-run.cpp - compiles a graph within a budget and trains it -----===//
//
// Exit codes: 0 done, 2 the budget was refused, 1 any other error.
//
//===----------------------------------------------------------------------===//

#include "Compile.h"
#include "Options.h"
#include "Report.h"
#include "Train.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace remat;
using namespace remat::run;

static int fail(const runtime::Error &E) {
  llvm::outs().flush();
  llvm::WithColor::error(llvm::errs(), "remat-run") << E.getMessage() << '\n';
  return 1;
}

static runtime::Status report(const ToolOptions &Options,
                              const CompileReport &Compiled,
                              const RunResult *Ran) {
  return Options.Report.empty()
             ? runtime::Status()
             : writeReport(Options.Report, Options, Compiled, Ran);
}

int main(int Argc, char **Argv) {
  ToolOptions Options;
  if (std::optional<int> Code = parseOptions(Argc, Argv, Options))
    return *Code;

  CompiledFile Compiled;
  Outcome How = compileFile(Options, Compiled);
  if (How == Outcome::Failed)
    return 1;
  if (How == Outcome::Refused) {
    runtime::Status Written = report(Options, Compiled.Report, nullptr);
    return Written ? 2 : fail(Written.getError());
  }
  if (!Options.EmitProgram.empty())
    if (runtime::Status Written =
            writeFile(Options.EmitProgram, Compiled.Bytes);
        !Written)
      return fail(Written.getError());
  if (Options.CompileOnly) {
    runtime::Status Written = report(Options, Compiled.Report, nullptr);
    return Written ? 0 : fail(Written.getError());
  }

  runtime::Result<RunResult> Ran = train(Compiled.Program, Options);
  if (!Ran)
    return fail(Ran.getError());
  runtime::Status Written = report(Options, Compiled.Report, &*Ran);
  return Written ? 0 : fail(Written.getError());
}
