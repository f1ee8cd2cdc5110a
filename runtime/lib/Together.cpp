//===- Together.cpp - long work that every rank does alone ----------------===//

#include "remat/runtime/Together.h"
#include "lib/Guard.h"
#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

using namespace remat::runtime;

/// What tells others of an error.
static std::string mark(const Error &E) { return "!" + E.getMessage(); }

/// The first error that ranks told each other by `mark`; `Own` is this rank's.
template <typename T>
static Status findError(const Ranks &R, const std::vector<std::string> &All,
                        const Result<T> &Own) {
  for (size_t Rank = 0; Rank < All.size(); ++Rank)
    if (const std::string &Text = All[Rank]; Text.starts_with('!'))
      return Error(Rank == R.getRank() ? Own.getError().getCode()
                                       : ErrorCode::RankFailure,
                   "rank " + std::to_string(Rank) + ": " + Text.substr(1));
  return {};
}

Status remat::runtime::agree(Ranks *R, const Status &Own) {
  if (!R || R->getSize() == 1)
    return Own;
  auto All = allGather(*R, Own ? "" : mark(Own.getError()));
  if (!All)
    return All.getError();
  return findError(*R, *All, Own);
}

Status remat::runtime::pollTogether(Ranks &R,
                                    const std::function<Result<bool>()> &Poll) {
  using std::chrono::milliseconds;
  Result<bool> Own = false;
  for (milliseconds Pause(1);; Pause = std::min(2 * Pause, milliseconds(100))) {
    if (!*Own)
      Own = Poll();
    auto All = allGather(R, !Own ? mark(Own.getError()) : *Own ? "." : "");
    if (!All)
      return All.getError();
    if (Status Found = findError(R, *All, Own); !Found)
      return Found;
    if (std::ranges::none_of(*All, &std::string::empty))
      return {};
    std::this_thread::sleep_for(Pause);
  }
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
