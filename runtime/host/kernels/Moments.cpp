//===- Moments.cpp - statistics over dimensions ---------------------------===//
//
// A task has one result, whose sums it makes in f64 in the order of the
// elements.
//
//===----------------------------------------------------------------------===//

#include "host/Context.h"
#include "host/Kernel.h"
#include "host/ReduceLayout.h"
#include "ops/Numeric.h"

using namespace remat::runtime;

/// The sum of `F(Element)` over the elements of result `Index`.
template <typename Function>
static double sumOver(const ReduceLayout &L, int64_t Index, Function F) {
  int64_t Base = L.Kept.locate(Index);
  double Total = 0;
  L.Reduced.forRuns(
      0, L.Length,
      [&](int64_t Element, int64_t Stride, int64_t, int64_t Count) {
        for (int64_t I = 0; I < Count; ++I)
          Total += F(Base + Element + I * Stride);
      });
  return Total;
}

static Status runMoments(const OpCall &Op, Context &C) {
  const Value &From = Op.Operands[0];
  auto Dims = Op.Attributes->getInts("dims");
  auto L = ReduceLayout::of(From.Shape, [&](int64_t Dim) {
    return std::find(Dims.begin(), Dims.end(), Dim) != Dims.end();
  });
  auto Count = static_cast<double>(L.Length);
  dispatchFloat(From.Type, [&](auto *Null) {
    auto *X = From.as<std::remove_pointer_t<decltype(Null)>>();
    C.parallelFor(Op.Results[0].NumElements, [&](int64_t I, unsigned) {
      double Mean =
          sumOver(L, I, [&](int64_t E) { return double(widen(X[E])); }) / Count;
      double Squares = sumOver(L, I, [&](int64_t E) {
        double Distance = double(widen(X[E])) - Mean;
        return Distance * Distance;
      });
      Op.Results[0].as<float>()[I] = static_cast<float>(Mean);
      Op.Results[1].as<float>()[I] = static_cast<float>(Squares / Count);
    });
  });
  return {};
}

static Status runNormalizeSums(const OpCall &Op, Context &C) {
  const Value &From = Op.Operands[1], &Mean = Op.Operands[2];
  auto L = ReduceLayout::of(From.Shape, [&](int64_t Dim) {
    return Mean.Shape[Dim] == 1 && From.Shape[Dim] != 1;
  });
  dispatchFloat(From.Type, [&](auto *Null) {
    using T = std::remove_pointer_t<decltype(Null)>;
    auto *Grad = Op.Operands[0].as<T>(), *X = From.as<T>();
    bool IsMasked = Op.Operands.size() > 3;
    C.parallelFor(Mean.NumElements, [&](int64_t I, unsigned) {
      auto Statistic = [&](size_t Operand) {
        return Op.Operands[Operand].as<float>()[I];
      };
      float Centre = Statistic(2), Rstd = 0, Scale = 0, Bias = 0;
      if (IsMasked) {
        Rstd = Statistic(3);
        Scale = Statistic(4);
        Bias = Statistic(5);
      }
      // As relu sees it: rounded to the operand's type.
      auto Counts = [&](int64_t E) {
        return !IsMasked ||
               widen(narrow<T>((widen(X[E]) - Centre) * Rstd * Scale + Bias)) >
                   0;
      };
      auto Get = [&](int64_t E) {
        return Counts(E) ? double(widen(Grad[E])) : 0.0;
      };
      Op.Results[0].as<float>()[I] = static_cast<float>(sumOver(L, I, Get));
      Op.Results[1].as<float>()[I] =
          static_cast<float>(sumOver(L, I, [&](int64_t E) {
            return Get(E) * (double(widen(X[E])) - double(Centre));
          }));
    });
  });
  return {};
}

std::span<const HostKernel> remat::runtime::getMomentKernels() {
  static const HostKernel Kernels[] = {
      {"moments", runMoments},
      {"normalize_sums", runNormalizeSums},
  };
  return Kernels;
}
