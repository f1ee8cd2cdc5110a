//===- Moments.cpp - signatures of statistics over dimensions -------------===//

#include "ops/Op.h"
#include "ops/Reduction.h"

using namespace remat::runtime;

static Status checkMoments(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 1, 2));
  const Value &From = Op.Operands[0];
  REMAT_TRY(checkFloat(From));
  std::vector<int64_t> Shape = From.Shape;
  REMAT_TRY(reduceShape(Op, 1, Shape));
  for (const Value &Result : Op.Results) {
    REMAT_TRY(checkType(Result, DType::F32));
    REMAT_TRY(checkShape(Result, Shape));
  }
  return {};
}

static Status checkNormalizeSums(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, Op.Operands.size() > 3 ? 6 : 3, 2));
  const Value &From = Op.Operands[1], &Mean = Op.Operands[2];
  REMAT_TRY(checkFloat(From));
  REMAT_TRY(checkSameType(Op.Operands[0], From));
  REMAT_TRY(checkType(Mean, DType::F32));
  REMAT_REQUIRE(Mean.getRank() == From.getRank() &&
                    broadcastsTo(Mean.Shape, From.Shape),
                "has a mean of shape " + formatShape(Mean.Shape) +
                    " for a tensor of shape " + formatShape(From.Shape));
  for (const Value &Factor : std::span(Op.Operands).subspan(3))
    REMAT_TRY(checkSameType(Factor, Mean));
  for (const Value &Result : Op.Results)
    REMAT_TRY(checkSameType(Result, Mean));
  return {};
}

std::span<const OpSignature> remat::runtime::getMomentOps() {
  static const OpSignature Signatures[] = {
      {"moments", checkMoments, reusesNothing},
      {"normalize_sums", checkNormalizeSums, reusesNothing},
  };
  return Signatures;
}
