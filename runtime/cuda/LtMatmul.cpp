//===- LtMatmul.cpp - one matrix product of cuBLASLt ----------------------===//

#include "cuda/LtMatmul.h"
#include <algorithm>

using namespace remat::runtime;
using namespace remat::runtime::cuda;

/// A row-major [Rows, Columns] matrix: column-major [Columns, Rows].
Status LtMatmul::makeLayout(LtLayout &Layout, DType Type, int64_t Rows,
                            int64_t Columns, int64_t Stride) {
  if (LtStatus S =
          L.LayoutCreate(&Layout, getLtType(Type), Columns, Rows, Columns))
    return describeFailure(S, "cannot describe a matrix");
  if (P.Batch == 1)
    return {};
  int32_t Count = static_cast<int32_t>(P.Batch);
  if (LtStatus S = L.LayoutSet(Layout, LayoutBatch, &Count, sizeof Count))
    return describeFailure(S, "cannot set the batch");
  if (LtStatus S = L.LayoutSet(Layout, LayoutStride, &Stride, sizeof Stride))
    return describeFailure(S, "cannot set the batch stride");
  return {};
}

Status LtMatmul::describe() {
  if (P.Batch > INT32_MAX)
    return Error(ErrorCode::Unavailable, "a matrix product of " +
                                             std::to_string(P.Batch) +
                                             " batches, more than cuBLASLt's " +
                                             std::to_string(INT32_MAX));
  if (LtStatus S = L.DescCreate(&Desc, Compute32F, getLtType(DType::F32)))
    return describeFailure(S, "cannot describe a matrix product");
  int32_t TransA = P.TransposeRhs, TransB = P.TransposeLhs;
  L.DescSet(Desc, DescTransA, &TransA, sizeof TransA);
  L.DescSet(Desc, DescTransB, &TransB, sizeof TransB);
  if (P.HasBias) {
    int32_t Epilogue = EpilogueBias, Type = getLtType(P.BiasType);
    L.DescSet(Desc, DescEpilogue, &Epilogue, sizeof Epilogue);
    L.DescSet(Desc, DescBiasType, &Type, sizeof Type);
  }
  auto Pick = [](bool Swap, int64_t A, int64_t B) { return Swap ? B : A; };
  if (Status S = makeLayout(Lhs, P.Type, Pick(P.TransposeLhs, P.M, P.K),
                            Pick(P.TransposeLhs, P.K, P.M), P.LhsStride);
      !S)
    return S;
  if (Status S = makeLayout(Rhs, P.Type, Pick(P.TransposeRhs, P.K, P.N),
                            Pick(P.TransposeRhs, P.N, P.K), P.RhsStride);
      !S)
    return S;
  return makeLayout(Result, P.ResultType, P.M, P.N, P.M * P.N);
}

Status LtMatmul::suggest(int Count, std::vector<LtHeuristic> &Out) {
  LtPreference Preference = nullptr;
  if (LtStatus S = L.PreferenceCreate(&Preference))
    return describeFailure(S, "cannot make a preference");
  uint64_t Workspace = P.WorkspaceBytes;
  L.PreferenceSet(Preference, PreferWorkspace, &Workspace, sizeof Workspace);
  L.PreferenceSet(Preference, PreferReduction, &ReduceInComputeType,
                  sizeof ReduceInComputeType);
  uint32_t Alignments[] = {P.RhsAlignment, P.LhsAlignment, P.ResultAlignment,
                           P.ResultAlignment};
  for (int I = 0; I < 4; ++I)
    L.PreferenceSet(Preference, PreferAlignmentA + I, &Alignments[I],
                    sizeof Alignments[I]);
  // The bias's address may decide; any aligned one stands for it.
  const void *Bias = reinterpret_cast<const void *>(uintptr_t(256));
  if (P.HasBias)
    L.DescSet(Desc, DescBias, &Bias, sizeof Bias);
  Out.resize(Count);
  int Found = 0;
  LtStatus S = L.GetHeuristic(Handle, Desc, Rhs, Lhs, Result, Result,
                              Preference, Count, Out.data(), &Found);
  L.PreferenceDestroy(Preference);
  Out.resize(std::max(Found, 0));
  std::erase_if(Out, [&](const LtHeuristic &H) {
    return H.State != 0 || H.WorkspaceBytes > P.WorkspaceBytes;
  });
  if (S != 0)
    return describeFailure(S, "cuBLASLt has no algorithm for a matrix product");
  if (Out.empty())
    return Error(ErrorCode::Unavailable,
                 "cuBLASLt has no algorithm for a matrix product (" +
                     P.getKey() + ") in " + std::to_string(P.WorkspaceBytes) +
                     " bytes of workspace");
  return {};
}

std::optional<LtHeuristic> LtMatmul::check(const Algorithm &Value) {
  // Some name a counter of tiles, which they do without where it has no room
  // (cuBLASLt 13.1: what it suggests for no workspace names it here as well).
  constexpr uint64_t CounterBytes = 4;
  LtHeuristic Checked = {};
  if (L.Check(Handle, Desc, Rhs, Lhs, Result, Result, &Value, &Checked) != 0 ||
      Checked.WorkspaceBytes > std::max(P.WorkspaceBytes, CounterBytes))
    return std::nullopt;
  return Checked;
}

Status LtMatmul::run(const MatmulAddresses &Where, Stream S) {
  constexpr float One = 1.0f;
  const float Beta = P.HasAddend ? 1.0f : 0.0f;
  const void *Addend = P.HasAddend ? Where.Addend : Where.Result;
  if (P.HasBias)
    L.DescSet(Desc, DescBias, &Where.Bias, sizeof Where.Bias);
  LtStatus Ran = L.Run(Handle, Desc, &One, Where.Rhs, Rhs, Where.Lhs, Lhs,
                       &Beta, Addend, Result, Where.Result, Result, &Chosen,
                       Where.Workspace, P.WorkspaceBytes, S);
  if (Ran != 0)
    return describeFailure(Ran, "a matrix product failed");
  return {};
}
