//===- Reduction.h - kinds of reductions ------------------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_OPS_REDUCTION_H
#define REMAT_RUNTIME_OPS_REDUCTION_H

#include "ops/Op.h"
#include <string_view>

namespace remat::runtime {

enum class Reduction { Sum, Mean, Max };

inline bool parseReduction(std::string_view Text, Reduction &Kind) {
  Kind = Text == "sum"    ? Reduction::Sum
         : Text == "mean" ? Reduction::Mean
                          : Reduction::Max;
  return Kind != Reduction::Max || Text == "max";
}

/// Checks the dimensions that an op reduces, `dims`, and gives each of them in
/// `Shape`, that of its operand, the size `Left`.
Status reduceShape(const OpCall &Op, int64_t Left, std::vector<int64_t> &Shape);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_OPS_REDUCTION_H
