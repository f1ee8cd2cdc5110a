//===- GraphFile.cpp - reads graph files ------------------------*- C++ -*-===//

#include "remat/IR/GraphFile.h"
#include "SourceNames.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "remat/IR/RematDialect.h"
#include "remat/IR/TypeUtils.h"
#include "remat/Support/File.h"
#include "llvm/Support/VirtualFileSystem.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

GraphDiagnostics::GraphDiagnostics(MLIRContext &Context,
                                   llvm::raw_ostream &Output)
    : Handler(Sources, &Context, Output) {
  // An empty file system: no location can open a file.
  Sources.setVirtualFileSystem(
      llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>());
}

void GraphDiagnostics::addText(llvm::MemoryBufferRef Text) {
  Sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(
                                 Text.getBuffer(), Text.getBufferIdentifier()),
                             llvm::SMLoc());
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
    if (!Func || Func.getName() != "main") {
      Op.emitError("a graph file has one operation, func.func @main");
      return nullptr;
    }
    Graph = Func;
  }
  if (!Graph)
    Module.emitError("there is no func.func @main");
  else if (failed(verifyOneBlock(Graph)))
    return nullptr;
  return Graph;
}

/// Checks that a value of the function's interface has a role and a name.
static LogicalResult verifyInterface(func::FuncOp Graph, StringRef Kind,
                                     unsigned Index,
                                     DictionaryAttr Attributes) {
  for (StringRef Name : {RoleAttrName, NameAttrName})
    if (!Attributes || !Attributes.contains(Name))
      return Graph.emitError()
             << Kind << " #" << Index << " of @main has no '" << Name << "'";
  return success();
}

LogicalResult remat::verifyGraph(ModuleOp Module) {
  func::FuncOp Graph = getGraph(Module);
  if (!Graph)
    return failure();
  for (unsigned I = 0; I < Graph.getNumArguments(); ++I)
    if (failed(verifyInterface(Graph, "argument", I, Graph.getArgAttrDict(I))))
      return failure();
  for (unsigned I = 0; I < Graph.getNumResults(); ++I)
    if (failed(verifyInterface(Graph, "result", I, Graph.getResultAttrDict(I))))
      return failure();
  return verifyGraphBody(Graph);
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

OwningOpRef<ModuleOp> remat::loadGraph(StringRef Path, MLIRContext &Context,
                                       const GraphFileOptions &Options) {
  std::unique_ptr<llvm::MemoryBuffer> Buffer =
      readGraphFile(Path, Context, Options);
  return Buffer ? parse(std::move(Buffer), Context, Options) : nullptr;
}
