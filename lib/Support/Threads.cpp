//===- Threads.cpp - independent work at the same time --------------------===//

#include "remat/Support/Threads.h"
#include <algorithm>
#include <atomic>
#include <new>
#include <sys/resource.h>
#include <system_error>
#include <thread>
#include <vector>

using namespace remat;

bool remat::hasLimitedAddresses() {
  rlimit Limit;
  return getrlimit(RLIMIT_AS, &Limit) == 0 && Limit.rlim_cur != RLIM_INFINITY;
}

void remat::runInParallel(std::size_t Count,
                          const std::function<void(std::size_t)> &Run) {
  std::atomic<std::size_t> Next = 0;
  auto Work = [&] {
    for (std::size_t I = Next++; I < Count; I = Next++)
      Run(I);
  };
  std::size_t Wanted =
      hasLimitedAddresses()
          ? 1
          : std::min<std::size_t>(Count, std::thread::hardware_concurrency());
  std::vector<std::thread> Others;
  try {
    Others.reserve(Wanted);
    while (Others.size() + 1 < Wanted)
      Others.emplace_back(Work);
  } catch (const std::system_error &) { // NOLINT(bugprone-empty-catch)
    // Fewer threads take longer, that is all.
  } catch (const std::bad_alloc &) { // NOLINT(bugprone-empty-catch)
  }
  Work();
  for (std::thread &Other : Others)
    Other.join();
}
