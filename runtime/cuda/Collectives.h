//===- Collectives.h - ops over several GPUs --------------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_CUDA_COLLECTIVES_H
#define REMAT_RUNTIME_CUDA_COLLECTIVES_H

#include "cuda/Nccl.h"
#include "ops/Op.h"
#include "remat/runtime/Ranks.h"
#include <chrono>
#include <map>
#include <memory>
#include <thread>
#include <vector>

namespace remat::runtime::cuda {

/// NCCL, the communicators of one device and a stream of their own, on which
/// collectives run while the main stream goes on. Whoever touches their bytes
/// on the main stream calls `join` first.
class Collectives {
public:
  /// A run of device memory.
  struct Range {
    const char *Begin;
    uint64_t Bytes;
    bool IsWritten;
  };

  /// All ranks call it; so they do `prepare`, in the same order.
  static Result<std::unique_ptr<Collectives>>
  create(const Driver &D, Stream Main, Ranks &TheRanks);
  ~Collectives();

  /// Makes the group of an op ready. Unavailable for what NCCL cannot run.
  Status prepare(const OpCall &Op);

  /// Enqueues an op behind what is on the main stream; `Where` names it in
  /// errors.
  Status run(const OpCall &Op, const std::string &Where);

  /// The main stream waits for the collectives that touch these bytes, as far
  /// as one of both writes them, and for those before.
  Status join(const std::vector<Range> &Touched);
  Status joinAll();

  /// Where the collectives of what runs now are named; outlives the run.
  void setPlaces(std::vector<std::string> &Of) { Places = &Of; }

  /// Waits for the main stream, which has joined, but no longer for one
  /// collective than the ranks' time limit.
  Status wait();

private:
  struct Pending {
    std::vector<Range> Ranges;
    Event Done;
  };

  Collectives(const Driver &D, const Nccl &N, Stream Main, Ranks &TheRanks)
      : D(D), N(N), Main(Main), TheRanks(TheRanks) {}

  Status makeStream();
  Status makeWorld();
  Result<Event> takeEvent();
  NcclCode ask(Communicator C) const;
  Status connect(Communicator C, NcclCode Code, const std::string &What);
  Status finishCall(Communicator C, NcclCode Code, const std::string &What);
  Result<Communicator> getCommunicator(const OpCall &Op);
  NcclCode enqueue(const OpCall &Op, Communicator C);
  NcclCode enqueueAllToAll(const OpCall &Op, Communicator C);
  NcclCode enqueuePermute(const OpCall &Op, Communicator C);
  Status note(uint32_t Number);
  Status fail(const Error &E);
  Status failMissing(const std::string &What, const std::string &Note = "");
  Status lookForErrors();

  const Driver D;
  const Nccl N;
  Stream Main, Side = nullptr;
  Ranks &TheRanks;
  Communicator World = nullptr;
  /// By the group's numbers.
  std::map<std::vector<int64_t>, Communicator> Groups;
  std::vector<Event> Free, Used;
  std::vector<Pending> Running; ///< in the order of the side stream
  /// Page-locked: the number of the collective that runs, from 1; 0 for none.
  /// The side stream copies it there from `Numbers`.
  volatile uint32_t *Current = nullptr;
  Address Numbers = 0;
  std::vector<std::string> *Places = nullptr; ///< by number, less 1
  bool IsBroken = false;
  std::vector<std::thread> Aborts; ///< of communicators
};

/// What a rank does alone, on `S`: rank_part, rank_index, and any op of a group
/// that has no other rank. Whether `Op` is such an op.
bool isLocal(const OpCall &Op);
Status runLocal(const OpCall &Op, const Driver &D, Stream S, int64_t Rank);

} // namespace remat::runtime::cuda

#endif // REMAT_RUNTIME_CUDA_COLLECTIVES_H
