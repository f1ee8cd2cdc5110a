//===- Shape.cpp - ops that move elements ---------------------------------===//

#include "host/Context.h"
#include "host/Numeric.h"
#include "host/Op.h"
#include "host/Scalar.h"

using namespace remat::runtime;

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Calls `F` with a null pointer of an unsigned type of that many bytes.
template <typename Function>
static void dispatchWidth(uint64_t Width, Function F) {
  switch (Width) {
  case 1:
    return F(static_cast<uint8_t *>(nullptr));
  case 2:
    return F(static_cast<uint16_t *>(nullptr));
  case 4:
    return F(static_cast<uint32_t *>(nullptr));
  default:
    return F(static_cast<uint64_t *>(nullptr));
  }
}

static constexpr int64_t Grain = 16 * BlockSize;

/// Result element i is operand element W(i).
static void gather(const Value &From, const Walk &W, const Value &To,
                   Context &C) {
  dispatchWidth(getByteWidth(To.Type), [&](auto *Null) {
    using T = std::remove_pointer_t<decltype(Null)>;
    C.forBlocks(To.NumElements, Grain, [&](int64_t First, int64_t Last) {
      W.forRuns(
          First, Last - First,
          [&](int64_t Element, int64_t Stride, int64_t Done, int64_t Run) {
            const T *In = From.as<T>() + Element;
            T *Out = To.as<T>() + First + Done;
            for (int64_t I = 0; I < Run; ++I)
              Out[I] = In[I * Stride];
          });
    });
  });
}

/// Result element W(i) is operand element i.
static void scatter(const Value &From, const Value &To, const Walk &W,
                    Context &C) {
  dispatchWidth(getByteWidth(To.Type), [&](auto *Null) {
    using T = std::remove_pointer_t<decltype(Null)>;
    C.forBlocks(From.NumElements, Grain, [&](int64_t First, int64_t Last) {
      W.forRuns(
          First, Last - First,
          [&](int64_t Element, int64_t Stride, int64_t Done, int64_t Run) {
            const T *In = From.as<T>() + First + Done;
            T *Out = To.as<T>() + Element;
            for (int64_t I = 0; I < Run; ++I)
              Out[I * Stride] = In[I];
          });
    });
  });
}

static std::vector<int64_t> getStrides(const Value &V) {
  std::vector<int64_t> Strides(V.Shape.size());
  int64_t Stride = 1;
  for (size_t I = V.Shape.size(); I-- > 0; Stride *= V.Shape[I])
    Strides[I] = Stride;
  return Strides;
}

static int64_t locate(std::span<const int64_t> Position,
                      std::span<const int64_t> Strides) {
  int64_t Element = 0;
  for (size_t I = 0; I < Position.size(); ++I)
    Element += Position[I] * Strides[I];
  return Element;
}

//===----------------------------------------------------------------------===//
// Constant, reshape, broadcast
//===----------------------------------------------------------------------===//

static Status checkConstant(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, 0, 1));
  const Attribute *A = Op.Attributes->find("value");
  bool Float = isFloat(Op.Results[0].Type);
  REMAT_REQUIRE(A && (Float ? A->Floats.size() : A->Ints.size()) == 1,
                "needs one number as its value");
  return {};
}

static Status runConstant(const OpCall &Op, Context &C) {
  const Value &Result = Op.Results[0];
  const Attribute &A = *Op.Attributes->find("value");
  uint64_t Width = getByteWidth(Result.Type), Bits = 0;
  if (isFloat(Result.Type)) {
    float X = static_cast<float>(A.Floats[0]);
    storeFloats(Result.Type, reinterpret_cast<char *>(&Bits), 0, 1, &X);
  } else {
    Bits = Result.Type == DType::I1 ? A.Ints[0] != 0 : A.Ints[0];
  }
  dispatchWidth(Width, [&](auto *Null) {
    using T = std::remove_pointer_t<decltype(Null)>;
    C.forBlocks(Result.NumElements, Grain, [&](int64_t First, int64_t Last) {
      std::fill(Result.as<T>() + First, Result.as<T>() + Last, T(Bits));
    });
  });
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

static Status runReshape(const OpCall &Op, Context &C) {
  const Value &Result = Op.Results[0];
  gather(Op.Operands[0], Walk::broadcast(Result.Shape, Result.Shape), Result,
         C);
  return {};
}

static Status runBroadcast(const OpCall &Op, Context &C) {
  const Value &From = Op.Operands[0], &Result = Op.Results[0];
  gather(From, Walk::broadcast(From.Shape, Result.Shape), Result, C);
  return {};
}

//===----------------------------------------------------------------------===//
// Transpose, slice
//===----------------------------------------------------------------------===//

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

static Status runTranspose(const OpCall &Op, Context &C) {
  const Value &From = Op.Operands[0], &Result = Op.Results[0];
  std::vector<int64_t> FromStrides = getStrides(From), Strides;
  for (int64_t P : Op.Attributes->getInts("permutation"))
    Strides.push_back(FromStrides[P]);
  gather(From, Walk::strided(Result.Shape, Strides), Result, C);
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

static Status runSlice(const OpCall &Op, Context &C) {
  const Value &From = Op.Operands[0], &Result = Op.Results[0];
  std::vector<int64_t> Strides = getStrides(From);
  int64_t Base = locate(Op.Attributes->getInts("offsets"), Strides);
  gather(From, Walk::strided(Result.Shape, Strides, Base), Result, C);
  return {};
}

//===----------------------------------------------------------------------===//
// Pad, concat
//===----------------------------------------------------------------------===//

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

static Status runPad(const OpCall &Op, Context &C) {
  const Value &From = Op.Operands[0], &Result = Op.Results[0];
  std::vector<int64_t> Strides = getStrides(Result);
  int64_t Base = locate(Op.Attributes->getInts("low"), Strides);
  std::memset(Result.Data, 0, Result.getBytes());
  scatter(From, Result, Walk::strided(From.Shape, Strides, Base), C);
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

static Status runConcat(const OpCall &Op, Context &C) {
  const Value &Result = Op.Results[0];
  int64_t Dim = Op.Attributes->getInt("dim", 0), Begin = 0;
  std::vector<int64_t> Strides = getStrides(Result);
  for (const Value &Operand : Op.Operands) {
    scatter(Operand, Result,
            Walk::strided(Operand.Shape, Strides, Begin * Strides[Dim]), C);
    Begin += Operand.Shape[Dim];
  }
  return {};
}

std::span<const OpRecord> remat::runtime::getShapeOps() {
  static const OpRecord Records[] = {
      {"constant", checkConstant, reusesNothing, runConstant},
      {"reshape", checkReshape, reusesNothing, runReshape},
      {"broadcast", checkBroadcast, reusesNothing, runBroadcast},
      {"transpose", checkTranspose, reusesNothing, runTranspose},
      {"slice", checkSlice, reusesNothing, runSlice},
      {"pad", checkPad, reusesNothing, runPad},
      {"concat", checkConcat, reusesNothing, runConcat},
  };
  return Records;
}
