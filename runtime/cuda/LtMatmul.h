//===- LtMatmul.h - one matrix product of cuBLASLt --------------*- C++ -*-===//
//
// cuBLASLt is column-major: a row-major matrix is its transpose there. So the
// row-major product lhs * rhs is asked for as rhs^T * lhs^T, whose column-major
// result is the row-major one.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CUDA_LTMATMUL_H
#define REMAT_RUNTIME_CUDA_LTMATMUL_H

#include "cuda/Lt.h"
#include "cuda/Matmul.h"
#include <optional>
#include <vector>

namespace remat::runtime::cuda {

class LtMatmul : public Matmul {
public:
  LtMatmul(const Lt &L, LtHandle Handle, const MatmulProblem &P)
      : L(L), Handle(Handle), P(P) {}
  ~LtMatmul() override {
    if (Desc)
      L.DescDestroy(Desc);
    for (LtLayout Layout : {Lhs, Rhs, Result})
      if (Layout)
        L.LayoutDestroy(Layout);
  }

  Status describe();
  /// The library's suggestions, best first; at most `Count`.
  Status suggest(int Count, std::vector<LtHeuristic> &Out);
  /// Whether `Value`, read from a file, can run this problem.
  bool accepts(const Algorithm &Value) { return check(Value).has_value(); }
  /// What the library says of `Value`; nothing where it cannot run.
  std::optional<LtHeuristic> check(const Algorithm &Value);
  /// Takes the fastest algorithm among the library's suggestions and all other
  /// configurations of the same algorithms, which needs scratch memory for as
  /// long.
  ///
  /// Tiles are timed first, then clusters and custom options of the best tiles.
  /// The best tiles then run in turn, each for so long that the GPU's clock is
  /// what their own power leaves. An algorithm that gives other numbers than
  /// the library's first suggestion, beyond rounding, is left out.
  Status measure(const Driver &D, Stream S);
  void use(const Algorithm &Value) { Chosen = Value; }

  Status run(const MatmulAddresses &Where, Stream S) override;
  const Algorithm &getChosen() const { return Chosen; }

private:
  Status makeLayout(LtLayout &Layout, DType Type, int64_t Rows, int64_t Columns,
                    int64_t Stride);
  Error describeFailure(LtStatus S, const std::string &What) const {
    return L.check(S, What + " (" + P.getKey() + ")").getError();
  }

  const Lt &L;
  LtHandle Handle;
  MatmulProblem P;
  LtDesc Desc = nullptr;
  LtLayout Lhs = nullptr, Rhs = nullptr, Result = nullptr;
  Algorithm Chosen = {};
};

} // namespace remat::runtime::cuda

#endif // REMAT_RUNTIME_CUDA_LTMATMUL_H
