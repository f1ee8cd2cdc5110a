//===- ArrayTypes.h - elements of array files -------------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_LIB_DATA_ARRAYTYPES_H
#define REMAT_RUNTIME_LIB_DATA_ARRAYTYPES_H

#include "remat/runtime/Program.h"
#include "remat/runtime/Result.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace remat::runtime {

/// ROW(Name, Text, Npy, Width, Bits): the name, as NumPy has it, as the header
/// of a .npy file has it, bytes of an element, and how many bits hold any
/// integer of the type; 0 for floats.
#define REMAT_ARRAY_TYPES(ROW)                                                 \
  ROW(Bool, "bool", "|b1", 1, 1)                                               \
  ROW(U8, "uint8", "|u1", 1, 8)                                                \
  ROW(I8, "int8", "|i1", 1, 7)                                                 \
  ROW(U16, "uint16", "<u2", 2, 16)                                             \
  ROW(I16, "int16", "<i2", 2, 15)                                              \
  ROW(U32, "uint32", "<u4", 4, 32)                                             \
  ROW(I32, "int32", "<i4", 4, 31)                                              \
  ROW(I64, "int64", "<i8", 8, 63)                                              \
  ROW(F16, "float16", "<f2", 2, 0)                                             \
  ROW(F32, "float32", "<f4", 4, 0)                                             \
  ROW(F64, "float64", "<f8", 8, 0)                                             \
  ROW(BF16, "bfloat16", "", 2, 0)                                              \
  ROW(F8E4M3FN, "float8_e4m3fn", "", 1, 0)

enum class ArrayType : uint8_t {
#define REMAT_ROW(Name, Text, Npy, Width, Bits) Name,
  REMAT_ARRAY_TYPES(REMAT_ROW)
#undef REMAT_ROW
};

struct ArrayTypeInfo {
  std::string_view Text, Npy;
  unsigned Width, Bits;
};

const ArrayTypeInfo &getInfo(ArrayType Type);
/// The type that a .npy file names so.
std::optional<ArrayType> findNpyType(std::string_view Text);
/// The type of an array in a weight file.
ArrayType toArrayType(DType Type);

/// Why elements of one type are not made into those of another, or nothing:
/// every number must stay what it is. Integers become narrower ones where the
/// very number fits, which `convertElements` finds out.
std::optional<std::string> explainConversion(ArrayType From, DType To);

/// Converts `Count` elements of types that can be. InvalidData, with the
/// number of the element, where one does not fit, or is not below `Bound` (0:
/// not compared).
Status convertElements(ArrayType FromType, const char *From, DType ToType,
                       char *To, uint64_t Count, int64_t Bound);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_LIB_DATA_ARRAYTYPES_H
