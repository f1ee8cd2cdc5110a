//===- Optimizer.cpp - parameter updates ----------------------------------===//

#include "host/Context.h"
#include "host/Kernel.h"
#include "ops/Halves.h"
#include "ops/Numeric.h"
#include "ops/Scalar.h"

using namespace remat::runtime;

/// Calls F(first, count) for blocks of elements.
template <typename Function>
static void forElements(int64_t NumElements, Context &C, Function F) {
  constexpr int64_t Grain = 16 * BlockSize;
  C.forBlocks(NumElements, Grain, [&](int64_t First, int64_t Last) {
    for (; First < Last; First += BlockSize)
      F(First, std::min(BlockSize, Last - First));
  });
}

/// The factor of a gradient: operand `Index`, or 1 if it is not there.
static float getGradScale(const OpCall &Op, size_t Index) {
  return Op.has(Index) ? *Op.Operands[Index].as<float>() : 1.0f;
}

//===----------------------------------------------------------------------===//
// SGD: parameter, grad, [buffer], rate, [grad_scale]
//===----------------------------------------------------------------------===//

static Status runSgd(const OpCall &Op, Context &C) {
  const Value &P = Op.Operands[0], &G = Op.Operands[1], &New = Op.Results[0];
  float Rate = *Op.Operands[3].as<float>(), Scale = getGradScale(Op, 4);
  auto Momentum = static_cast<float>(Op.Attributes->getFloat("momentum", 0));
  auto Decay = static_cast<float>(Op.Attributes->getFloat("weight_decay", 0));
  const float *Buffer = Op.has(2) ? Op.Operands[2].as<float>() : nullptr;
  float *NewBuffer = Buffer ? Op.Results[1].as<float>() : nullptr;
  forElements(P.NumElements, C, [&](int64_t First, int64_t Count) {
    float X[BlockSize], Step[BlockSize];
    loadFloats(P.Type, P.Data, First, Count, X);
    loadFloats(G.Type, G.Data, First, Count, Step);
    for (int64_t I = 0; I < Count; ++I)
      Step[I] = Step[I] * Scale + Decay * X[I];
    if (Buffer)
      for (int64_t I = 0; I < Count; ++I) {
        Step[I] = Momentum * Buffer[First + I] + Step[I];
        NewBuffer[First + I] = Step[I];
      }
    for (int64_t I = 0; I < Count; ++I)
      X[I] -= Rate * Step[I];
    storeFloats(New.Type, New.Data, First, Count, X);
  });
  return {};
}

//===----------------------------------------------------------------------===//
// Parameters, perhaps in halves
//===----------------------------------------------------------------------===//

static void roundAllAsHalves(int64_t Count, float *X) {
  std::transform(X, X + Count, X, roundAsHalves);
}

static void loadParameters(const Value &From, int64_t First, int64_t Count,
                           float *To) {
  if (!From.InHalves)
    return loadFloats(From.Type, From.Data, First, Count, To);
  const auto *Upper = From.as<BFloat16>() + First;
  const auto *Lower = From.as<int16_t>() + From.NumElements + First;
  for (int64_t I = 0; I < Count; ++I)
    To[I] = joinHalves(Upper[I], Lower[I]);
}

static void storeParameters(const Value &To, int64_t First, int64_t Count,
                            const float *From) {
  if (!To.InHalves)
    return storeFloats(To.Type, To.Data, First, Count, From);
  auto *Upper = To.as<BFloat16>() + First;
  auto *Lower = To.as<int16_t>() + To.NumElements + First;
  for (int64_t I = 0; I < Count; ++I) {
    Upper[I] = narrow<BFloat16>(From[I]);
    Lower[I] = getLowerHalf(From[I], Upper[I]);
  }
}

static Status runJoinHalves(const OpCall &Op, Context &C) {
  const Value &From = Op.Operands[0];
  forElements(From.NumElements, C, [&](int64_t First, int64_t Count) {
    loadParameters(From, First, Count, Op.Results[0].as<float>() + First);
  });
  return {};
}

//===----------------------------------------------------------------------===//
// AdamW: parameter, grad, moment1, moment2, rate, step, [grad_scale]
//===----------------------------------------------------------------------===//

static Status runAdamW(const OpCall &Op, Context &C) {
  const Value &P = Op.Operands[0], &G = Op.Operands[1], &New = Op.Results[0];
  const auto *M = Op.Operands[2].as<float>(), *V = Op.Operands[3].as<float>();
  auto *NewM = Op.Results[1].as<float>(), *NewV = Op.Results[2].as<float>();
  float Rate = *Op.Operands[4].as<float>(), Scale = getGradScale(Op, 6);
  double Time = static_cast<double>(*Op.Operands[5].as<int64_t>()) + 1;
  double B1 = Op.Attributes->getFloat("beta1", 0.9);
  double B2 = Op.Attributes->getFloat("beta2", 0.999);
  auto Beta1 = static_cast<float>(B1), Rest1 = static_cast<float>(1 - B1);
  auto Beta2 = static_cast<float>(B2), Rest2 = static_cast<float>(1 - B2);
  auto Correction1 = static_cast<float>(1 - std::pow(B1, Time));
  auto Correction2 = static_cast<float>(1 - std::pow(B2, Time));
  auto Epsilon = static_cast<float>(Op.Attributes->getFloat("epsilon", 1e-8));
  auto Decay =
      static_cast<float>(Op.Attributes->getFloat("weight_decay", 0.01));
  bool AsHalves = Op.Attributes->getFlag("as_halves");
  forElements(P.NumElements, C, [&](int64_t First, int64_t Count) {
    float X[BlockSize], Grad[BlockSize];
    loadParameters(P, First, Count, X);
    if (AsHalves)
      roundAllAsHalves(Count, X);
    loadFloats(G.Type, G.Data, First, Count, Grad);
    for (int64_t I = 0; I < Count; ++I) {
      float Scaled = Grad[I] * Scale;
      float Moment1 = Beta1 * M[First + I] + Rest1 * Scaled;
      float Moment2 = Beta2 * V[First + I] + Rest2 * Scaled * Scaled;
      X[I] -= Rate * Decay * X[I];
      X[I] -= Rate * (Moment1 / Correction1) /
              (std::sqrt(Moment2 / Correction2) + Epsilon);
      NewM[First + I] = Moment1;
      NewV[First + I] = Moment2;
    }
    if (AsHalves)
      roundAllAsHalves(Count, X);
    storeParameters(New, First, Count, X);
  });
  return {};
}

//===----------------------------------------------------------------------===//
// Global norm
//===----------------------------------------------------------------------===//

static Status runGlobalNorm(const OpCall &Op, Context &C) {
  double Total = 0;
  for (const Value &X : Op.Operands) {
    ScratchArray<double> Partial(C, (X.NumElements + SumChunk - 1) / SumChunk);
    C.forBlocks(X.NumElements, SumChunk, [&](int64_t First, int64_t Last) {
      Partial[First / SumChunk] = sumChunk(Last - First, [&](int64_t I) {
        double Element = loadFloat(X.Type, X.Data, First + I);
        return Element * Element;
      });
    });
    for (double Part : Partial)
      Total += Part;
  }
  *Op.Results[0].as<float>() = static_cast<float>(std::sqrt(Total));
  return {};
}

// Parameter and states take over their own bytes.

std::span<const HostKernel> remat::runtime::getOptimizerKernels() {
  static const HostKernel Kernels[] = {
      {"sgd", runSgd},
      {"adamw", runAdamW},
      {"join_halves", runJoinHalves},
      {"global_norm", runGlobalNorm},
  };
  return Kernels;
}
