//===- AttentionProblem.cpp - what a step asks of cuDNN -------------------===//

#include "cuda/Attention.h"
#include <charconv>
#include <cmath>
#include <cstdio>

using namespace remat::runtime;
using namespace remat::runtime::cuda;

/// The slices that the choice "cudnn" or "cudnn/<slices>" names; 0 for any
/// other text.
static int64_t getSlices(std::string_view Choice) {
  if (Choice == "cudnn")
    return 1;
  constexpr std::string_view Prefix = "cudnn/";
  if (!Choice.starts_with(Prefix))
    return 0;
  Choice.remove_prefix(Prefix.size());
  int64_t Slices = 0;
  auto [End, Failed] =
      std::from_chars(Choice.data(), Choice.data() + Choice.size(), Slices);
  bool IsWhole = Failed == std::errc() && End == Choice.data() + Choice.size();
  return IsWhole && Slices > 0 ? Slices : 0;
}

Result<AttentionProblem> AttentionProblem::of(const Program &P, const Step &S) {
  AttentionProblem Out;
  Out.IsBackward = S.Op == "attention_backward";
  Out.IsPacked = S.Attributes.getFlag("packed");
  Out.IsCausal = S.Attributes.getFlag("causal");
  size_t First = Out.IsBackward ? 1 : 0;
  const Tensor &Query = P.Tensors[S.Operands[First]];
  Out.Type = Query.Type;
  Out.Batch = Query.Shape[0];
  Out.Queries = Query.Shape[1];
  Out.Keys =
      Out.IsPacked ? Out.Queries : P.Tensors[S.Operands[First + 1]].Shape[1];
  Out.Heads = Query.Shape[Out.IsPacked ? 3 : 2];
  Out.Width = Query.Shape.back();
  Out.Scale = S.Attributes.getFloat(
      "scale", 1.0 / std::sqrt(static_cast<double>(Out.Width)));
  Out.Slices = getSlices(S.Choice);
  Out.WorkspaceBytes = S.Workspace.Bytes;

  size_t Mask = First + (Out.IsPacked ? 1 : 3) + (Out.IsBackward ? 2 : 0);
  bool HasMask = Mask < S.Operands.size() && S.Operands[Mask] != NoTensor;
  if (HasMask || S.Attributes.getFloat("dropout_p", 0) > 0 ||
      Out.Type == DType::F32)
    return Error(ErrorCode::Unavailable,
                 "cuDNN is not used for attention in f32, with a mask or with "
                 "dropout; compile the program with own attention kernels");
  if (Out.Slices == 0 || Out.Batch % Out.Slices != 0)
    return Error(ErrorCode::InvalidProgram,
                 "kernel choice '" + S.Choice +
                     "' does not divide a batch of " +
                     std::to_string(Out.Batch));
  return Out;
}

std::string AttentionProblem::getKey() const {
  std::string Key(getName(Type));
  for (int64_t Number : {Batch, Queries, Keys, Heads, Width, Slices,
                         static_cast<int64_t>(WorkspaceBytes)})
    Key += " " + std::to_string(Number);
  for (bool Flag : {IsBackward, IsPacked, IsCausal, Deterministic})
    Key += Flag ? " 1" : " 0";
  char Text[32];
  std::snprintf(Text, sizeof Text, " %.17g", Scale);
  return Key + Text;
}
