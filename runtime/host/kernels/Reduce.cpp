//===- Reduce.cpp - sums, means and maxima over dimensions ----------------===//

#include "host/Context.h"
#include "host/Kernel.h"
#include "host/ReduceLayout.h"
#include "host/Rows.h"
#include "ops/Scalar.h"

using namespace remat::runtime;

namespace {

/// Arithmetic on storage type T: floats are added in f64, integers modulo 2^64.
template <typename T> struct Traits {
  using Sum = double;
  static Sum load(T X) { return widen(X); }
  static float loadMax(T X) { return widen(X); }
  static float max(float A, float B) { return maximum(A, B); }
  static T storeMax(float X) { return narrow<T>(X); }
  static T store(Reduction Kind, Sum Total, int64_t Count) {
    return narrow<T>(static_cast<float>(
        Kind == Reduction::Mean ? Total / static_cast<double>(Count) : Total));
  }
};
template <typename T> struct IntegerTraits {
  using Sum = uint64_t;
  static Sum load(T X) { return static_cast<uint64_t>(int64_t(X)); }
  static T loadMax(T X) { return X; }
  static T max(T A, T B) { return std::max(A, B); }
  static T storeMax(T X) { return X; }
  static T store(Reduction Kind, Sum Total, int64_t Count) {
    return static_cast<T>(finishInteger(Kind, Total, Count));
  }
};
template <> struct Traits<int32_t> : IntegerTraits<int32_t> {};
template <> struct Traits<int64_t> : IntegerTraits<int64_t> {};

/// Results that are made together, so that neighbours are read together.
constexpr int64_t Columns = 256;

/// Results [First, Last), each in row-major order of its elements.
template <typename T, typename Acc, typename Load, typename Combine>
void accumulate(const T *In, const ReduceLayout &L, int64_t First, int64_t Last,
                Acc *Out, Load LoadElement, Combine Add) {
  struct Run {
    int64_t Element, Stride, Done, Count;
  };
  std::vector<Run> Runs;
  L.Kept.forRuns(
      First, Last - First,
      [&](int64_t Element, int64_t Stride, int64_t Done, int64_t Count) {
        Runs.push_back({Element, Stride, Done, Count});
      });
  bool Started = false;
  auto AddAll = [&](const T *At) {
    for (const Run &R : Runs)
      for (int64_t I = 0; I < R.Count; ++I) {
        auto X = LoadElement(At[R.Element + I * R.Stride]);
        Out[R.Done + I] = Started ? Add(Out[R.Done + I], X) : X;
      }
    Started = true;
  };
  L.Reduced.forRuns(
      0, L.Length,
      [&](int64_t Element, int64_t Stride, int64_t, int64_t Count) {
        for (int64_t J = 0; J < Count; ++J)
          AddAll(In + Element + J * Stride);
      });
}

template <typename T>
void reduceColumns(Reduction Kind, const Value &From, const Value &Result,
                   const ReduceLayout &L, Context &C) {
  using R = Traits<T>;
  using Max = decltype(R::loadMax(T()));
  C.forBlocks(Result.NumElements, Columns, [&](int64_t First, int64_t Last) {
    if (Kind == Reduction::Max) {
      Max Best[Columns];
      accumulate(From.as<T>(), L, First, Last, Best, R::loadMax, R::max);
      for (int64_t I = First; I < Last; ++I)
        Result.as<T>()[I] = R::storeMax(Best[I - First]);
      return;
    }
    typename R::Sum Total[Columns];
    accumulate(From.as<T>(), L, First, Last, Total, R::load,
               [](auto A, auto B) { return A + B; });
    for (int64_t I = First; I < Last; ++I)
      Result.as<T>()[I] = R::store(Kind, Total[I - First], L.Length);
  });
}

template <typename T> float maxOfRow(const T *Row, int64_t Length) {
  float Best = widen(Row[0]);
  for (int64_t I = 1; I < Length; ++I)
    Best = maximum(Best, widen(Row[I]));
  return Best;
}

/// Rows of neighbours: the sums of reduceRow.
template <typename T>
void reduceRows(Reduction Kind, const Value &From, const Value &Result,
                int64_t Length, Context &C) {
  int64_t Grain = std::max<int64_t>(1, 16 * BlockSize / Length);
  C.forBlocks(Result.NumElements, Grain, [&](int64_t First, int64_t Last) {
    for (int64_t I = First; I < Last; ++I) {
      const T *Row = From.as<T>() + I * Length;
      if constexpr (std::is_integral_v<T>)
        Result.as<T>()[I] = reduceRow(Kind, Row, Length);
      else if (Kind == Reduction::Max)
        Result.as<T>()[I] = narrow<T>(maxOfRow(Row, Length));
      else
        Result.as<T>()[I] = narrow<T>(sumFloats(
            Kind, Length, [&](int64_t J) { return double(widen(Row[J])); }));
    }
  });
}

/// One long row of floats: its chunks in parallel, added in order. The same
/// bits as sumFloats.
template <typename T>
void sumLongRow(Reduction Kind, const Value &From, const Value &Result,
                Context &C) {
  int64_t Length = From.NumElements;
  ScratchArray<double> Partial(C, (Length + SumChunk - 1) / SumChunk);
  const T *Row = From.as<T>();
  C.forBlocks(Length, SumChunk, [&](int64_t First, int64_t Last) {
    Partial[First / SumChunk] = sumChunk(
        Last - First, [&](int64_t I) { return double(widen(Row[First + I])); });
  });
  double Total = 0;
  for (double X : Partial)
    Total += X;
  *Result.as<T>() = Traits<T>::store(Kind, Total, Length);
}

} // namespace

template <typename T>
static void runTyped(Reduction Kind, const OpCall &Op, Context &C) {
  const Value &From = Op.Operands[0], &Result = Op.Results[0];
  auto Dims = Op.Attributes->getInts("dims");
  auto L = ReduceLayout::of(From.Shape, [&](int64_t Dim) {
    return std::find(Dims.begin(), Dims.end(), Dim) != Dims.end();
  });
  if (!L.Reduced.isContiguous()) {
    reduceColumns<T>(Kind, From, Result, L, C);
    return;
  }
  if constexpr (!std::is_integral_v<T>)
    if (Kind != Reduction::Max && Result.NumElements == 1 &&
        L.Length > SumChunk) {
      sumLongRow<T>(Kind, From, Result, C);
      return;
    }
  reduceRows<T>(Kind, From, Result, L.Length, C);
}

static Status run(const OpCall &Op, Context &C) {
  Reduction Kind;
  parseReduction(Op.Attributes->getText("kind"), Kind);
  dispatchElement(Op.Operands[0].Type, [&](auto Row) {
    // The signature has no sums of i1.
    if constexpr (Row.Kind == ElementKind::Bool)
      __builtin_unreachable();
    else
      runTyped<typename decltype(Row)::Stored>(Kind, Op, C);
  });
  return {};
}

std::span<const HostKernel> remat::runtime::getReductionKernels() {
  static const HostKernel Kernels[] = {
      {"reduce", run},
  };
  return Kernels;
}
