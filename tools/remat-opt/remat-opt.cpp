//===- remat-opt.cpp - runs passes on graph files ---------------*- C++ -*-===//
//
// mlir-opt with this project's dialect and passes, and with its checks of the
// text in front of the parser.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "remat/IR/GraphFile.h"
#include "remat/IR/RematDialect.h"
#include "remat/Pipeline.h"
#include "remat/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;

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
    return remat::parseGraph(Buffer->getBuffer(), Path, Context, Options)
               ? std::move(Buffer)
               : nullptr;
  }
  Diagnostics.addText(*Buffer);
  if (failed(remat::checkGraphText(*Buffer, Context, Options)))
    return nullptr;
  return Buffer;
}

int main(int Argc, char **Argv) {
  llvm::InitLLVM Init(Argc, Argv);
  DialectRegistry Registry;
  Registry.insert<func::FuncDialect, remat::RematDialect>();
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
      llvm::cl::desc("Refuse what is not a whole graph: one function @main "
                     "whose arguments and results have roles and names"));
  auto [Input, Output] =
      registerAndParseCLIOptions(Argc, Argv, "remat optimizer\n", Registry);
  auto Buffer = readInput(Input, AllowBytecode, WholeGraph);
  if (!Buffer)
    return EXIT_FAILURE;
  std::string Error;
  auto File = openOutputFile(Output, &Error);
  if (!File) {
    llvm::errs() << "error: " << Error << "\n";
    return EXIT_FAILURE;
  }
  if (failed(MlirOptMain(File->os(), std::move(Buffer), Registry,
                         MlirOptMainConfig::createFromCLOptions())))
    return EXIT_FAILURE;
  File->keep();
  return EXIT_SUCCESS;
}
