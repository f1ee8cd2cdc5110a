//===- Matmul.h - matrix products by cuBLASLt -------------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_CUDA_MATMUL_H
#define REMAT_RUNTIME_CUDA_MATMUL_H

#include "cuda/Driver.h"
#include "cuda/Library.h"
#include "cuda/MatmulCache.h"
#include "remat/runtime/Program.h"
#include <cstdint>
#include <memory>
#include <string>

namespace remat::runtime::cuda {

/// result [Batch, M, N] = lhs [Batch, M, K] * rhs [Batch, K, N] + bias [N]
/// + addend [Batch, M, N], all row-major, each side as it lies in memory if
/// transposed. The addend has the result's type.
struct MatmulProblem {
  DType Type = DType::F32, ResultType = DType::F32, BiasType = DType::F32;
  int64_t M = 0, N = 0, K = 0, Batch = 1;
  int64_t LhsStride = 0, RhsStride = 0; ///< elements from batch to batch
  bool TransposeLhs = false, TransposeRhs = false;
  bool HasBias = false, HasAddend = false;
  uint64_t WorkspaceBytes = 0;
  /// Bytes, at most 256, that the addresses are multiples of.
  uint32_t LhsAlignment = 256, RhsAlignment = 256, ResultAlignment = 256;

  /// The problem of step `S` of `P`.
  static MatmulProblem of(const Program &P, const Step &S);
  /// All of it as one line of text.
  std::string getKey() const;
};

/// Addresses of one product. Device memory, not owned.
struct MatmulAddresses {
  const void *Lhs = nullptr, *Rhs = nullptr, *Bias = nullptr;
  /// Not `Result`, for which cuBLASLt gives other bits (seen with 13.1).
  const void *Addend = nullptr;
  void *Result = nullptr, *Workspace = nullptr;
};

/// One product with its descriptors and its algorithm.
class Matmul {
public:
  virtual ~Matmul() = default;
  /// Enqueues the product.
  virtual Status run(const MatmulAddresses &Where, Stream S) = 0;
};

/// cuBLASLt and a handle of it.
class MatmulLibrary {
public:
  virtual ~MatmulLibrary() = default;

  /// Loads cuBLASLt; a context must be current.
  static Result<std::unique_ptr<MatmulLibrary>> load();

  /// Makes a product ready. The algorithm is the one that `Shipped` holds for
  /// the problem, or for the same without an addend, else the library's first
  /// suggestion, so that equal problems
  /// give equal bits. Where `Cache` is given, it is asked first, and what
  /// neither holds is measured now (which takes `D` and scratch memory outside
  /// any arena).
  virtual Result<std::unique_ptr<Matmul>>
  prepare(const MatmulProblem &P, const MatmulCache &Shipped,
          MatmulCache *Cache, const Driver &D, Stream S) = 0;

  /// The library's version, e.g. 130002.
  virtual size_t getVersion() const = 0;
};

} // namespace remat::runtime::cuda

#endif // REMAT_RUNTIME_CUDA_MATMUL_H
