//===- Optimizer.cpp - signatures of updates ------------------------------===//

#include "ops/Op.h"

using namespace remat::runtime;

/// Parameter, gradient and result agree; the rate is a scalar.
static Status checkUpdate(const OpCall &Op, size_t Rate, size_t GradScale) {
  REMAT_TRY(checkFloat(Op.Operands[0]));
  REMAT_TRY(checkFloat(Op.Operands[1]));
  REMAT_TRY(checkShape(Op.Operands[1], Op.Operands[0].Shape));
  REMAT_TRY(checkSameType(Op.Results[0], Op.Operands[0]));
  REMAT_TRY(checkScalar(Op.Operands[Rate], DType::F32));
  if (Op.has(GradScale))
    REMAT_TRY(checkScalar(Op.Operands[GradScale], DType::F32));
  return {};
}

/// An f32 state operand and its new value.
static Status checkState(const OpCall &Op, size_t Operand, size_t Result) {
  REMAT_TRY(checkType(Op.Operands[Operand], DType::F32));
  REMAT_TRY(checkShape(Op.Operands[Operand], Op.Operands[0].Shape));
  return checkSameType(Op.Results[Result], Op.Operands[Operand]);
}

/// Whether a tensor lies in halves, as its reader or writer takes it.
static Status checkHalves(const Value &V, bool InHalves) {
  REMAT_REQUIRE(!V.Present || V.InHalves == InHalves,
                InHalves ? "has a tensor that does not lie in halves, as "
                           "its kernel takes it"
                         : "has a tensor in halves, which its kernel takes "
                           "whole");
  return {};
}

static Status checkSgd(const OpCall &Op) {
  REMAT_REQUIRE(Op.Operands.size() == 5,
                "has " + std::to_string(Op.Operands.size()) +
                    " operands; its kernel reads 5");
  REMAT_TRY(checkOptionalCounts(Op, 2, 5, Op.has(2) ? 2 : 1));
  REMAT_REQUIRE(Op.has(3), "operand 3 is missing");
  REMAT_TRY(checkUpdate(Op, 3, 4));
  return Op.has(2) ? checkState(Op, 2, 1) : Status();
}

static Status checkAdamW(const OpCall &Op) {
  REMAT_TRY(checkOptionalCounts(Op, 6, 7, 3));
  REMAT_TRY(checkUpdate(Op, 4, 6));
  REMAT_TRY(checkScalar(Op.Operands[5], DType::I64));
  REMAT_TRY(checkState(Op, 2, 1));
  REMAT_TRY(checkState(Op, 3, 2));
  if (Op.Attributes->getFlag("as_halves"))
    REMAT_TRY(checkType(Op.Operands[0], DType::F32));
  bool InHalves = Op.Attributes->getFlag("in_halves");
  for (const std::vector<Value> *List : {&Op.Operands, &Op.Results})
    for (const Value &V : *List)
      REMAT_TRY(checkHalves(V, InHalves && &V == List->data()));
  return {};
}

static Status checkJoinHalves(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 1, 1));
  REMAT_TRY(checkType(Op.Operands[0], DType::F32));
  REMAT_TRY(checkSameType(Op.Results[0], Op.Operands[0]));
  REMAT_TRY(checkHalves(Op.Operands[0], true));
  return checkHalves(Op.Results[0], false);
}

static Status checkGlobalNorm(const OpCall &Op) {
  REMAT_REQUIRE(!Op.Operands.empty(), "has no operands");
  REMAT_TRY(checkCounts(Op, Op.Operands.size(), 1));
  for (const Value &Operand : Op.Operands)
    REMAT_TRY(checkFloat(Operand));
  return checkScalar(Op.Results[0], DType::F32);
}

static bool sgdReuses(const OpCall &, size_t Result, size_t Operand) {
  return Operand == (Result == 0 ? 0u : 2u);
}

static bool adamWReuses(const OpCall &, size_t Result, size_t Operand) {
  return Operand == (Result == 0 ? 0u : Result + 1);
}

std::span<const OpSignature> remat::runtime::getOptimizerOps() {
  static const OpSignature Signatures[] = {
      {"sgd", checkSgd, sgdReuses},
      {"adamw", checkAdamW, adamWReuses, /*KnowsHalves=*/true},
      {"join_halves", checkJoinHalves, reusesNothing, /*KnowsHalves=*/true},
      {"global_norm", checkGlobalNorm, reusesNothing},
  };
  return Signatures;
}
