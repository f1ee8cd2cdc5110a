//===- Reduce.cpp - signature of reductions -------------------------------===//

#include "ops/Op.h"
#include "ops/Reduction.h"

using namespace remat::runtime;

Status remat::runtime::reduceShape(const OpCall &Op, int64_t Left,
                                   std::vector<int64_t> &Shape) {
  auto Rank = static_cast<int64_t>(Shape.size());
  int64_t Previous = -1;
  for (int64_t Dim : Op.Attributes->getInts("dims")) {
    REMAT_REQUIRE(Dim > Previous && Dim < Rank,
                  "reduces dimension " + std::to_string(Dim) + " after " +
                      std::to_string(Previous) + " of a tensor of rank " +
                      std::to_string(Rank));
    Shape[Previous = Dim] = Left;
  }
  return {};
}

static Status check(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 1, 1));
  const Value &From = Op.Operands[0], &Result = Op.Results[0];
  REMAT_TRY(checkType(Result, From.Type));
  REMAT_REQUIRE(From.Type != DType::I1, "reduces i1");
  Reduction Kind;
  REMAT_REQUIRE(parseReduction(Op.Attributes->getText("kind"), Kind),
                "has the unknown kind '" +
                    std::string(Op.Attributes->getText("kind")) + "'");
  std::vector<int64_t> Shape = From.Shape;
  REMAT_TRY(
      reduceShape(Op, Op.Attributes->getFlag("keep_dims") ? 1 : 0, Shape));
  std::erase(Shape, 0);
  return checkShape(Result, Shape);
}

std::span<const OpSignature> remat::runtime::getReductionOps() {
  static const OpSignature Signatures[] = {
      {"reduce", check, reusesNothing},
  };
  return Signatures;
}
