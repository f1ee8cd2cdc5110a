//===- MatmulCacheTest.cpp - algorithms kept in a text ----------*- C++ -*-===//

#include "cuda/MatmulCache.h"
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace remat::runtime;
using namespace remat::runtime::cuda;

static constexpr Algorithm Some = {1, 2, 3, 4, 5, 6, 7, 0xfedcba9876543210};

static std::string getPath(const char *Name) {
  return ::testing::TempDir() + "/" + Name;
}

TEST(MatmulCache, AFileKeepsWhatIsAdded) {
  std::string Path = getPath("algorithms.txt");
  std::filesystem::remove(Path);
  {
    Result<MatmulCache> Cache = MatmulCache::open(Path, "GPU|1|");
    ASSERT_TRUE(bool(Cache));
    EXPECT_EQ(Cache->find("f32 nn 1 2 3"), std::nullopt);
    ASSERT_TRUE(bool(Cache->add("f32 nn 1 2 3", Some)));
    EXPECT_EQ(Cache->find("f32 nn 1 2 3"), Some);
  }
  Result<MatmulCache> Again = MatmulCache::open(Path, "GPU|1|");
  ASSERT_TRUE(bool(Again));
  EXPECT_EQ(Again->find("f32 nn 1 2 3"), Some);
  // Another version of the library knows other algorithms.
  Result<MatmulCache> Other = MatmulCache::open(Path, "GPU|2|");
  ASSERT_TRUE(bool(Other));
  EXPECT_EQ(Other->find("f32 nn 1 2 3"), std::nullopt);
}

TEST(MatmulCache, LinesOfAnotherFormAreIgnored) {
  MatmulCache Cache = MatmulCache::parse(
      "no tab\nGPU|a\t1 2 3 4 5 6 7 fedcba9876543210\nGPU|short\t1 2 3\n"
      "GPU|words\tx 2 3 4 5 6 7 8\n\n",
      "GPU|");
  EXPECT_EQ(Cache.find("a"), Some);
  EXPECT_EQ(Cache.find("short"), std::nullopt);
  EXPECT_EQ(Cache.find("words"), std::nullopt);
  // It has no file to be kept in.
  ASSERT_TRUE(bool(Cache.add("b", Some)));
  EXPECT_EQ(Cache.find("b"), Some);
}

TEST(MatmulCache, AFileThatCannotBeReadIsAnError) {
  EXPECT_FALSE(bool(MatmulCache::open(::testing::TempDir(), "GPU|")));
}

/// GPT-2's widest product on the GPU and library that it was measured with.
TEST(MatmulCache, SomeAreShipped) {
  constexpr char Product[] = "bf16 bf16 plain nt 32768 50304 768 1 25165824 0 "
                             "0 256 256 256";
  EXPECT_NE(MatmulCache::getShipped("NVIDIA H200|130100|").find(Product),
            std::nullopt);
  EXPECT_EQ(MatmulCache::getShipped("another GPU|").find(Product),
            std::nullopt);
}
