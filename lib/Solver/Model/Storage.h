//===- Storage.h - The rules of storages, for all of the planner ----------===//
//
// What the parts of the planner ask when they count bytes stands here and in
// `Model`: which values share a storage, who reads it, what it counts, and what
// an output saves that takes it over. `verify`, and the oracle of the tests,
// write the rules out for themselves, so that an error here shows.
//
// A storage lives from the run that made it to the last run that reads any
// value of its class; results live to the end. Resident values always count. A
// storage stands in a resident value's *place* if its value took over that of a
// resident value, or of what stood there: it counts nothing.
//
//===----------------------------------------------------------------------===//
#ifndef REMAT_LIB_SOLVER_STORAGE_H
#define REMAT_LIB_SOLVER_STORAGE_H

#include "remat/Solver/Problem.h"

#include <algorithm>

namespace remat::solver {

/// What an output gains if it takes over the storage of the input that it
/// reuses, where that storage ends. A storage is taken over by one output only.
struct Takeover {
  bool Allowed = false;
  /// Bytes less at this run. In a place they are less for good, for the output
  /// then stands in the place.
  int64_t Saved = 0;
};

/// The storage counts `Old` bytes, or stands in a place of `Place` bytes
/// (`None`: in none); the output has `New` bytes. A place cannot grow.
inline Takeover takeOver(int64_t Old, int64_t Place, int64_t New) {
  if (Place == None)
    return {true, std::min(Old, New)};
  return New <= Place ? Takeover{true, New} : Takeover{};
}

/// The place that a value's own storage is to others: that of a resident value.
inline int64_t placeOf(const Value &V) {
  return V.Producer == None ? V.Bytes : int64_t(None);
}

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_STORAGE_H
