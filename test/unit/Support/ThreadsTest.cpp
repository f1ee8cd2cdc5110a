//===- ThreadsTest.cpp - independent work at the same time ----------------===//

#include "remat/Support/Threads.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <thread>
#include <vector>

using namespace remat;

namespace {

/// How often each number was run with; `Elsewhere` counts other threads' runs.
std::vector<int> countRuns(size_t Count, int &Elsewhere) {
  std::vector<int> Runs(Count, 0);
  std::vector<std::thread::id> By(Count);
  runInParallel(Count, [&](size_t I) {
    ++Runs[I];
    By[I] = std::this_thread::get_id();
  });
  Elsewhere = static_cast<int>(
      Count - std::count(By.begin(), By.end(), std::this_thread::get_id()));
  return Runs;
}

TEST(Threads, EachNumberIsRunOnce) {
  int Elsewhere = 0;
  for (size_t Count : {0, 1, 2, 1000})
    EXPECT_EQ(countRuns(Count, Elsewhere), std::vector<int>(Count, 1));
}

TEST(Threads, LimitedAddressesLeaveOne) {
  rlimit Before;
  ASSERT_EQ(getrlimit(RLIMIT_AS, &Before), 0);
  // More than is in use, so that nothing fails.
  rlimit Limited = {std::min<rlim_t>(Before.rlim_max, rlim_t(1) << 46),
                    Before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &Limited), 0);
  EXPECT_TRUE(hasLimitedAddresses());
  int Elsewhere = -1;
  EXPECT_EQ(countRuns(1000, Elsewhere), std::vector<int>(1000, 1));
  EXPECT_EQ(Elsewhere, 0);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &Before), 0);
  EXPECT_EQ(hasLimitedAddresses(), Before.rlim_cur != RLIM_INFINITY);
}

} // namespace
