//===- Loss.cpp - signatures of losses ------------------------------------===//

#include "ops/Op.h"

using namespace remat::runtime;

static Status checkLogits(const Value &Logits, const Value &Targets,
                          const Value &Lse) {
  REMAT_TRY(checkFloat(Logits));
  REMAT_REQUIRE(Logits.getRank() >= 1, "has logits without dimensions");
  REMAT_TRY(checkInteger(Targets));
  REMAT_TRY(checkShape(Targets, dropLast(Logits)));
  REMAT_TRY(checkType(Lse, DType::F32));
  return checkShape(Lse, dropLast(Logits));
}

static Status checkCrossEntropy(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 2, 2));
  REMAT_TRY(checkLogits(Op.Operands[0], Op.Operands[1], Op.Results[1]));
  return checkScalar(Op.Results[0], DType::F32);
}

static Status checkCrossEntropyBackward(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 4, 1));
  REMAT_TRY(checkScalar(Op.Operands[0], DType::F32));
  REMAT_TRY(checkLogits(Op.Operands[1], Op.Operands[2], Op.Operands[3]));
  return checkSameType(Op.Results[0], Op.Operands[1]);
}

static bool crossEntropyReuses(const OpCall &, size_t, size_t Operand) {
  return Operand == 1;
}

static Status checkCrossEntropyWithGrad(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 3, 3));
  REMAT_TRY(checkScalar(Op.Operands[0], DType::F32));
  REMAT_TRY(checkLogits(Op.Operands[1], Op.Operands[2], Op.Results[1]));
  REMAT_TRY(checkScalar(Op.Results[0], DType::F32));
  return checkSameType(Op.Results[2], Op.Operands[1]);
}

static bool gradReusesLogits(const OpCall &, size_t Result, size_t Operand) {
  return Result == 2 && Operand == 1;
}

static Status checkMse(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 2, 1));
  REMAT_TRY(checkFloat(Op.Operands[0]));
  REMAT_TRY(checkFloat(Op.Operands[1]));
  REMAT_TRY(checkShape(Op.Operands[1], Op.Operands[0].Shape));
  return checkScalar(Op.Results[0], DType::F32);
}

std::span<const OpSignature> remat::runtime::getLossOps() {
  static const OpSignature Signatures[] = {
      {"cross_entropy", checkCrossEntropy, reusesNothing},
      {"cross_entropy_backward", checkCrossEntropyBackward, crossEntropyReuses},
      {"cross_entropy_with_grad", checkCrossEntropyWithGrad, gradReusesLogits},
      {"mse", checkMse, reusesNothing},
  };
  return Signatures;
}
