//===- ReduceLayout.h - where reduced elements lie --------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_HOST_REDUCELAYOUT_H
#define REMAT_RUNTIME_HOST_REDUCELAYOUT_H

#include "ops/Op.h"
#include "ops/Scalar.h"

namespace remat::runtime {

/// Where the elements of a reduction lie: element Kept(i) + Reduced(j) is the
/// j-th one of result i.
struct ReduceLayout {
  Walk Kept, Reduced;
  int64_t Length = 1; ///< elements of one result

  /// Of a tensor of which the dimensions are reduced for which `IsReduced`
  /// holds.
  template <typename Function>
  static ReduceLayout of(std::span<const int64_t> Shape, Function IsReduced) {
    std::vector<int64_t> KeptDims, KeptStrides, ReducedDims, ReducedStrides;
    int64_t Stride = 1;
    for (size_t I = Shape.size(); I-- > 0; Stride *= Shape[I]) {
      bool Reduced = IsReduced(static_cast<int64_t>(I));
      auto &Sizes = Reduced ? ReducedDims : KeptDims;
      auto &Strides = Reduced ? ReducedStrides : KeptStrides;
      Sizes.insert(Sizes.begin(), Shape[I]);
      Strides.insert(Strides.begin(), Stride);
    }
    return {Walk::strided(KeptDims, KeptStrides),
            Walk::strided(ReducedDims, ReducedStrides),
            countElements(ReducedDims)};
  }
};

} // namespace remat::runtime

#endif // REMAT_RUNTIME_HOST_REDUCELAYOUT_H
