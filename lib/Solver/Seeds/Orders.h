//===- Orders.h - Topological orders that hold less -----------------------===//
#ifndef REMAT_LIB_SOLVER_ORDERS_H
#define REMAT_LIB_SOLVER_ORDERS_H

#include "Model/Model.h"

namespace remat::solver {

/// Topological orders that may hold less than the given one.
std::vector<OpId> eagerOrder(const Model &M, const std::vector<OpId> &Order);
std::vector<OpId> lazyOrder(const Model &M, const std::vector<OpId> &Order);
std::vector<OpId> leastOrder(const Model &M);

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_ORDERS_H
