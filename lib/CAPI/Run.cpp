//===- Run.cpp - the tool remat-run as a function -------------------------===//

#include "remat-c/Run.h"
#include "Ranks.h"
#include "remat/Run/Run.h"

using namespace remat;

/// What is thrown ends the process with the tool's words, as in the tool.
static int run(int Argc, const char *const *Argv, RematRanks Ranks) noexcept {
  return runTool(Argc, Argv, Ranks ? Ranks->Ranks : nullptr);
}

int rematRunTool(int Argc, const char *const *Argv, RematRanks Ranks) {
  return run(Argc, Argv, Ranks);
}
