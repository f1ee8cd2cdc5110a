//===- Nccl.h - the interface of NCCL ---------------------------*- C++ -*-===//
//
// Names, types and numbers of nccl.h, which is not needed to build: the library
// is loaded when a program has ops over several ranks.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CUDA_NCCL_H
#define REMAT_RUNTIME_CUDA_NCCL_H

#include "cuda/Driver.h"
#include "remat/runtime/Program.h"
#include <climits>

namespace remat::runtime::cuda {

using NcclCode = int;
using Communicator = struct OpaqueCommunicator *;

inline constexpr NcclCode NcclSuccess = 0, NcclInProgress = 7;
inline constexpr int NcclSum = 0, NcclMax = 2;
inline constexpr int NcclBytes = 1; ///< the type of what is only moved

struct NcclId {
  char Bytes[128] = {};
};

/// As of NCCL 2.18, which later ones take.
struct NcclConfig {
  size_t Size = sizeof(NcclConfig);
  unsigned Magic = 0xcafebeef, Version = 21800;
  int Blocking = 0; ///< calls give NcclInProgress, so that no wait is endless
  int ClusterSize = INT_MIN, LeastBlocks = INT_MIN, MostBlocks = INT_MIN;
  const char *Network = nullptr;
  int SplitShare = INT_MIN;
};

struct Nccl {
  NcclCode (*GetUniqueId)(NcclId *) = nullptr;
  NcclCode (*InitRank)(Communicator *, int Size, NcclId, int Rank,
                       NcclConfig *) = nullptr;
  NcclCode (*Split)(Communicator, int Color, int Key, Communicator *,
                    NcclConfig *) = nullptr;
  NcclCode (*GetAsyncError)(Communicator, NcclCode *) = nullptr;
  NcclCode (*Destroy)(Communicator) = nullptr;
  NcclCode (*Abort)(Communicator) = nullptr;
  const char *(*GetErrorString)(NcclCode) = nullptr;
  NcclCode (*GroupStart)() = nullptr;
  NcclCode (*GroupEnd)() = nullptr;
  NcclCode (*AllReduce)(const void *, void *, size_t, int Type, int Kind,
                        Communicator, Stream) = nullptr;
  NcclCode (*ReduceScatter)(const void *, void *, size_t, int Type, int Kind,
                            Communicator, Stream) = nullptr;
  NcclCode (*AllGather)(const void *, void *, size_t, int Type, Communicator,
                        Stream) = nullptr;
  NcclCode (*Broadcast)(const void *, void *, size_t, int Type, int Root,
                        Communicator, Stream) = nullptr;
  NcclCode (*Send)(const void *, size_t, int Type, int Peer, Communicator,
                   Stream) = nullptr;
  NcclCode (*Recv)(void *, size_t, int Type, int Peer, Communicator,
                   Stream) = nullptr;

  static Result<Nccl> load();
  Error makeError(NcclCode Code, const std::string &What) const;
};

/// ncclDataType_t of a type that has sums.
int getNcclType(DType Type);

} // namespace remat::runtime::cuda

#endif // REMAT_RUNTIME_CUDA_NCCL_H
