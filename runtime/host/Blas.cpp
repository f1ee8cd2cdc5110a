//===- Blas.cpp - the BLAS, one thread a call -----------------------------===//

#include "host/Blas.h"
#include <cblas-openblas.h>

using namespace remat::runtime;

void remat::runtime::useOneBlasThread() { openblas_set_num_threads(1); }

void remat::runtime::multiply(bool TransposeA, bool TransposeB, int64_t M,
                              int64_t N, int64_t K, float Alpha, const float *A,
                              int64_t StrideA, const float *B, int64_t StrideB,
                              float Beta, float *C, int64_t StrideC) {
  auto Transpose = [](bool T) { return T ? CblasTrans : CblasNoTrans; };
  cblas_sgemm(CblasRowMajor, Transpose(TransposeA), Transpose(TransposeB),
              static_cast<blasint>(M), static_cast<blasint>(N),
              static_cast<blasint>(K), Alpha, A, static_cast<blasint>(StrideA),
              B, static_cast<blasint>(StrideB), Beta, C,
              static_cast<blasint>(StrideC));
}
