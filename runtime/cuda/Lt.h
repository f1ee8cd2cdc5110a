//===- Lt.h - the interface of cuBLASLt -------------------------*- C++ -*-===//
//
// Names, types and numbers of cublasLt.h, which is not needed to build: the
// library is loaded when a program has matrix products.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CUDA_LT_H
#define REMAT_RUNTIME_CUDA_LT_H

#include "cuda/Driver.h"
#include "cuda/MatmulCache.h"
#include "remat/runtime/Program.h"
#include <cstdint>
#include <string>

namespace remat::runtime::cuda {

using LtStatus = int;
using LtHandle = struct OpaqueLt *;
using LtDesc = struct OpaqueLtDesc *;
using LtLayout = struct OpaqueLtLayout *;
using LtPreference = struct OpaqueLtPreference *;

struct LtHeuristic {
  Algorithm Value;
  size_t WorkspaceBytes;
  LtStatus State;
  float Waves;
  int Reserved[4];
};

inline constexpr int Compute32F = 68;
inline constexpr int DescTransA = 3, DescTransB = 4, DescEpilogue = 7,
                     DescBias = 8, DescBiasType = 26;
inline constexpr int LayoutBatch = 5, LayoutStride = 6;
inline constexpr int PreferWorkspace = 1, PreferReduction = 3,
                     PreferAlignmentA = 5;
inline constexpr int EpilogueBias = 4;
/// Partial products are added in f32: the result is rounded once.
inline constexpr uint32_t ReduceInComputeType = 2;
/// Numbers that an algorithm is configured by: 32 bits each, but the last one.
inline constexpr int ConfigId = 0, ConfigTile = 1, ConfigSplit = 2,
                     ConfigReduction = 3, ConfigCustom = 5;
inline constexpr int ConfigCluster = 8; ///< 16 bits
/// What it says of itself: the tiles that it has, the highest `ConfigCustom`.
inline constexpr int CapTiles = 6, CapCustomMax = 7;

struct Lt {
  LtStatus (*Create)(LtHandle *) = nullptr;
  LtStatus (*Destroy)(LtHandle) = nullptr;
  size_t (*GetVersion)() = nullptr;
  const char *(*GetStatusString)(LtStatus) = nullptr;
  LtStatus (*DescCreate)(LtDesc *, int, int) = nullptr;
  LtStatus (*DescDestroy)(LtDesc) = nullptr;
  LtStatus (*DescSet)(LtDesc, int, const void *, size_t) = nullptr;
  LtStatus (*LayoutCreate)(LtLayout *, int, uint64_t, uint64_t,
                           int64_t) = nullptr;
  LtStatus (*LayoutDestroy)(LtLayout) = nullptr;
  LtStatus (*LayoutSet)(LtLayout, int, const void *, size_t) = nullptr;
  LtStatus (*PreferenceCreate)(LtPreference *) = nullptr;
  LtStatus (*PreferenceDestroy)(LtPreference) = nullptr;
  LtStatus (*PreferenceSet)(LtPreference, int, const void *, size_t) = nullptr;
  LtStatus (*GetHeuristic)(LtHandle, LtDesc, LtLayout, LtLayout, LtLayout,
                           LtLayout, LtPreference, int, LtHeuristic *,
                           int *) = nullptr;
  LtStatus (*Check)(LtHandle, LtDesc, LtLayout, LtLayout, LtLayout, LtLayout,
                    const Algorithm *, LtHeuristic *) = nullptr;
  LtStatus (*CapGet)(const Algorithm *, int, void *, size_t,
                     size_t *) = nullptr;
  LtStatus (*ConfigGet)(const Algorithm *, int, void *, size_t,
                        size_t *) = nullptr;
  LtStatus (*ConfigSet)(Algorithm *, int, const void *, size_t) = nullptr;
  LtStatus (*Run)(LtHandle, LtDesc, const void *, const void *, LtLayout,
                  const void *, LtLayout, const void *, const void *, LtLayout,
                  void *, LtLayout, const Algorithm *, void *, size_t,
                  Stream) = nullptr;

  static Result<Lt> load();
  Status check(LtStatus S, const std::string &What) const {
    if (S == 0)
      return {};
    return Error(ErrorCode::DeviceFailure, What + ": " + GetStatusString(S));
  }
};

/// cudaDataType_t of a float type.
int getLtType(DType Type);

} // namespace remat::runtime::cuda

#endif // REMAT_RUNTIME_CUDA_LT_H
