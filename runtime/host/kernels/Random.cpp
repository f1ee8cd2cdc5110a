//===- Random.cpp - random numbers and dropout ----------------------------===//

#include "host/Random.h"
#include "host/Context.h"
#include "host/Numeric.h"

using namespace remat::runtime;

float remat::runtime::drawUniform(const PhiloxStream &Stream, int64_t Element) {
  return PhiloxStream::toUniform(Stream.getBlock(Element / 4)[Element % 4]);
}

static float drawNormal(const PhiloxStream &Stream, int64_t Element) {
  auto Words = Stream.getBlock(Element / 4);
  unsigned Pair = Element % 4 / 2 * 2;
  return PhiloxStream::toNormal(Words[Pair], Words[Pair + 1])[Element % 2];
}

/// A run of neighbours that begins with a whole block of four.
static int64_t drawFours(const PhiloxStream &Stream, bool Normal,
                         int64_t Element, int64_t Run, float *Out) {
  int64_t Done = 0;
  for (; Done + 4 <= Run; Done += 4) {
    auto Words = Stream.getBlock((Element + Done) / 4);
    for (int J = 0; J < 4; J += 2) {
      std::array<float, 2> Pair =
          Normal ? PhiloxStream::toNormal(Words[J], Words[J + 1])
                 : std::array<float, 2>{PhiloxStream::toUniform(Words[J]),
                                        PhiloxStream::toUniform(Words[J + 1])};
      Out[Done + J] = Pair[0];
      Out[Done + J + 1] = Pair[1];
    }
  }
  return Done;
}

void remat::runtime::drawBlock(const PhiloxStream &Stream, bool Normal,
                               const Walk &W, int64_t First, int64_t Count,
                               float *Out) {
  W.forRuns(First, Count,
            [&](int64_t Element, int64_t Stride, int64_t Done, int64_t Run) {
              int64_t I = 0;
              if (Stride == 1 && Element % 4 == 0)
                I = drawFours(Stream, Normal, Element, Run, Out + Done);
              for (; I < Run; ++I)
                Out[Done + I] = Normal
                                    ? drawNormal(Stream, Element + I * Stride)
                                    : drawUniform(Stream, Element + I * Stride);
            });
}

Status remat::runtime::checkProbability(double P) {
  REMAT_REQUIRE(P >= 0 && P <= 1, "has a probability of " + std::to_string(P) +
                                      ", outside [0, 1]");
  return {};
}

static PhiloxStream getStream(const OpCall &Op, size_t SeedOperand) {
  return PhiloxStream(*Op.Operands[SeedOperand].as<int64_t>(),
                      Op.Attributes->getInt("id", 0),
                      *Op.Operands[SeedOperand + 1].as<int64_t>());
}

static Walk getWholeWalk(const Value &V) {
  return Walk::broadcast(V.Shape, V.Shape);
}

static constexpr int64_t Grain = 16 * BlockSize;

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

static Status runRandom(const OpCall &Op, Context &C) {
  const Value &Result = Op.Results[0];
  PhiloxStream Stream = getStream(Op, 0);
  bool Normal = Op.Attributes->getText("distribution") == "normal";
  Walk W = getWholeWalk(Result);
  C.forBlocks(Result.NumElements, Grain, [&](int64_t First, int64_t Last) {
    float Block[BlockSize];
    for (; First < Last; First += BlockSize) {
      int64_t Count = std::min(BlockSize, Last - First);
      drawBlock(Stream, Normal, W, First, Count, Block);
      storeFloats(Result.Type, Result.Data, First, Count, Block);
    }
  });
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

static Status runDropout(const OpCall &Op, Context &C) {
  const Value &In = Op.Operands[0], &Result = Op.Results[0];
  PhiloxStream Stream = getStream(Op, 1);
  DropoutParameters Parameters(Op.Attributes->getFloat("p", 0));
  Walk W = getWholeWalk(Result);
  C.forBlocks(Result.NumElements, Grain, [&](int64_t First, int64_t Last) {
    float Uniform[BlockSize], Block[BlockSize];
    for (; First < Last; First += BlockSize) {
      int64_t Count = std::min(BlockSize, Last - First);
      drawBlock(Stream, /*Normal=*/false, W, First, Count, Uniform);
      loadFloats(In.Type, In.Data, First, Count, Block);
      for (int64_t I = 0; I < Count; ++I)
        Block[I] = Parameters.apply(Block[I], Uniform[I]);
      storeFloats(Result.Type, Result.Data, First, Count, Block);
    }
  });
  return {};
}

static bool reusesOperand0(const OpCall &Op, size_t Result, size_t Operand) {
  return Operand == 0;
}

std::span<const OpRecord> remat::runtime::getRandomOps() {
  static const OpRecord Records[] = {
      {"random", checkRandom, reusesNothing, runRandom},
      {"dropout", checkDropout, reusesOperand0, runDropout},
  };
  return Records;
}
