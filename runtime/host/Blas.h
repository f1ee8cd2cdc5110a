//===- Blas.h - the BLAS, one thread a call ---------------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_HOST_BLAS_H
#define REMAT_RUNTIME_HOST_BLAS_H

#include "remat/runtime/Result.h"
#include <cstdint>

namespace remat::runtime {

/// Makes the BLAS ready, without threads of its own for the whole process: the
/// runtime brings its own, and the order of sums must not depend on theirs.
/// Unavailable if the library is not there.
Status loadBlas();

/// C = Alpha * op(A) op(B) + Beta * C for row-major A (M x K, or K x M when
/// transposed), B (K x N, or N x K) and C (M x N), with elements a row given by
/// the strides. Any thread may call it. The library needs a buffer for each
/// call that runs at the same time: where the system has no memory for another,
/// a call waits for one; if there is not even one, it throws std::bad_alloc.
void multiply(bool TransposeA, bool TransposeB, int64_t M, int64_t N, int64_t K,
              float Alpha, const float *A, int64_t StrideA, const float *B,
              int64_t StrideB, float Beta, float *C, int64_t StrideC);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_HOST_BLAS_H
