//===- Nccl.cpp - the interface of NCCL -----------------------------------===//

#include "cuda/Nccl.h"
#include "cuda/Library.h"

using namespace remat::runtime;
using namespace remat::runtime::cuda;

Result<Nccl> Nccl::load() {
  Result<Library> From = Library::open("libnccl.so.2");
  if (!From)
    return From.getError().within("no NCCL for ops over several GPUs (the "
                                  "Python package nvidia-nccl-cu13 has it)");
  Nccl N;
  Status Bound;
  auto Bind = [&](const char *Symbol, auto *&Function) {
    if (Bound)
      Bound = bind(*From, Symbol, Function);
  };
  Bind("ncclGetUniqueId", N.GetUniqueId);
  Bind("ncclCommInitRankConfig", N.InitRank);
  Bind("ncclCommSplit", N.Split);
  Bind("ncclCommGetAsyncError", N.GetAsyncError);
  Bind("ncclCommDestroy", N.Destroy);
  Bind("ncclCommAbort", N.Abort);
  Bind("ncclGetErrorString", N.GetErrorString);
  Bind("ncclGroupStart", N.GroupStart);
  Bind("ncclGroupEnd", N.GroupEnd);
  Bind("ncclAllReduce", N.AllReduce);
  Bind("ncclReduceScatter", N.ReduceScatter);
  Bind("ncclAllGather", N.AllGather);
  Bind("ncclBroadcast", N.Broadcast);
  Bind("ncclSend", N.Send);
  Bind("ncclRecv", N.Recv);
  if (!Bound)
    return Bound.getError().within("NCCL is older than 2.18");
  return N;
}

Error Nccl::makeError(NcclCode Code, const std::string &What) const {
  return Error(ErrorCode::DeviceFailure,
               What + ": NCCL: " + GetErrorString(Code));
}

namespace {
/// Another type does not compile until it is here.
template <DType> struct NcclType;
template <> struct NcclType<DType::F32> {
  static constexpr int Value = 7;
};
template <> struct NcclType<DType::BF16> {
  static constexpr int Value = 9;
};
template <> struct NcclType<DType::F16> {
  static constexpr int Value = 6;
};
template <> struct NcclType<DType::I32> {
  static constexpr int Value = 2;
};
template <> struct NcclType<DType::I64> {
  static constexpr int Value = 4;
};
} // namespace

int remat::runtime::cuda::getNcclType(DType Type) {
  return dispatchElement(Type, [](auto Row) -> int {
    if constexpr (Row.Kind == ElementKind::Float ||
                  Row.Kind == ElementKind::Integer)
      return NcclType<Row.Type>::Value;
    else
      __builtin_unreachable(); // the signatures refuse it
  });
}
