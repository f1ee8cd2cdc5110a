//===- remat-solve.cpp - The planner and the packer on files --------------===//
//
// Exit codes: 0 done, 2 the budget or capacity cannot be met, 1 any error.
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "remat/Support/Budget.h"
#include "remat/Tool/NumberOptions.h"

#include <cstdio>

using namespace remat;
using namespace remat::solver;

static void addProblem(CLI::App &C, RecomputeArgs &A) {
  C.add_option("problem", A.ProblemFile, "remat-problem-1 JSON, - is stdin")
      ->required();
}

static CLI::Option *addBudget(CLI::App &C, RecomputeArgs &A) {
  auto Parse = [&A](const std::string &Text) {
    std::optional<Budget> Parsed = Budget::parse(Text);
    if (!Parsed || Parsed->Kind != Budget::Kind::Bytes)
      throw CLI::ValidationError(
          "--budget",
          "expected bytes such as 4GiB or 1000000, got '" + Text + "'");
    A.Budget = Parsed->Bytes;
  };
  return C
      .add_option_function<std::string>("--budget", Parse,
                                        "bytes such as 4GiB or 1000000")
      ->type_name("BYTES");
}

static void addEffort(CLI::App &C, RecomputeArgs &A) {
  addInteger<int32_t>(
      C, "--effort", A.Effort, 0, 20,
      "amount of search, a count: 3 unless given, the compiler takes 1");
  addNonNegative(C, "--time-limit", A.TimeLimit, "seconds, 0 is none");
  addInteger<uint64_t>(C, "--seed", A.Seed, 0, UINT64_MAX,
                       "of the local search");
  addInteger<uint32_t>(C, "--threads", A.Threads, 0, 1024,
                       "0: one a processor; the plan is the same");
}

static CLI::App *addRecompute(CLI::App &App, RecomputeArgs &A) {
  CLI::App *C = App.add_subcommand("recompute", "find a plan within a budget");
  addProblem(*C, A);
  addBudget(*C, A)->required();
  C->add_option("--strategy", A.Method,
                "none, sqrt, greedy, mincut, optimal or search");
  addEffort(*C, A);
  C->add_flag("--min-budget", A.MinBudget,
              "also look for the smallest budget that can be found");
  C->add_option("-o", A.OutFile, "write the plan here");
  return C;
}

static CLI::App *addFrontier(CLI::App &App, RecomputeArgs &A) {
  CLI::App *C =
      App.add_subcommand("frontier", "overhead over budget, with its bound");
  addProblem(*C, A);
  addInteger<int>(*C, "--points", A.Points, 1, 10000, "number of budgets");
  C->add_option("--csv", A.CsvFile, "write the table here");
  C->add_option("--svg", A.SvgFile, "write the picture here");
  addEffort(*C, A);
  return C;
}

static CLI::App *addVerify(CLI::App &App, RecomputeArgs &A) {
  CLI::App *C = App.add_subcommand("verify", "simulate and check a plan");
  addProblem(*C, A);
  C->add_option("plan", A.PlanFile, "remat-plan-1 JSON")->required();
  addBudget(*C, A);
  return C;
}

static CLI::App *addExplain(CLI::App &App, RecomputeArgs &A) {
  CLI::App *C = App.add_subcommand(
      "explain", "why a plan runs ops again and keeps values: the bytes that "
                 "it would need without each decision");
  addProblem(*C, A);
  C->add_option("plan", A.PlanFile, "remat-plan-1 JSON")->required();
  return C;
}

static CLI::App *addPack(CLI::App &App, PackArgs &A) {
  CLI::App *C = App.add_subcommand("pack", "assign offsets to buffers");
  C->add_option("buffers", A.File, "CSV with id,lower,upper,size")->required();
  addInteger<int64_t>(*C, "--capacity", A.Capacity, 0, INT64_MAX,
                      "bytes; else as low as possible");
  addNonNegative(*C, "--time-limit", A.TimeLimit, "seconds, 0 is none");
  addInteger<int64_t>(*C, "--nodes", A.NodeLimit, 0, INT64_MAX,
                      "limit of the exact search");
  C->add_option("-o", A.OutFile, "write the offsets here");
  return C;
}

static int run(int Argc, char **Argv) {
  CLI::App App("Plans recomputation and packs buffers for training steps",
               "remat-solve");
  App.require_subcommand(1);
  RecomputeArgs A;
  PackArgs B;
  CLI::App *Recompute = addRecompute(App, A);
  CLI::App *Frontier = addFrontier(App, A);
  CLI::App *Verify = addVerify(App, A);
  CLI::App *Explain = addExplain(App, A);
  addPack(App, B);
  try {
    App.parse(Argc, Argv);
  } catch (const CLI::ParseError &E) {
    // Help is a parse error that is none.
    if (E.get_exit_code() != 0)
      return badInput(E.what());
    return App.exit(E);
  }
  if (*Recompute)
    return runRecompute(A);
  if (*Frontier)
    return runFrontier(A);
  if (*Verify)
    return runVerify(A);
  if (*Explain)
    return runExplain(A);
  return runPack(B);
}

// CLI11 throws where this file declares an option twice or without a name.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int Argc, char **Argv) {
  startTool("remat-solve");
  // Long runs return what they have.
  handleInterrupts(true);
  return finishTool(run(Argc, Argv));
}
