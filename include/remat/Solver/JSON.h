//===- JSON.h - The exchange formats remat-problem-1 and remat-plan-1 -----===//
//
// docs/PlannerFormats.md specifies them.
//
//===----------------------------------------------------------------------===//
#ifndef REMAT_SOLVER_JSON_H
#define REMAT_SOLVER_JSON_H

#include "remat/Solver/Explain.h"
#include "remat/Solver/Packing.h"
#include "remat/Solver/Planner.h"

#include <string>
#include <string_view>
#include <variant>

namespace remat::solver {

/// What went wrong; names the place ("ops[3].inputs[0]: ...").
struct ReadError {
  std::string Message;
};

/// Reads and checks a problem. Unknown fields, missing values, wrong types,
/// cycles, negative and overflowing numbers are errors.
std::variant<Problem, ReadError> readProblem(std::string_view Text);
std::string writeProblem(const Problem &P);

/// Reads a plan of this problem. A step that does not name its choice takes
/// the fastest one. What the sequence means is left to `verify`; of a
/// certificate the types are checked.
std::variant<Plan, ReadError> readPlan(std::string_view Text, const Problem &P);
std::string writePlan(const Problem &P, const Plan &S, const Certificate *C);

/// The answers of remat-solve, one JSON object each, in one line:
/// what a call found, with the certificate's numbers or the reason of a
/// refusal;
std::string writeAnswer(const Problem &P, const SolveResult &R);
/// a curve of time over budget, without the budgets that were refused;
std::string writeFrontier(const Frontier &F, double Seconds);
/// what a check of a plan says, where asked for with the bytes at each step
/// ("memory") and the values whose storage is free after it ("releases");
std::string writeVerification(const Problem &P, const Plan &S,
                              const VerifyResult &R, bool WithSteps);
/// why a plan runs ops again and keeps values;
std::string writeExplanation(const Problem &P, const Plan &S,
                             const Explanation &E);
/// and a packing. Buffers in a conflict go by these names, or by their numbers
/// where there are none.
std::string writePacking(const PackResult &R, double Seconds,
                         const std::vector<std::string> &Names);

} // namespace remat::solver

#endif // REMAT_SOLVER_JSON_H
