//===- SessionInit.cpp - initial and random values of a session -----------===//

#include "lib/Guard.h"
#include "lib/TensorCopy.h"
#include "ops/Numeric.h"
#include "ops/Random.h"
#include "remat/runtime/Parts.h"
#include "remat/runtime/Session.h"
#include <algorithm>

using namespace remat::runtime;

/// FNV-1a (Fowler, Noll and Vo), 64 bits: the random id of a name.
static uint64_t hashName(std::string_view Name) {
  uint64_t Hash = 0xcbf29ce484222325;
  for (char C : Name)
    Hash = (Hash ^ static_cast<uint8_t>(C)) * 0x100000001b3;
  return Hash;
}

/// Elements that are made and copied at once.
static constexpr int64_t ChunkElements = 1 << 16;

/// Calls Make(first, count, elements in their computing type) chunk by chunk
/// and copies what it made to the device.
template <typename Function>
static Status fillTensor(Device &D, const Tensor &T, char *Address,
                         Function Make) {
  std::vector<uint64_t> Computed(ChunkElements), Stored(ChunkElements);
  auto *Bytes = reinterpret_cast<char *>(Stored.data());
  uint64_t Width = getByteWidth(T.Type);
  for (int64_t First = 0; First < T.NumElements; First += ChunkElements) {
    int64_t Count = std::min(ChunkElements, T.NumElements - First);
    Make(First, Count, static_cast<void *>(Computed.data()));
    storeBlock(T.Type, Bytes, 0, Count, Computed.data());
    REMAT_TRY(copyTensorIn(D, T, Address, First * Width, Bytes, Count * Width));
  }
  return {};
}

/// A number for every element, whatever the type.
static void splat(DType Type, double Number, int64_t Count, void *Out) {
  dispatchElement(Type, [&](auto Row) {
    using Element = typename decltype(Row)::Computed;
    Element Value;
    if constexpr (Row.HoldsFloats)
      Value = static_cast<Element>(Number);
    else if constexpr (Row.Kind == ElementKind::Bool)
      Value = Number != 0;
    else if constexpr (sizeof(Element) == 4)
      Value = static_cast<Element>(std::clamp(Number, -0x1p31, 0x1p31 - 1));
    else
      Value = static_cast<Element>(std::clamp(Number, -0x1p62, 0x1p62));
    std::fill_n(static_cast<Element *>(Out), Count, Value);
  });
}

/// All elements of a tensor of so many.
static Walk getWalk(int64_t NumElements) {
  const int64_t Shape[] = {NumElements};
  return Walk::broadcast(Shape, Shape);
}

/// Writes the elements that `Own` has of what one rank would hold.
static Status initialiseTensor(Device &D, const Argument &A, const Tensor &T,
                               const Part &Own, char *Address, uint64_t Seed) {
  if (A.Role == Role::Seed || A.Role == Role::Step) {
    uint64_t Number = A.Role == Role::Seed ? Seed : 0;
    return D.copyIn(Address, &Number, sizeof Number);
  }
  bool Random =
      isFloat(T.Type) && (A.InitKind == "normal" || A.InitKind == "uniform");
  double Constant = A.InitKind.empty() ? 0 : A.InitValue;
  PhiloxStream Stream(Seed, hashName(A.Name), /*Step=*/0);
  bool Normal = A.InitKind == "normal";
  auto Scale = static_cast<float>(A.InitValue);
  return fillTensor(
      D, T, Address, [&](int64_t First, int64_t Count, void *Out) {
        if (!Random)
          return splat(T.Type, Constant == Constant ? Constant : 0, Count, Out);
        auto *X = static_cast<float *>(Out);
        std::fill_n(X, Count, 0.0f);
        Own.forRuns(First, Count, [&](const Part::Run &R) {
          float *Run = X + (R.Own - First);
          drawBlock(Stream, Normal, getWalk(Own.getNumWhole()), R.Whole,
                    R.Count, Run);
          for (int64_t I = 0; I < R.Count; ++I)
            Run[I] = Scale * (Normal ? Run[I] : 2.0f * Run[I] - 1.0f);
        });
      });
}

Status Session::initialise(uint64_t Seed) {
  auto Lock = TheDevice.lock();
  return guard([&]() -> Status {
    for (size_t I = 0; I < TheProgram->Arguments.size(); ++I) {
      const Argument &A = TheProgram->Arguments[I];
      if (A.Role == Role::Input)
        continue;
      REMAT_TRY(checkWritable(A));
      REMAT_TRY(initialiseTensor(TheDevice, A, TheProgram->Tensors[A.Tensor],
                                 Part::of(*TheProgram, A, getRank()),
                                 getAddress(A.Tensor), Seed));
      Written[I] = true;
    }
    return {};
  });
}

static void drawIntegers(const PhiloxStream &Stream, DType Type, uint64_t Bound,
                         int64_t First, int64_t Count, void *Out) {
  for (int64_t I = 0; I < Count; ++I) {
    auto Words = Stream.getBlock(First + I);
    uint64_t Number = (uint64_t(Words[0]) << 32 | Words[1]) % Bound;
    dispatchElement(Type, [&](auto Row) {
      using Element = typename decltype(Row)::Computed;
      static_cast<Element *>(Out)[I] = static_cast<Element>(
          Row.Kind == ElementKind::Bool ? Number & 1 : Number);
    });
  }
}

Status Session::fillInputs(uint64_t Seed, uint64_t Draw,
                           std::span<const uint32_t> Except) {
  auto Lock = TheDevice.lock();
  return guard([&]() -> Status {
    REMAT_TRY(occupy());
    DataShare Share = getDataShare();
    for (size_t I = 0; I < TheProgram->Arguments.size(); ++I) {
      const Argument &A = TheProgram->Arguments[I];
      if (A.Role != Role::Input ||
          std::find(Except.begin(), Except.end(), I) != Except.end())
        continue;
      const Tensor &T = TheProgram->Tensors[A.Tensor];
      PhiloxStream Stream(Seed, hashName(A.Name), Draw);
      auto Bound = static_cast<uint64_t>(A.Bound ? A.Bound : 2);
      // One process that has all shares has them one behind the other.
      auto Begin = static_cast<int64_t>(Share.Number) * T.NumElements;
      Walk All = getWalk(static_cast<int64_t>(Share.Count) * T.NumElements);
      auto Make = [&](int64_t Own, int64_t Count, void *Out) {
        int64_t First = Begin + Own;
        if (holdsFloats(T.Type))
          drawBlock(Stream, /*Normal=*/true, All, First, Count,
                    static_cast<float *>(Out));
        else
          drawIntegers(Stream, T.Type, Bound, First, Count, Out);
      };
      REMAT_TRY(fillTensor(TheDevice, T, getAddress(A.Tensor), Make));
      Written[I] = true;
    }
    return {};
  });
}
