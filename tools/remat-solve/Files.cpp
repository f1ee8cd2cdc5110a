//===- Files.cpp - Reading and writing files ------------------------------===//
#include "Commands.h"
#include "remat/Support/File.h"

#include <cstdio>

using namespace remat;
using namespace remat::solver;

/// Largest problem, plan or table.
static constexpr uint64_t MaxInputBytes = uint64_t(1) << 28;

std::optional<std::string> remat::solver::readFile(const std::string &Path) {
  std::string Text;
  if (FileFailure Failed = readWholeFile(Path, MaxInputBytes, Text)) {
    badInput(*Failed);
    return std::nullopt;
  }
  return Text;
}

bool remat::solver::writeFile(const std::string &Path,
                              const std::string &Text) {
  FileFailure Failed = Path == "-"
                           ? writeStandardOutput(Text.data(), Text.size())
                           : writeWholeFile(Path, Text.data(), Text.size());
  if (Failed)
    badInput(*Failed);
  return !Failed;
}

bool remat::solver::canWrite(
    std::initializer_list<std::pair<const char *, std::string>> Outputs) {
  std::vector<std::pair<const char *, std::string>> Files;
  for (const auto &[Option, Path] : Outputs)
    if (Path != "-")
      Files.emplace_back(Option, Path);
  FileFailure Failed = checkOutputs(Files);
  if (Failed)
    badInput(*Failed);
  return !Failed;
}

int remat::solver::badInput(const std::string &Message) {
  std::fprintf(stderr, "remat-solve: %s\n", Message.c_str());
  return ExitError;
}
