//===- Attention.h - attention by cuDNN -------------------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_CUDA_ATTENTION_H
#define REMAT_RUNTIME_CUDA_ATTENTION_H

#include "remat/runtime/Program.h"
#include "remat/runtime/Result.h"
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

namespace remat::runtime::cuda {

/// Attention on [Batch, T, Heads, Width] of bf16 or f16, or its gradients; key
/// and value have `KeyHeads` heads, which groups of `Heads` share.
struct AttentionProblem {
  DType Type = DType::BF16;
  int64_t Batch = 0, Queries = 0, Keys = 0;
  int64_t Heads = 0, KeyHeads = 0, Width = 0;
  int64_t Window = 0; ///< keys that a causal query sees at most; 0: all
  bool IsBackward = false, IsPacked = false, IsCausal = false;
  bool Deterministic = true;
  double Scale = 1;
  /// Equal parts of the batch, run one after the other; above `Batch` also of
  /// the heads of each of its elements, where those that share keys stay
  /// together.
  int64_t Slices = 1;
  uint64_t WorkspaceBytes = 0;

  /// The problem of step `S` of `P`, an attention or attention_backward that
  /// cuDNN runs. Unavailable for what it is not asked to do here (masks,
  /// dropout, f32).
  static Result<AttentionProblem> of(const Program &P, const Step &S);
  /// Elements of the batch that a slice has, of whose heads it has one of
  /// `getHeadParts` parts.
  int64_t getSliceBatch() const { return std::max<int64_t>(1, Batch / Slices); }
  int64_t getHeadParts() const { return std::max<int64_t>(1, Slices / Batch); }
  /// Whether there are so many equal slices.
  bool hasEqualSlices() const;
  /// All of it as one line of text.
  std::string getKey() const;
};

/// Addresses of one attention. Device memory, not owned; the last five only in
/// the backward.
struct AttentionAddresses {
  char *Query = nullptr, *Key = nullptr, *Value = nullptr;
  char *Output = nullptr, *Lse = nullptr, *Workspace = nullptr;
  char *Grad = nullptr;
  char *QueryGrad = nullptr, *KeyGrad = nullptr, *ValueGrad = nullptr;
};

class Attention {
public:
  virtual ~Attention() = default;
  /// Enqueues the attention.
  virtual Status run(const AttentionAddresses &Where) = 0;
};

} // namespace remat::runtime::cuda

#endif // REMAT_RUNTIME_CUDA_ATTENTION_H
