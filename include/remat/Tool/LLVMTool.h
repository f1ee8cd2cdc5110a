//===- LLVMTool.h - the tools that use LLVM ---------------------*- C++ -*-===//

#ifndef REMAT_TOOL_LLVMTOOL_H
#define REMAT_TOOL_LLVMTOOL_H

#include "remat/Support/File.h"
#include "remat/Support/Terminal.h"
#include "remat/Support/Tool.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"
#include <unistd.h>

namespace remat {

/// `startTool`; LLVM's own fatal errors end the process like any other error,
/// and diagnostics have colours where the screen has them. To be called after
/// llvm::InitLLVM, whose handlers it replaces.
inline void startLLVMTool(const char *Name) {
  startTool(Name);
  llvm::WithColor::setAutoDetectFunction([](const llvm::raw_ostream &OS) {
    return &OS == &llvm::errs() && Screen::of(STDERR_FILENO).Colour;
  });
  llvm::install_fatal_error_handler(
      [](void *, const char *Reason, bool) { endWithError(Reason); });
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) {
    endWithError("the host's memory is exhausted");
  });
}

/// `finishTool` for a tool that prints through llvm::outs().
inline int finishLLVMTool(int Code) {
  llvm::outs().flush();
  if (llvm::outs().has_error()) {
    llvm::errs() << "error: cannot write to standard output: "
                 << llvm::outs().error().message() << '\n';
    llvm::outs().clear_error();
    Code = ExitError;
  }
  return finishTool(Code);
}

/// Writes a tool's output, "-": to standard output. False after a message.
inline bool writeOutput(llvm::StringRef Path, llvm::StringRef Text) {
  FileFailure Failed =
      Path == "-" ? writeStandardOutput(Text.data(), Text.size())
                  : writeWholeFile(Path.str(), Text.data(), Text.size());
  if (Failed)
    llvm::errs() << "error: " << *Failed << '\n';
  return !Failed;
}

/// Whether that output can be written, asked before the work.
inline bool checkOutput(llvm::StringRef Path) {
  FileFailure Failed = Path == "-" ? std::nullopt : checkWritable(Path.str());
  if (Failed)
    llvm::errs() << "error: " << *Failed << '\n';
  return !Failed;
}

} // namespace remat

#endif // REMAT_TOOL_LLVMTOOL_H
