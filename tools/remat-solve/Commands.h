//===- Commands.h - The subcommands of remat-solve ------------------------===//
#ifndef REMAT_TOOLS_REMATSOLVE_COMMANDS_H
#define REMAT_TOOLS_REMATSOLVE_COMMANDS_H

#include "remat/Solver/Packing.h"
#include "remat/Solver/Recompute.h"

#include <optional>
#include <string>

namespace remat::solver {

/// Exit codes: done, infeasible or wrong, malformed input or usage.
enum Exit { ExitOk = 0, ExitRefused = 1, ExitBadInput = 2 };

/// Becomes true on SIGINT: long runs then return what they have.
extern std::atomic<bool> Interrupted;

struct RecomputeArgs {
  std::string ProblemFile, PlanFile, OutFile, CsvFile, SvgFile;
  std::string Method = "search";
  int64_t Budget = 0;
  int32_t Effort = 3;
  double TimeLimit = 0;
  uint64_t Seed = 0;
  int Points = 20;
  bool MinBudget = false;
};
int runRecompute(const RecomputeArgs &A);
int runFrontier(const RecomputeArgs &A);
int runVerify(const RecomputeArgs &A);

struct PackArgs {
  std::string File, OutFile;
  std::optional<int64_t> Capacity;
  double TimeLimit = 0;
  int64_t NodeLimit = 20'000'000;
};
int runPack(const PackArgs &A);

/// Whole files; an error is printed on stderr.
std::optional<std::string> readFile(const std::string &Path);
bool writeFile(const std::string &Path, const std::string &Text);
int badInput(const std::string &Message);

} // namespace remat::solver

#endif // REMAT_TOOLS_REMATSOLVE_COMMANDS_H
