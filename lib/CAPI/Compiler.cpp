//===- Compiler.cpp - from graph text to a program ------------------------===//

#include "remat-c/Compiler.h"
#include "Common.h"
#include "mlir/IR/MLIRContext.h"
#include "remat/Analysis/ValueNames.h"
#include "remat/Driver/FreeMemory.h"
#include "remat/Driver/PlanCache.h"
#include "remat/Driver/ProgramReport.h"
#include "remat/Driver/RefusalPage.h"
#include "remat/IR/GraphFile.h"

#include "remat/Pipeline.h"

using namespace mlir;
using namespace remat;
using namespace remat::capi;

struct RematOptions_ {
  CompileOptions Options;
  std::atomic<bool> Interrupt = false;
  PlanCache Cache; ///< off
  std::function<void(const std::string &)> Log = [](const std::string &) {};
  PlanWatcher Watcher;

  RematOptions_() { Options.Interrupt = &Interrupt; }
};

struct RematProgram_ {
  std::vector<uint8_t> Bytes;
  std::string Report;
  std::shared_ptr<const runtime::Program> Program; ///< null if refused
};

namespace {

/// Collects the diagnostics of a context.
class Diagnostics {
public:
  Diagnostics(MLIRContext &Context, const RematOptions_ &Options)
      : Options(Options), Handler(&Context, [this](Diagnostic &D) { add(D); }) {
  }

  /// One a line, with their places, and each by itself.
  RematStatus takeError() {
    RematStatus Status = makeStatus(REMAT_ERROR, std::move(Text));
    Status->Diagnostics = std::move(All);
    return Status;
  }

  std::vector<Said> takeAll() { return std::move(All); }

private:
  void add(Diagnostic &D) {
    if (D.getSeverity() == DiagnosticSeverity::Remark)
      return;
    if (D.getSeverity() == DiagnosticSeverity::Warning)
      return Options.Log(describe(D));
    Text += (Text.empty() ? "" : "\n") + describe(D);
    All.push_back(split(D, /*IsNote=*/false));
    for (Diagnostic &Note : D.getNotes()) {
      Text += "\nnote: " + describe(Note);
      All.push_back(split(Note, /*IsNote=*/true));
    }
  }

  /// Nothing stands before the message where no place is known.
  static std::string describe(Diagnostic &D) {
    std::string Place = describeLocation(D.getLocation());
    return (Place.empty() ? "" : Place + ": ") + D.str();
  }

  static Said split(Diagnostic &D, bool IsNote) {
    Said Part = {IsNote, D.str(), "", 0, 0};
    if (std::optional<FileLineColLoc> Place = findPlace(D.getLocation())) {
      Part.File = Place->getFilename().str();
      Part.Line = Place->getLine();
      Part.Column = Place->getColumn();
    }
    return Part;
  }

  const RematOptions_ &Options;
  std::string Text;
  std::vector<Said> All;
  ScopedDiagnosticHandler Handler;
};

} // namespace

static void writeReport(RematProgram_ &Program, const CompileOptions &Options,
                        const CompileReport &Report) {
  llvm::raw_string_ostream(Program.Report)
      << llvm::json::Value(toJSON(Options, Report));
}

/// The page that tools show, as plain text.
static std::string describeRefusal(const CompileOptions &Options,
                                   const Refusal &Refused) {
  std::string Text = renderRefusal(Options, Refused, Screen());
  while (!Text.empty() && Text.back() == '\n')
    Text.pop_back();
  return Text;
}

/// Loads the bytes: the independent check of a program.
static RematStatus load(RematProgram_ &Program) {
  auto Loaded = runtime::Program::load(Program.Bytes);
  if (!Loaded)
    return makeStatus(Loaded.getError());
  Program.Program = std::move(*Loaded);
  return nullptr;
}

RematOptions rematOptionsCreate() { return new (std::nothrow) RematOptions_; }

void rematOptionsDestroy(RematOptions Options) { delete Options; }

RematStatus rematOptionsSet(RematOptions Options, const char *Name,
                            const char *Value) {
  return guard([&]() -> RematStatus {
    if (!Options || !Name || !Value)
      return makeNullError("options, name and value");
    if (auto Failure = setCompileOption(Options->Options, Name, Value))
      return makeStatus(REMAT_ERROR, std::string(Name) + ": " + *Failure);
    return nullptr;
  });
}

RematStatus rematOptionsSetLog(RematOptions Options, RematLog Log, void *Data) {
  return guard([&]() -> RematStatus {
    if (!Options)
      return makeNullError("options");
    Options->Log = [Log, Data](const std::string &Line) {
      if (Log)
        Log(Data, Line.c_str());
    };
    return nullptr;
  });
}

RematStatus rematOptionsSetWatch(RematOptions Options, RematWatch Watch,
                                 void *Data) {
  return guard([&]() -> RematStatus {
    if (!Options)
      return makeNullError("options");
    Options->Watcher.OnProgress = nullptr;
    if (Watch)
      Options->Watcher.OnProgress = [Watch, Data](const PlanProgress &P) {
        RematProgress Now = {
            P.Seconds, P.SmallestBytes, P.BudgetBytes.value_or(-1),
            P.Overhead.value_or(-1), P.LeastOverhead.value_or(-1)};
        Watch(Data, &Now);
      };
    return nullptr;
  });
}

void rematOptionsInterrupt(RematOptions Options) {
  if (Options)
    Options->Interrupt = true;
}

RematStatus rematOptionsSetCache(RematOptions Options, const char *Folder) {
  return guard([&]() -> RematStatus {
    if (!Options)
      return makeNullError("options");
    PlanCache Cache;
    std::optional<std::string> Given;
    if (Folder)
      Given = Folder;
    if (FileFailure Failed = Cache.open(std::move(Given)))
      return makeStatus(REMAT_ERROR, *Failed);
    Options->Cache = std::move(Cache);
    return nullptr;
  });
}

/// The graph is called so in the program's locations.
static constexpr llvm::StringLiteral GraphName = "graph";

/// Makes what the device has free the budget, where that is asked for.
static RematStatus chooseBudget(LazyGraph &Graph, const RematOptions_ &Given,
                                CompileOptions &Options,
                                Diagnostics &Collected) {
  if (Options.Budget.Kind != Budget::Kind::Max)
    return nullptr;
  if (!Graph.get())
    return Collected.takeError();
  runtime::Result<std::string> Line = resolveMaxBudget(Graph.get(), Options);
  if (!Line)
    return makeStatus(Line.getError());
  Given.Log(*Line);
  return nullptr;
}

static RematStatus makeRefusal(const CompileOptions &Options,
                               const Refusal &Refused, Diagnostics &Collected) {
  RematStatus Status =
      makeStatus(REMAT_REFUSED, describeRefusal(Options, Refused));
  Status->Diagnostics = Collected.takeAll();
  return Status;
}

/// What is kept is found, and what is made is kept.
static RematStatus compile(llvm::StringRef Text, const RematOptions_ &Given,
                           RematProgram_ &Result, CompileReport &Report) {
  MLIRContext Context(MLIRContext::Threading::DISABLED);
  Context.printOpOnDiagnostic(false);
  Diagnostics Collected(Context, Given);
  CompileOptions Options = Given.Options;
  if (Given.Watcher.OnProgress)
    Options.Watcher = &Given.Watcher;
  LazyGraph Graph(Text, GraphName, Context);
  if (RematStatus Failed = chooseBudget(Graph, Given, Options, Collected))
    return Failed;
  CachedCompilation Kept(Given.Cache, GraphName, Text, Options);
  if (Kept.find(Result.Bytes, Report)) {
    Given.Log("the program is from the cache");
    return load(Result);
  }
  if (!Graph.get())
    return Collected.takeError();
  Options.Seeds = &Kept.findSeeds();
  if (succeeded(compile(Graph.get(), Options, Result.Bytes, Report))) {
    // The program is there all the same.
    if (FileFailure Failed = Kept.store(Result.Bytes, Report))
      Given.Log("the program is not kept: " + *Failed);
    return load(Result);
  }
  return Report.Refused ? makeRefusal(Options, *Report.Refused, Collected)
                        : Collected.takeError();
}

RematStatus rematCompile(const char *Graph, size_t Length, RematOptions Options,
                         RematProgram *Program) {
  return guard([&]() -> RematStatus {
    if (!Graph || !Options || !Program)
      return makeNullError("graph, options and program");
    *Program = nullptr;
    auto Result = std::make_unique<RematProgram_>();
    CompileReport Report;
    RematStatus Status = compile({Graph, Length}, *Options, *Result, Report);
    if (Status && !Report.Refused)
      return Status;
    writeReport(*Result, Options->Options, Report);
    *Program = Result.release();
    return Status;
  });
}

RematStatus rematProgramLoad(const uint8_t *Bytes, size_t Length,
                             RematProgram *Program) {
  return guard([&]() -> RematStatus {
    if (!Bytes || !Program)
      return makeNullError("bytes and program");
    *Program = nullptr;
    auto Result = std::make_unique<RematProgram_>();
    Result->Bytes.assign(Bytes, Bytes + Length);
    if (RematStatus Failed = load(*Result))
      return Failed;
    writeReport(*Result, CompileOptions(), makeReport(*Result->Program));
    *Program = Result.release();
    return nullptr;
  });
}

void rematProgramDestroy(RematProgram Program) { delete Program; }

const char *rematProgramGetReport(RematProgram Program) {
  return Program ? Program->Report.c_str() : "";
}

const uint8_t *rematProgramGetBytes(RematProgram Program, size_t *Length) {
  if (Length)
    *Length = Program ? Program->Bytes.size() : 0;
  return Program ? Program->Bytes.data() : nullptr;
}

size_t rematProgramGetNumTensors(RematProgram Program, RematSide Side) {
  if (!Program || !Program->Program)
    return 0;
  return Side == REMAT_ARGUMENT ? Program->Program->Arguments.size()
                                : Program->Program->Results.size();
}

RematStatus rematProgramGetTensor(RematProgram Program, RematSide Side,
                                  size_t Number, RematTensorInfo *Info) {
  return guard([&]() -> RematStatus {
    if (!Program || !Info)
      return makeNullError("program and info");
    size_t Count = rematProgramGetNumTensors(Program, Side);
    if (Number >= Count)
      return makeNumberError(Side, Number, Count);
    *Info = describe(*Program->Program, Side, Number);
    return nullptr;
  });
}

size_t rematProgramGetNumSteps(RematProgram Program) {
  return Program && Program->Program ? Program->Program->Steps.size() : 0;
}

RematStatus rematProgramGetStep(RematProgram Program, size_t Number,
                                RematStepInfo *Info) {
  return guard([&]() -> RematStatus {
    if (!Program || !Info)
      return makeNullError("program and info");
    size_t Count = rematProgramGetNumSteps(Program);
    if (Number >= Count)
      return makeStatus(REMAT_ERROR,
                        "there is no step #" + std::to_string(Number) +
                            ": the program has " + std::to_string(Count));
    const runtime::Step &S = Program->Program->Steps[Number];
    *Info = {S.Op.c_str(), S.getPhase().data(), S.Location.c_str(),
             S.Recomputes, S.Flops};
    return nullptr;
  });
}

size_t rematProgramGetNumFunctions(RematProgram Program) {
  return Program && Program->Program ? Program->Program->Functions.size() : 0;
}

RematStatus rematProgramGetFunction(RematProgram Program, size_t Number,
                                    const char **Name, RematProgram *Function) {
  return guard([&]() -> RematStatus {
    if (!Program || !Name || !Function)
      return makeNullError("program, name and function");
    *Function = nullptr;
    size_t Count = rematProgramGetNumFunctions(Program);
    if (Number >= Count)
      return makeStatus(REMAT_ERROR,
                        "there is no function #" + std::to_string(Number) +
                            ": the program has " + std::to_string(Count));
    const runtime::ProgramFunction &F = Program->Program->Functions[Number];
    auto Made = std::make_unique<RematProgram_>();
    Made->Program = F.Body;
    writeReport(*Made, CompileOptions(), makeReport(*F.Body));
    *Name = F.Name.c_str();
    *Function = Made.release();
    return nullptr;
  });
}
