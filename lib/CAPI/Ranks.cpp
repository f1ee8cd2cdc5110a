//===- Ranks.cpp - processes that run one program -------------------------===//

#include "Ranks.h"
#include "Session.h"
#include "remat/Driver/FreeMemory.h"
#include "remat/runtime/Machine.h"
#include <array>
#include <cstring>

using namespace remat;
using namespace remat::capi;

namespace {

/// Ranks that talk through functions of the caller's.
class CallbackRanks : public runtime::Ranks {
public:
  explicit CallbackRanks(const RematRanksCallbacks &Calls)
      : Ranks(Calls.rank, Calls.size, Calls.local_rank), Calls(Calls) {}

private:
  runtime::Status run(std::span<const runtime::Send> Sends,
                      std::span<const runtime::Receive> Receives) override;
  void tell(const std::string &Message) override {
    Calls.tell(Calls.context, Message.c_str());
  }

  RematRanksCallbacks Calls;
};

} // namespace

runtime::Status CallbackRanks::run(std::span<const runtime::Send> Sends,
                                   std::span<const runtime::Receive> Receives) {
  std::vector<RematMessage> Out, In;
  for (const runtime::Send &S : Sends)
    Out.push_back({S.Peer, const_cast<void *>(S.Data), size_t(S.Bytes)});
  for (const runtime::Receive &R : Receives)
    In.push_back({R.Peer, R.Data, size_t(R.Bytes)});
  std::array<char, 512> Text = {};
  if (!Calls.exchange(Calls.context, Out.data(), Out.size(), In.data(),
                      In.size(), uint64_t(getTimeLimit().count()), Text.data(),
                      Text.size() - 1))
    return {};
  return runtime::Error(runtime::ErrorCode::Unavailable,
                        std::string(Text.data()));
}

RematStatus rematRanksCreate(const RematRanksCallbacks *Calls,
                             RematRanks *Ranks) {
  return guard([&]() -> RematStatus {
    if (!Calls || !Ranks || !Calls->exchange || !Calls->tell)
      return makeNullError("callbacks, exchange, tell and ranks");
    *Ranks = nullptr;
    if (Calls->rank >= Calls->size || Calls->local_rank >= Calls->size)
      return makeStatus(REMAT_ERROR, "rank " + std::to_string(Calls->rank) +
                                         ", on its machine " +
                                         std::to_string(Calls->local_rank) +
                                         ", is none of " +
                                         std::to_string(Calls->size));
    *Ranks = new RematRanks_{std::make_shared<CallbackRanks>(*Calls)};
    return nullptr;
  });
}

RematStatus rematRanksStart(const char *Device, RematRanks *Ranks) {
  return guard([&]() -> RematStatus {
    if (!Device || !Ranks)
      return makeNullError("device and ranks");
    *Ranks = nullptr;
    auto Made = runtime::createRanks(Device);
    if (!Made)
      return makeStatus(Made.getError());
    if (*Made)
      *Ranks = new RematRanks_{std::move(*Made)};
    return nullptr;
  });
}

uint32_t rematRanksGetRank(RematRanks Ranks) {
  return Ranks ? Ranks->Ranks->getRank() : 0;
}

uint32_t rematRanksGetSize(RematRanks Ranks) {
  return Ranks ? Ranks->Ranks->getSize() : 1;
}

RematStatus rematRanksSetTimeLimit(RematRanks Ranks, uint64_t Milliseconds) {
  return guard([&]() -> RematStatus {
    if (!Ranks)
      return makeNullError("ranks");
    auto Least = uint64_t(runtime::Ranks::LeastTimeLimit.count());
    auto Most = uint64_t(runtime::Ranks::MostTimeLimit.count());
    if (Milliseconds < Least || Milliseconds > Most)
      return makeStatus(REMAT_ERROR, "a time limit of ranks is from " +
                                         std::to_string(Least) + " to " +
                                         std::to_string(Most) +
                                         " milliseconds, given was " +
                                         std::to_string(Milliseconds));
    Ranks->Ranks->setTimeLimit(
        runtime::Ranks::Milliseconds(int64_t(Milliseconds)));
    return nullptr;
  });
}

RematStatus rematRanksFindMaxBudget(RematRanks Ranks, const char *Device,
                                    uint64_t *Bytes) {
  return guard([&]() -> RematStatus {
    if (!Device || !Bytes)
      return makeNullError("device and bytes");
    auto Found = findMaxBudget(Device, Ranks ? Ranks->Ranks.get() : nullptr);
    if (!Found)
      return makeStatus(Found.getError());
    *Bytes = static_cast<uint64_t>(Found->Bytes);
    return nullptr;
  });
}

void rematRanksDestroy(RematRanks Ranks) { delete Ranks; }

RematStatus rematDeviceCreateOnRanks(const char *Name, unsigned Threads,
                                     RematRanks Ranks, RematDevice *Device) {
  runtime::DeviceOptions Options;
  Options.Threads = Threads;
  if (Ranks) {
    auto Share = runtime::shareMachine(Ranks->Ranks.get());
    if (!Share)
      return makeStatus(Share.getError());
    if (!Threads)
      Options.Threads = Share->NumProcessors;
    Options.TheRanks = Ranks->Ranks;
    Options.Ordinal = int(Ranks->Ranks->getLocalRank());
  }
  return createDevice(Name, Options, Device);
}

//===----------------------------------------------------------------------===//
// Whole tensors
//===----------------------------------------------------------------------===//

/// An error unless argument `Name` is there and as a whole of that size.
static runtime::Status checkWhole(const runtime::Program &P, const char *Name,
                                  size_t Bytes) {
  using runtime::Error, runtime::ErrorCode;
  std::optional<uint32_t> Number = P.findArgument(Name);
  if (!Number)
    return Error(ErrorCode::InvalidArgument,
                 std::string("there is no argument '") + Name + "'");
  const runtime::Argument &A = P.Arguments[*Number];
  const runtime::Tensor &T = P.Tensors[A.Tensor];
  uint64_t Whole = T.Bytes;
  if (!A.Cuts.empty()) {
    Whole = T.Bytes / uint64_t(T.NumElements);
    for (int64_t Size : A.Whole)
      Whole *= uint64_t(Size);
  }
  if (Whole == Bytes)
    return {};
  return Error(ErrorCode::InvalidArgument,
               std::string("argument '") + Name + "' has " +
                   std::to_string(Whole) + " bytes as a whole, given were " +
                   std::to_string(Bytes));
}

RematStatus rematSessionWriteWhole(RematSession Session, const char *Name,
                                   const void *Data, size_t Bytes) {
  return use(
      Session, Name && Data, "session, name and data",
      [&](runtime::Session &S) -> runtime::Status {
        if (runtime::Status Fits = checkWhole(S.getProgram(), Name, Bytes);
            !Fits)
          return Fits;
        return S.loadWhole(
            Name, [&](uint64_t Offset, void *To, uint64_t Count) {
              std::memcpy(To, static_cast<const char *>(Data) + Offset, Count);
              return runtime::Status();
            });
      });
}

runtime::Status capi::readWhole(runtime::Session &S, const char *Name,
                                void *Data, size_t Bytes) {
  if (runtime::Status Fits = checkWhole(S.getProgram(), Name, Bytes); !Fits)
    return Fits;
  char *To = static_cast<char *>(Data);
  runtime::Status Stored =
      S.storeWhole(Name, [&](const void *From, uint64_t Count) {
        std::memcpy(To, From, Count);
        To += Count;
        return runtime::Status();
      });
  runtime::Ranks *Ranks = S.getDevice().getRanks();
  if (!Stored || !Ranks)
    return Stored;
  return runtime::broadcast(*Ranks, 0, Data, Bytes);
}

RematStatus rematSessionReadWhole(RematSession Session, const char *Name,
                                  void *Data, size_t Bytes) {
  return use(
      Session, Name && Data, "session, name and data",
      [&](runtime::Session &S) { return readWhole(S, Name, Data, Bytes); });
}
