//===- RandomOps.cpp - signatures of random ops ---------------------------===//

#include "ops/Op.h"
#include "ops/Random.h"

using namespace remat::runtime;

static Status checkRandom(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 2, 1));
  REMAT_TRY(checkScalar(Op.Operands[0], DType::I64));
  REMAT_TRY(checkScalar(Op.Operands[1], DType::I64));
  REMAT_TRY(checkFloat(Op.Results[0]));
  std::string_view Kind = Op.Attributes->getText("distribution");
  REMAT_REQUIRE(Kind == "uniform" || Kind == "normal",
                "has the unknown distribution '" + std::string(Kind) + "'");
  return {};
}

static Status checkDropout(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 3, 1));
  REMAT_TRY(checkFloat(Op.Operands[0]));
  REMAT_TRY(checkSameType(Op.Operands[0], Op.Results[0]));
  REMAT_TRY(checkScalar(Op.Operands[1], DType::I64));
  REMAT_TRY(checkScalar(Op.Operands[2], DType::I64));
  return checkProbability(Op.Attributes->getFloat("p", -1));
}

static bool reusesOperand0(const OpCall &, size_t, size_t Operand) {
  return Operand == 0;
}

std::span<const OpSignature> remat::runtime::getRandomOps() {
  static const OpSignature Signatures[] = {
      {"random", checkRandom, reusesNothing},
      {"dropout", checkDropout, reusesOperand0},
  };
  return Signatures;
}
