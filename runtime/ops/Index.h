//===- Index.h - lines of a tensor ------------------------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_OPS_INDEX_H
#define REMAT_RUNTIME_OPS_INDEX_H

#include "ops/Op.h"

namespace remat::runtime {

/// The lines along a dimension: element i of line (outer, inner) is element
/// (outer * Size + i) * Inner + inner of the tensor.
struct Lines {
  int64_t Outer, Size, Inner;

  /// Of a checked op's operand or result.
  static Lines of(const OpCall &Op, const Value &V);
};

/// Fails at the first of `Indices` that is not in [0, Size) and says it in the
/// words given: "`Index` 7 at position 2 is outside `Of` 5 `Elements`".
Status checkIndices(const Value &Indices, int64_t Size, std::string_view Index,
                    std::string_view Of, std::string_view Elements);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_OPS_INDEX_H
