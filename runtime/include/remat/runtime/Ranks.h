//===- Ranks.h - processes that run one program side by side ----*- C++ -*-===//
//
// How ranks talk to each other: bytes of host memory from one to another.
// Everything else that ranks agree on through the host is made of that. What
// lies on a GPU is moved by the device itself.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_RANKS_H
#define REMAT_RUNTIME_RANKS_H

#include "remat/runtime/Result.h"
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace remat::runtime {

struct Program;

/// Bytes for rank `Peer`; not owned.
struct Send {
  uint32_t Peer = 0;
  const void *Data = nullptr;
  uint64_t Bytes = 0;
};

/// Where bytes of rank `Peer` go; not owned.
struct Receive {
  uint32_t Peer = 0;
  void *Data = nullptr;
  uint64_t Bytes = 0;
};

/// All ranks of a job, as one of them sees them. One thread at a time uses it.
///
/// When one rank fails, every rank fails: the first error of any rank is told
/// to all others, ends what they wait for, and is what every later call gives.
class Ranks {
public:
  using Milliseconds = std::chrono::milliseconds;

  virtual ~Ranks() = default;
  Ranks(const Ranks &) = delete;
  Ranks &operator=(const Ranks &) = delete;

  /// This rank's number, from 0, and how many there are.
  uint32_t getRank() const { return Rank; }
  uint32_t getSize() const { return Size; }
  /// Its number among those of the same machine, which says which of the
  /// machine's GPUs it uses.
  uint32_t getLocalRank() const { return LocalRank; }

  /// How long `exchange` waits for the others. Whoever knows that some rank
  /// works longer alone before it comes (compiles, writes a file) raises it.
  /// What users may ask for is from the least to the most of these.
  static constexpr Milliseconds LeastTimeLimit{1}, MostTimeLimit{1000000000};
  Milliseconds getTimeLimit() const { return TimeLimit; }
  void setTimeLimit(Milliseconds Limit) { TimeLimit = Limit; }

  /// Starts all of these and waits for all. The n-th send to a peer is that
  /// peer's n-th receive from here, counted over all calls, and has as many
  /// bytes; no peer is this rank itself. An error names the rank that did not
  /// come in time, that has ended, or that failed itself.
  Status exchange(std::span<const Send> Sends,
                  std::span<const Receive> Receives);

  /// Ends what the others wait for, and all that they do later, with
  /// "rank N: Message". A rank that ends for a reason of its own says it so;
  /// of one that just goes away they hear that it has ended. The first call
  /// counts.
  void abort(std::string_view Message);

protected:
  Ranks(uint32_t Rank, uint32_t Size, uint32_t LocalRank)
      : Rank(Rank), Size(Size), LocalRank(LocalRank) {}

  /// What `exchange` does, with peers that are there.
  virtual Status run(std::span<const Send> Sends,
                     std::span<const Receive> Receives) = 0;
  /// Gives `Message` to all others, without waiting long.
  virtual void tell(const std::string &Message) = 0;

  /// Whether some rank, this one or another, has failed.
  bool hasFailed() const { return Failed.has_value(); }

  /// "rank 3 did not answer within 30 s", with `LateNote`.
  Error makeLateError(std::span<const uint32_t> Peers) const;
  static Error makeEndedError(uint32_t Peer);
  Error makeSizeError(uint32_t Peer, uint64_t Sent, uint64_t Expected) const;
  /// An error that another rank told.
  Error heard(std::string Message);

private:
  void fail(const Error &E);

  uint32_t Rank, Size, LocalRank;
  Milliseconds TimeLimit{30000};
  std::optional<Error> Failed;
  bool IsHeard = false; ///< the error came from another rank
};

/// "30 s", "0.25 s".
std::string formatSeconds(Ranks::Milliseconds Time);

/// Behind the error of a rank that waited too long: what lets it wait longer.
extern const char LateNote[];

/// Returns when all ranks have called it.
Status barrier(Ranks &R);

/// Each rank's bytes, by its number. All ranks call it.
Result<std::vector<std::string>> allGather(Ranks &R, std::string_view Own);

/// Whether any rank says so. All ranks call it.
Result<bool> anyOf(Ranks &R, bool Own);

/// Makes `Bytes` bytes at `Data` what they are on rank `Root`.
Status broadcast(Ranks &R, uint32_t Root, void *Data, uint64_t Bytes);

/// The text that rank `Root` gives; what the others give is not looked at.
Result<std::string> broadcast(Ranks &R, uint32_t Root, std::string Text);

/// `Size` ranks for so many threads of this process, by number. One that is
/// destroyed has ended.
std::vector<std::shared_ptr<Ranks>> createThreadRanks(uint32_t Size);

/// The ranks that this process was started with, by mpirun or srun, for a
/// device of that name; null where it was started alone, Unavailable under
/// torchrun. Called once in a process.
Result<std::shared_ptr<Ranks>> createRanks(std::string_view Device);

/// InvalidArgument, with both numbers, unless there are as many ranks as `P` is
/// for; null is one rank.
Status checkNumRanks(const Program &P, const Ranks *R);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_RANKS_H
