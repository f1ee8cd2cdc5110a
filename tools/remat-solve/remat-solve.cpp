//===- remat-solve.cpp - The planner and the packer on files --------------===//
#include "Commands.h"

#include <CLI/CLI.hpp>

#include <csignal>
#include <ctime>

using namespace remat::solver;

namespace remat::solver {
std::atomic<bool> Interrupted = false;
} // namespace remat::solver

/// The first interrupt asks for what there is; one that comes a second or more
/// later ends the program. `timeout` sends two at once, to the program and to
/// its group.
static void onInterrupt(int) {
  static volatile std::time_t First = 0;
  std::time_t Now = std::time(nullptr);
  if (!Interrupted.exchange(true)) {
    First = Now;
  } else if (Now > First + 1) {
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
  }
}

int main(int Argc, char **Argv) {
  std::signal(SIGINT, onInterrupt);
  CLI::App App("Plans recomputation and packs buffers for training steps");
  App.require_subcommand(1);
  RecomputeArgs A;
  auto AddCommon = [&](CLI::App *C) {
    C->add_option("problem", A.ProblemFile, "remat-problem-1 JSON, - is stdin")
        ->required();
  };
  auto AddEffort = [&](CLI::App *C) {
    C->add_option(
         "--effort", A.Effort,
         "amount of search, a count: 3 unless given, the compiler takes 1")
        ->check(CLI::Range(0, 20));
    C->add_option("--time-limit", A.TimeLimit, "seconds, 0 is none")
        ->check(CLI::NonNegativeNumber);
    C->add_option("--seed", A.Seed, "of the local search");
  };

  CLI::App *Recompute =
      App.add_subcommand("recompute", "find a plan within a budget");
  AddCommon(Recompute);
  Recompute->add_option("--budget", A.Budget, "bytes")
      ->required()
      ->check(CLI::NonNegativeNumber);
  Recompute->add_option("--strategy", A.Method,
                        "none, sqrt, greedy, mincut, optimal or search");
  AddEffort(Recompute);
  Recompute->add_flag("--min-budget", A.MinBudget,
                      "also look for the smallest feasible budget");
  Recompute->add_option("-o", A.OutFile, "write the plan here");

  CLI::App *Frontier =
      App.add_subcommand("frontier", "overhead over budget, with its bound");
  AddCommon(Frontier);
  Frontier->add_option("--points", A.Points, "number of budgets")
      ->check(CLI::Range(1, 10000));
  Frontier->add_option("--csv", A.CsvFile, "write the table here");
  Frontier->add_option("--svg", A.SvgFile, "write the picture here");
  AddEffort(Frontier);

  CLI::App *Verify = App.add_subcommand("verify", "simulate and check a plan");
  AddCommon(Verify);
  Verify->add_option("plan", A.PlanFile, "remat-plan-1 JSON")->required();
  Verify->add_option("--budget", A.Budget, "bytes")
      ->check(CLI::NonNegativeNumber);

  PackArgs B;
  CLI::App *Pack = App.add_subcommand("pack", "assign offsets to buffers");
  Pack->add_option("buffers", B.File, "CSV with id,lower,upper,size")
      ->required();
  Pack->add_option("--capacity", B.Capacity, "bytes; else as low as possible")
      ->check(CLI::NonNegativeNumber);
  Pack->add_option("--time-limit", B.TimeLimit, "seconds, 0 is none")
      ->check(CLI::NonNegativeNumber);
  Pack->add_option("--nodes", B.NodeLimit, "limit of the exact search")
      ->check(CLI::NonNegativeNumber);
  Pack->add_option("-o", B.OutFile, "write the offsets here");

  CLI11_PARSE(App, Argc, Argv);
  if (*Recompute)
    return runRecompute(A);
  if (*Frontier)
    return runFrontier(A);
  if (*Verify)
    return runVerify(A);
  return runPack(B);
}
