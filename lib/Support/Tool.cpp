//===- Tool.cpp - signals, memory and exit codes of the tools -------------===//

#include "remat/Support/Tool.h"
#include "remat/Support/File.h"
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <fcntl.h>
#include <iostream>
#include <new>
#include <unistd.h>

using namespace remat;

std::atomic<bool> remat::Interrupted = false;

static const char *ToolName = "remat";
/// Which signals the tool looks for.
enum class Heeded { None, Keyboard, All };
static std::atomic<Heeded> InOrder = Heeded::None;
static std::atomic<std::time_t> FirstInterrupt = 0;

static void print(const char *Text) noexcept {
  // Nothing is left to be done if this fails.
  (void)!::write(STDERR_FILENO, Text, std::strlen(Text));
}

void remat::endWithError(const char *Message) noexcept {
  print(ToolName);
  print(": error: ");
  print(Message);
  print("\n");
  removeUnfinishedFiles();
  ::_exit(ExitError);
}

static void endWithoutMemory() {
  endWithError("the host's memory is exhausted");
}

/// An exception that nothing caught, e.g. thrown in a thread.
static void endUncaught() {
  if (std::exception_ptr Caught = std::current_exception()) {
    try {
      std::rethrow_exception(Caught);
    } catch (const std::bad_alloc &) {
      endWithoutMemory();
    } catch (const std::exception &E) {
      endWithError(E.what());
    } catch (...) {
      endWithError("an exception of no standard type was not caught");
    }
  }
  endWithError("an exception was not caught");
}

static void onInterrupt(int Signal) {
  int Saved = errno;
  std::time_t Now = std::time(nullptr);
  Heeded Which = InOrder;
  if (Which == Heeded::None || (Which == Heeded::Keyboard && Signal != SIGINT))
    endWithError("interrupted");
  if (!Interrupted.exchange(true))
    FirstInterrupt = Now;
  else if (Now > FirstInterrupt + 1)
    endWithError("interrupted twice");
  errno = Saved;
}

/// A write to a standard file that is closed must fail, not reach another file
/// that happens to be opened under its number.
static void openStandardFiles() {
  for (int Number = STDIN_FILENO; Number <= STDERR_FILENO; ++Number)
    if (::fcntl(Number, F_GETFD) < 0 && errno == EBADF)
      (void)!::open("/dev/null", Number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/// What is printed once the files are written must not fail for want of a
/// buffer.
static void giveOutputABuffer() {
  static char Buffer[1 << 16];
  bool IsTerminal = ::isatty(STDOUT_FILENO) != 0;
  std::setvbuf(stdout, Buffer, IsTerminal ? _IOLBF : _IOFBF, sizeof Buffer);
}

void remat::startTool(const char *Name) {
  ToolName = Name;
  openStandardFiles();
  giveOutputABuffer();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  for (int Signal : {SIGINT, SIGTERM, SIGHUP}) {
    // Whoever started the tool may have asked it not to listen (nohup, &).
    struct sigaction Action = {};
    if (::sigaction(Signal, nullptr, &Action) == 0 &&
        Action.sa_handler == SIG_IGN)
      continue;
    Action = {};
    Action.sa_handler = onInterrupt;
    Action.sa_flags = SA_RESTART;
    ::sigaction(Signal, &Action, nullptr);
  }
  std::set_terminate(endUncaught);
  std::set_new_handler(endWithoutMemory);
}

void remat::handleInterrupts(bool Value) {
  InOrder = Value ? Heeded::All : Heeded::None;
}

void remat::handleKeyboardInterrupts() { InOrder = Heeded::Keyboard; }

void remat::throwWithoutMemory(bool Throws) {
  std::set_new_handler(Throws ? nullptr : endWithoutMemory);
}

int remat::finishTool(int Code) {
  std::cout.flush();
  bool Failed = !std::cout;
  // The stream must not be flushed again when the process ends.
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    Failed = true;
  if (!Failed)
    return Code;
  std::fprintf(stderr, "%s: error: cannot write to standard output\n",
               ToolName);
  return ExitError;
}
