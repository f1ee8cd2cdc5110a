//===- Matmul.h - the shape of matrix products ------------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_OPS_MATMUL_H
#define REMAT_RUNTIME_OPS_MATMUL_H

#include "ops/Op.h"

namespace remat::runtime {

/// A product as a kernel sees it.
struct MatmulShape {
  int64_t Batch = 1, M = 0, N = 0, K = 0;
  bool TransposeLhs = false, TransposeRhs = false;
  bool LhsBatched = false, RhsBatched = false;
};

/// The shape of a product whose operands have a rank of at least 2.
MatmulShape getMatmulShape(const OpCall &Op);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_OPS_MATMUL_H
