//===- DLPack.h - the binary interface of DLPack ----------------*- C++ -*-===//
//
// The structures that libraries hand tensors to each other with, as version
// 1.1 of https://github.com/dmlc/dlpack lays them out; Debian 12 has no package
// of it. Only what is exported here has names.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CAPI_DLPACK_H
#define REMAT_LIB_CAPI_DLPACK_H

#include <cstdint>

namespace remat::capi::dlpack {

enum DeviceType : int32_t { CPU = 1, CUDA = 2 };

struct Device {
  DeviceType Type = CPU;
  int32_t Ordinal = 0;
};

enum TypeCode : uint8_t {
  Int = 0,
  Float = 2,
  BFloat = 4,
  Bool = 6,
  Float8E4M3FN = 10
};

struct DataType {
  uint8_t Code;
  uint8_t Bits;
  uint16_t Lanes;
};

struct Tensor {
  void *Data;
  struct Device Device;
  int32_t Rank;
  DataType Type;
  int64_t *Shape;
  int64_t *Strides; ///< in elements
  uint64_t ByteOffset;
};

/// Without a version: what was there before 1.0.
struct Managed {
  struct Tensor Tensor;
  void *Context;
  void (*Delete)(Managed *);
};

enum Flags : uint64_t { ReadOnly = 1, IsCopied = 2 };

struct ManagedVersioned {
  struct {
    uint32_t Major, Minor;
  } Version;
  void *Context;
  void (*Delete)(ManagedVersioned *);
  uint64_t Flags;
  struct Tensor Tensor;
};

static_assert(sizeof(Tensor) == 48 && sizeof(Managed) == 64 &&
                  sizeof(ManagedVersioned) == 80,
              "laid out as in dlpack.h");

} // namespace remat::capi::dlpack

#endif // REMAT_LIB_CAPI_DLPACK_H
