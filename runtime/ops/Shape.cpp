//===- Shape.cpp - signatures of ops that move elements -------------------===//

#include "ops/Op.h"

using namespace remat::runtime;

static Status checkConstant(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 0, 1));
  const Attribute *A = Op.Attributes->find("value");
  bool Float = isFloat(Op.Results[0].Type);
  REMAT_REQUIRE(A && (Float ? A->Floats.size() : A->Ints.size()) == 1,
                "needs one number as its value");
  return {};
}

static Status checkReshape(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 1, 1));
  REMAT_TRY(checkType(Op.Results[0], Op.Operands[0].Type));
  REMAT_REQUIRE(Op.Operands[0].NumElements == Op.Results[0].NumElements,
                "turns " + std::to_string(Op.Operands[0].NumElements) +
                    " elements into " +
                    std::to_string(Op.Results[0].NumElements));
  return {};
}

static Status checkBroadcast(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 1, 1));
  REMAT_TRY(checkType(Op.Results[0], Op.Operands[0].Type));
  REMAT_REQUIRE(broadcastsTo(Op.Operands[0].Shape, Op.Results[0].Shape),
                "cannot repeat " + formatShape(Op.Operands[0].Shape) + " to " +
                    formatShape(Op.Results[0].Shape));
  return {};
}

static Status checkTranspose(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 1, 1));
  const Value &From = Op.Operands[0], &Result = Op.Results[0];
  REMAT_TRY(checkType(Result, From.Type));
  auto Permutation = Op.Attributes->getInts("permutation");
  size_t Rank = From.Shape.size();
  REMAT_REQUIRE(Permutation.size() == Rank && Result.Shape.size() == Rank,
                "has a permutation of " + std::to_string(Permutation.size()) +
                    " dimensions for a tensor of rank " + std::to_string(Rank));
  std::vector<bool> Seen(Rank);
  for (size_t I = 0; I < Rank; ++I) {
    int64_t P = Permutation[I];
    REMAT_REQUIRE(P >= 0 && P < From.getRank() && !Seen[P],
                  "has no permutation: dimension " + std::to_string(P) +
                      " is out of range or named twice");
    Seen[P] = true;
    REMAT_REQUIRE(Result.Shape[I] == From.Shape[P],
                  "permutes " + formatShape(From.Shape) +
                      " to another shape than " + formatShape(Result.Shape));
  }
  return {};
}

static Status checkSlice(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 1, 1));
  const Value &From = Op.Operands[0], &Result = Op.Results[0];
  REMAT_TRY(checkType(Result, From.Type));
  auto Offsets = Op.Attributes->getInts("offsets");
  auto Sizes = Op.Attributes->getInts("sizes");
  size_t Rank = From.Shape.size();
  REMAT_REQUIRE(Offsets.size() == Rank && Sizes.size() == Rank,
                "needs one offset and one size for each of " +
                    std::to_string(Rank) + " dimensions");
  REMAT_TRY(checkShape(Result, Sizes));
  for (size_t I = 0; I < Rank; ++I)
    REMAT_REQUIRE(Offsets[I] >= 0 && Sizes[I] <= From.Shape[I] &&
                      Offsets[I] <= From.Shape[I] - Sizes[I],
                  "reaches from " + std::to_string(Offsets[I]) + " over " +
                      std::to_string(Sizes[I]) +
                      " elements of a dimension of " +
                      std::to_string(From.Shape[I]));
  return {};
}

static Status checkPad(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 1, 1));
  const Value &From = Op.Operands[0], &Result = Op.Results[0];
  REMAT_TRY(checkType(Result, From.Type));
  auto Low = Op.Attributes->getInts("low"),
       High = Op.Attributes->getInts("high");
  size_t Rank = From.Shape.size();
  REMAT_REQUIRE(
      Low.size() == Rank && High.size() == Rank && Result.Shape.size() == Rank,
      "needs padding for each of " + std::to_string(Rank) + " dimensions");
  for (size_t I = 0; I < Rank; ++I) {
    int64_t Room = Result.Shape[I] - From.Shape[I];
    REMAT_REQUIRE(Low[I] >= 0 && High[I] >= 0 && Low[I] <= Room &&
                      High[I] == Room - Low[I],
                  "pads a dimension of " + std::to_string(From.Shape[I]) +
                      " by " + std::to_string(Low[I]) + " and " +
                      std::to_string(High[I]) + " to " +
                      std::to_string(Result.Shape[I]));
  }
  return {};
}

static Status checkConcat(const OpCall &Op) {
  REMAT_REQUIRE(!Op.Operands.empty(), "has no operands");
  REMAT_TRY(checkCounts(Op, Op.Operands.size(), 1));
  const Value &Result = Op.Results[0];
  int64_t Dim = Op.Attributes->getInt("dim", -1), Sum = 0;
  REMAT_REQUIRE(Dim >= 0 && Dim < Result.getRank(),
                "joins dimension " + std::to_string(Dim) + " of " +
                    std::to_string(Result.getRank()));
  for (const Value &Operand : Op.Operands) {
    REMAT_TRY(checkType(Operand, Result.Type));
    REMAT_REQUIRE(Operand.getRank() == Result.getRank(),
                  "joins tensors of different ranks");
    std::vector<int64_t> Shape = Result.Shape;
    Shape[Dim] = Operand.Shape[Dim];
    REMAT_TRY(checkShape(Operand, Shape));
    Sum += Operand.Shape[Dim];
    REMAT_REQUIRE(Sum <= Result.Shape[Dim],
                  "joins more elements than its result's dimension of " +
                      std::to_string(Result.Shape[Dim]));
  }
  REMAT_REQUIRE(Sum == Result.Shape[Dim],
                "joins " + std::to_string(Sum) +
                    " elements to a dimension of " +
                    std::to_string(Result.Shape[Dim]));
  return {};
}

static Status checkRoll(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 1, 1));
  const Value &From = Op.Operands[0];
  REMAT_TRY(checkType(Op.Results[0], From.Type));
  REMAT_TRY(checkShape(Op.Results[0], From.Shape));
  int64_t Dim = Op.Attributes->getInt("dim", -1),
          Shift = Op.Attributes->getInt("shift", -1);
  REMAT_REQUIRE(Dim >= 0 && Dim < From.getRank(),
                "rolls dimension " + std::to_string(Dim) + " of " +
                    std::to_string(From.getRank()));
  REMAT_REQUIRE(Shift >= 0 && Shift < From.Shape[Dim],
                "rolls a dimension of " + std::to_string(From.Shape[Dim]) +
                    " by " + std::to_string(Shift));
  return {};
}

std::span<const OpSignature> remat::runtime::getShapeOps() {
  static const OpSignature Signatures[] = {
      {"constant", checkConstant, reusesNothing},
      {"reshape", checkReshape, reusesNothing},
      {"broadcast", checkBroadcast, reusesNothing},
      {"transpose", checkTranspose, reusesNothing},
      {"slice", checkSlice, reusesNothing},
      {"pad", checkPad, reusesNothing},
      {"concat", checkConcat, reusesNothing},
      {"roll", checkRoll, reusesNothing},
  };
  return Signatures;
}
