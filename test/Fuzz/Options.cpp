//===- Options.cpp - what is written on command lines ---------------------===//
//
// Each line of the input is a word of remat-run's command line; the whole of it
// is a pass pipeline too.
//
//===----------------------------------------------------------------------===//

#include "Run/Options.h"
#include "Shared.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "remat/IR/RematDialect.h"
#include "remat/Transforms/Passes.h"

using namespace remat;
using namespace remat::fuzz;

Outcome remat::fuzz::runOptions(Bytes Data) {
  std::vector<std::string> Words = {"remat-run"};
  llvm::SmallVector<llvm::StringRef> Lines;
  llvm::StringRef(asText(Data)).split(Lines, '\n');
  for (llvm::StringRef Line : Lines)
    Words.push_back(Line.str());
  std::vector<char *> Argv;
  for (std::string &Word : Words)
    Argv.push_back(Word.data());
  run::ToolOptions Tool;
  std::optional<int> Code =
      run::parseOptions(static_cast<int>(Argv.size()), Argv.data(), Tool);
  if (Code && *Code != 0 && *Code != 1)
    fail("exit code " + std::to_string(*Code));

  registerAllPasses();
  mlir::MLIRContext Context(mlir::MLIRContext::Threading::DISABLED);
  Context.loadDialect<mlir::func::FuncDialect, RematDialect>();
  mlir::PassManager PM(&Context);
  std::string Text(asText(Data)), Message;
  llvm::raw_string_ostream Errors(Message);
  bool Passes = succeeded(mlir::parsePassPipeline(Text, PM, Errors));
  if (!Passes && Message.empty())
    fail("a pipeline is refused without a reason");
  return !Code || Passes ? Outcome::Done : Outcome::Refused;
}
