//===- AttentionProblem.h - attention as its kernels see it -----*- C++ -*-===//

#ifndef REMAT_LIB_TARGET_CUDA_KERNELS_ATTENTIONPROBLEM_H
#define REMAT_LIB_TARGET_CUDA_KERNELS_ATTENTIONPROBLEM_H

#include "KernelWriter.h"
#include "remat/IR/AttentionSizes.h"

namespace remat::cuda {

/// What the forward and the backward operation have in common.
struct AttentionProblem : AttentionSizes {
  bool IsPacked, IsCausal;
  bool IsForHopper; ///< compiled for sm_90
  int64_t Window;   ///< the queries' number where there is none
  double Scale, DropoutP;
  bool IsRandom;
  std::string Type;
  int64_t ElementBytes;
  /// The mask's type and strides; dimensions of size 1 repeat.
  kernels::Mask Mask;

  explicit AttentionProblem(AttentionOp Op) : AttentionProblem(Op, 0) {}
  explicit AttentionProblem(AttentionBackwardOp Op) : AttentionProblem(Op, 1) {}

  /// What dropout multiplies what it keeps by.
  double getKeepFactor() const { return IsRandom ? 1.0 / (1.0 - DropoutP) : 1; }
  /// Sizes and strides, where blocks have tiles of `Rows` of `Tiled` queries or
  /// keys of `TiledHeads` heads.
  kernels::AttentionShape getShape(int64_t Rows, int64_t Tiled,
                                   int64_t TiledHeads) const;

  /// Query, key or value, which may be parts of one operand.
  Passed passQkv(unsigned Index) const {
    return operand(FirstQkv + (IsPacked ? 0 : Index));
  }
  /// What there is of these is passed.
  Passed passMask() const { return MaskIndex ? operand(*MaskIndex) : absent(); }
  Passed passSeed() const { return IsRandom ? operand(SeedIndex) : absent(); }
  Passed passStep() const {
    return IsRandom ? operand(SeedIndex + 1) : absent();
  }
  Passed passId() const { return IsRandom ? integer(Id) : absent(); }

private:
  template <typename OpT> AttentionProblem(OpT Op, unsigned FirstQkv);

  int64_t Id;
  unsigned FirstQkv, SeedIndex; ///< operand numbers
  std::optional<unsigned> MaskIndex;
};

/// Whether the kernels of AttentionMma.cuh take it: 16-bit types, and heads of
/// up to 128 elements.
bool hasMmaAttention(const AttentionProblem &P);

/// Appends their launches: the forward, and the backward.
void addMmaAttention(AttentionOp Op, const AttentionProblem &P, Launches &Out);
void addMmaGradients(AttentionBackwardOp Op, const AttentionProblem &P,
                     Launches &Out);

/// Appends the launch that fills the workspace of the backward with the terms
/// of each query (AttentionTerms.cuh), whose rows `Lanes` threads load `Access`
/// elements at a time.
void addAttentionTerms(AttentionBackwardOp Op, const AttentionProblem &P,
                       bool Paired, int64_t Access, int64_t Lanes,
                       Launches &Out);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_KERNELS_ATTENTIONPROBLEM_H
