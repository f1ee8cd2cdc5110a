//===- Embedding.cpp - signatures of table rows ---------------------------===//

#include "ops/Op.h"

using namespace remat::runtime;

static Status checkEmbedding(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 2, 1));
  const Value &Ids = Op.Operands[0], &Table = Op.Operands[1];
  REMAT_TRY(checkInteger(Ids));
  REMAT_TRY(checkFloat(Table));
  REMAT_REQUIRE(Table.getRank() == 2,
                "has a table of shape " + formatShape(Table.Shape));
  REMAT_TRY(checkType(Op.Results[0], Table.Type));
  std::vector<int64_t> Expected = Ids.Shape;
  Expected.push_back(Table.Shape[1]);
  return checkShape(Op.Results[0], Expected);
}

static Status checkEmbeddingBackward(const OpCall &Op) {
  // The addend is left out where there is none.
  bool Adds = Op.Operands.size() == 3;
  REMAT_TRY(checkCounts(Op, Adds ? 3 : 2, 1));
  const Value &Ids = Op.Operands[0], &Grad = Op.Operands[1];
  const Value &Result = Op.Results[0];
  REMAT_TRY(checkInteger(Ids));
  REMAT_TRY(checkFloat(Grad));
  REMAT_TRY(checkFloat(Result));
  REMAT_REQUIRE(Result.getRank() == 2,
                "has a table of shape " + formatShape(Result.Shape));
  if (Adds) {
    REMAT_TRY(checkFloat(Op.Operands[2]));
    REMAT_TRY(checkShape(Op.Operands[2], Result.Shape));
  }
  std::vector<int64_t> Expected = Ids.Shape;
  Expected.push_back(Result.Shape[1]);
  return checkShape(Grad, Expected);
}

/// The table's gradient may lie over the addend.
static bool embeddingBackwardReuses(const OpCall &, size_t, size_t Operand) {
  return Operand == 2;
}

std::span<const OpSignature> remat::runtime::getEmbeddingOps() {
  static const OpSignature Signatures[] = {
      {"embedding", checkEmbedding, reusesNothing},
      {"embedding_backward", checkEmbeddingBackward, embeddingBackwardReuses},
  };
  return Signatures;
}
