//===- Optimizer.cpp - parameter updates ----------------------------------===//

#include "host/Context.h"
#include "host/Numeric.h"
#include "host/Op.h"
#include "host/Scalar.h"

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

/// Parameter, gradient and result agree; the rate is a scalar.
static Status checkUpdate(const OpCall &Op, size_t Rate, size_t GradScale) {
  REMAT_TRY(checkFloat(Op.Operands[0]));
  REMAT_TRY(checkFloat(Op.Operands[1]));
  REMAT_TRY(checkShape(Op.Operands[1], Op.Operands[0].Shape));
  REMAT_TRY(checkSameType(Op.Results[0], Op.Operands[0]));
  REMAT_TRY(checkScalar(Op.Operands[Rate], DType::F32));
  if (Op.has(GradScale))
    REMAT_TRY(checkScalar(Op.Operands[GradScale], DType::F32));
  return {};
}

/// An f32 state operand and its new value.
static Status checkState(const OpCall &Op, size_t Operand, size_t Result) {
  REMAT_TRY(checkType(Op.Operands[Operand], DType::F32));
  REMAT_TRY(checkShape(Op.Operands[Operand], Op.Operands[0].Shape));
  return checkSameType(Op.Results[Result], Op.Operands[Operand]);
}

//===----------------------------------------------------------------------===//
// SGD: parameter, grad, [buffer], rate, [grad_scale]
//===----------------------------------------------------------------------===//

static Status checkSgd(const OpCall &Op) {
  REMAT_REQUIRE(Op.Operands.size() == 5,
                "has " + std::to_string(Op.Operands.size()) +
                    " operands; its kernel reads 5");
  REMAT_TRY(checkOptionalCounts(Op, 2, 5, Op.has(2) ? 2 : 1));
  REMAT_REQUIRE(Op.has(3), "operand 3 is missing");
  REMAT_TRY(checkUpdate(Op, 3, 4));
  return Op.has(2) ? checkState(Op, 2, 1) : Status();
}

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
// AdamW: parameter, grad, moment1, moment2, rate, step, [grad_scale]
//===----------------------------------------------------------------------===//

static Status checkAdamW(const OpCall &Op) {
  REMAT_TRY(checkOptionalCounts(Op, 6, 7, 3));
  REMAT_TRY(checkUpdate(Op, 4, 6));
  REMAT_TRY(checkScalar(Op.Operands[5], DType::I64));
  REMAT_TRY(checkState(Op, 2, 1));
  return checkState(Op, 3, 2);
}

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
  forElements(P.NumElements, C, [&](int64_t First, int64_t Count) {
    float X[BlockSize], Grad[BlockSize];
    loadFloats(P.Type, P.Data, First, Count, X);
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
    storeFloats(New.Type, New.Data, First, Count, X);
  });
  return {};
}

//===----------------------------------------------------------------------===//
// Global norm
//===----------------------------------------------------------------------===//

static Status checkGlobalNorm(const OpCall &Op) {
  REMAT_REQUIRE(!Op.Operands.empty(), "has no operands");
  REMAT_TRY(checkCounts(Op, Op.Operands.size(), 1));
  for (const Value &Operand : Op.Operands)
    REMAT_TRY(checkFloat(Operand));
  return checkScalar(Op.Results[0], DType::F32);
}

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

static bool sgdReuses(const OpCall &, size_t Result, size_t Operand) {
  return Operand == (Result == 0 ? 0u : 2u);
}

static bool adamWReuses(const OpCall &, size_t Result, size_t Operand) {
  return Operand == (Result == 0 ? 0u : Result + 1);
}

std::span<const OpRecord> remat::runtime::getOptimizerOps() {
  static const OpRecord Records[] = {
      {"sgd", checkSgd, sgdReuses, runSgd},
      {"adamw", checkAdamW, adamWReuses, runAdamW},
      {"global_norm", checkGlobalNorm, reusesNothing, runGlobalNorm},
  };
  return Records;
}
