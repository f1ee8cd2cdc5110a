//===- Order.h - Orders that a problem asks for and cannot have -*- C++ -*-===//
#ifndef REMAT_LIB_SOLVER_PROBLEM_ORDER_H
#define REMAT_LIB_SOLVER_PROBLEM_ORDER_H

#include "remat/Solver/Problem.h"

namespace remat::solver {

/// An entry of `Op::After` that the base order does not keep.
struct WrongAfter {
  OpId Later;
  size_t Index;
  /// What is wrong, without the name of `Later`.
  std::string Reason;
};

/// The first such entry. Needs ids in range.
std::optional<WrongAfter> findWrongAfter(const Problem &P);

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_PROBLEM_ORDER_H
