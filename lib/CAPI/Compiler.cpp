//===- Compiler.cpp - from graph text to a program ------------------------===//

#include "remat-c/Compiler.h"
#include "Common.h"
#include "mlir/IR/MLIRContext.h"
#include "remat/IR/GraphFile.h"
#include "remat/Pipeline.h"

using namespace mlir;
using namespace remat;
using namespace remat::capi;

struct RematOptions_ {
  CompileOptions Options;
};

struct RematProgram_ {
  std::vector<uint8_t> Bytes;
  std::string Report;
};

namespace {

/// Collects the diagnostics of a context as text, one a line.
class DiagnosticText {
public:
  explicit DiagnosticText(MLIRContext &Context)
      : Handler(&Context, [this](Diagnostic &D) { add(D); }) {}

  std::string take() { return std::move(Text); }

private:
  void add(Diagnostic &D) {
    if (D.getSeverity() == DiagnosticSeverity::Remark)
      return;
    llvm::raw_string_ostream OS(Text);
    if (!Text.empty())
      OS << '\n';
    OS << D.getLocation() << ": " << D;
    for (Diagnostic &Note : D.getNotes())
      OS << "\nnote: " << Note;
  }

  std::string Text;
  ScopedDiagnosticHandler Handler;
};

} // namespace

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

RematStatus rematCompile(const char *Graph, size_t Length, RematOptions Options,
                         RematProgram *Program) {
  return guard([&]() -> RematStatus {
    if (!Graph || !Options || !Program)
      return makeNullError("graph, options and program");
    *Program = nullptr;
    MLIRContext Context(MLIRContext::Threading::DISABLED);
    DiagnosticText Diagnostics(Context);
    OwningOpRef<ModuleOp> Module =
        parseGraph(llvm::StringRef(Graph, Length), "graph", Context);
    if (!Module)
      return makeStatus(REMAT_ERROR, Diagnostics.take());

    auto Result = std::make_unique<RematProgram_>();
    CompileReport Report;
    bool Failed =
        failed(compile(*Module, Options->Options, Result->Bytes, Report));
    if (Failed && !Report.Refused)
      return makeStatus(REMAT_ERROR, Diagnostics.take());
    llvm::raw_string_ostream(Result->Report)
        << llvm::json::Value(toJSON(Options->Options, Report));
    *Program = Result.release();
    return Failed ? makeStatus(REMAT_REFUSED, Diagnostics.take()) : nullptr;
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
