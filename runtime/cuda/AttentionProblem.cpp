//===- AttentionProblem.cpp - what a step asks of cuDNN -------------------===//

#include "cuda/Attention.h"
#include <cmath>
#include <cstdio>

using namespace remat::runtime;
using namespace remat::runtime::cuda;

/// Whether cuDNN is asked for attention in a type.
static bool isTaken(DType Type) {
  switch (Type) {
  case DType::BF16:
  case DType::F16:
    return true;
  case DType::F32:
  case DType::I32:
  case DType::I64:
  case DType::I1:
  case DType::F8E4M3FN:
    return false;
  }
  __builtin_unreachable();
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
  Out.KeyHeads =
      Out.IsPacked ? Out.Heads : P.Tensors[S.Operands[First + 1]].Shape[2];
  // A window that is longer hides nothing.
  if (int64_t Window = S.Attributes.getInt("window", 0); Window < Out.Queries)
    Out.Window = Window;
  Out.Width = Query.Shape.back();
  Out.Scale = S.Attributes.getFloat(
      "scale", 1.0 / std::sqrt(static_cast<double>(Out.Width)));
  Out.Slices = S.Slices;
  Out.Deterministic = S.IsDeterministic;
  Out.WorkspaceBytes = S.Workspace.Bytes;

  size_t Mask = First + (Out.IsPacked ? 1 : 3) + (Out.IsBackward ? 2 : 0);
  if (S.hasOperand(Mask) || S.Attributes.getFloat("dropout_p", 0) > 0 ||
      !isTaken(Out.Type))
    return Error(ErrorCode::Unavailable,
                 "cuDNN is not used for attention in f32, with a mask or with "
                 "dropout; compile the program with own attention kernels");
  if (!Out.hasEqualSlices())
    return Error(ErrorCode::InvalidProgram,
                 std::to_string(Out.Slices) +
                     " slices do not divide a batch of " +
                     std::to_string(Out.Batch) + " with " +
                     std::to_string(Out.KeyHeads) + " heads of keys");
  return Out;
}

bool AttentionProblem::hasEqualSlices() const {
  return Batch >= 1 && Slices >= 1 &&
         getSliceBatch() * Slices == Batch * getHeadParts() &&
         KeyHeads % getHeadParts() == 0;
}

std::string AttentionProblem::getKey() const {
  std::string Key(getName(Type));
  for (int64_t Number : {Batch, Queries, Keys, Heads, KeyHeads, Width, Window,
                         Slices, static_cast<int64_t>(WorkspaceBytes)})
    Key += " " + std::to_string(Number);
  for (bool Flag : {IsBackward, IsPacked, IsCausal, Deterministic})
    Key += Flag ? " 1" : " 0";
  char Text[32];
  std::snprintf(Text, sizeof Text, " %.17g", Scale);
  return Key + Text;
}
