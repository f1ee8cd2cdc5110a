//===- Collective.h - ops over several ranks --------------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_OPS_COLLECTIVE_H
#define REMAT_RUNTIME_OPS_COLLECTIVE_H

#include "ops/Op.h"
#include <cstdint>
#include <span>
#include <vector>

namespace remat::runtime {

/// How many ranks a group has; see Program.fbs for its numbers. They are
/// verified.
int64_t countRanks(std::span<const int64_t> Group);

/// The members of the group that `Rank` belongs to, in their order, which is
/// that of their numbers.
std::vector<int64_t> getMembers(std::span<const int64_t> Group, int64_t Rank);

/// The position of `Rank` among them.
int64_t getPosition(std::span<const int64_t> Group, int64_t Rank);

/// A tensor as rows that are cut into parts: `Outer` times `Parts` times
/// `Inner` bytes, part p of each row being the piece of place p.
struct PartLayout {
  int64_t Outer = 1, Inner = 0;
};
/// Of `Whole`, cut into `Parts` along `Dim`.
PartLayout getPartLayout(const Value &Whole, int64_t Dim, int64_t Parts);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_OPS_COLLECTIVE_H
