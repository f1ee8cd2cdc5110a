//===- Attention.cpp - attention block by block ---------------------------===//

#include "host/Attention.h"
#include "host/Blas.h"
#include "ops/Numeric.h"
#include "remat/Support/HeadSeeds.h"
#include <limits>

using namespace remat::runtime;

static constexpr float MinusInfinity = -std::numeric_limits<float>::infinity();

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

Heads Attention::getHeads(const Value &V, unsigned Which, bool IsPacked) const {
  int64_t Own = V.Shape[IsPacked ? 3 : 2], Width = Own * Dim;
  return {V.Type,        V.Data,
          V.Shape[1],    IsPacked ? 3 * Width : Width,
          Dim,           IsPacked ? Which * Width : 0,
          NumHeads / Own};
}

static int64_t getScalar(const OpCall &Op, size_t Operand) {
  return Op.has(Operand) ? *Op.Operands[Operand].as<int64_t>() : 0;
}

Attention::Attention(const OpCall &Op, size_t First, size_t MaskOperand)
    : Packed(Op.Attributes->getFlag("packed")),
      Causal(Op.Attributes->getFlag("causal")),
      DropoutP(static_cast<float>(Op.Attributes->getFloat("dropout_p", 0))),
      Dropout(Op.Attributes->getFloat("dropout_p", 0)),
      Seed(getScalar(Op, MaskOperand + 1)), Id(Op.Attributes->getInt("id", 0)),
      Step(getScalar(Op, MaskOperand + 2)) {
  const Value &Q = Op.Operands[First];
  Batches = Q.Shape[0];
  NumQueries = Q.Shape[1];
  NumHeads = Q.Shape[Packed ? 3 : 2];
  Dim = Q.Shape.back();
  NumKeys = Packed ? NumQueries : Op.Operands[First + 1].Shape[1];
  NumKeyHeads = Packed ? NumHeads : Op.Operands[First + 1].Shape[2];
  // A window that is longer hides nothing.
  Window = std::min(Op.Attributes->getInt("window", NumQueries), NumQueries);
  QueryHeads = getHeads(Q, 0, Packed);
  KeyHeads = getHeads(Op.Operands[Packed ? First : First + 1], 1, Packed);
  ValueHeads = getHeads(Op.Operands[Packed ? First : First + 2], 2, Packed);
  Scale = static_cast<float>(Op.Attributes->getFloat(
      "scale", 1.0 / std::sqrt(static_cast<double>(Dim))));
  if (!Op.has(MaskOperand))
    return;
  Mask = &Op.Operands[MaskOperand];
  int64_t Stride = 1;
  for (int64_t I = Mask->getRank(); I-- > 0; Stride *= Mask->Shape[I])
    if (Mask->Shape[I] != 1)
      MaskStrides[4 - Mask->getRank() + I] = Stride;
}

void Attention::load(const Heads &H, const ScoreBlock &B, int64_t Row,
                     int64_t Count, float *Out) const {
  for (int64_t I = 0; I < Count; ++I)
    loadFloats(H.Type, H.Data, H.locate(B.Batch, B.Head, Row + I), Dim,
               Out + I * Dim);
}

void Attention::store(const Heads &H, const ScoreBlock &B, int64_t Row,
                      int64_t Count, const float *In) const {
  for (int64_t I = 0; I < Count; ++I)
    storeFloats(H.Type, H.Data, H.locate(B.Batch, B.Head, Row + I), Dim,
                In + I * Dim);
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

void Attention::computeScores(const ScoreBlock &B, const float *Q,
                              const float *K, float *Scores) const {
  multiply(false, true, B.Queries, B.Keys, Dim, Scale, Q, Dim, K, Dim, 0.0f,
           Scores, B.Keys);
  for (int64_t I = 0; I < B.Queries; ++I) {
    float *Row = Scores + I * B.Keys;
    if (Mask) {
      int64_t Base = B.Batch * MaskStrides[0] + B.Head * MaskStrides[1] +
                     (B.Query + I) * MaskStrides[2] + B.Key * MaskStrides[3];
      for (int64_t J = 0; J < B.Keys; ++J) {
        int64_t Element = Base + J * MaskStrides[3];
        if (Mask->Type != DType::I1)
          Row[J] += loadFloat(Mask->Type, Mask->Data, Element);
        else if (!Mask->Data[Element])
          Row[J] = MinusInfinity;
      }
    }
    if (!Causal)
      continue;
    // The keys [Begin, End) of the block are seen.
    int64_t Behind = B.Query + I + 1 - B.Key;
    int64_t End = std::clamp<int64_t>(Behind, 0, B.Keys);
    int64_t Begin = std::clamp<int64_t>(Behind - Window, 0, End);
    std::fill(Row, Row + Begin, MinusInfinity);
    std::fill(Row + End, Row + B.Keys, MinusInfinity);
  }
}

void Attention::computeProbabilities(const ScoreBlock &B, const float *Lse,
                                     float *Scores) const {
  for (int64_t I = 0; I < B.Queries; ++I)
    for (int64_t J = 0; J < B.Keys; ++J) {
      float &X = Scores[I * B.Keys + J];
      X = Lse[I] == MinusInfinity ? 0.0f : expf(X - Lse[I]);
    }
}

void Attention::computeFactors(const ScoreBlock &B, float *Factors) const {
  if (DropoutP == 0) {
    std::fill(Factors, Factors + B.Queries * B.Keys, 1.0f);
    return;
  }
  PhiloxStream Stream(uint64_t(Seed) + uint64_t(B.Head * HeadSeedStride), Id,
                      Step);
  for (int64_t I = 0; I < B.Queries; ++I) {
    float *Row = Factors + I * B.Keys;
    Walk Elements;
    Elements.Dims = {B.Keys};
    Elements.Strides = {1};
    Elements.Base = (B.Batch * NumQueries + B.Query + I) * NumKeys + B.Key;
    drawBlock(Stream, /*Normal=*/false, Elements, 0, B.Keys, Row);
    for (int64_t J = 0; J < B.Keys; ++J)
      Row[J] = Dropout.apply(1.0f, Row[J]);
  }
}
