//===- remat-translate.cpp - from planned graphs to programs --------------===//

#include "mlir/IR/MLIRContext.h"
#include "remat/IR/GraphFile.h"
#include "remat/Target/Program.h"
#include "remat/Tool/LLVMTool.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"

using namespace mlir;
using namespace remat;
namespace cl = llvm::cl;

namespace {

enum class Action { ToCUDA, ToProgram, ProgramToText, ProgramToCUDA };

cl::OptionCategory Category("remat-translate");
cl::opt<std::string> Input(cl::Positional, cl::desc("<file>"), cl::init("-"),
                           cl::cat(Category));
cl::opt<std::string> Output("o", cl::desc("output file, '-': standard output"),
                            cl::value_desc("file"), cl::init("-"),
                            cl::cat(Category));
cl::opt<Action> Translation(
    cl::desc("translation:"), cl::Required,
    cl::values(clEnumValN(Action::ToCUDA, "remat-to-cuda",
                          "a graph to the CUDA C++ of its kernels"),
               clEnumValN(Action::ToProgram, "remat-to-program",
                          "a graph with assigned memory to a program for its "
                          "target"),
               clEnumValN(Action::ProgramToText, "program-to-text",
                          "a program, verified first, to text"),
               clEnumValN(Action::ProgramToCUDA, "program-to-cuda",
                          "a program, verified first, to its CUDA C++")),
    cl::cat(Category));
cl::opt<bool> CompileKernels("compile-kernels",
                             cl::desc("compile CUDA kernels, for cuda"),
                             cl::init(true), cl::cat(Category));
cl::opt<bool> Prelude("prelude",
                      cl::desc("print what stands before all kernels"),
                      cl::init(true), cl::cat(Category));
cl::list<std::string>
    CompileFor("compile-for",
               cl::desc("architectures for which the CUDA text must compile"),
               cl::CommaSeparated, cl::cat(Category));

LogicalResult emit(ModuleOp Module, llvm::raw_ostream &OS) {
  SmallVector<func::FuncOp> Functions = {getGraph(Module)};
  llvm::append_range(Functions, getOtherFunctions(Module));
  EmitOptions Options;
  Options.CompileKernels = CompileKernels;
  std::vector<uint8_t> Program;
  if (failed(emitProgram(Functions, Options, Program)))
    return failure();
  OS.write(reinterpret_cast<const char *>(Program.data()), Program.size());
  return success();
}

LogicalResult translateGraph(llvm::raw_ostream &OS) {
  MLIRContext Context(MLIRContext::Threading::DISABLED);
  GraphDiagnostics Diagnostics(Context);
  GraphFileOptions FileOptions;
  FileOptions.Diagnostics = &Diagnostics;
  OwningOpRef<ModuleOp> Module = loadGraph(Input, Context, FileOptions);
  if (!Module)
    return failure();
  func::FuncOp Func = getGraph(*Module);
  if (Translation == Action::ToProgram)
    return emit(*Module, OS);
  CUDATextOptions Options;
  Options.Prelude = Prelude;
  Options.CompileFor = CompileFor;
  return printCUDA(Func, Options, OS);
}

/// Largest program: what the format's offsets reach.
constexpr uint64_t MaxProgramBytes = (uint64_t(1) << 31) - 1;

LogicalResult translateProgram(llvm::raw_ostream &OS) {
  std::string Bytes, Error;
  if (FileFailure Failed = readWholeFile(Input, MaxProgramBytes, Bytes)) {
    llvm::errs() << "error: " << *Failed << '\n';
    return failure();
  }
  // The format's numbers must be aligned as they will be read.
  std::vector<uint64_t> Aligned((Bytes.size() + 7) / 8);
  std::copy(Bytes.begin(), Bytes.end(),
            reinterpret_cast<char *>(Aligned.data()));
  auto *Print =
      Translation == Action::ProgramToText ? printProgram : printProgramSource;
  if (Print({reinterpret_cast<const uint8_t *>(Aligned.data()), Bytes.size()},
            OS, Error))
    return success();
  llvm::errs() << Input << ": error: " << Error << '\n';
  return failure();
}

bool run() {
  if (!checkOutput(Output))
    return false;
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  bool IsProgram = Translation == Action::ProgramToText ||
                   Translation == Action::ProgramToCUDA;
  LogicalResult Done = IsProgram ? translateProgram(OS) : translateGraph(OS);
  return succeeded(Done) && writeOutput(Output, Text);
}

} // namespace

int main(int Argc, char **Argv) {
  llvm::InitLLVM Init(Argc, Argv, /*InstallPipeSignalExitHandler=*/false);
  startLLVMTool("remat-translate");
  cl::HideUnrelatedOptions(Category);
  cl::ParseCommandLineOptions(Argc, Argv, "remat translator\n");
  return finishLLVMTool(run() ? ExitDone : ExitError);
}
