//===- remat-opt.cpp - runs passes on graph files ---------------*- C++ -*-===//
//
// mlir-opt with this project's dialect and passes, and with its checks of the
// text in front of the parser. Exit codes: 0 done, 2 a pass refused a budget, 1
// any other error.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "remat/IR/GraphFile.h"
#include "remat/IR/Refusal.h"
#include "remat/IR/RematDialect.h"
#include "remat/Pipeline.h"
#include "remat/Tool/LLVMTool.h"
#include "remat/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include <atomic>

using namespace mlir;

/// A graph as text whose locations say where it stood and what its file calls
/// its values. The text has no file's name, so that no diagnostic shows its
/// lines in place of the file's.
static std::unique_ptr<llvm::MemoryBuffer> printWithNames(ModuleOp Graph) {
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  Graph->print(OS, OpPrintingFlags().enableDebugInfo());
  return llvm::MemoryBuffer::getMemBufferCopy(Text, "<graph>");
}

/// Reads the input through the checks of graph files: of its text only, or,
/// for a whole graph, all those that the other tools make.
static std::unique_ptr<llvm::MemoryBuffer>
readInput(llvm::StringRef Path, bool AllowBytecode, bool WholeGraph) {
  MLIRContext Context;
  remat::GraphDiagnostics Diagnostics(Context);
  remat::GraphFileOptions Options;
  Options.AllowBytecode = AllowBytecode;
  auto Buffer = remat::readGraphFile(Path, Context, Options);
  if (!Buffer)
    return nullptr;
  if (WholeGraph) {
    Options.Diagnostics = &Diagnostics;
    OwningOpRef<ModuleOp> Graph =
        remat::parseGraph(Buffer->getBuffer(), Path, Context, Options);
    return Graph ? printWithNames(*Graph) : nullptr;
  }
  Diagnostics.addText(*Buffer);
  if (failed(remat::checkGraphText(*Buffer, Context, Options)))
    return nullptr;
  return Buffer;
}

/// Whether a pass said that a budget cannot be met.
static std::atomic<bool> Refused = false;

/// Looks at each diagnostic and leaves it to the handler that prints it.
static void watchForRefusals(MLIRContext *Context, remat::RematDialect *) {
  Context->getDiagEngine().registerHandler([](Diagnostic &D) {
    if (remat::isRefusal(D))
      Refused = true;
    return failure();
  });
}

static int run(int Argc, char **Argv) {
  DialectRegistry Registry;
  Registry.insert<func::FuncDialect, remat::RematDialect>();
  Registry.addExtension(watchForRefusals);
  registerCanonicalizerPass();
  registerCSEPass();
  registerStripDebugInfoPass();
  remat::registerPasses();
  remat::registerPipeline();

  static llvm::cl::opt<bool> AllowBytecode(
      "allow-bytecode",
      llvm::cl::desc("Read MLIR bytecode, from trusted sources only"));
  static llvm::cl::opt<bool> WholeGraph(
      "whole-graph",
      llvm::cl::desc(
          "Refuse what is not a whole graph: functions, one of them @main, "
          "whose arguments and results have roles and names; and keep what "
          "the file calls its values, as remat-run does"));
  auto [Input, Output] =
      registerAndParseCLIOptions(Argc, Argv, "remat optimizer\n", Registry);
  if (!remat::checkOutput(Output))
    return remat::ExitError;
  auto Buffer = readInput(Input, AllowBytecode, WholeGraph);
  if (!Buffer)
    return remat::ExitError;
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  if (failed(MlirOptMain(OS, std::move(Buffer), Registry,
                         MlirOptMainConfig::createFromCLOptions())))
    return Refused ? remat::ExitRefused : remat::ExitError;
  return remat::writeOutput(Output, Text) ? remat::ExitDone : remat::ExitError;
}

int main(int Argc, char **Argv) {
  llvm::InitLLVM Init(Argc, Argv, /*InstallPipeSignalExitHandler=*/false);
  remat::startLLVMTool("remat-opt");
  return remat::finishLLVMTool(run(Argc, Argv));
}
