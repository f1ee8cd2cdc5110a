//===- JSON.h - The exchange formats remat-problem-1 and remat-plan-1 -----===//
//
// docs/PlannerFormats.md specifies them.
//
//===----------------------------------------------------------------------===//
#ifndef REMAT_SOLVER_JSON_H
#define REMAT_SOLVER_JSON_H

#include "remat/Solver/Recompute.h"

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

} // namespace remat::solver

#endif // REMAT_SOLVER_JSON_H
