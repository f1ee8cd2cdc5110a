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

static Status checkLayerNorm(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 3, 3));
  const Value &X = Op.Operands[0];
  REMAT_TRY(checkFloat(X));
  REMAT_REQUIRE(X.getRank() >= 1, "has no last dimension");
  for (size_t I : {1, 2}) {
    REMAT_TRY(checkFloat(Op.Operands[I]));
    REMAT_TRY(checkShape(Op.Operands[I], {{X.Shape.back()}}));
  }
  REMAT_TRY(checkSameType(Op.Results[0], X));
  for (size_t I : {1, 2}) {
    REMAT_TRY(checkType(Op.Results[I], DType::F32));
    REMAT_TRY(checkShape(Op.Results[I], dropLast(X)));
  }
  double Epsilon = Op.Attributes->getFloat("epsilon", -1);
  REMAT_REQUIRE(Epsilon >= 0, "has an epsilon of " + std::to_string(Epsilon));
  return {};
}

static bool layerNormReuses(const OpCall &, size_t Result, size_t Operand) {
  return Result == 0 && Operand == 0;
}

static Status checkLayerNormBackward(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 5, 3));
  const Value &Grad = Op.Operands[0], &X = Op.Operands[1];
  const Value &Scale = Op.Operands[2];
  REMAT_TRY(checkFloat(X));
  REMAT_REQUIRE(X.getRank() >= 1, "has no last dimension");
  REMAT_TRY(checkFloat(Grad));
  REMAT_TRY(checkShape(Grad, X.Shape));
  REMAT_TRY(checkFloat(Scale));
  REMAT_TRY(checkShape(Scale, {{X.Shape.back()}}));
  for (size_t I : {3, 4}) {
    REMAT_TRY(checkType(Op.Operands[I], DType::F32));
    REMAT_TRY(checkShape(Op.Operands[I], dropLast(X)));
  }
  REMAT_TRY(checkSameType(Op.Results[0], X));
  REMAT_TRY(checkSameType(Op.Results[1], Scale));
  return checkSameType(Op.Results[2], Scale);
}

static bool layerNormBackwardReuses(const OpCall &, size_t Result,
                                    size_t Operand) {
  return Result == 0 && Operand <= 1;
}

/// Rows of a float type, weights of one row, and a statistic of each row.
static Status checkRootMeanSquare(const Value &X, const Value &Weight,
                                  const Value &Rstd) {
  REMAT_TRY(checkFloat(X));
  REMAT_REQUIRE(X.getRank() >= 1, "has no last dimension");
  REMAT_TRY(checkFloat(Weight));
  REMAT_TRY(checkShape(Weight, {{X.Shape.back()}}));
  REMAT_TRY(checkType(Rstd, DType::F32));
  return checkShape(Rstd, dropLast(X));
}

static Status checkRMSNorm(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 2, 2));
  const Value &X = Op.Operands[0];
  REMAT_TRY(checkRootMeanSquare(X, Op.Operands[1], Op.Results[1]));
  REMAT_TRY(checkSameType(Op.Results[0], X));
  double Epsilon = Op.Attributes->getFloat("epsilon", -1);
  REMAT_REQUIRE(Epsilon >= 0, "has an epsilon of " + std::to_string(Epsilon));
  return {};
}

static Status checkRMSNormBackward(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 4, 2));
  const Value &X = Op.Operands[1], &Weight = Op.Operands[2];
  REMAT_TRY(checkRootMeanSquare(X, Weight, Op.Operands[3]));
  REMAT_TRY(checkSameType(Op.Operands[0], X));
  REMAT_TRY(checkSameType(Op.Results[0], X));
  return checkSameType(Op.Results[1], Weight);
}

std::span<const OpSignature> remat::runtime::getNormOps() {
  static const OpSignature Signatures[] = {
      {"softmax", checkSoftmax, reusesElementwise},
      {"softmax_backward", checkSoftmaxBackward, reusesElementwise},
      {"layer_norm", checkLayerNorm, layerNormReuses},
      {"layer_norm_backward", checkLayerNormBackward, layerNormBackwardReuses},
      {"rms_norm", checkRMSNorm, layerNormReuses},
      {"rms_norm_backward", checkRMSNormBackward, layerNormBackwardReuses},
  };
  return Signatures;
}
