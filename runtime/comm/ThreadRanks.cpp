//===- ThreadRanks.cpp - ranks that are threads of one process ------------===//

#include "remat/runtime/Ranks.h"
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>

using namespace remat::runtime;

namespace {

/// What the ranks share. A send stays in its queue, and its sender in `run`,
/// until the receiver has copied the bytes.
struct Hub {
  explicit Hub(uint32_t Size)
      : Size(Size), Queues(uint64_t(Size) * Size), HasEnded(Size) {}

  std::deque<const Send *> &queue(uint32_t From, uint32_t To) {
    return Queues[uint64_t(From) * Size + To];
  }

  const uint32_t Size;
  std::mutex Mutex;
  std::condition_variable Changed;
  std::vector<std::deque<const Send *>> Queues;
  std::vector<bool> HasEnded;
  std::optional<std::string> Failure; ///< the first that a rank told
};

class ThreadRanks : public Ranks {
public:
  ThreadRanks(uint32_t Rank, std::shared_ptr<Hub> Shared)
      : Ranks(Rank, Shared->Size, Rank), Shared(std::move(Shared)) {}
  ~ThreadRanks() override {
    std::lock_guard Lock(Shared->Mutex);
    Shared->HasEnded[getRank()] = true;
    Shared->Changed.notify_all();
  }

private:
  Status run(std::span<const Send> Sends,
             std::span<const Receive> Receives) override;
  void tell(const std::string &Message) override {
    std::lock_guard Lock(Shared->Mutex);
    if (!Shared->Failure)
      Shared->Failure = Message;
    Shared->Changed.notify_all();
  }

  Status take(std::vector<const Receive *> &Left);
  std::vector<uint32_t> findMissing(std::span<const Send> Sends,
                                    const std::vector<const Receive *> &Left);
  Status wait(std::span<const Send> Sends, std::vector<const Receive *> Left,
              std::unique_lock<std::mutex> &Lock);

  std::shared_ptr<Hub> Shared;
};

} // namespace

/// Copies what was sent for the receives that are left.
Status ThreadRanks::take(std::vector<const Receive *> &Left) {
  std::vector<const Receive *> Later;
  for (const Receive *R : Left) {
    std::deque<const Send *> &Queue = Shared->queue(R->Peer, getRank());
    if (Queue.empty()) {
      Later.push_back(R);
      continue;
    }
    const Send &From = *Queue.front();
    if (From.Bytes != R->Bytes)
      return makeSizeError(R->Peer, From.Bytes, R->Bytes);
    if (R->Bytes)
      std::memcpy(R->Data, From.Data, R->Bytes);
    Queue.pop_front();
    Shared->Changed.notify_all();
  }
  Left = std::move(Later);
  return {};
}

/// The ranks that still have to come.
std::vector<uint32_t>
ThreadRanks::findMissing(std::span<const Send> Sends,
                         const std::vector<const Receive *> &Left) {
  std::vector<uint32_t> Missing;
  for (const Receive *R : Left)
    Missing.push_back(R->Peer);
  for (const Send &S : Sends)
    if (!Shared->queue(getRank(), S.Peer).empty())
      Missing.push_back(S.Peer);
  return Missing;
}

Status ThreadRanks::wait(std::span<const Send> Sends,
                         std::vector<const Receive *> Left,
                         std::unique_lock<std::mutex> &Lock) {
  auto End = std::chrono::steady_clock::now() + getTimeLimit();
  while (true) {
    if (Shared->Failure)
      return heard(*Shared->Failure);
    if (Status S = take(Left); !S)
      return S;
    std::vector<uint32_t> Missing = findMissing(Sends, Left);
    if (Missing.empty())
      return {};
    for (uint32_t Peer : Missing)
      if (Shared->HasEnded[Peer])
        return makeEndedError(Peer);
    if (Shared->Changed.wait_until(Lock, End) == std::cv_status::timeout &&
        !Shared->Failure)
      return makeLateError(Missing);
  }
}

Status ThreadRanks::run(std::span<const Send> Sends,
                        std::span<const Receive> Receives) {
  std::unique_lock Lock(Shared->Mutex);
  for (const Send &S : Sends)
    Shared->queue(getRank(), S.Peer).push_back(&S);
  Shared->Changed.notify_all();
  std::vector<const Receive *> Left;
  for (const Receive &R : Receives)
    Left.push_back(&R);
  Status Done = wait(Sends, std::move(Left), Lock);
  // After a failure the sends are gone, and no one comes for them.
  if (!Done)
    for (const Send &S : Sends)
      Shared->queue(getRank(), S.Peer).clear();
  return Done;
}

std::vector<std::shared_ptr<Ranks>>
remat::runtime::createThreadRanks(uint32_t Size) {
  auto Shared = std::make_shared<Hub>(Size);
  std::vector<std::shared_ptr<Ranks>> All;
  for (uint32_t Rank = 0; Rank < Size; ++Rank)
    All.push_back(std::make_shared<ThreadRanks>(Rank, Shared));
  return All;
}
