//===- Reduction.h - kinds of reductions ------------------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_OPS_REDUCTION_H
#define REMAT_RUNTIME_OPS_REDUCTION_H

#include <string_view>

namespace remat::runtime {

enum class Reduction { Sum, Mean, Max };

inline bool parseReduction(std::string_view Text, Reduction &Kind) {
  Kind = Text == "sum"    ? Reduction::Sum
         : Text == "mean" ? Reduction::Mean
                          : Reduction::Max;
  return Kind != Reduction::Max || Text == "max";
}

} // namespace remat::runtime

#endif // REMAT_RUNTIME_OPS_REDUCTION_H
