//===- Commands.h - The subcommands of remat-solve ------------------------===//
#ifndef REMAT_TOOLS_REMATSOLVE_COMMANDS_H
#define REMAT_TOOLS_REMATSOLVE_COMMANDS_H

#include "remat/Solver/Packing.h"
#include "remat/Solver/Recompute.h"
#include "remat/Support/Tool.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

namespace remat::solver {

struct RecomputeArgs {
  std::string ProblemFile, PlanFile, OutFile, CsvFile, SvgFile;
  std::string Method = "search";
  std::optional<int64_t> Budget; ///< `verify` checks none if it is not given
  int32_t Effort = 3;
  double TimeLimit = 0;
  uint64_t Seed = 0;
  uint32_t Threads = 0;
  int Points = 20;
  bool MinBudget = false;
};
int runRecompute(const RecomputeArgs &A);
int runFrontier(const RecomputeArgs &A);
int runVerify(const RecomputeArgs &A);
int runExplain(const RecomputeArgs &A);
/// The problem and the plan of these files, or a message about what is wrong.
std::optional<Problem> loadProblem(const RecomputeArgs &A);
std::optional<Plan> loadPlan(const RecomputeArgs &A, const Problem &P);

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
/// Whether the files of these options can be written, asked before the work.
bool canWrite(
    std::initializer_list<std::pair<const char *, std::string>> Outputs);
/// Prints the message; gives ExitError.
int badInput(const std::string &Message);

} // namespace remat::solver

#endif // REMAT_TOOLS_REMATSOLVE_COMMANDS_H
