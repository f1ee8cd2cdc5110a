//===- ArrayTypes.cpp - elements of array files ---------------------------===//

#include "lib/Data/ArrayTypes.h"
#include "ops/Numeric.h"
#include "ops/Op.h"
#include <iterator>
#include <limits>

using namespace remat;
using namespace remat::runtime;

static constexpr ArrayTypeInfo Infos[] = {
#define REMAT_ROW(Name, Text, Npy, Width, Bits) {Text, Npy, Width, Bits},
    REMAT_ARRAY_TYPES(REMAT_ROW)
#undef REMAT_ROW
};

const ArrayTypeInfo &remat::runtime::getInfo(ArrayType Type) {
  return Infos[static_cast<size_t>(Type)];
}

std::optional<ArrayType> remat::runtime::findNpyType(std::string_view Text) {
  for (size_t I = 0; I < std::size(Infos); ++I)
    if (!Text.empty() && Infos[I].Npy == Text)
      return static_cast<ArrayType>(I);
  return std::nullopt;
}

ArrayType remat::runtime::toArrayType(DType Type) {
  switch (Type) {
  case DType::F32:
    return ArrayType::F32;
  case DType::BF16:
    return ArrayType::BF16;
  case DType::F16:
    return ArrayType::F16;
  case DType::I32:
    return ArrayType::I32;
  case DType::I64:
    return ArrayType::I64;
  case DType::I1:
    return ArrayType::Bool;
  case DType::F8E4M3FN:
    return ArrayType::F8E4M3FN;
  }
  __builtin_unreachable();
}

//===----------------------------------------------------------------------===//
// Which conversions there are
//===----------------------------------------------------------------------===//

/// Bits of the integers that a float type holds all of.
static unsigned getIntegerBits(DType Type) {
  switch (Type) {
  case DType::F32:
    return std::numeric_limits<float>::digits;
  case DType::F16:
    return 11;
  case DType::BF16:
    return 8;
  default:
    return 0;
  }
}

std::optional<std::string> remat::runtime::explainConversion(ArrayType From,
                                                             DType To) {
  const ArrayTypeInfo &Info = getInfo(From);
  bool IsInteger = Info.Bits > 0;
  if (From == toArrayType(To) || (IsInteger && remat::isInteger(To)) ||
      (IsInteger && Info.Bits <= getIntegerBits(To)))
    return std::nullopt;
  bool IsNarrowFloat = From == ArrayType::F16 || From == ArrayType::BF16;
  if (IsNarrowFloat && To == DType::F32)
    return std::nullopt;
  return std::string(Info.Text) + " does not become " +
         std::string(getName(To)) +
         " without loss; convert the array with NumPy's astype";
}

//===----------------------------------------------------------------------===//
// Converting
//===----------------------------------------------------------------------===//

/// Elements that are converted at once, by way of the stack.
static constexpr uint64_t BlockElements = 1024;

template <typename Stored>
static void widenIntegers(const char *From, uint64_t Count, int64_t *To) {
  for (uint64_t I = 0; I < Count; ++I) {
    Stored One;
    std::memcpy(&One, From + I * sizeof One, sizeof One);
    To[I] = One; // NOLINT(bugprone-signed-char-misuse): int8 is a number
  }
}

static void loadIntegers(ArrayType Type, const char *From, uint64_t Count,
                         int64_t *To) {
  switch (Type) {
  case ArrayType::Bool:
  case ArrayType::U8:
    return widenIntegers<uint8_t>(From, Count, To);
  case ArrayType::I8:
    return widenIntegers<int8_t>(From, Count, To);
  case ArrayType::U16:
    return widenIntegers<uint16_t>(From, Count, To);
  case ArrayType::I16:
    return widenIntegers<int16_t>(From, Count, To);
  case ArrayType::U32:
    return widenIntegers<uint32_t>(From, Count, To);
  case ArrayType::I32:
    return widenIntegers<int32_t>(From, Count, To);
  default:
    return widenIntegers<int64_t>(From, Count, To);
  }
}

/// Whether the type holds each number, and the bound, where there is one, is
/// above it. A negative one may say that a place is left out.
static Status checkIntegers(ArrayType FromType, DType ToType, int64_t Bound,
                            const int64_t *Numbers, uint64_t Count,
                            uint64_t First) {
  auto Fail = [&](uint64_t I, const std::string &Why) {
    return Error(ErrorCode::InvalidData, std::to_string(Numbers[I]) +
                                             " at element " +
                                             std::to_string(First + I) + Why);
  };
  bool IsNarrow = ToType == DType::I32;
  bool IsBool = FromType == ArrayType::Bool;
  for (uint64_t I = 0; I < Count; ++I) {
    if (IsBool && (Numbers[I] < 0 || Numbers[I] > 1))
      return Fail(I, " is neither true nor false");
    if (IsNarrow && Numbers[I] != static_cast<int32_t>(Numbers[I]))
      return Fail(I, " does not fit i32");
    if (Bound > 0 && Numbers[I] >= Bound)
      return Fail(I, " is not below " + std::to_string(Bound));
  }
  return {};
}

static void storeIntegers(const int64_t *Numbers, uint64_t Count, DType Type,
                          char *To) {
  dispatchElement(Type, [&](auto Row) {
    using Stored = typename decltype(Row)::Stored;
    auto *Out = reinterpret_cast<Stored *>(To);
    for (uint64_t I = 0; I < Count; ++I)
      if constexpr (Row.HoldsFloats)
        Out[I] = narrow<Stored>(static_cast<float>(Numbers[I]));
      else
        Out[I] = static_cast<Stored>(Numbers[I]);
  });
}

static void widenFloats(ArrayType FromType, const char *From, char *To,
                        uint64_t Count) {
  DType Type = FromType == ArrayType::F16 ? DType::F16 : DType::BF16;
  loadFloats(Type, From, 0, static_cast<int64_t>(Count),
             reinterpret_cast<float *>(To));
}

Status remat::runtime::convertElements(ArrayType FromType, const char *From,
                                       DType ToType, char *To, uint64_t Count,
                                       int64_t Bound) {
  const ArrayTypeInfo &Info = getInfo(FromType);
  if (Info.Bits == 0) {
    if (FromType == toArrayType(ToType))
      std::memcpy(To, From, Count * Info.Width);
    else
      widenFloats(FromType, From, To, Count);
    return {};
  }
  int64_t Numbers[BlockElements];
  for (uint64_t At = 0; At < Count; At += BlockElements) {
    uint64_t Size = std::min(BlockElements, Count - At);
    loadIntegers(FromType, From + At * Info.Width, Size, Numbers);
    REMAT_TRY(checkIntegers(FromType, ToType, Bound, Numbers, Size, At));
    storeIntegers(Numbers, Size, ToType, To + At * getByteWidth(ToType));
  }
  return {};
}
