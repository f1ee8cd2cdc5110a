//===- MatmulProblem.cpp - what a step asks of cuBLASLt -------------------===//

#include "cuda/Matmul.h"

using namespace remat::runtime;
using namespace remat::runtime::cuda;

static uint32_t getAlignment(const Tensor &T) {
  uint64_t Bits = T.Offset | 256;
  return static_cast<uint32_t>(Bits & (~Bits + 1));
}

MatmulProblem MatmulProblem::of(const Program &P, const Step &S) {
  const Tensor &Lhs = P.Tensors[S.Operands[0]], &Rhs = P.Tensors[S.Operands[1]];
  const Tensor &Result = P.Tensors[S.Results[0]];
  MatmulProblem Out;
  Out.Type = Lhs.Type;
  Out.ResultType = Result.Type;
  Out.TransposeLhs = S.Attributes.getFlag("transpose_lhs");
  Out.TransposeRhs = S.Attributes.getFlag("transpose_rhs");
  size_t Rank = Result.Shape.size();
  Out.M = Result.Shape[Rank - 2];
  Out.N = Result.Shape[Rank - 1];
  Out.K = Lhs.Shape[Lhs.Shape.size() - (Out.TransposeLhs ? 2 : 1)];
  Out.Batch = Result.NumElements / (Out.M * Out.N);
  bool LhsBatched = Lhs.Shape.size() > 2, RhsBatched = Rhs.Shape.size() > 2;
  if (LhsBatched && !RhsBatched && !Out.TransposeLhs) {
    // The rows of all batches are one matrix.
    Out.M *= Out.Batch;
    Out.Batch = 1;
  }
  Out.LhsStride = LhsBatched ? Lhs.NumElements / Out.Batch : 0;
  Out.RhsStride = RhsBatched ? Rhs.NumElements / Out.Batch : 0;
  Out.HasBias = S.hasOperand(2);
  if (Out.HasBias)
    Out.BiasType = P.Tensors[S.Operands[2]].Type;
  Out.HasAddend = S.hasOperand(3);
  Out.WorkspaceBytes = S.Workspace.Bytes;
  Out.LhsAlignment = getAlignment(Lhs);
  Out.RhsAlignment = getAlignment(Rhs);
  Out.ResultAlignment = getAlignment(Result);
  return Out;
}

std::string MatmulProblem::getKey() const {
  std::string Key;
  auto Add = [&](const std::string &Text) { Key += Text + " "; };
  Add(std::string(getName(Type)));
  Add(std::string(getName(ResultType)));
  Add(HasBias ? "bias:" + std::string(getName(BiasType)) : "plain");
  Add(std::string(TransposeLhs ? "t" : "n") + (TransposeRhs ? "t" : "n"));
  if (HasAddend)
    Add("addend");
  for (int64_t Number : {M, N, K, Batch, LhsStride, RhsStride})
    Add(std::to_string(Number));
  for (uint64_t Number : {WorkspaceBytes, uint64_t(LhsAlignment),
                          uint64_t(RhsAlignment), uint64_t(ResultAlignment)})
    Add(std::to_string(Number));
  Key.pop_back();
  return Key;
}
