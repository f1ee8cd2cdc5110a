//===- AttentionTerms.cuh - what attention's backward needs of a query ----===//
//
// Both kinds of own backward begin with this.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "AttentionTiles.cuh"

namespace kernels {

// The sum of grad * output of each of `Rows` rows of D elements, [B, H, T], or,
// if `paired`, [B, H, T, 2]: the logarithm of the query's sum in base 2, and
// that. A row is `lanes` threads', each of which loads `access` elements at a
// time.
template <typename E, int64 Rows, int64 T, int64 H, int D, int access,
          int lanes, bool paired>
REMAT_KERNEL attentionTerms(const E *grad, const E *output, const float *lse,
                            float *terms) {
  int64 row = ((int64)blockIdx.x * 256 + threadIdx.x) / lanes;
  float sum = 0.0f;
  if (row < Rows)
    for (int d = threadIdx.x % lanes * access; d < D; d += lanes * access) {
      float x[access], y[access];
      loadFloats<access>(grad + row * D + d, x);
      loadFloats<access>(output + row * D + d, y);
#pragma unroll
      for (int i = 0; i < access; ++i)
        sum += x[i] * y[i];
    }
  sum = lanesSum<lanes>(sum);
  if (row >= Rows || threadIdx.x % lanes != 0)
    return;
  int64 place = (row / (T * H) * H + row % H) * T + row / H % T;
  if constexpr (paired) {
    Vec<float, 2> out;
    out[0] = lse[place] * log2e();
    if (out[0] == -infinity()) // it sees no key: each probability is 0
      out[0] = infinity();
    out[1] = sum;
    store(terms + 2 * place, out);
  } else {
    terms[place] = sum;
  }
}

} // namespace kernels
