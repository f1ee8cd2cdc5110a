//===- Norm.cpp - signatures of softmax and normalisations ----------------===//

#include "ops/Op.h"

using namespace remat::runtime;

/// All operands and the result have one float type and a last dimension.
static Status checkRows(const OpCall &Op, size_t NumOperands) {
  REMAT_TRY(checkCounts(Op, NumOperands, 1));
  const Value &Result = Op.Results[0];
  REMAT_TRY(checkFloat(Result));
  REMAT_REQUIRE(Result.getRank() >= 1, "has no last dimension");
  for (const Value &Operand : Op.Operands)
    REMAT_TRY(checkSameType(Operand, Result));
  return {};
}

static Status checkSoftmax(const OpCall &Op) { return checkRows(Op, 1); }

static Status checkSoftmaxBackward(const OpCall &Op) {
  return checkRows(Op, 2);
}

/// Rows of a float type, weights of one row, and statistics of each row.
static Status checkNorm(const Value &X, std::span<const Value> Weights,
                        std::span<const Value> Statistics) {
  REMAT_TRY(checkFloat(X));
  REMAT_REQUIRE(X.getRank() >= 1, "has no last dimension");
  for (const Value &Weight : Weights) {
    REMAT_TRY(checkFloat(Weight));
    REMAT_TRY(checkShape(Weight, {{X.Shape.back()}}));
  }
  for (const Value &Statistic : Statistics) {
    REMAT_TRY(checkType(Statistic, DType::F32));
    REMAT_TRY(checkShape(Statistic, dropLast(X)));
  }
  return {};
}

/// Rows and `NumWeights` weights make rows and `NumStatistics` statistics.
static Status checkForward(const OpCall &Op, size_t NumWeights,
                           size_t NumStatistics) {
  REMAT_TRY(checkCounts(Op, 1 + NumWeights, 1 + NumStatistics));
  std::span Operands = Op.Operands, Results = Op.Results;
  REMAT_TRY(checkNorm(Operands[0], Operands.subspan(1), Results.subspan(1)));
  REMAT_TRY(checkSameType(Results[0], Operands[0]));
  double Epsilon = Op.Attributes->getFloat("epsilon", -1);
  REMAT_REQUIRE(Epsilon >= 0, "has an epsilon of " + std::to_string(Epsilon));
  return {};
}

static Status checkLayerNorm(const OpCall &Op) {
  return checkForward(Op, 2, 2);
}

static Status checkRMSNorm(const OpCall &Op) { return checkForward(Op, 1, 1); }

static bool normReuses(const OpCall &, size_t Result, size_t Operand) {
  return Result == 0 && Operand == 0;
}

/// The rows' gradient, the rows, a weight, statistics and perhaps an addend
/// make gradients of the rows and of `NumWeights` weights, and perhaps the sum
/// over rows of the first.
static Status checkBackward(const OpCall &Op, size_t NumStatistics,
                            size_t NumWeights, bool HasSum) {
  size_t Addend = 3 + NumStatistics, Gradients = 1 + NumWeights;
  REMAT_TRY(checkOptionalCounts(Op, Addend, Addend + 1,
                                Gradients + (HasSum ? 1 : 0)));
  std::span Operands = Op.Operands, Results = Op.Results;
  REMAT_TRY(checkNorm(Operands[1], Operands.subspan(2, 1),
                      Operands.subspan(3, NumStatistics)));
  if (Op.has(Addend))
    REMAT_TRY(checkSameType(Operands[Addend], Operands[1]));
  REMAT_TRY(checkSameType(Results[0], Operands[1]));
  for (const Value &Result : Results.subspan(1, NumWeights))
    REMAT_TRY(checkSameType(Result, Operands[2]));
  if (HasSum) {
    REMAT_TRY(checkType(Results.back(), Results[0].Type));
    REMAT_TRY(checkShape(Results.back(), Operands[2].Shape));
  }
  return {};
}

static Status checkLayerNormBackward(const OpCall &Op) {
  REMAT_TRY(checkBackward(Op, 2, 2, Op.Attributes->getFlag("with_sum")));
  REMAT_TRY(checkFloat(Op.Operands[0]));
  return checkShape(Op.Operands[0], Op.Operands[1].Shape);
}

static Status checkRMSNormBackward(const OpCall &Op) {
  REMAT_TRY(checkBackward(Op, 1, 1, /*HasSum=*/false));
  return checkSameType(Op.Operands[0], Op.Operands[1]);
}

/// The gradient's row may lie over that of grad, operand or addend.
static bool normBackwardReuses(const OpCall &Op, size_t Result,
                               size_t Operand) {
  return Result == 0 && (Operand <= 1 || Operand + 1 == Op.Operands.size());
}

std::span<const OpSignature> remat::runtime::getNormOps() {
  static const OpSignature Signatures[] = {
      {"softmax", checkSoftmax, reusesElementwise},
      {"softmax_backward", checkSoftmaxBackward, reusesElementwise},
      {"layer_norm", checkLayerNorm, normReuses},
      {"layer_norm_backward", checkLayerNormBackward, normBackwardReuses},
      {"rms_norm", checkRMSNorm, normReuses},
      {"rms_norm_backward", checkRMSNormBackward, normBackwardReuses},
  };
  return Signatures;
}
