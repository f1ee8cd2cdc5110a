//===- Matmul.cpp - signature of matrix products --------------------------===//

#include "ops/Matmul.h"

using namespace remat::runtime;

MatmulShape remat::runtime::getMatmulShape(const OpCall &Op) {
  const Value &Lhs = Op.Operands[0], &Rhs = Op.Operands[1];
  MatmulShape S;
  S.TransposeLhs = Op.Attributes->getFlag("transpose_lhs");
  S.TransposeRhs = Op.Attributes->getFlag("transpose_rhs");
  int64_t L = Lhs.getRank(), R = Rhs.getRank();
  S.M = Lhs.Shape[S.TransposeLhs ? L - 1 : L - 2];
  S.K = Lhs.Shape[S.TransposeLhs ? L - 2 : L - 1];
  S.N = Rhs.Shape[S.TransposeRhs ? R - 2 : R - 1];
  S.LhsBatched = L > 2;
  S.RhsBatched = R > 2;
  const Value &Wide = S.LhsBatched ? Lhs : Rhs;
  S.Batch = countElements(std::span(Wide.Shape).first(Wide.Shape.size() - 2));
  return S;
}

static Status check(const OpCall &Op) {
  // The addend, the last operand, is left out where there is none.
  bool MayAdd = Op.Operands.size() == 4;
  REMAT_TRY(checkOptionalCounts(Op, 2, MayAdd ? 4 : 3, 1));
  const Value &Lhs = Op.Operands[0], &Rhs = Op.Operands[1];
  const Value &Result = Op.Results[0];
  REMAT_TRY(checkFloat(Lhs));
  REMAT_TRY(checkType(Rhs, Lhs.Type));
  if (Result.Type != DType::F32)
    REMAT_TRY(checkType(Result, Lhs.Type));
  REMAT_REQUIRE(Lhs.getRank() >= 2 && Rhs.getRank() >= 2,
                "multiplies tensors of ranks " + std::to_string(Lhs.getRank()) +
                    " and " + std::to_string(Rhs.getRank()));
  MatmulShape S = getMatmulShape(Op);
  for (const Value *V : {&Lhs, &Rhs})
    for (int64_t Dim : V->Shape)
      REMAT_REQUIRE(Dim <= INT32_MAX, "has a dimension of " +
                                          std::to_string(Dim) +
                                          ", more than the BLAS takes");
  std::vector<int64_t> Batch(Lhs.Shape.begin(), Lhs.Shape.end() - 2);
  std::vector<int64_t> RhsBatch(Rhs.Shape.begin(), Rhs.Shape.end() - 2);
  REMAT_REQUIRE(Batch.empty() || RhsBatch.empty() || Batch == RhsBatch,
                "multiplies batches " + formatShape(Batch) + " and " +
                    formatShape(RhsBatch));
  int64_t RhsK =
      Rhs.Shape[S.TransposeRhs ? Rhs.getRank() - 1 : Rhs.getRank() - 2];
  REMAT_REQUIRE(S.K == RhsK, "sums over " + std::to_string(S.K) + " and " +
                                 std::to_string(RhsK) + " elements");
  std::vector<int64_t> Expected = Batch.empty() ? RhsBatch : Batch;
  Expected.push_back(S.M);
  Expected.push_back(S.N);
  REMAT_TRY(checkShape(Result, Expected));
  if (Op.has(2)) {
    REMAT_TRY(checkFloat(Op.Operands[2]));
    REMAT_TRY(checkShape(Op.Operands[2], {{S.N}}));
  }
  if (Op.has(3))
    REMAT_TRY(checkSameType(Op.Operands[3], Result));
  return {};
}

std::span<const OpSignature> remat::runtime::getMatmulOps() {
  static const OpSignature Signatures[] = {
      {"matmul", check, reusesNothing},
  };
  return Signatures;
}
