//===- Collective.cpp - signatures of ops over several ranks --------------===//
//
// The attribute `group` says which ranks take part (Program.fbs). Ops that take
// several operands treat each of them alike.
//
//===----------------------------------------------------------------------===//

#include "ops/Collective.h"
#include <algorithm>

using namespace remat::runtime;

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

int64_t remat::runtime::countRanks(std::span<const int64_t> Group) {
  int64_t Count = 1;
  for (size_t I = 1; I < Group.size(); I += 2)
    Count *= Group[I];
  return Count;
}

std::vector<int64_t> remat::runtime::getMembers(std::span<const int64_t> Group,
                                                int64_t Rank) {
  for (size_t I = 0; I < Group.size(); I += 2)
    Rank -= Rank / Group[I] % Group[I + 1] * Group[I];
  std::vector<int64_t> Members = {Rank};
  for (size_t I = 0; I < Group.size(); I += 2) {
    std::vector<int64_t> Wider;
    for (int64_t Member : Members)
      for (int64_t Place = 0; Place < Group[I + 1]; ++Place)
        Wider.push_back(Member + Place * Group[I]);
    Members = std::move(Wider);
  }
  return Members;
}

int64_t remat::runtime::getPosition(std::span<const int64_t> Group,
                                    int64_t Rank) {
  int64_t Position = 0;
  for (size_t I = 0; I < Group.size(); I += 2)
    Position = Position * Group[I + 1] + Rank / Group[I] % Group[I + 1];
  return Position;
}

PartLayout remat::runtime::getPartLayout(const Value &Whole, int64_t Dim,
                                         int64_t Parts) {
  PartLayout L;
  for (int64_t I = 0; I < Dim; ++I)
    L.Outer *= Whole.Shape[I];
  L.Inner = static_cast<int64_t>(Whole.getBytes()) / L.Outer / Parts;
  return L;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static int64_t countRanks(const OpCall &Op) {
  return countRanks(Op.Attributes->getInts("group"));
}

static Status checkPairs(const OpCall &Op) {
  size_t Count = Op.Results.size();
  REMAT_REQUIRE(Count > 0, "has no results");
  REMAT_TRY(checkCounts(Op, Count, Count));
  for (size_t I = 0; I < Count; ++I)
    REMAT_TRY(checkType(Op.Results[I], Op.Operands[I].Type));
  return {};
}

static Status checkReduction(const OpCall &Op) {
  std::string_view Kind = Op.Attributes->getText("kind");
  REMAT_REQUIRE(Kind == "sum" || Kind == "max",
                "has the unknown kind '" + std::string(Kind) + "'");
  for (const Value &V : Op.Operands)
    REMAT_REQUIRE(V.Type != DType::I1 && V.Type != DType::F8E4M3FN,
                  "reduces elements of a type that has no sum");
  return {};
}

/// `Part` is one of the group's equal parts of `Whole` along dimension `Dim`.
static Status checkPart(const OpCall &Op, const Value &Part, const Value &Whole,
                        int64_t Dim) {
  REMAT_REQUIRE(Dim >= 0 && Dim < Whole.getRank(),
                "cuts dimension " + std::to_string(Dim) + " of rank " +
                    std::to_string(Whole.getRank()));
  std::vector<int64_t> Expected = Whole.Shape;
  int64_t Ranks = countRanks(Op);
  REMAT_REQUIRE(Expected[Dim] % Ranks == 0,
                "cuts " + std::to_string(Expected[Dim]) + " into " +
                    std::to_string(Ranks) + " parts");
  Expected[Dim] /= Ranks;
  return checkShape(Part, Expected);
}

static Status checkAllReduce(const OpCall &Op) {
  REMAT_TRY(checkPairs(Op));
  REMAT_TRY(checkReduction(Op));
  for (size_t I = 0; I < Op.Results.size(); ++I)
    REMAT_TRY(checkShape(Op.Results[I], Op.Operands[I].Shape));
  return {};
}

static Status checkReduceScatter(const OpCall &Op) {
  REMAT_TRY(checkPairs(Op));
  REMAT_TRY(checkReduction(Op));
  for (size_t I = 0; I < Op.Results.size(); ++I)
    REMAT_TRY(checkPart(Op, Op.Results[I], Op.Operands[I],
                        Op.Attributes->getInt("dim", 0)));
  return {};
}

static Status checkAllGather(const OpCall &Op) {
  REMAT_TRY(checkPairs(Op));
  for (size_t I = 0; I < Op.Results.size(); ++I)
    REMAT_TRY(checkPart(Op, Op.Operands[I], Op.Results[I],
                        Op.Attributes->getInt("dim", 0)));
  return {};
}

static Status checkAllToAll(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 1, 1));
  REMAT_TRY(checkPairs(Op));
  // A part of the operand is as large as a part of the result.
  Value Piece = Op.Operands[0];
  int64_t Split = Op.Attributes->getInt("split_dim", 0);
  REMAT_REQUIRE(Split >= 0 && Split < Piece.getRank() &&
                    Piece.Shape[Split] % countRanks(Op) == 0,
                "splits dimension " + std::to_string(Split) + " of shape " +
                    formatShape(Piece.Shape));
  Piece.Shape[Split] /= countRanks(Op);
  return checkPart(Op, Piece, Op.Results[0],
                   Op.Attributes->getInt("concat_dim", 0));
}

static Status checkBroadcast(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 1, 1));
  REMAT_TRY(checkPairs(Op));
  int64_t Root = Op.Attributes->getInt("root", 0);
  REMAT_REQUIRE(Root >= 0 && Root < countRanks(Op),
                "begins at rank " + std::to_string(Root) + " of " +
                    std::to_string(countRanks(Op)));
  return checkShape(Op.Results[0], Op.Operands[0].Shape);
}

/// `pairs` are sources and targets in turn; each rank sends and receives once
/// at most.
static Status checkCollectivePermute(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 1, 1));
  REMAT_TRY(checkPairs(Op));
  std::span<const int64_t> Pairs = Op.Attributes->getInts("pairs");
  REMAT_REQUIRE(Pairs.size() % 2 == 0, "has half a pair");
  std::vector<int64_t> Seen[2];
  for (size_t I = 0; I < Pairs.size(); ++I) {
    REMAT_REQUIRE(Pairs[I] >= 0 && Pairs[I] < countRanks(Op),
                  "has a pair with rank " + std::to_string(Pairs[I]) + " of " +
                      std::to_string(countRanks(Op)));
    Seen[I % 2].push_back(Pairs[I]);
  }
  for (std::vector<int64_t> &Side : Seen) {
    std::ranges::sort(Side);
    REMAT_REQUIRE(std::ranges::adjacent_find(Side) == Side.end(),
                  "has a rank that sends or receives twice");
  }
  return checkShape(Op.Results[0], Op.Operands[0].Shape);
}

static Status checkRankPart(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 1, 1));
  REMAT_TRY(checkPairs(Op));
  return checkPart(Op, Op.Results[0], Op.Operands[0],
                   Op.Attributes->getInt("dim", 0));
}

static Status checkRankIndex(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 0, 1));
  return checkScalar(Op.Results[0], DType::I64);
}

/// A result is written where its operand of the same number lies, and no piece
/// is read after it was written.
static bool reusesSame(const OpCall &, size_t Result, size_t Operand) {
  return Result == Operand;
}

std::span<const OpSignature> remat::runtime::getCollectiveOps() {
  static const OpSignature Signatures[] = {
      {"all_reduce", checkAllReduce, reusesSame},
      {"reduce_scatter", checkReduceScatter, reusesNothing},
      {"all_gather", checkAllGather, reusesNothing},
      {"all_to_all", checkAllToAll, reusesNothing},
      {"collective_broadcast", checkBroadcast, reusesSame},
      {"collective_permute", checkCollectivePermute, reusesNothing},
      {"rank_part", checkRankPart, reusesNothing},
      {"rank_index", checkRankIndex, reusesNothing},
  };
  return Signatures;
}
