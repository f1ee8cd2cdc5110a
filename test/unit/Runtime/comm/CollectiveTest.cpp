//===- CollectiveTest.cpp - ops over ranks, against plain arithmetic ------===//

#include "RankPrograms.h"
#include "ops/Numeric.h"
#include <cstring>

using namespace remat;
using namespace remat::runtime;
using namespace remat::runtime::test;

namespace {

/// A mesh, and the axes that a group extends over.
struct Layout {
  Mesh Sizes;
  std::vector<size_t> Axes;

  uint32_t getCount() const {
    uint32_t Count = 1;
    for (uint32_t Size : Sizes)
      Count *= Size;
    return Count;
  }
  int64_t getGroupSize() const {
    return static_cast<int64_t>(findGroups(Sizes, Axes)[0].size());
  }
};

const std::vector<Layout> Layouts = {
    {{1}, {0}},          {{2}, {0}},       {{3}, {0}},    {{4}, {0}},
    {{5}, {0}},          {{2, 2}, {0}},    {{2, 2}, {1}}, {{2, 3}, {0, 1}},
    {{2, 2, 2}, {0, 2}}, {{2, 1, 2}, {1}},
};

std::vector<std::vector<Array>> drawOperands(uint32_t Count,
                                             const std::vector<Array> &Types) {
  std::vector<std::vector<Array>> All(Count);
  for (uint32_t Rank = 0; Rank < Count; ++Rank)
    for (size_t I = 0; I < Types.size(); ++I)
      All[Rank].push_back(randomArray(Types[I].Type, Types[I].Shape,
                                      unsigned(100 * Rank + I + 1)));
  return All;
}

/// Element `At` of operand `I` of the members, added up in their order in f32
/// (or in integers) and rounded once; or the largest.
double reduceElement(const std::vector<std::vector<Array>> &Operands,
                     const std::vector<uint32_t> &Members, size_t I, size_t At,
                     bool IsMax) {
  DType Type = Operands[0][I].Type;
  auto Get = [&](uint32_t Rank) { return Operands[Rank][I].Data[At]; };
  if (!isFloat(Type)) {
    int64_t Sum = int64_t(Get(Members[0]));
    for (size_t M = 1; M < Members.size(); ++M) {
      auto Next = int64_t(Get(Members[M]));
      Sum = IsMax ? std::max(Sum, Next) : Sum + Next;
    }
    return double(Sum);
  }
  auto Sum = float(Get(Members[0]));
  for (size_t M = 1; M < Members.size(); ++M) {
    auto Next = float(Get(Members[M]));
    Sum = IsMax ? std::max(Sum, Next) : Sum + Next;
  }
  Array Rounded = {Type, {1}, {Sum}};
  Rounded.decode(Rounded.encode());
  return Rounded.Data[0];
}

/// The index of element `Flat` of a tensor of `Shape` along `Dim`, and its flat
/// index where that dimension has `Size` instead and the index is `Index`.
int64_t getIndex(const std::vector<int64_t> &Shape, size_t Dim, int64_t Flat) {
  for (size_t D = Shape.size(); --D > Dim;)
    Flat /= Shape[D];
  return Flat % Shape[Dim];
}
int64_t moveIndex(const std::vector<int64_t> &Shape, size_t Dim, int64_t Flat,
                  int64_t Size, int64_t Index) {
  int64_t Inner = 1;
  for (size_t D = Dim + 1; D < Shape.size(); ++D)
    Inner *= Shape[D];
  int64_t Outer = Flat / Inner / Shape[Dim];
  return (Outer * Size + Index) * Inner + Flat % Inner;
}

const std::vector<DType> Summed = {DType::F32, DType::BF16, DType::F16,
                                   DType::I32, DType::I64};
const std::vector<DType> Moved = {DType::F32, DType::BF16, DType::F16,
                                  DType::I32, DType::I64,  DType::F8E4M3FN};

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

void checkAllReduce(const Layout &Of, DType Type,
                    const std::vector<std::vector<int64_t>> &Shapes, bool IsMax,
                    bool InPlace) {
  RankedOp Op = {.Op = "all_reduce", .Sizes = Of.Sizes};
  Op.List = {groupOf(Of.Sizes, Of.Axes), text("kind", IsMax ? "max" : "sum")};
  for (const std::vector<int64_t> &Shape : Shapes)
    Op.Results.push_back({Type, Shape, {}});
  Op.Operands = drawOperands(Of.getCount(), Op.Results);
  Op.InPlace = InPlace;
  auto Found = Op.run();
  auto Groups = findGroups(Of.Sizes, Of.Axes);
  for (uint32_t Rank = 0; Rank < Of.getCount(); ++Rank)
    for (size_t I = 0; I < Shapes.size(); ++I)
      for (size_t At = 0; At < Op.Operands[0][I].Data.size(); ++At)
        ASSERT_EQ(Found[Rank][I].Data[At],
                  reduceElement(Op.Operands, Groups[Rank], I, At, IsMax))
            << "rank " << Rank << ", operand " << I << ", element " << At;
}

TEST(Collective, AllReduce) {
  for (const Layout &Of : Layouts)
    for (DType Type : Summed)
      for (bool IsMax : {false, true})
        // A length that no number of ranks divides, one shorter than ranks are
        // many, and a scalar.
        checkAllReduce(Of, Type, {{7, 11}, {2}, {}}, IsMax, IsMax);
}

TEST(Collective, AllReduceOfManySegments) {
  // Pieces of 3 ranks have 1.3 MiB and more; segments have one.
  checkAllReduce({{3}, {0}}, DType::F32, {{5}, {1000003}, {300}}, false, true);
#ifndef REMAT_SANITIZE
  checkAllReduce({{2}, {0}}, DType::BF16, {{1200001}}, false, false);
#endif
}

/// Sums are made in the order of ranks, whoever makes them.
TEST(Collective, AddsInTheOrderOfRanks) {
  for (uint32_t Count = 2; Count <= 5; ++Count) {
    RankedOp Op = {.Op = "all_reduce", .Sizes = {Count}};
    Op.List = {groupOf({Count}, {0}), text("kind", "sum")};
    Op.Results = {f32({64})};
    const double Numbers[] = {0x1p24, 1, 1, -0x1p24, 3};
    float Expected = 0x1p24f;
    for (uint32_t Rank = 0; Rank < Count; ++Rank) {
      Op.Operands.push_back(
          {f32({64}, std::vector<double>(64, Numbers[Rank]))});
      if (Rank)
        Expected += float(Numbers[Rank]);
    }
    auto Found = Op.run();
    for (const std::vector<Array> &Of : Found)
      for (double X : Of[0].Data)
        EXPECT_EQ(X, Expected) << Count << " ranks";
  }
}

/// 1 + 2^-8 + 2^-8 in bf16: rounded after each sum it would stay 1.
TEST(Collective, RoundsOnce) {
  RankedOp Op = {.Op = "all_reduce", .Sizes = {3}};
  Op.List = {groupOf({3}, {0}), text("kind", "sum")};
  Op.Results = {bf16({1})};
  Op.Operands = {
      {bf16({1}, {1})}, {bf16({1}, {0x1p-8})}, {bf16({1}, {0x1p-8})}};
  for (const std::vector<Array> &Of : Op.run())
    EXPECT_EQ(Of[0].Data[0], 1 + 0x1p-7);
}

TEST(Collective, ReduceScatter) {
  for (const Layout &Of : Layouts)
    for (DType Type : Summed)
      for (int64_t Dim : {0, 1, 2}) {
        int64_t Parts = Of.getGroupSize();
        RankedOp Op = {.Op = "reduce_scatter", .Sizes = Of.Sizes};
        Op.List = {groupOf(Of.Sizes, Of.Axes), text("kind", "sum"),
                   ints("dim", {Dim})};
        std::vector<int64_t> Part = {3, 4, 5}, Whole = Part;
        Whole[Dim] *= Parts;
        Op.Operands =
            drawOperands(Of.getCount(), {{Type, Whole, {}}, {Type, Whole, {}}});
        Op.Results = {{Type, Part, {}}, {Type, Part, {}}};
        auto Found = Op.run();
        auto Groups = findGroups(Of.Sizes, Of.Axes);
        for (uint32_t Rank = 0; Rank < Of.getCount(); ++Rank) {
          const std::vector<uint32_t> &Members = Groups[Rank];
          int64_t Own =
              std::find(Members.begin(), Members.end(), Rank) - Members.begin();
          for (size_t I : {0, 1})
            for (int64_t At = 0; At < 60; ++At) {
              int64_t Index = Own * Part[Dim] + getIndex(Part, Dim, At);
              int64_t From = moveIndex(Part, Dim, At, Whole[Dim], Index);
              ASSERT_EQ(Found[Rank][I].Data[At],
                        reduceElement(Op.Operands, Members, I, From, false))
                  << "rank " << Rank << ", element " << At;
            }
        }
      }
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

void checkAllGather(const Layout &Of, DType Type, std::vector<int64_t> Part,
                    int64_t Dim) {
  RankedOp Op = {.Op = "all_gather", .Sizes = Of.Sizes};
  Op.List = {groupOf(Of.Sizes, Of.Axes), ints("dim", {Dim})};
  std::vector<int64_t> Whole = Part;
  Whole[Dim] *= Of.getGroupSize();
  Op.Operands =
      drawOperands(Of.getCount(), {{Type, Part, {}}, {Type, Part, {}}});
  Op.Results = {{Type, Whole, {}}, {Type, Whole, {}}};
  auto Found = Op.run();
  auto Groups = findGroups(Of.Sizes, Of.Axes);
  for (uint32_t Rank = 0; Rank < Of.getCount(); ++Rank)
    for (size_t I : {0, 1})
      for (size_t At = 0; At < Found[Rank][I].Data.size(); ++At) {
        int64_t Index = getIndex(Whole, Dim, At);
        uint32_t Owner = Groups[Rank][Index / Part[Dim]];
        int64_t From = moveIndex(Whole, Dim, At, Part[Dim], Index % Part[Dim]);
        ASSERT_EQ(Found[Rank][I].Data[At], Op.Operands[Owner][I].Data[From])
            << "rank " << Rank << ", element " << At;
      }
}

TEST(Collective, AllGather) {
  for (const Layout &Of : Layouts)
    for (DType Type : Moved)
      for (int64_t Dim : {0, 1, 2})
        checkAllGather(Of, Type, {2, 3, 4}, Dim);
  // In segments.
  checkAllGather({{3}, {0}}, DType::F32, {700, 300}, 1);
}

TEST(Collective, AllToAll) {
  for (const Layout &Of : Layouts)
    for (DType Type : Moved)
      for (int64_t Split : {0, 1})
        for (int64_t Concat : {0, 1, 2}) {
          int64_t Parts = Of.getGroupSize();
          RankedOp Op = {.Op = "all_to_all", .Sizes = Of.Sizes};
          Op.List = {groupOf(Of.Sizes, Of.Axes), ints("split_dim", {Split}),
                     ints("concat_dim", {Concat})};
          std::vector<int64_t> Piece = {2, 3, 5}, From = Piece, To = Piece;
          From[Split] *= Parts;
          To[Concat] *= Parts;
          Op.Operands = drawOperands(Of.getCount(), {{Type, From, {}}});
          Op.Results = {{Type, To, {}}};
          auto Found = Op.run();
          auto Groups = findGroups(Of.Sizes, Of.Axes);
          for (uint32_t Rank = 0; Rank < Of.getCount(); ++Rank) {
            const std::vector<uint32_t> &Members = Groups[Rank];
            int64_t Own = std::find(Members.begin(), Members.end(), Rank) -
                          Members.begin();
            for (size_t At = 0; At < Found[Rank][0].Data.size(); ++At) {
              // The piece that the element is of, its place there, and where
              // that piece lies in its owner's operand.
              int64_t Index = getIndex(To, Concat, At);
              int64_t Within = moveIndex(To, Concat, At, Piece[Concat],
                                         Index % Piece[Concat]);
              int64_t Where = moveIndex(Piece, Split, Within, From[Split],
                                        Own * Piece[Split] +
                                            getIndex(Piece, Split, Within));
              uint32_t Owner = Members[Index / Piece[Concat]];
              ASSERT_EQ(Found[Rank][0].Data[At],
                        Op.Operands[Owner][0].Data[Where])
                  << "rank " << Rank << ", element " << At;
            }
          }
        }
}

TEST(Collective, Broadcast) {
  for (const Layout &Of : Layouts)
    for (DType Type : Moved)
      for (int64_t Root = 0; Root < Of.getGroupSize(); ++Root) {
        RankedOp Op = {.Op = "collective_broadcast", .Sizes = Of.Sizes};
        Op.List = {groupOf(Of.Sizes, Of.Axes), ints("root", {Root})};
        Op.Results = {{Type, {3, 7}, {}}};
        Op.Operands = drawOperands(Of.getCount(), Op.Results);
        Op.InPlace = Root % 2;
        auto Found = Op.run();
        auto Groups = findGroups(Of.Sizes, Of.Axes);
        for (uint32_t Rank = 0; Rank < Of.getCount(); ++Rank)
          EXPECT_EQ(Found[Rank][0].Data,
                    Op.Operands[Groups[Rank][Root]][0].Data);
      }
}

TEST(Collective, Permute) {
  for (const Layout &Of : Layouts)
    for (DType Type : Moved) {
      // To the next rank, round the ring; then without the first pair, whose
      // target gets zeros.
      int64_t Size = Of.getGroupSize();
      std::vector<int64_t> Pairs;
      for (int64_t I = 0; I < Size; ++I)
        Pairs.insert(Pairs.end(), {I, (I + 1) % Size});
      for (bool IsRing : {true, false}) {
        if (!IsRing)
          Pairs.erase(Pairs.begin(), Pairs.begin() + 2);
        RankedOp Op = {.Op = "collective_permute", .Sizes = Of.Sizes};
        Op.List = {groupOf(Of.Sizes, Of.Axes), ints("pairs", Pairs)};
        Op.Results = {{Type, {5, 3}, {}}};
        Op.Operands = drawOperands(Of.getCount(), Op.Results);
        auto Found = Op.run();
        auto Groups = findGroups(Of.Sizes, Of.Axes);
        for (uint32_t Rank = 0; Rank < Of.getCount(); ++Rank) {
          const std::vector<uint32_t> &Members = Groups[Rank];
          int64_t Own =
              std::find(Members.begin(), Members.end(), Rank) - Members.begin();
          int64_t Source = (Own + Size - 1) % Size;
          std::vector<double> Expected(15);
          if (IsRing || Source != 0)
            Expected = Op.Operands[Members[Source]][0].Data;
          EXPECT_EQ(Found[Rank][0].Data, Expected);
        }
      }
    }
}

TEST(Collective, OwnPartAndNumber) {
  for (const Layout &Of : Layouts) {
    RankedOp Part = {.Op = "rank_part", .Sizes = Of.Sizes};
    int64_t Size = Of.getGroupSize();
    Part.List = {groupOf(Of.Sizes, Of.Axes), ints("dim", {1})};
    Part.Operands = drawOperands(Of.getCount(), {f32({2, 3 * Size})});
    Part.Results = {f32({2, 3})};
    RankedOp Number = {.Op = "rank_index", .Sizes = Of.Sizes};
    Number.List = {groupOf(Of.Sizes, Of.Axes)};
    Number.Operands.resize(Of.getCount());
    Number.Results = {i64({})};
    auto Parts = Part.run(), Numbers = Number.run();
    auto Groups = findGroups(Of.Sizes, Of.Axes);
    for (uint32_t Rank = 0; Rank < Of.getCount(); ++Rank) {
      const std::vector<uint32_t> &Members = Groups[Rank];
      int64_t Own =
          std::find(Members.begin(), Members.end(), Rank) - Members.begin();
      EXPECT_EQ(Numbers[Rank][0].Data[0], double(Own));
      for (int64_t At = 0; At < 6; ++At)
        EXPECT_EQ(
            Parts[Rank][0].Data[At],
            Part.Operands[Rank][0].Data[At / 3 * 3 * Size + Own * 3 + At % 3]);
    }
  }
}

} // namespace
