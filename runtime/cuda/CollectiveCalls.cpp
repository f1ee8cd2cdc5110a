//===- CollectiveCalls.cpp - the calls of NCCL that ops are ---------------===//

#include "cuda/Collectives.h"
#include "ops/Collective.h"
#include <numeric>

using namespace remat::runtime;
using namespace remat::runtime::cuda;

static Address toAddress(const void *Pointer) {
  return reinterpret_cast<Address>(Pointer);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static std::span<const int64_t> getGroup(const OpCall &Op) {
  return Op.Attributes->getInts("group");
}

Result<Communicator> Collectives::getCommunicator(const OpCall &Op) {
  std::span<const int64_t> Group = getGroup(Op);
  auto Found = Groups.find({Group.begin(), Group.end()});
  if (Found == Groups.end())
    return Error(ErrorCode::DeviceFailure, "the group was not made ready");
  return Found->second;
}

Status Collectives::prepare(const OpCall &Op) {
  // A call of NCCL a row; it keeps a list of them.
  constexpr int64_t MostRows = 1 << 14;
  bool IsGather = Op.Name == "all_gather";
  if (IsGather || Op.Name == "reduce_scatter")
    for (size_t I = 0; I < Op.Operands.size(); ++I) {
      const Value &Whole = IsGather ? Op.Results[I] : Op.Operands[I];
      int64_t Rows =
          getPartLayout(Whole, Op.Attributes->getInt("dim", 0), 1).Outer;
      if (Rows > MostRows)
        return Error(
            ErrorCode::Unavailable,
            "cuts a tensor of shape " + formatShape(Whole.Shape) + " in " +
                std::to_string(Rows) + " rows, NCCL is given at most " +
                std::to_string(MostRows) + "; cut the first dimension");
    }
  std::span<const int64_t> Group = getGroup(Op);
  std::vector<int64_t> Key(Group.begin(), Group.end());
  if (Groups.contains(Key))
    return {};
  std::vector<int64_t> Members = getMembers(Group, TheRanks.getRank());
  if (Members.size() == TheRanks.getSize()) {
    Groups[Key] = World;
    return {};
  }
  Communicator C = nullptr;
  NcclCode Code = N.Split(World, static_cast<int>(Members[0]),
                          static_cast<int>(TheRanks.getRank()), &C, nullptr);
  REMAT_TRY(connect(World, Code, "cannot connect a group of ranks"));
  Groups[Key] = C;
  return connect(C, NcclInProgress, "cannot connect a group of ranks");
}

NcclCode Collectives::enqueue(const OpCall &Op, Communicator C) {
  if (Op.Name == "all_to_all")
    return enqueueAllToAll(Op, C);
  if (Op.Name == "collective_permute")
    return enqueuePermute(Op, C);
  int Kind = Op.Attributes->getText("kind") == "max" ? NcclMax : NcclSum;
  int64_t Parts = countRanks(getGroup(Op));
  int64_t Dim = Op.Attributes->getInt("dim", 0);
  NcclCode Code = NcclSuccess;
  auto Take = [&](NcclCode New) {
    if (Code == NcclSuccess)
      Code = New;
  };
  for (size_t I = 0; I < Op.Operands.size(); ++I) {
    const Value &X = Op.Operands[I], &Y = Op.Results[I];
    if (Op.Name == "all_reduce") {
      Take(N.AllReduce(X.Data, Y.Data, size_t(X.NumElements),
                       getNcclType(X.Type), Kind, C, Side));
    } else if (Op.Name == "collective_broadcast") {
      Take(N.Broadcast(X.Data, Y.Data, X.getBytes(), NcclBytes,
                       static_cast<int>(Op.Attributes->getInt("root", 0)), C,
                       Side));
    } else if (Op.Name == "all_gather") {
      PartLayout L = getPartLayout(Y, Dim, Parts);
      for (int64_t Row = 0; Row < L.Outer; ++Row)
        Take(N.AllGather(X.Data + Row * L.Inner, Y.Data + Row * L.Inner * Parts,
                         size_t(L.Inner), NcclBytes, C, Side));
    } else if (Op.Name == "reduce_scatter") {
      PartLayout L = getPartLayout(X, Dim, Parts);
      for (int64_t Row = 0; Row < L.Outer; ++Row)
        Take(N.ReduceScatter(X.Data + Row * L.Inner * Parts,
                             Y.Data + Row * L.Inner,
                             size_t(L.Inner) / getByteWidth(X.Type),
                             getNcclType(X.Type), Kind, C, Side));
    }
  }
  return Code;
}

/// Part q of the operand goes to rank q, in runs that lie together in the
/// operand and in the result.
NcclCode Collectives::enqueueAllToAll(const OpCall &Op, Communicator C) {
  const Value &X = Op.Operands[0], &Y = Op.Results[0];
  int64_t Parts = countRanks(getGroup(Op));
  PartLayout From =
      getPartLayout(X, Op.Attributes->getInt("split_dim", 0), Parts);
  PartLayout To =
      getPartLayout(Y, Op.Attributes->getInt("concat_dim", 0), Parts);
  int64_t Run = std::gcd(From.Inner, To.Inner);
  auto Locate = [&](const PartLayout &L, int64_t Part, int64_t At) {
    return (At / L.Inner * Parts + Part) * L.Inner + At % L.Inner;
  };
  NcclCode Code = NcclSuccess;
  for (int64_t Part = 0; Part < Parts; ++Part)
    for (int64_t At = 0; At < From.Outer * From.Inner && !Code; At += Run) {
      Code = N.Send(X.Data + Locate(From, Part, At), size_t(Run), NcclBytes,
                    int(Part), C, Side);
      if (!Code)
        Code = N.Recv(Y.Data + Locate(To, Part, At), size_t(Run), NcclBytes,
                      int(Part), C, Side);
    }
  return Code;
}

/// A rank that no pair sends to gets zeros.
NcclCode Collectives::enqueuePermute(const OpCall &Op, Communicator C) {
  const Value &X = Op.Operands[0], &Y = Op.Results[0];
  int64_t Own = getPosition(getGroup(Op), TheRanks.getRank());
  std::span<const int64_t> Pairs = Op.Attributes->getInts("pairs");
  NcclCode Code = NcclSuccess;
  bool IsTarget = false;
  for (size_t I = 0; I < Pairs.size() && !Code; I += 2) {
    if (Pairs[I] == Own)
      Code =
          N.Send(X.Data, X.getBytes(), NcclBytes, int(Pairs[I + 1]), C, Side);
    if (Pairs[I + 1] != Own || Code)
      continue;
    Code = N.Recv(Y.Data, Y.getBytes(), NcclBytes, int(Pairs[I]), C, Side);
    IsTarget = true;
  }
  constexpr NcclCode UnhandledCudaError = 1;
  if (!IsTarget && D.Fill(toAddress(Y.Data), 0, Y.getBytes(), Side) != Success)
    return UnhandledCudaError;
  return Code;
}

//===----------------------------------------------------------------------===//
// What a rank does alone
//===----------------------------------------------------------------------===//

bool remat::runtime::cuda::isLocal(const OpCall &Op) {
  return Op.Name == "rank_part" || Op.Name == "rank_index" ||
         countRanks(getGroup(Op)) == 1;
}

Status remat::runtime::cuda::runLocal(const OpCall &Op, const Driver &D,
                                      Stream S, int64_t Rank) {
  int64_t Own = getPosition(getGroup(Op), Rank);
  const char *Failed = "cannot write on the GPU";
  if (Op.Name == "rank_index") {
    for (int Byte = 0; Byte < 8; ++Byte)
      REMAT_TRY(D.check(D.Fill(toAddress(Op.Results[0].Data + Byte),
                               static_cast<uint8_t>(Own >> (8 * Byte)), 1, S),
                        Failed));
    return {};
  }
  if (Op.Name == "collective_permute" &&
      Op.Attributes->getInts("pairs").empty())
    return D.check(
        D.Fill(toAddress(Op.Results[0].Data), 0, Op.Results[0].getBytes(), S),
        Failed);
  for (size_t I = 0; I < Op.Operands.size(); ++I) {
    const Value &X = Op.Operands[I], &Y = Op.Results[I];
    int64_t Parts = Op.Name == "rank_part" ? countRanks(getGroup(Op)) : 1;
    PartLayout L = getPartLayout(X, Op.Attributes->getInt("dim", 0), Parts);
    if (Parts == 1)
      L = {1, static_cast<int64_t>(X.getBytes())};
    for (int64_t Row = 0; Row < L.Outer && X.Data != Y.Data; ++Row)
      REMAT_TRY(D.check(
          D.CopyWithin(toAddress(Y.Data + Row * L.Inner),
                       toAddress(X.Data + (Row * Parts + Own) * L.Inner),
                       size_t(L.Inner), S),
          Failed));
  }
  return {};
}
