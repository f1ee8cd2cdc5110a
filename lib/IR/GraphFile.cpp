//===- GraphFile.cpp - reads graph files ------------------------*- C++ -*-===//

#include "remat/IR/GraphFile.h"
#include "SourceNames.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "remat/IR/Refusal.h"
#include "remat/IR/RematDialect.h"
#include "remat/IR/TypeUtils.h"
#include "remat/Support/File.h"
#include "llvm/Support/WithColor.h"
#include <chrono>

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

std::optional<FileLineColLoc> remat::findPlace(Location Loc) {
  std::optional<FileLineColLoc> Place;
  Loc->walk([&](Location Inner) {
    if (auto File = dyn_cast<FileLineColLoc>(Inner))
      Place = File;
    return Place ? WalkResult::interrupt() : WalkResult::advance();
  });
  return Place;
}

static const llvm::MemoryBuffer *findText(const llvm::SourceMgr &Sources,
                                          StringRef Name) {
  for (unsigned I = 1; I <= Sources.getNumBuffers(); ++I)
    if (Sources.getMemoryBuffer(I)->getBufferIdentifier() == Name)
      return Sources.getMemoryBuffer(I);
  return nullptr;
}

/// Line `Number`, from 1; empty if there is none.
static StringRef getLineOf(StringRef Text, unsigned Number) {
  if (Number == 0)
    return "";
  for (; Number > 1 && !Text.empty(); --Number)
    Text = Text.split('\n').second;
  return Text.split('\n').first.rtrim('\r');
}

GraphDiagnostics::GraphDiagnostics(MLIRContext &Context,
                                   llvm::raw_ostream &Output, bool ShowRefusals)
    : Output(Output), ShowRefusals(ShowRefusals),
      Handler(&Context, [this](Diagnostic &D) {
        if (!this->ShowRefusals && isRefusal(D))
          return;
        print(D.getLocation(), D.getSeverity(), D.str());
        for (Diagnostic &Note : D.getNotes())
          print(Note.getLocation(), Note.getSeverity(), Note.str());
      }) {}

void GraphDiagnostics::addText(llvm::MemoryBufferRef Text) {
  Sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(
                                 Text.getBuffer(), Text.getBufferIdentifier()),
                             llvm::SMLoc());
}

StringRef GraphDiagnostics::getLine(StringRef Place) const {
  // "file:line:column"; the file's name may have colons.
  auto [Front, Column] = Place.rsplit(':');
  auto [File, Line] = Front.rsplit(':');
  unsigned Number = 0;
  const llvm::MemoryBuffer *Text = findText(Sources, File);
  if (!Text || Line.getAsInteger(10, Number))
    return "";
  return getLineOf(Text->getBuffer(), Number);
}

static llvm::SourceMgr::DiagKind getKind(DiagnosticSeverity Severity) {
  switch (Severity) {
  case DiagnosticSeverity::Note:
    return llvm::SourceMgr::DK_Note;
  case DiagnosticSeverity::Warning:
    return llvm::SourceMgr::DK_Warning;
  case DiagnosticSeverity::Error:
    return llvm::SourceMgr::DK_Error;
  case DiagnosticSeverity::Remark:
    return llvm::SourceMgr::DK_Remark;
  }
  llvm_unreachable("all severities are listed");
}

/// "file:line:column", of a whole file its name.
static std::string describePlace(FileLineColLoc Place) {
  std::string Text = Place.getFilename().str();
  if (Place.getLine() > 0)
    Text += ":" + std::to_string(Place.getLine()) + ":" +
            std::to_string(Place.getColumn());
  return Text;
}

void GraphDiagnostics::print(Location Loc, DiagnosticSeverity Severity,
                             const Twine &Message) {
  std::optional<FileLineColLoc> Place = findPlace(Loc);
  // Without a place LLVM writes "<unknown>" unless the name is empty.
  std::string Where = Place ? describePlace(*Place) : "", Text = Message.str();
  llvm::SMDiagnostic(Where, getKind(Severity), Text)
      .print(nullptr, Output, llvm::WithColor(Output).colorsEnabled());
  if (Place)
    printLine(*Place);
}

/// Shows the line with a mark under the place. The first line of a function is
/// shown from the place on only: what is wrong with all of it, it does not say.
void GraphDiagnostics::printLine(FileLineColLoc Place) {
  const llvm::MemoryBuffer *Text = findText(Sources, Place.getFilename());
  if (!Text)
    return;
  StringRef Line = getLineOf(Text->getBuffer(), Place.getLine());
  size_t Before = std::max(Place.getColumn(), 1u) - 1;
  StringRef FromPlace = Line.substr(Before);
  if (Line.ltrim().starts_with("func.func")) {
    if (FromPlace.starts_with("func.func"))
      return;
    Line = FromPlace;
    Before = 0;
  }
  if (Line.trim().empty())
    return;
  Output << Line << '\n';
  for (char C : Line.take_front(Before))
    Output << (C == '\t' ? '\t' : ' ');
  Output << "^\n";
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static InFlightDiagnostic emitFileError(StringRef Path, MLIRContext &Context) {
  return emitError(FileLineColLoc::get(&Context, Path, 0, 0));
}

std::unique_ptr<llvm::MemoryBuffer>
remat::readGraphFile(StringRef Path, MLIRContext &Context,
                     const GraphFileOptions &Options) {
  // No more than the limit is read, also of a pipe, which has no size.
  std::string Bytes;
  if (FileFailure Failed = readWholeFile(Path.str(), Options.MaxBytes, Bytes)) {
    emitFileError(Path, Context) << *Failed;
    return nullptr;
  }
  std::unique_ptr<llvm::MemoryBuffer> Buffer =
      llvm::MemoryBuffer::getMemBufferCopy(Bytes,
                                           Path == "-" ? "<stdin>" : Path);
  return Buffer;
}

//===----------------------------------------------------------------------===//
// The graph of a module
//===----------------------------------------------------------------------===//

static LogicalResult verifyOneBlock(func::FuncOp Func) {
  if (Func.getBody().hasOneBlock())
    return success();
  return Func.emitError() << "@" << Func.getName() << " has "
                          << Func.getBody().getBlocks().size()
                          << " blocks; a graph has 1";
}

LogicalResult remat::verifyGraphBody(func::FuncOp Func) {
  if (failed(verifyOneBlock(Func)))
    return failure();
  for (BlockArgument Argument : Func.getArguments())
    if (failed(verifyGraphTensor(Argument.getType(), [&] {
          return Func.emitError()
                 << "argument #" << Argument.getArgNumber() << ": ";
        })))
      return failure();
  for (Operation &Op : Func.getBody().front())
    if (!isa_and_present<RematDialect>(Op.getDialect()) &&
        !isa<func::ReturnOp>(Op))
      return Op.emitError()
             << "'" << Op.getName() << "' is no operation of the remat dialect";
  return success();
}

func::FuncOp remat::getGraph(ModuleOp Module) {
  func::FuncOp Graph;
  for (Operation &Op : *Module.getBody()) {
    auto Func = dyn_cast<func::FuncOp>(Op);
    if (!Func) {
      Op.emitError("a graph file has functions only");
      return nullptr;
    }
    if (Func.getName() == "main")
      Graph = Func;
  }
  if (!Graph)
    Module.emitError("there is no func.func @main");
  else if (failed(verifyOneBlock(Graph)))
    return nullptr;
  return Graph;
}

SmallVector<func::FuncOp> remat::getOtherFunctions(ModuleOp Module) {
  SmallVector<func::FuncOp> Others;
  for (auto Func : Module.getOps<func::FuncOp>())
    if (Func.getName() != "main")
      Others.push_back(Func);
  return Others;
}

/// Checks that a value of the function's interface has a role and a name.
static LogicalResult verifyInterface(func::FuncOp Graph, StringRef Kind,
                                     unsigned Index,
                                     DictionaryAttr Attributes) {
  for (StringRef Name : {RoleAttrName, NameAttrName})
    if (!Attributes || !Attributes.contains(Name))
      return Graph.emitError() << Kind << " #" << Index << " of @"
                               << Graph.getName() << " has no '" << Name << "'";
  return success();
}

LogicalResult remat::verifyFunction(func::FuncOp Func) {
  for (unsigned I = 0; I < Func.getNumArguments(); ++I)
    if (failed(verifyInterface(Func, "argument", I, Func.getArgAttrDict(I))))
      return failure();
  for (unsigned I = 0; I < Func.getNumResults(); ++I)
    if (failed(verifyInterface(Func, "result", I, Func.getResultAttrDict(I))))
      return failure();
  return verifyGraphBody(Func);
}

LogicalResult remat::verifyGraph(ModuleOp Module) {
  func::FuncOp Graph = getGraph(Module);
  if (!Graph || failed(verifyFunction(Graph)))
    return failure();
  for (func::FuncOp Other : getOtherFunctions(Module))
    if (failed(verifyFunction(Other)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

static OwningOpRef<ModuleOp> parse(std::unique_ptr<llvm::MemoryBuffer> Buffer,
                                   MLIRContext &Context,
                                   const GraphFileOptions &Options) {
  if (Options.Diagnostics)
    Options.Diagnostics->addText(*Buffer);
  if (failed(checkGraphText(*Buffer, Context, Options)))
    return nullptr;
  Context.loadDialect<func::FuncDialect, RematDialect>();
  llvm::SourceMgr Sources;
  Sources.AddNewSourceBuffer(std::move(Buffer), llvm::SMLoc());
  OwningOpRef<ModuleOp> Module = parseWithSourceNames(Sources, Context);
  if (!Module || failed(verifyGraph(*Module)))
    return nullptr;
  return Module;
}

OwningOpRef<ModuleOp> remat::parseGraph(StringRef Text, StringRef Name,
                                        MLIRContext &Context,
                                        const GraphFileOptions &Options) {
  return parse(llvm::MemoryBuffer::getMemBufferCopy(Text, Name), Context,
               Options);
}

ModuleOp LazyGraph::get() {
  if (!Module) {
    auto Begin = std::chrono::steady_clock::now();
    Module = parseGraph(Text, Name, Context, Options);
    std::chrono::duration<double> Time =
        std::chrono::steady_clock::now() - Begin;
    Seconds = Time.count();
  }
  return Module.get();
}

OwningOpRef<ModuleOp> remat::loadGraph(StringRef Path, MLIRContext &Context,
                                       const GraphFileOptions &Options) {
  std::unique_ptr<llvm::MemoryBuffer> Buffer =
      readGraphFile(Path, Context, Options);
  return Buffer ? parse(std::move(Buffer), Context, Options) : nullptr;
}
