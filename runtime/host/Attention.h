//===- Attention.h - attention block by block -------------------*- C++ -*-===//
//
// Scores exist only for a block of queries times a block of keys, in scratch.
// The forward walks over the keys twice: once for the log-sum-exp, once for the
// result (as in Rabe and Staats, "Self-attention does not need O(n^2) memory",
// 2021, with an exact first pass in place of rescaling).
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_HOST_ATTENTION_H
#define REMAT_RUNTIME_HOST_ATTENTION_H

#include "ops/Attention.h"
#include "ops/Random.h"

namespace remat::runtime {

/// Query, key, value, their gradients, the result or its gradient: the rows of
/// one head lie `RowStride` elements apart, and `Group` heads of the queries
/// read one.
struct Heads {
  DType Type = DType::F32;
  char *Data = nullptr;
  int64_t Length = 0, RowStride = 0, HeadStride = 0, First = 0, Group = 1;

  /// Element 0 of row `Row` of batch `Batch`, of what head `Head` of the
  /// queries reads.
  int64_t locate(int64_t Batch, int64_t Head, int64_t Row) const {
    return First + (Batch * Length + Row) * RowStride +
           Head / Group * HeadStride;
  }
};

/// A block of scores: rows are queries, columns are keys.
struct ScoreBlock {
  int64_t Batch, Head;    ///< a head of the queries
  int64_t Query, Queries; ///< first query and how many
  int64_t Key, Keys;
};

/// One attention op, forward or backward, made ready to run.
class Attention {
public:
  static constexpr int64_t QueryBlock = 32, KeyBlock = 128;

  /// Operands begin with the packed one or the three at number `First`; mask,
  /// seed and step are at `Mask` and behind it.
  Attention(const OpCall &Op, size_t First, size_t Mask);

  /// Rows [Row, Row + Count) of a head as f32, [Count, D].
  void load(const Heads &H, const ScoreBlock &B, int64_t Row, int64_t Count,
            float *Out) const;
  void store(const Heads &H, const ScoreBlock &B, int64_t Row, int64_t Count,
             const float *In) const;

  /// The scaled and masked scores of a block; -inf where no key is seen.
  void computeScores(const ScoreBlock &B, const float *Q, const float *K,
                     float *Scores) const;
  /// Turns scores into probabilities, 0 where `Lse` is -inf.
  void computeProbabilities(const ScoreBlock &B, const float *Lse,
                            float *Scores) const;
  /// What dropout multiplies each probability by: 0 or 1 / (1 - p). Ones
  /// without dropout.
  void computeFactors(const ScoreBlock &B, float *Factors) const;
  /// False when causality or the window hides the whole block.
  bool isSeen(const ScoreBlock &B) const {
    return !Causal || (B.Key < B.Query + B.Queries &&
                       B.Key + B.Keys + Window > B.Query + 1);
  }

  Heads getHeads(const Value &V, unsigned Which, bool IsPacked) const;

  int64_t Batches, NumHeads, NumQueries, NumKeys, Dim;
  int64_t NumKeyHeads; ///< heads of keys and values
  int64_t Window;      ///< keys that a causal query sees at most
  float Scale;
  bool Packed, Causal;
  Heads QueryHeads, KeyHeads, ValueHeads;

private:
  float DropoutP;
  DropoutParameters Dropout;
  int64_t Seed, Id, Step;
  const Value *Mask = nullptr;
  int64_t MaskStrides[4] = {};
};

} // namespace remat::runtime

#endif // REMAT_RUNTIME_HOST_ATTENTION_H
