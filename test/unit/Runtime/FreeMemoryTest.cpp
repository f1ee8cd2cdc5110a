//===- FreeMemoryTest.cpp - what the host can still give ------------------===//

#include "host/FreeMemory.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace remat::runtime;

namespace {

/// A folder with files as the system has them.
class FreeMemory : public ::testing::Test {
protected:
  FreeMemory()
      : Root(std::filesystem::temp_directory_path() /
             ("remat-free-" + std::to_string(::getpid()))) {
    write("proc/meminfo", "MemTotal: 4000 kB\nMemAvailable: 1000 kB\n");
  }
  ~FreeMemory() override { std::filesystem::remove_all(Root); }

  void write(const std::string &Path, const std::string &Text) {
    std::filesystem::create_directories((Root / Path).parent_path());
    std::ofstream(Root / Path) << Text;
  }
  uint64_t get() const { return getAvailableBytes(Root.string()); }

  std::filesystem::path Root;
};

TEST_F(FreeMemory, WithoutGroups) {
  EXPECT_EQ(get(), 1000u << 10);
  write("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(get(), 1000u << 10);
}

TEST_F(FreeMemory, WithinAllGroups) {
  write("proc/self/cgroup", "1:name=x:/other\n0::/a/b\n");
  write("sys/fs/cgroup/a/memory.max", "500000\n");
  write("sys/fs/cgroup/a/memory.current", "100000\n");
  EXPECT_EQ(get(), 400000u);
  // Cached files are given back.
  write("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 60000\n");
  EXPECT_EQ(get(), 460000u);
  write("sys/fs/cgroup/a/b/memory.max", "max\n");
  write("sys/fs/cgroup/a/b/memory.current", "100000\n");
  EXPECT_EQ(get(), 460000u);
  write("sys/fs/cgroup/a/b/memory.max", "90000\n");
  EXPECT_EQ(get(), 0u);
}

TEST_F(FreeMemory, Here) {
  EXPECT_GT(getAvailableBytes(), 0u);
  std::filesystem::remove_all(Root);
  EXPECT_EQ(get(), 0u);
}

} // namespace
