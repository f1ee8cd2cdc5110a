//===- Index.cpp - signatures of elements by index, order and scans -------===//

#include "ops/Index.h"
#include "ops/Numeric.h"

using namespace remat::runtime;

Lines Lines::of(const OpCall &Op, const Value &V) {
  auto Dim = size_t(Op.Attributes->getInt("dim", 0));
  std::span<const int64_t> Shape = V.Shape;
  return {countElements(Shape.first(Dim)), Shape[Dim],
          countElements(Shape.subspan(Dim + 1))};
}

Status remat::runtime::checkIndices(const Value &Indices, int64_t Size,
                                    std::string_view Index, std::string_view Of,
                                    std::string_view Elements) {
  for (int64_t I = 0; I < Indices.NumElements; ++I) {
    int64_t At = loadInteger(Indices.Type, Indices.Data, I);
    if (At >= 0 && At < Size)
      continue;
    return Error(ErrorCode::InvalidData,
                 std::string(Index) + " " + std::to_string(At) +
                     " at position " + std::to_string(I) + " is outside " +
                     std::string(Of) + " " + std::to_string(Size) + " " +
                     std::string(Elements));
  }
  return {};
}

static Status checkDim(const OpCall &Op, const Value &V) {
  int64_t Dim = Op.Attributes->getInt("dim", -1);
  REMAT_REQUIRE(Dim >= 0 && Dim < V.getRank(),
                "works along dimension " + std::to_string(Dim) + " of " +
                    std::to_string(V.getRank()));
  return {};
}

/// `Part` has the shape of `Whole` but for the dimension of the op.
static Status checkLines(const OpCall &Op, const Value &Whole,
                         const Value &Part) {
  REMAT_TRY(checkDim(Op, Whole));
  REMAT_REQUIRE(Part.getRank() == Whole.getRank(),
                "indexes " + formatShape(Whole.Shape) + " by " +
                    formatShape(Part.Shape));
  std::vector<int64_t> Expected = Whole.Shape;
  int64_t Dim = Op.Attributes->getInt("dim", -1);
  Expected[Dim] = Part.Shape[Dim];
  return checkShape(Part, Expected);
}

static Status checkGather(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 2, 1));
  REMAT_TRY(checkInteger(Op.Operands[1]));
  REMAT_TRY(checkLines(Op, Op.Operands[0], Op.Operands[1]));
  REMAT_TRY(checkType(Op.Results[0], Op.Operands[0].Type));
  return checkShape(Op.Results[0], Op.Operands[1].Shape);
}

static Status checkScatterAdd(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 2, 1));
  REMAT_TRY(checkInteger(Op.Operands[0]));
  REMAT_TRY(checkFloat(Op.Operands[1]));
  REMAT_TRY(checkShape(Op.Operands[1], Op.Operands[0].Shape));
  REMAT_TRY(checkType(Op.Results[0], Op.Operands[1].Type));
  return checkLines(Op, Op.Results[0], Op.Operands[0]);
}

static Status checkTopK(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 1, 2));
  const Value &X = Op.Operands[0], &Values = Op.Results[0];
  REMAT_REQUIRE(isFloat(X.Type) || isInteger(X.Type),
                "sorts a tensor of " + std::string(getName(X.Type)));
  REMAT_TRY(checkType(Values, X.Type));
  REMAT_TRY(checkType(Op.Results[1], DType::I64));
  REMAT_TRY(checkLines(Op, X, Values));
  REMAT_TRY(checkShape(Op.Results[1], Values.Shape));
  int64_t Size = Lines::of(Op, X).Size, Count = Lines::of(Op, Values).Size;
  REMAT_REQUIRE(Count <= Size && Op.Attributes->getInt("k", -1) == Count,
                "takes " + std::to_string(Count) + " of " +
                    std::to_string(Size) + " elements");
  return {};
}

static Status checkCumsum(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 1, 1));
  const Value &X = Op.Operands[0];
  REMAT_REQUIRE(isFloat(X.Type) || isInteger(X.Type),
                "sums a tensor of " + std::string(getName(X.Type)));
  REMAT_TRY(checkSameType(Op.Results[0], X));
  return checkDim(Op, X);
}

std::span<const OpSignature> remat::runtime::getIndexOps() {
  static const OpSignature Signatures[] = {
      {"gather", checkGather, reusesNothing},
      {"scatter_add", checkScatterAdd, reusesNothing},
      {"top_k", checkTopK, reusesNothing},
      {"cumsum", checkCumsum, reusesNothing},
  };
  return Signatures;
}
