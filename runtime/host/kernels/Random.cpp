//===- Random.cpp - random numbers and dropout ----------------------------===//

#include "ops/Random.h"
#include "host/Context.h"
#include "host/Kernel.h"
#include "ops/Numeric.h"

using namespace remat::runtime;

static PhiloxStream getStream(const OpCall &Op, size_t SeedOperand) {
  return PhiloxStream(*Op.Operands[SeedOperand].as<int64_t>(),
                      Op.Attributes->getInt("id", 0),
                      *Op.Operands[SeedOperand + 1].as<int64_t>());
}

static Walk getWholeWalk(const Value &V) {
  return Walk::broadcast(V.Shape, V.Shape);
}

static constexpr int64_t Grain = 16 * BlockSize;

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

std::span<const HostKernel> remat::runtime::getRandomKernels() {
  static const HostKernel Kernels[] = {
      {"random", runRandom},
      {"dropout", runDropout},
  };
  return Kernels;
}
