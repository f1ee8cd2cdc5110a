//===- Together.cpp - long work that every rank does alone ----------------===//

#include "remat/runtime/Together.h"
#include "lib/Guard.h"
#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

using namespace remat::runtime;

Status remat::runtime::agree(Ranks *R, const Status &Own) {
  if (!R || R->getSize() == 1)
    return Own;
  auto All = allGather(*R, Own ? "" : "!" + Own.getError().getMessage());
  if (!All)
    return All.getError();
  for (size_t Rank = 0; Rank < All->size(); ++Rank)
    if (const std::string &Text = (*All)[Rank]; !Text.empty())
      return Error(Rank == R->getRank() ? Own.getError().getCode()
                                        : ErrorCode::RankFailure,
                   "rank " + std::to_string(Rank) + ": " + Text.substr(1));
  return {};
}

namespace {

/// Exchanges signs of life until the work of all ranks is done.
class Watch {
public:
  Watch(Ranks &R, const std::function<void(const Error &)> &OnFailure)
      : R(R), OnFailure(OnFailure), Thread([this] { run(); }) {}
  ~Watch() { (void)finish(); }

  Status finish() {
    {
      std::lock_guard Lock(Mutex);
      IsDone = true;
    }
    Changed.notify_all();
    if (Thread.joinable())
      Thread.join();
    return Heard;
  }

private:
  void run() {
    using std::chrono::milliseconds;
    for (milliseconds Pause(1);;
         Pause = std::min(2 * Pause, milliseconds(200))) {
      bool Done;
      {
        std::unique_lock Lock(Mutex);
        Done = Changed.wait_for(Lock, Pause, [&] { return IsDone; });
      }
      auto All = allGather(R, Done ? "." : "");
      if (!All) {
        Heard = All.getError();
        if (OnFailure)
          OnFailure(Heard.getError());
        return;
      }
      if (std::ranges::none_of(*All, &std::string::empty))
        return;
    }
  }

  Ranks &R;
  const std::function<void(const Error &)> &OnFailure;
  std::mutex Mutex;
  std::condition_variable Changed;
  bool IsDone = false;
  Status Heard;
  std::thread Thread; ///< last: it uses the others
};

} // namespace

Status remat::runtime::workTogether(
    Ranks *R, const std::function<Status()> &Work,
    const std::function<void(const Error &)> &OnFailure) {
  if (!R || R->getSize() == 1)
    return Work();
  return guard([&]() -> Status {
    Watch Others(*R, OnFailure);
    Status Own = Work();
    if (Status Heard = Others.finish(); !Heard)
      return Heard;
    return agree(R, Own);
  });
}
