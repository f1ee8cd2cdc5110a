//===- Index.cpp - elements by index, order and scans ---------------------===//

#include "ops/Index.h"
#include "host/Context.h"
#include "host/Kernel.h"
#include "ops/Numeric.h"
#include <numeric>

using namespace remat::runtime;

//===----------------------------------------------------------------------===//
// gather, scatter_add
//===----------------------------------------------------------------------===//

static Status checkIndices(const Value &Indices, int64_t Size) {
  return checkIndices(Indices, Size, "index", "a dimension of", "elements");
}

static Status runGather(const OpCall &Op, Context &C) {
  const Value &From = Op.Operands[0], &Indices = Op.Operands[1];
  const Value &To = Op.Results[0];
  Lines In = Lines::of(Op, From), Out = Lines::of(Op, To);
  REMAT_TRY(checkIndices(Indices, In.Size));
  uint64_t Width = getByteWidth(From.Type);
  C.forBlocks(To.NumElements, 4096, [&](int64_t First, int64_t Last) {
    for (int64_t I = First; I < Last; ++I) {
      int64_t Index = loadInteger(Indices.Type, Indices.Data, I);
      int64_t Inner = I % Out.Inner, Outer = I / Out.Inner / Out.Size;
      int64_t Element = (Outer * In.Size + Index) * In.Inner + Inner;
      std::memcpy(To.Data + uint64_t(I) * Width,
                  From.Data + uint64_t(Element) * Width, Width);
    }
  });
  return {};
}

static Status runScatterAdd(const OpCall &Op, Context &C) {
  const Value &Indices = Op.Operands[0], &Updates = Op.Operands[1];
  const Value &To = Op.Results[0];
  Lines In = Lines::of(Op, Updates), Out = Lines::of(Op, To);
  REMAT_TRY(checkIndices(Indices, Out.Size));
  constexpr int64_t Block = 64; // neighbouring lines, summed together
  REMAT_TRY(C.reserveScratch(sizeof(float) * uint64_t(Out.Size * Block)));
  int64_t Blocks = (Out.Inner + Block - 1) / Block;
  C.parallelFor(Out.Outer * Blocks, [&](int64_t Task, unsigned Worker) {
    int64_t Outer = Task / Blocks, First = Task % Blocks * Block;
    int64_t Count = std::min(Block, Out.Inner - First);
    float *Sums = C.getScratch<float>(Worker), Row[Block];
    std::fill_n(Sums, Out.Size * Count, 0.0f);
    for (int64_t I = 0; I < In.Size; ++I) {
      int64_t Begin = (Outer * In.Size + I) * In.Inner + First;
      loadFloats(Updates.Type, Updates.Data, Begin, Count, Row);
      for (int64_t J = 0; J < Count; ++J)
        Sums[loadInteger(Indices.Type, Indices.Data, Begin + J) * Count + J] +=
            Row[J];
    }
    for (int64_t I = 0; I < Out.Size; ++I)
      storeFloats(To.Type, To.Data, (Outer * Out.Size + I) * Out.Inner + First,
                  Count, Sums + I * Count);
  });
  return {};
}

//===----------------------------------------------------------------------===//
// top_k
//===----------------------------------------------------------------------===//

/// Whether element `A` of a line comes before `B`.
template <typename T>
static bool precedes(const T *Line, int64_t A, int64_t B, bool Smallest) {
  T X = Line[A], Y = Line[B];
  if constexpr (std::is_same_v<T, float>)
    if (std::isnan(X) || std::isnan(Y)) {
      if (std::isnan(X) && std::isnan(Y))
        return A < B;
      return std::isnan(X) != Smallest;
    }
  if (X == Y)
    return A < B;
  return Smallest ? X < Y : X > Y;
}

/// `Load(I)` is element I of the operand as a T.
template <typename T, typename Function>
static Status sortLines(const OpCall &Op, Context &C, Function Load) {
  const Value &X = Op.Operands[0], &Values = Op.Results[0];
  Lines In = Lines::of(Op, X), Out = Lines::of(Op, Values);
  bool Smallest = Op.Attributes->getFlag("smallest");
  uint64_t Width = getByteWidth(X.Type);
  REMAT_TRY(
      C.reserveScratch((sizeof(T) + sizeof(int64_t)) * uint64_t(In.Size)));
  C.parallelFor(In.Outer * In.Inner, [&](int64_t Task, unsigned Worker) {
    int64_t Outer = Task / In.Inner, Inner = Task % In.Inner;
    auto *Order = C.getScratch<int64_t>(Worker);
    auto *Line = reinterpret_cast<T *>(Order + In.Size);
    auto At = [&](const Lines &L, int64_t I) {
      return (Outer * L.Size + I) * L.Inner + Inner;
    };
    for (int64_t I = 0; I < In.Size; ++I)
      Line[I] = Load(At(In, I));
    std::iota(Order, Order + In.Size, 0);
    std::partial_sort(
        Order, Order + Out.Size, Order + In.Size,
        [&](int64_t A, int64_t B) { return precedes(Line, A, B, Smallest); });
    for (int64_t I = 0; I < Out.Size; ++I) {
      std::memcpy(Values.Data + uint64_t(At(Out, I)) * Width,
                  X.Data + uint64_t(At(In, Order[I])) * Width, Width);
      Op.Results[1].as<int64_t>()[At(Out, I)] = Order[I];
    }
  });
  return {};
}

static Status runTopK(const OpCall &Op, Context &C) {
  const Value &X = Op.Operands[0];
  if (isInteger(X.Type))
    return sortLines<int64_t>(
        Op, C, [&](int64_t I) { return loadInteger(X.Type, X.Data, I); });
  return sortLines<float>(
      Op, C, [&](int64_t I) { return loadFloat(X.Type, X.Data, I); });
}

//===----------------------------------------------------------------------===//
// cumsum
//===----------------------------------------------------------------------===//

/// Sums of floats run in f64, sums of integers wrap around.
template <typename T, typename Sum>
static void scanLines(const OpCall &Op, Context &C) {
  const T *In = Op.Operands[0].as<T>();
  T *Out = Op.Results[0].as<T>();
  Lines L = Lines::of(Op, Op.Operands[0]);
  bool Reverse = Op.Attributes->getFlag("reverse");
  C.forBlocks(L.Outer * L.Inner, 64, [&](int64_t First, int64_t Last) {
    for (int64_t Line = First; Line < Last; ++Line) {
      int64_t Begin = Line / L.Inner * L.Size * L.Inner + Line % L.Inner;
      Sum Total = 0;
      for (int64_t I = 0; I < L.Size; ++I) {
        int64_t At = Begin + (Reverse ? L.Size - 1 - I : I) * L.Inner;
        if constexpr (std::is_same_v<Sum, double>) {
          Total += double(widen(In[At]));
          Out[At] = narrow<T>(static_cast<float>(Total));
        } else {
          Total += static_cast<Sum>(In[At]);
          Out[At] = static_cast<T>(Total);
        }
      }
    }
  });
}

static Status runCumsum(const OpCall &Op, Context &C) {
  DType Type = Op.Operands[0].Type;
  if (Type == DType::I32)
    scanLines<int32_t, uint32_t>(Op, C);
  else if (Type == DType::I64)
    scanLines<int64_t, uint64_t>(Op, C);
  else
    dispatchFloat(Type, [&](auto *Null) {
      scanLines<std::remove_pointer_t<decltype(Null)>, double>(Op, C);
    });
  return {};
}

std::span<const HostKernel> remat::runtime::getIndexKernels() {
  static const HostKernel Kernels[] = {
      {"gather", runGather},
      {"scatter_add", runScatterAdd},
      {"top_k", runTopK},
      {"cumsum", runCumsum},
  };
  return Kernels;
}
