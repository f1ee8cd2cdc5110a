//===- Shape.cpp - ops that move elements ---------------------------------===//

#include "host/Context.h"
#include "host/Kernel.h"
#include "ops/Numeric.h"
#include "ops/Roll.h"
#include "ops/Scalar.h"

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

static Status runTranspose(const OpCall &Op, Context &C) {
  const Value &From = Op.Operands[0], &Result = Op.Results[0];
  std::vector<int64_t> FromStrides = getStrides(From), Strides;
  for (int64_t P : Op.Attributes->getInts("permutation"))
    Strides.push_back(FromStrides[P]);
  gather(From, Walk::strided(Result.Shape, Strides), Result, C);
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

static Status runPad(const OpCall &Op, Context &C) {
  const Value &From = Op.Operands[0], &Result = Op.Results[0];
  std::vector<int64_t> Strides = getStrides(Result);
  int64_t Base = locate(Op.Attributes->getInts("low"), Strides);
  std::memset(Result.Data, 0, Result.getBytes());
  scatter(From, Result, Walk::strided(From.Shape, Strides, Base), C);
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

//===----------------------------------------------------------------------===//
// Roll
//===----------------------------------------------------------------------===//

static Status runRoll(const OpCall &Op, Context &C) {
  const Value &From = Op.Operands[0], &Result = Op.Results[0];
  Roll R = Roll::of(From.Shape, *Op.Attributes);
  int64_t Width = static_cast<int64_t>(getByteWidth(Result.Type));
  C.forBlocks(Result.NumElements, Grain, [&](int64_t First, int64_t Last) {
    R.forRuns(First, Last - First,
              [&](int64_t Begin, int64_t Done, int64_t Run) {
                std::memcpy(Result.Data + (First + Done) * Width,
                            From.Data + Begin * Width, Run * Width);
              });
  });
  return {};
}

std::span<const HostKernel> remat::runtime::getShapeKernels() {
  static const HostKernel Kernels[] = {
      {"constant", runConstant},   {"reshape", runReshape},
      {"broadcast", runBroadcast}, {"transpose", runTranspose},
      {"slice", runSlice},         {"pad", runPad},
      {"concat", runConcat},       {"roll", runRoll},
  };
  return Kernels;
}
