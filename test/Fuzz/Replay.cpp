//===- Replay.cpp - the targets without libFuzzer -------------------------===//
//
// usage: remat-fuzz --target=NAME [--mutate=N] [--seed=S] FILE-OR-FOLDER...
//
// Runs a target on every file, then on N mutations of them and of mutations
// that were not refused: the same ones at each run. What crashes, or takes
// 20 seconds of processor time, is written to the working folder as
// crash-NAME-S before the process ends.
//
//===----------------------------------------------------------------------===//

#include "Target.h"
#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>
#include <vector>

using namespace remat::fuzz;

namespace {

constexpr time_t MaxSeconds = 20;
/// Of the process: far more than any input of a target's size justifies.
constexpr rlim_t MaxAddressSpace = rlim_t(4) << 30;

const Target *Chosen = nullptr;
std::string Current, CrashFile;
/// Standard error is the targets' own: libraries write messages to it.
int Messages = STDERR_FILENO;

/// Keeps the input at hand; only functions that a signal handler may call.
void keepInput(int Signal) {
  int File = open(CrashFile.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (File >= 0 && write(File, Current.data(), Current.size()) < 0)
    CrashFile.clear();
  const char *Name = strsignal(Signal);
  for (const char *Text : {"remat-fuzz: ", Name, ": the input is ",
                           static_cast<const char *>(CrashFile.c_str()), "\n"})
    if (write(Messages, Text, std::strlen(Text)) < 0)
      break;
  std::signal(Signal, SIG_DFL);
  std::raise(Signal);
}

struct Counts {
  unsigned Inputs = 0, Refused = 0, Done = 0;
};

/// Whether the target took the input.
bool run(const std::string &Input, Counts &C) {
  if (Input.size() > Chosen->MaxBytes)
    return false;
  Current = Input;
  itimerval Timer = {};
  Timer.it_value.tv_sec = MaxSeconds;
  setitimer(ITIMER_PROF, &Timer, nullptr);
  Outcome How = Chosen->Run(
      {reinterpret_cast<const uint8_t *>(Input.data()), Input.size()});
  Timer.it_value.tv_sec = 0;
  setitimer(ITIMER_PROF, &Timer, nullptr);
  ++C.Inputs;
  C.Refused += How == Outcome::Refused;
  C.Done += How == Outcome::Done;
  return How != Outcome::Refused;
}

/// Changes, removes and repeats bytes.
void mutateBytes(std::string &Input, Random &R) {
  if (Input.empty())
    Input = " ";
  size_t At = R.draw(Input.size()), Length = 1 + R.draw(16);
  switch (R.draw(4)) {
  case 0:
    Input[At] = static_cast<char>(R.draw(256));
    break;
  case 1:
    Input[At] = static_cast<char>(Input[At] ^ 1 << R.draw(8));
    break;
  case 2:
    Input.erase(At, Length);
    break;
  default:
    Input.insert(At, Input.substr(R.draw(Input.size()), Length));
  }
}

std::string mutate(std::string Input, Random &R) {
  for (uint64_t N = 1 + R.draw(2); N > 0; --N) {
    if (!Chosen->Mutate || R.oneIn(8))
      mutateBytes(Input, R);
    else
      Chosen->Mutate(Input, R);
  }
  return Input;
}

std::vector<std::string> readFiles(const std::vector<std::string> &Paths) {
  namespace fs = std::filesystem;
  std::vector<fs::path> Files;
  for (const std::string &Path : Paths) {
    if (fs::is_directory(Path))
      for (const auto &Entry : fs::directory_iterator(Path))
        Files.push_back(Entry.path());
    else
      Files.push_back(Path);
  }
  std::sort(Files.begin(), Files.end());
  std::vector<std::string> Inputs;
  for (const fs::path &File : Files) {
    std::ifstream In(File, std::ios::binary);
    if (!In) {
      std::fprintf(stderr, "remat-fuzz: cannot read %s\n", File.c_str());
      std::exit(1);
    }
    Inputs.emplace_back(std::istreambuf_iterator<char>(In),
                        std::istreambuf_iterator<char>());
  }
  return Inputs;
}

bool readNumber(std::string_view Text, uint64_t &Number) {
  auto [End, Code] =
      std::from_chars(Text.data(), Text.data() + Text.size(), Number);
  return Code == std::errc() && End == Text.data() + Text.size();
}

[[noreturn]] void usage(std::string_view Word) {
  std::fprintf(stderr,
               "remat-fuzz: bad argument '%s'\nusage: remat-fuzz "
               "--target=NAME [--mutate=N] [--seed=S] FILE-OR-FOLDER...\n",
               std::string(Word).c_str());
  std::exit(1);
}

/// Catches what ends a process, on a stack of its own: the usual one may be
/// what has overflowed.
void catchSignals() {
  static char Stack[1 << 16];
  stack_t Alternative = {};
  Alternative.ss_sp = Stack;
  Alternative.ss_size = sizeof Stack;
  sigaltstack(&Alternative, nullptr);
  struct sigaction Action = {};
  Action.sa_handler = keepInput;
  Action.sa_flags = SA_ONSTACK;
  for (int Signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGPROF})
    sigaction(Signal, &Action, nullptr);
}

/// Prints what became of the inputs; a target that takes none has no use.
bool report(const char *What, const Counts &C) {
  dprintf(Messages, "%s: %u %s, %u refused, %u to the end\n",
          std::string(Chosen->Name).c_str(), C.Inputs, What, C.Refused, C.Done);
  return C.Refused < C.Inputs;
}

} // namespace

int main(int Argc, char **Argv) {
  uint64_t Mutations = 0, Seed = 1;
  std::vector<std::string> Paths;
  for (int I = 1; I < Argc; ++I) {
    std::string_view Word = Argv[I];
    std::string_view Value = Word.substr(Word.find('=') + 1);
    if (Word.starts_with("--target="))
      Chosen = findTarget(Value);
    else if (Word.starts_with("--mutate=") || Word.starts_with("--seed=")) {
      if (!readNumber(Value, Word[2] == 'm' ? Mutations : Seed))
        usage(Word);
    } else
      Paths.emplace_back(Word);
  }
  if (!Chosen)
    usage("no --target of a known name");
  std::vector<std::string> Inputs = readFiles(Paths);
  if (Inputs.empty())
    usage("no files");

  CrashFile = "crash-" + std::string(Chosen->Name) + "-" + std::to_string(Seed);
  catchSignals();
#if !__has_feature(address_sanitizer)
  rlimit Limit = {MaxAddressSpace, MaxAddressSpace};
  setrlimit(RLIMIT_AS, &Limit);
#endif
  // Some passes print what they found.
  Messages = dup(STDERR_FILENO);
  for (std::FILE *File : {stdout, stderr})
    if (!std::freopen("/dev/null", "w", File))
      return 1;

  Counts Files, Mutated;
  for (const std::string &Input : Inputs)
    run(Input, Files);
  bool Some = report("files", Files);
  Random R(Seed);
  for (uint64_t N = 0; N < Mutations; ++N) {
    std::string Input = mutate(R.pick(Inputs), R);
    if (run(Input, Mutated) && R.oneIn(4))
      Inputs.push_back(std::move(Input));
  }
  if (Mutations > 0)
    Some &= report("mutations", Mutated);
  return Some ? 0 : 1;
}
