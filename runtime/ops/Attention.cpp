//===- Attention.cpp - signatures of attention ----------------------------===//

#include "ops/Attention.h"
#include "ops/Random.h"

using namespace remat::runtime;

size_t remat::runtime::countQkv(const OpCall &Op) {
  return Op.Attributes->getFlag("packed") ? 1 : 3;
}

static Status checkQkv(const OpCall &Op, size_t First, bool Packed) {
  const Value &Q = Op.Operands[First];
  REMAT_TRY(checkFloat(Q));
  REMAT_REQUIRE(Q.getRank() == (Packed ? 5 : 4) && (!Packed || Q.Shape[2] == 3),
                "has a query of shape " + formatShape(Q.Shape));
  for (int64_t Dim : Q.Shape)
    REMAT_REQUIRE(Dim <= INT32_MAX, "has a dimension of " +
                                        std::to_string(Dim) +
                                        ", more than the BLAS takes");
  if (Packed)
    return {};
  const Value &K = Op.Operands[First + 1];
  REMAT_REQUIRE(K.getRank() == 4 && K.Shape[1] <= INT32_MAX,
                "has a key of shape " + formatShape(K.Shape));
  REMAT_TRY(checkType(K, Q.Type));
  REMAT_TRY(checkShape(K, {{Q.Shape[0], K.Shape[1], K.Shape[2], Q.Shape[3]}}));
  REMAT_REQUIRE(K.Shape[2] > 0 && Q.Shape[2] % K.Shape[2] == 0,
                "has " + std::to_string(Q.Shape[2]) +
                    " heads of queries, no multiple of the " +
                    std::to_string(K.Shape[2]) + " of keys");
  return checkSameType(Op.Operands[First + 2], K);
}

/// Checks operands [First, First + 1 or 3), mask, seed, step and attributes.
static Status checkAttention(const OpCall &Op, size_t First, size_t Mask) {
  bool Packed = Op.Attributes->getFlag("packed");
  REMAT_TRY(checkQkv(Op, First, Packed));
  double P = Op.Attributes->getFloat("dropout_p", 0);
  REMAT_TRY(checkProbability(P));
  REMAT_REQUIRE(P == 0 || (Op.has(Mask + 1) && Op.has(Mask + 2)),
                "drops out without seed and step");
  for (size_t I : {Mask + 1, Mask + 2})
    if (Op.has(I))
      REMAT_TRY(checkScalar(Op.Operands[I], DType::I64));
  REMAT_REQUIRE(!Op.Attributes->find("scale") ||
                    Op.Attributes->find("scale")->Floats.size() == 1,
                "has a scale that is no number");
  int64_t Window = Op.Attributes->getInt("window", 1);
  REMAT_REQUIRE(Window > 0,
                "has a window of " + std::to_string(Window) + " keys");
  REMAT_REQUIRE(!Op.Attributes->find("window") ||
                    Op.Attributes->getFlag("causal"),
                "has a window, but is not causal");
  if (!Op.has(Mask))
    return {};
  const Value &Q = Op.Operands[First], &M = Op.Operands[Mask];
  REMAT_REQUIRE(M.Type == DType::I1 || isFloat(M.Type),
                "has a mask of " + std::string(getName(M.Type)));
  int64_t Keys = Packed ? Q.Shape[1] : Op.Operands[First + 1].Shape[1];
  int64_t Scores[] = {Q.Shape[0], Q.Shape[Packed ? 3 : 2], Q.Shape[1], Keys};
  REMAT_REQUIRE(broadcastsTo(M.Shape, Scores),
                "has a mask of shape " + formatShape(M.Shape) +
                    " for scores of shape " + formatShape(Scores));
  return {};
}

/// The shape of the result: [B, T, H, D].
static std::vector<int64_t> getResultShape(const Value &Query, bool Packed) {
  std::vector<int64_t> Shape = Query.Shape;
  if (Packed)
    Shape.erase(Shape.begin() + 2);
  return Shape;
}

static Status checkResultAndLse(const Value &Query, bool Packed,
                                const Value &Result, const Value &Lse) {
  std::vector<int64_t> Shape = getResultShape(Query, Packed);
  REMAT_TRY(checkType(Result, Query.Type));
  REMAT_TRY(checkShape(Result, Shape));
  REMAT_TRY(checkType(Lse, DType::F32));
  return checkShape(Lse, {{Shape[0], Shape[2], Shape[1]}});
}

static Status checkForward(const OpCall &Op) {
  size_t Qkv = countQkv(Op);
  REMAT_TRY(checkOptionalCounts(Op, Qkv, Qkv + 3, 2));
  REMAT_TRY(checkAttention(Op, 0, Qkv));
  return checkResultAndLse(Op.Operands[0], Qkv == 1, Op.Results[0],
                           Op.Results[1]);
}

static Status checkBackward(const OpCall &Op) {
  size_t Qkv = countQkv(Op);
  REMAT_TRY(checkOptionalCounts(Op, Qkv + 3, Qkv + 6, Qkv));
  REMAT_TRY(checkAttention(Op, 1, Qkv + 3));
  REMAT_TRY(checkResultAndLse(Op.Operands[1], Qkv == 1, Op.Operands[Qkv + 1],
                              Op.Operands[Qkv + 2]));
  REMAT_TRY(checkSameType(Op.Operands[0], Op.Operands[Qkv + 1]));
  for (size_t I = 0; I < Qkv; ++I)
    REMAT_TRY(checkSameType(Op.Results[I], Op.Operands[1 + I]));
  return {};
}

std::span<const OpSignature> remat::runtime::getAttentionOps() {
  static const OpSignature Signatures[] = {
      {"attention", checkForward, reusesNothing},
      {"attention_backward", checkBackward, reusesNothing},
  };
  return Signatures;
}
