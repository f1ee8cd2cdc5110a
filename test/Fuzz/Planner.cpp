//===- Planner.cpp - what remat-solve reads -------------------------------===//

#include "RichProblem.h"
#include "Target.h"
#include "remat-solve/Commands.h"
#include "remat/Solver/JSON.h"
#include <sys/mman.h>
#include <unistd.h>

using namespace remat;
using namespace remat::fuzz;
using namespace remat::solver;

Outcome remat::fuzz::runProblem(Bytes Data) {
  auto Read = readProblem(asText(Data));
  auto *P = std::get_if<Problem>(&Read);
  if (!P)
    return Outcome::Refused;
  auto Again = readProblem(writeProblem(*P));
  if (auto *Bad = std::get_if<ReadError>(&Again))
    fail("what was written is not read: " + Bad->Message);
  if (P->Ops.size() > 40)
    return Outcome::Read;
  Random R(hashOf(Data));
  int64_t Peak = verify(*P, basePlan(*P), INT64_MAX).Peak;
  SolveOptions Options;
  Options.Method = static_cast<Strategy>(R.draw(6));
  Options.Budget = Peak - static_cast<int64_t>(R.draw(Peak / 2 + 1));
  Options.Effort = 0;
  Options.TimeLimit = 0.5;
  Options.FindMinBudget = R.oneIn(3);
  SolveResult Solved = solve(*P, Options);
  if (Solved.Feasible && !verify(*P, Solved.Best, Options.Budget).Ok)
    fail("the plan found does not verify");
  if (!Solved.Feasible && Solved.Reason.Message.empty())
    fail("a refusal without a reason");
  return Outcome::Done;
}

Outcome remat::fuzz::runPlan(Bytes Data) {
  static const Problem P = [] {
    test::Rng R(4);
    return test::RichProblem(R, 12).P;
  }();
  auto Read = readPlan(asText(Data), P);
  auto *S = std::get_if<Plan>(&Read);
  if (!S)
    return Outcome::Refused;
  VerifyResult Verified = verify(P, *S, INT64_MAX);
  if (Verified.Ok != Verified.Error.empty())
    fail("a wrong plan without a reason");
  (void)releasesOf(P, *S);
  (void)writePlan(P, *S, nullptr);
  return Verified.Ok ? Outcome::Done : Outcome::Read;
}

Outcome remat::fuzz::runPacking(Bytes Data) {
  // The command reads a file by its path.
  int File = memfd_create("buffers", 0);
  if (File < 0 || write(File, Data.data(), Data.size()) !=
                      static_cast<ssize_t>(Data.size()))
    fail("no file in memory");
  PackArgs Args;
  Args.File = "/proc/self/fd/" + std::to_string(File);
  Args.NodeLimit = 2000;
  Args.TimeLimit = 1;
  Random R(hashOf(Data));
  if (R.oneIn(2))
    Args.Capacity = static_cast<int64_t>(R.draw(200));
  int Code = runPack(Args);
  close(File);
  return Code == ExitDone      ? Outcome::Done
         : Code == ExitRefused ? Outcome::Read
                               : Outcome::Refused;
}
