//===- ElementTypes.h - the element types of tensors ------------*- C++ -*-===//
//
// One row a type; everything that must know an element type is made of the
// rows, so that it knows a new one or does not compile. Compiler, runtime and
// the check of the program format include this and nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_SUPPORT_ELEMENTTYPES_H
#define REMAT_SUPPORT_ELEMENTTYPES_H

#include <cstdint>
#include <string_view>
#include <type_traits>

// A switch over the types that lacks one does not compile.
#pragma GCC diagnostic error "-Wswitch"

/// ROW(Name, Text, Kind, Stored, Computed, Sum): the name, as text, what kind
/// of numbers it has, and the C++ types that the host stores one element as,
/// computes with, and makes sums of many in. The order is that of the program
/// format's enum; a new row comes last.
#define REMAT_ELEMENT_TYPES(ROW)                                               \
  ROW(F32, "f32", Float, float, float, double)                                 \
  ROW(BF16, "bf16", Float, BFloat16, float, double)                            \
  ROW(F16, "f16", Float, Float16, float, double)                               \
  ROW(I32, "i32", Integer, int32_t, int32_t, uint64_t)                         \
  ROW(I64, "i64", Integer, int64_t, int64_t, uint64_t)                         \
  ROW(I1, "i1", Bool, uint8_t, uint8_t, uint64_t)                              \
  ROW(F8E4M3FN, "f8E4M3FN", Storage, Float8E4M3FN, float, double)

namespace remat {

struct BFloat16 {
  uint16_t Bits;
};
struct Float16 {
  uint16_t Bits;
};
/// Four bits of exponent, three of mantissa, no infinity: OCP's 8-bit E4M3.
struct Float8E4M3FN {
  uint8_t Bits;
};

enum class ElementType : uint8_t {
#define REMAT_ROW(Name, Text, Kind, Stored, Computed, Sum) Name,
  REMAT_ELEMENT_TYPES(REMAT_ROW)
#undef REMAT_ROW
};

/// Storage is floats that nothing computes with: they are cast and copied.
enum class ElementKind : uint8_t { Float, Integer, Bool, Storage };

/// A row as types and constants.
// NOLINTBEGIN(bugprone-macro-parentheses): types, and terms of a sum.
template <ElementType> struct ElementRow;
#define REMAT_ROW(TheName, TheText, TheKind, TheStored, TheComputed, TheSum)   \
  template <> struct ElementRow<ElementType::TheName> {                        \
    using Stored = TheStored;                                                  \
    using Computed = TheComputed;                                              \
    using Sum = TheSum;                                                        \
    static constexpr ElementType Type = ElementType::TheName;                  \
    static constexpr ElementKind Kind = ElementKind::TheKind;                  \
    static constexpr bool IsFloat = Kind == ElementKind::Float;                \
    /* Stored as some float, and a float once loaded. */                       \
    static constexpr bool HoldsFloats =                                        \
        IsFloat || Kind == ElementKind::Storage;                               \
    static constexpr std::string_view Text = TheText;                          \
  };
REMAT_ELEMENT_TYPES(REMAT_ROW)
#undef REMAT_ROW

#define REMAT_ROW(Name, Text, Kind, Stored, Computed, Sum) +1
inline constexpr unsigned NumElementTypes = 0 REMAT_ELEMENT_TYPES(REMAT_ROW);
#undef REMAT_ROW
// NOLINTEND(bugprone-macro-parentheses)

/// Whether a number read from somewhere is one of the types.
constexpr bool isKnown(ElementType Type) {
  return static_cast<unsigned>(Type) < NumElementTypes;
}

/// Calls `F` with the row of a known type. All calls give the same type.
template <typename Function>
constexpr decltype(auto) dispatchElement(ElementType Type, Function &&F) {
  switch (Type) {
#define REMAT_ROW(Name, Text, Kind, Stored, Computed, Sum)                     \
  case ElementType::Name:                                                      \
    return F(ElementRow<ElementType::Name>());
    REMAT_ELEMENT_TYPES(REMAT_ROW)
#undef REMAT_ROW
  }
  __builtin_unreachable();
}

/// "f32", "bf16", ...
constexpr std::string_view getName(ElementType Type) {
  return dispatchElement(Type,
                         [](auto Row) -> std::string_view { return Row.Text; });
}
/// Bytes of one element; an i1 takes a byte that is 0 or 1.
constexpr uint64_t getByteWidth(ElementType Type) {
  return dispatchElement(Type, [](auto Row) -> uint64_t {
    return sizeof(typename decltype(Row)::Stored);
  });
}
constexpr ElementKind getKind(ElementType Type) {
  return dispatchElement(Type, [](auto Row) { return Row.Kind; });
}
constexpr bool isFloat(ElementType Type) {
  return getKind(Type) == ElementKind::Float;
}
constexpr bool holdsFloats(ElementType Type) {
  return dispatchElement(Type, [](auto Row) { return Row.HoldsFloats; });
}
constexpr bool isInteger(ElementType Type) {
  return getKind(Type) == ElementKind::Integer;
}

} // namespace remat

#endif // REMAT_SUPPORT_ELEMENTTYPES_H
