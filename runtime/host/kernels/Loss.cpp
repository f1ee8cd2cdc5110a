//===- Loss.cpp - cross entropy and mean squared error --------------------===//

#include "host/Context.h"
#include "host/Kernel.h"
#include "ops/Numeric.h"
#include "ops/Scalar.h"

using namespace remat::runtime;

//===----------------------------------------------------------------------===//
// Cross entropy
//===----------------------------------------------------------------------===//

/// How many rows count; InvalidData if a target that counts is no class.
static Result<int64_t> countRows(const Value &Targets, int64_t Classes,
                                 int64_t IgnoreIndex) {
  int64_t Counted = 0;
  for (int64_t I = 0; I < Targets.NumElements; ++I) {
    int64_t Target = loadInteger(Targets.Type, Targets.Data, I);
    if (Target == IgnoreIndex)
      continue;
    if (Target < 0 || Target >= Classes)
      return Error(ErrorCode::InvalidData,
                   "target " + std::to_string(Target) + " at position " +
                       std::to_string(I) + " is outside " +
                       std::to_string(Classes) + " classes");
    ++Counted;
  }
  return Counted;
}

template <typename T> static double getLogSumExp(const T *Row, int64_t Count) {
  float Max = widen(Row[0]);
  for (int64_t I = 1; I < Count; ++I)
    Max = maximum(Max, widen(Row[I]));
  double Total =
      sum(Count, [&](int64_t I) { return double(expf(widen(Row[I]) - Max)); });
  return double(Max) + std::log(Total);
}

static Status runCrossEntropy(const OpCall &Op, Context &C) {
  const Value &Logits = Op.Operands[0], &Targets = Op.Operands[1];
  int64_t Classes = Logits.Shape.back();
  int64_t IgnoreIndex = Op.Attributes->getInt("ignore_index", -100);
  Result<int64_t> Counted = countRows(Targets, Classes, IgnoreIndex);
  if (!Counted)
    return Counted.getError();
  auto *Lse = Op.Results[1].as<float>();
  // A task's losses are added in order, then the tasks' sums.
  constexpr int64_t Grain = 16;
  ScratchArray<double> Losses(C, (Targets.NumElements + Grain - 1) / Grain);
  dispatchFloat(Logits.Type, [&](auto *Null) {
    using T = std::remove_pointer_t<decltype(Null)>;
    C.forBlocks(Targets.NumElements, Grain, [&](int64_t First, int64_t Last) {
      double Loss = 0;
      for (int64_t Row = First; Row < Last; ++Row) {
        const T *X = Logits.as<T>() + Row * Classes;
        double RowLse = getLogSumExp(X, Classes);
        Lse[Row] = static_cast<float>(RowLse);
        int64_t Target = loadInteger(Targets.Type, Targets.Data, Row);
        if (Target != IgnoreIndex)
          Loss += RowLse - double(widen(X[Target]));
      }
      Losses[First / Grain] = Loss;
    });
  });
  double Total = 0;
  for (double Loss : Losses)
    Total += Loss;
  *Op.Results[0].as<float>() =
      *Counted ? static_cast<float>(Total / static_cast<double>(*Counted))
               : 0.0f;
  return {};
}

/// A probability from which on less than a tenth is left to the others.
static constexpr float NearlyCertain = 0.9f;

static Status runCrossEntropyBackward(const OpCall &Op, Context &C) {
  const Value &Logits = Op.Operands[1], &Targets = Op.Operands[2];
  const Value &Out = Op.Results[0];
  auto *Lse = Op.Operands[3].as<float>();
  int64_t Classes = Logits.Shape.back();
  int64_t IgnoreIndex = Op.Attributes->getInt("ignore_index", -100);
  Result<int64_t> Counted = countRows(Targets, Classes, IgnoreIndex);
  if (!Counted)
    return Counted.getError();
  float Scale = *Op.Operands[0].as<float>() / static_cast<float>(*Counted);
  dispatchFloat(Logits.Type, [&](auto *Null) {
    using T = std::remove_pointer_t<decltype(Null)>;
    C.forBlocks(Targets.NumElements, 16, [&](int64_t First, int64_t Last) {
      for (int64_t Row = First; Row < Last; ++Row) {
        const T *In = Logits.as<T>() + Row * Classes;
        T *Grad = Out.as<T>() + Row * Classes;
        int64_t Target = loadInteger(Targets.Type, Targets.Data, Row);
        bool Ignored = Target == IgnoreIndex;
        float OfTarget = 0;
        double Others = sum(Classes, [&](int64_t I) {
          float P = expf(widen(In[I]) - Lse[Row]);
          float Difference = P - (I == Target ? 1.0f : 0.0f);
          Grad[I] = narrow<T>(Ignored ? 0.0f : Difference * Scale);
          OfTarget = I == Target ? P : OfTarget;
          return I == Target ? 0.0 : double(P);
        });
        // A target's probability less one is the others', negative. Near one
        // it cancels, and Lse is rounded as large logits are.
        if (!Ignored && OfTarget > NearlyCertain)
          Grad[Target] = narrow<T>(-static_cast<float>(Others) * Scale);
      }
    });
  });
  return {};
}

/// The one after the other: on a processor a row is in the cache for neither.
static Status runCrossEntropyWithGrad(const OpCall &Op, Context &C) {
  OpCall Forward = Op, Backward = Op;
  Forward.Operands = {Op.Operands[1], Op.Operands[2]};
  Forward.Results = {Op.Results[0], Op.Results[1]};
  Backward.Operands.push_back(Op.Results[1]);
  Backward.Results = {Op.Results[2]};
  REMAT_TRY(runCrossEntropy(Forward, C));
  return runCrossEntropyBackward(Backward, C);
}

//===----------------------------------------------------------------------===//
// Mean squared error
//===----------------------------------------------------------------------===//

static Status runMse(const OpCall &Op, Context &C) {
  const Value &X = Op.Operands[0], &Y = Op.Operands[1];
  ScratchArray<double> Partial(C, (X.NumElements + SumChunk - 1) / SumChunk);
  C.forBlocks(X.NumElements, SumChunk, [&](int64_t First, int64_t Last) {
    Partial[First / SumChunk] = sumChunk(Last - First, [&](int64_t I) {
      double Difference = double(loadFloat(X.Type, X.Data, First + I)) -
                          double(loadFloat(Y.Type, Y.Data, First + I));
      return Difference * Difference;
    });
  });
  double Total = 0;
  for (double Part : Partial)
    Total += Part;
  *Op.Results[0].as<float>() =
      static_cast<float>(Total / static_cast<double>(X.NumElements));
  return {};
}

std::span<const HostKernel> remat::runtime::getLossKernels() {
  static const HostKernel Kernels[] = {
      {"cross_entropy", runCrossEntropy},
      {"cross_entropy_backward", runCrossEntropyBackward},
      {"cross_entropy_with_grad", runCrossEntropyWithGrad},
      {"mse", runMse},
  };
  return Kernels;
}
