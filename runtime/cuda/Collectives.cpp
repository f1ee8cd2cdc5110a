//===- Collectives.cpp - ops over several GPUs ----------------------------===//

#include "cuda/Collectives.h"
#include "remat/runtime/Together.h"
#include <algorithm>
#include <numeric>

using namespace remat::runtime;
using namespace remat::runtime::cuda;

using Clock = std::chrono::steady_clock;

/// Collectives that are told apart; further ones count from 1 again.
static constexpr uint32_t MostNumbers = 4096;

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

Result<std::unique_ptr<Collectives>>
Collectives::create(const Driver &D, Stream Main, Ranks &TheRanks) {
  Result<Nccl> N = Nccl::load();
  if (!N)
    return N.getError();
  std::unique_ptr<Collectives> C(new Collectives(D, *N, Main, TheRanks));
  if (Status S = C->makeStream(); !S)
    return S.getError();
  if (Status S = C->makeWorld(); !S)
    return S.getError();
  return C;
}

Status Collectives::makeStream() {
  if (Status S = D.check(D.StreamCreate(&Side, NonBlocking),
                         "cannot make a stream for collectives");
      !S)
    return S;
  void *Host = nullptr;
  if (Status S = D.check(D.MemHostAlloc(&Host, sizeof *Current, PortableHost),
                         "no page-locked memory for collectives");
      !S)
    return S;
  Current = static_cast<volatile uint32_t *>(Host);
  *Current = 0;
  std::vector<uint32_t> All(MostNumbers + 1);
  std::iota(All.begin(), All.end(), 0);
  size_t Bytes = All.size() * sizeof All[0];
  if (Status S = D.check(D.MemAlloc(&Numbers, Bytes),
                         "no GPU memory for the numbers of collectives");
      !S)
    return S;
  if (Status S = D.check(D.CopyIn(Numbers, All.data(), Bytes, Main),
                         "cannot copy to the GPU");
      !S)
    return S;
  return D.check(D.StreamSynchronize(Main), "the GPU's work failed");
}

/// Rank 0 makes the id by which all find each other.
Status Collectives::makeWorld() {
  NcclId Id;
  if (TheRanks.getRank() == 0)
    if (NcclCode Code = N.GetUniqueId(&Id))
      return fail(N.makeError(Code, "cannot begin to connect the ranks"));
  REMAT_TRY(broadcast(TheRanks, 0, &Id, sizeof Id));
  NcclConfig Config;
  NcclCode Code = N.InitRank(&World, static_cast<int>(TheRanks.getSize()), Id,
                             static_cast<int>(TheRanks.getRank()), &Config);
  return connect(World, Code, "cannot connect the ranks");
}

/// How the communicator is, or why that cannot be told.
NcclCode Collectives::ask(Communicator C) const {
  NcclCode Code = NcclSuccess;
  NcclCode Asked = N.GetAsyncError(C, &Code);
  return Asked == NcclSuccess ? Code : Asked;
}

/// Waits until all ranks have connected. On many machines, or where a tool
/// watches every call, that takes minutes, and so long PyTorch waits for NCCL
/// as well. The ranks hear from each other meanwhile, so one that is gone is
/// named within their own limit: this one is for networks that let nothing
/// through.
Status Collectives::connect(Communicator C, NcclCode Code,
                            const std::string &What) {
  constexpr Ranks::Milliseconds Patience = std::chrono::minutes(10);
  auto Limit = std::max(Patience, TheRanks.getTimeLimit());
  auto End = Clock::now() + Limit;
  Status Done = pollTogether(TheRanks, [&]() -> Result<bool> {
    if (Code == NcclInProgress)
      Code = ask(C);
    if (Code == NcclInProgress && Clock::now() >= End)
      return Error(ErrorCode::RankFailure,
                   "not done within " + formatSeconds(Limit) +
                       ", though all ranks are there\n  note: NCCL says with "
                       "NCCL_DEBUG=INFO what it waits for; NCCL_SOCKET_IFNAME "
                       "names the network that it uses");
    if (Code != NcclSuccess && Code != NcclInProgress)
      return N.makeError(Code, "not connected");
    return Code == NcclSuccess;
  });
  return Done ? Done : fail(Done.getError().within(What));
}

Collectives::~Collectives() {
  if (Side)
    D.StreamSynchronize(Side);
  for (std::thread &Abort : Aborts)
    Abort.join();
  if (!IsBroken) {
    for (auto &[Group, C] : Groups)
      if (C != World)
        N.Destroy(C);
    if (World)
      N.Destroy(World);
  }
  for (std::vector<Event> *All : {&Free, &Used})
    for (Event E : *All)
      D.EventDestroy(E);
  if (Numbers)
    D.MemFree(Numbers);
  if (Current)
    D.MemFreeHost(const_cast<uint32_t *>(Current));
  if (Side)
    D.StreamDestroy(Side);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// Ends what runs on the GPU and tells the other ranks. NCCL ends what a
/// communicator runs first, then waits for the graphs that hold it: those of
/// executables, which go later. So each is aborted beside.
Status Collectives::fail(const Error &E) {
  if (!IsBroken) {
    IsBroken = true;
    auto Abort = [&](Communicator C) { Aborts.emplace_back(N.Abort, C); };
    for (auto &[Group, C] : Groups)
      if (C != World)
        Abort(C);
    if (World)
      Abort(World);
    TheRanks.abort(E.getMessage());
  }
  return E;
}

/// Who is still there says so, which names who is not; else `Note` helps.
Status Collectives::failMissing(const std::string &What,
                                const std::string &Note) {
  Status Called = barrier(TheRanks);
  return fail(Error(ErrorCode::RankFailure,
                    What + (Called ? ", though all ranks are there" + Note
                                   : "; " + Called.getError().getMessage())));
}

/// Waits until a call that may go on in the background is done.
Status Collectives::finishCall(Communicator C, NcclCode Code,
                               const std::string &What) {
  auto End = Clock::now() + TheRanks.getTimeLimit();
  while (Code == NcclInProgress) {
    if (Clock::now() >= End)
      return fail(Error(ErrorCode::RankFailure,
                        What + " within " +
                            formatSeconds(TheRanks.getTimeLimit()) +
                            ": not all ranks came" + LateNote));
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    Code = ask(C);
  }
  if (Code != NcclSuccess)
    return fail(N.makeError(Code, What));
  return {};
}

Status Collectives::lookForErrors() {
  if (IsBroken)
    return {}; // communicators may be gone
  auto Look = [&](Communicator C) -> Status {
    NcclCode Code = ask(C);
    if (Code == NcclSuccess || Code == NcclInProgress)
      return {};
    return failMissing(N.makeError(Code, "ranks lost each other").getMessage());
  };
  REMAT_TRY(Look(World));
  for (auto &[Group, C] : Groups)
    REMAT_TRY(Look(C));
  return {};
}

/// Polls: a stream that a missing rank keeps waiting never ends by itself.
Status Collectives::wait() {
  constexpr auto Spin = std::chrono::microseconds(500);
  uint32_t Seen = 0;
  Clock::time_point Begin = Clock::now(), Since = Begin;
  while (true) {
    Code Done = D.StreamQuery(Main);
    if (Done != NotReady)
      return D.check(Done, "the GPU's work failed");
    if (Clock::now() - Begin < Spin) {
      std::this_thread::yield();
      continue;
    }
    REMAT_TRY(lookForErrors());
    uint32_t Now = *Current;
    if (Now != Seen || Now == 0) {
      Seen = Now;
      Since = Clock::now();
    } else if (Clock::now() - Since > TheRanks.getTimeLimit()) {
      std::string Where =
          Now <= Places->size() ? (*Places)[Now - 1] : "a collective";
      return failMissing(Where + ": not done within " +
                             formatSeconds(TheRanks.getTimeLimit()),
                         LateNote);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

Result<Event> Collectives::takeEvent() {
  Event E = nullptr;
  if (!Free.empty()) {
    E = Free.back();
    Free.pop_back();
  } else if (Status S =
                 D.check(D.EventCreate(&E, NoTiming), "cannot make an event");
             !S) {
    return S.getError();
  }
  Used.push_back(E);
  return E;
}

/// Lets `Later` go on only behind what is on `Earlier`.
static Status order(const Driver &D, Event E, Stream Earlier, Stream Later) {
  REMAT_TRY(D.check(D.EventRecord(E, Earlier), "cannot order two streams"));
  return D.check(D.StreamWaitEvent(Later, E, 0), "cannot order two streams");
}

static bool meet(const Collectives::Range &A, const Collectives::Range &B) {
  return (A.IsWritten || B.IsWritten) && A.Begin < B.Begin + B.Bytes &&
         B.Begin < A.Begin + A.Bytes;
}

Status Collectives::join(const std::vector<Range> &Touched) {
  auto Meets = [&](const Pending &P) {
    return std::ranges::any_of(P.Ranges, [&](const Range &A) {
      return std::ranges::any_of(Touched,
                                 [&](const Range &B) { return meet(A, B); });
    });
  };
  // The last one of them: those before it are done before it is.
  size_t Count = Running.size();
  while (Count > 0 && !Meets(Running[Count - 1]))
    --Count;
  if (Count == 0)
    return {};
  REMAT_TRY(D.check(D.StreamWaitEvent(Main, Running[Count - 1].Done, 0),
                    "cannot order two streams"));
  Running.erase(Running.begin(), Running.begin() + ptrdiff_t(Count));
  return {};
}

Status Collectives::joinAll() {
  if (!Running.empty())
    REMAT_TRY(D.check(D.StreamWaitEvent(Main, Running.back().Done, 0),
                      "cannot order two streams"));
  Running.clear();
  Free.insert(Free.end(), Used.begin(), Used.end());
  Used.clear();
  return {};
}

/// Says on the side stream which collective runs.
Status Collectives::note(uint32_t Number) {
  return D.check(D.CopyOut(const_cast<uint32_t *>(Current),
                           Numbers + Number * sizeof Number, sizeof Number,
                           Side),
                 "cannot copy from the GPU");
}

Status Collectives::run(const OpCall &Op, const std::string &Where) {
  if (IsBroken)
    return Error(ErrorCode::RankFailure, "the ranks lost each other before");
  Result<Communicator> C = getCommunicator(Op);
  if (!C)
    return C.getError();
  Result<Event> Begin = takeEvent(), End = takeEvent();
  if (!Begin || !End)
    return (Begin ? End : Begin).getError();
  auto Number = static_cast<uint32_t>(Places->size() % MostNumbers) + 1;
  Places->push_back(Where);
  REMAT_TRY(order(D, *Begin, Main, Side));
  REMAT_TRY(note(Number));
  N.GroupStart();
  NcclCode Code = enqueue(Op, *C);
  NcclCode Ended = N.GroupEnd();
  if (Code == NcclSuccess || Code == NcclInProgress)
    Code = Ended;
  REMAT_TRY(finishCall(*C, Code, "cannot begin " + std::string(Op.Name)));
  REMAT_TRY(note(0));
  REMAT_TRY(D.check(D.EventRecord(*End, Side), "cannot order two streams"));
  Pending P = {{}, *End};
  for (const Value &V : Op.Operands)
    P.Ranges.push_back({V.Data, V.getBytes(), false});
  for (const Value &V : Op.Results)
    P.Ranges.push_back({V.Data, V.getBytes(), true});
  Running.push_back(std::move(P));
  return {};
}
