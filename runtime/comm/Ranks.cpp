//===- Ranks.cpp - what all kinds of ranks do alike -----------------------===//

#include "remat/runtime/Ranks.h"
#include "remat/runtime/Program.h"
#include <algorithm>

using namespace remat::runtime;

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

const char remat::runtime::LateNote[] =
    "\n  note: ranks that are slow have longer with --rank-timeout SECONDS "
    "(rank_timeout in Python, rematRanksSetTimeLimit in C)";

std::string remat::runtime::formatSeconds(Ranks::Milliseconds Time) {
  auto Count = Time.count();
  std::string Text = std::to_string(Count / 1000);
  if (auto Rest = Count % 1000) {
    std::string Digits = std::to_string(1000 + Rest).substr(1);
    Text += "." + Digits.substr(0, Digits.find_last_not_of('0') + 1);
  }
  return Text + " s";
}

/// "rank 3" or "ranks 1, 3, 5 and 4 more".
static std::string nameRanks(std::span<const uint32_t> Peers) {
  constexpr size_t Shown = 8;
  std::string Text = Peers.size() == 1 ? "rank " : "ranks ";
  for (size_t I = 0; I < std::min(Peers.size(), Shown); ++I)
    Text += (I ? ", " : "") + std::to_string(Peers[I]);
  if (Peers.size() > Shown)
    Text += " and " + std::to_string(Peers.size() - Shown) + " more";
  return Text;
}

Error Ranks::makeLateError(std::span<const uint32_t> Peers) const {
  std::vector<uint32_t> Sorted(Peers.begin(), Peers.end());
  std::ranges::sort(Sorted);
  auto Repeated = std::ranges::unique(Sorted);
  Sorted.erase(Repeated.begin(), Repeated.end());
  return Error(ErrorCode::RankFailure, nameRanks(Sorted) +
                                           " did not answer within " +
                                           formatSeconds(TimeLimit) + LateNote);
}

Error Ranks::makeEndedError(uint32_t Peer) {
  return Error(ErrorCode::RankFailure,
               "rank " + std::to_string(Peer) + " has ended");
}

Error Ranks::makeSizeError(uint32_t Peer, uint64_t Sent,
                           uint64_t Expected) const {
  return Error(
      ErrorCode::RankFailure,
      "rank " + std::to_string(Peer) + " sent " + std::to_string(Sent) +
          " bytes where rank " + std::to_string(Rank) + " expects " +
          std::to_string(Expected) + "; they do not run the same program");
}

Error Ranks::heard(std::string Message) {
  IsHeard = true;
  return Error(ErrorCode::RankFailure, std::move(Message));
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

Status Ranks::exchange(std::span<const Send> Sends,
                       std::span<const Receive> Receives) {
  if (Failed)
    return *Failed;
  auto IsOther = [&](const auto &Of) {
    return Of.Peer < Size && Of.Peer != Rank;
  };
  if (!std::ranges::all_of(Sends, IsOther) ||
      !std::ranges::all_of(Receives, IsOther))
    return Error(ErrorCode::InvalidArgument,
                 "rank " + std::to_string(Rank) + " of " +
                     std::to_string(Size) +
                     " exchanges bytes with itself or "
                     "with a rank that is not there");
  Status Ran = run(Sends, Receives);
  if (!Ran)
    fail(Ran.getError());
  return Ran;
}

void Ranks::fail(const Error &E) {
  if (Failed)
    return;
  Failed = E;
  if (!IsHeard)
    tell("rank " + std::to_string(Rank) + ": " + E.getMessage());
}

void Ranks::abort(std::string_view Message) {
  fail(Error(ErrorCode::RankFailure, std::string(Message)));
}

//===----------------------------------------------------------------------===//
// What is made of it
//===----------------------------------------------------------------------===//

/// Calls `F` with each rank but `R`.
template <typename Function> static void forOthers(const Ranks &R, Function F) {
  for (uint32_t Peer = 0; Peer < R.getSize(); ++Peer)
    if (Peer != R.getRank())
      F(Peer);
}

/// Gives `Bytes` bytes to all others, and takes as many from each: those of
/// rank p go to To(p).
template <typename Function>
static Status swapWithAll(Ranks &R, const void *Own, uint64_t Bytes,
                          Function To) {
  std::vector<Send> Sends;
  std::vector<Receive> Receives;
  forOthers(R, [&](uint32_t Peer) {
    Sends.push_back({Peer, Own, Bytes});
    Receives.push_back({Peer, To(Peer), Bytes});
  });
  return R.exchange(Sends, Receives);
}

// Each rank waits for each: so the one that is missing is named, not one that
// waits for it.
Status remat::runtime::barrier(Ranks &R) {
  return swapWithAll(R, nullptr, 0, [](uint32_t) { return nullptr; });
}

Result<bool> remat::runtime::anyOf(Ranks &R, bool Own) {
  std::vector<uint8_t> All(R.getSize());
  uint8_t Mine = All[R.getRank()] = Own;
  if (Status S =
          swapWithAll(R, &Mine, 1, [&](uint32_t Peer) { return &All[Peer]; });
      !S)
    return S.getError();
  return std::ranges::any_of(All, [](uint8_t Said) { return Said != 0; });
}

Result<std::vector<std::string>>
remat::runtime::allGather(Ranks &R, std::string_view Own) {
  std::vector<uint64_t> Sizes(R.getSize());
  uint64_t Bytes = Sizes[R.getRank()] = Own.size();
  if (Status S = swapWithAll(R, &Bytes, sizeof Bytes,
                             [&](uint32_t Peer) { return &Sizes[Peer]; });
      !S)
    return S.getError();
  std::vector<std::string> All(R.getSize());
  All[R.getRank()] = Own;
  std::vector<Send> Sends;
  std::vector<Receive> Receives;
  forOthers(R, [&](uint32_t Peer) {
    All[Peer].resize(Sizes[Peer]);
    Sends.push_back({Peer, Own.data(), Own.size()});
    Receives.push_back({Peer, All[Peer].data(), Sizes[Peer]});
  });
  if (Status S = R.exchange(Sends, Receives); !S)
    return S.getError();
  return All;
}

Status remat::runtime::broadcast(Ranks &R, uint32_t Root, void *Data,
                                 uint64_t Bytes) {
  std::vector<Send> Sends;
  std::vector<Receive> Receives;
  if (R.getRank() == Root)
    forOthers(R, [&](uint32_t Peer) { Sends.push_back({Peer, Data, Bytes}); });
  else
    Receives.push_back({Root, Data, Bytes});
  return R.exchange(Sends, Receives);
}

Result<std::string> remat::runtime::broadcast(Ranks &R, uint32_t Root,
                                              std::string Text) {
  uint64_t Bytes = Text.size();
  if (Status S = broadcast(R, Root, &Bytes, sizeof Bytes); !S)
    return S.getError();
  Text.resize(Bytes);
  if (Status S = broadcast(R, Root, Text.data(), Bytes); !S)
    return S.getError();
  return Text;
}

Status remat::runtime::checkNumRanks(const Program &P, const Ranks *R) {
  uint32_t Wanted = P.getNumRanks(), Started = R ? R->getSize() : 1;
  if (Wanted == Started)
    return {};
  std::string Axes;
  for (const MeshAxis &Axis : P.Mesh)
    Axes += (Axes.empty() ? " (" : ", ") + Axis.Name + "=" +
            std::to_string(Axis.Size);
  return Error(ErrorCode::InvalidArgument,
               "the program is for " + std::to_string(Wanted) +
                   (Wanted == 1 ? " rank" : " ranks") +
                   (Axes.empty() ? "" : Axes + ")") + "; " +
                   std::to_string(Started) + (Started == 1 ? " was" : " were") +
                   " started: start " + std::to_string(Wanted) +
                   ", such as by 'mpirun -n " + std::to_string(Wanted) +
                   "', or compile it for " + std::to_string(Started));
}
