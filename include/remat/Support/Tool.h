//===- Tool.h - what all command-line tools have in common ------*- C++ -*-===//

#ifndef REMAT_SUPPORT_TOOL_H
#define REMAT_SUPPORT_TOOL_H

#include <atomic>

namespace remat {

/// The exit codes of all tools. There are no others.
enum ToolExit : int {
  ExitDone = 0,
  ExitError = 1,   ///< every error but a refusal
  ExitRefused = 2, ///< a budget or a capacity cannot be met
};

/// Becomes true on SIGINT, SIGTERM or SIGHUP where the tool has said that it
/// looks.
extern std::atomic<bool> Interrupted;

/// To be called first in `main`. From then on
///  - a broken pipe, or a file larger than the user allows, is an error of the
///    write, not the end of the process;
///  - exhausted memory and an uncaught exception end the process with a line
///    on standard error and exit code 1;
///  - so does SIGINT, SIGTERM or SIGHUP, unless `handleInterrupts(true)` was
///    called; files that are not finished are removed;
///  - files 0 to 2 are open, so that no file of the tool gets their numbers.
void startTool(const char *Name);

/// From now on these signals set `Interrupted` and the tool ends in order;
/// a second one that comes a second or more later ends it at once (`timeout`
/// sends two, to the process and to its group).
void handleInterrupts(bool InOrder);

/// The same for SIGINT only, which comes from the keyboard: the others still
/// end the process at once.
void handleKeyboardInterrupts();

/// Whether allocation that fails throws std::bad_alloc. By default it ends the
/// process: LLVM's code knows no exceptions.
void throwWithoutMemory(bool Throws);

/// Prints a line and ends the process with `ExitError`. Allocates nothing.
[[noreturn]] void endWithError(const char *Message) noexcept;

/// Flushes the C and C++ streams of standard output. `Code`, or `ExitError`
/// after a message if something could not be written.
int finishTool(int Code);

} // namespace remat

#endif // REMAT_SUPPORT_TOOL_H
