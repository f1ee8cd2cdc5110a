//===- DataFiles.h - files that tests of data make --------------*- C++ -*-===//

#ifndef REMAT_TEST_RUNTIME_DATAFILES_H
#define REMAT_TEST_RUNTIME_DATAFILES_H

#include "remat/Support/File.h"
#include <cstdint>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace remat::runtime::test {

/// A folder of its own for each test.
class DataFiles : public testing::Test {
protected:
  void SetUp() override {
    Folder = std::filesystem::temp_directory_path() /
             ("remat-data-" + std::to_string(::getpid()));
    std::filesystem::create_directories(Folder);
  }
  void TearDown() override { std::filesystem::remove_all(Folder); }

  /// Writes a file and gives its path.
  std::string write(const std::string &Name,
                    const std::vector<uint8_t> &Bytes) const {
    std::string Path = Folder / Name;
    std::filesystem::create_directories(
        std::filesystem::path(Path).parent_path());
    EXPECT_EQ(writeWholeFile(Path, Bytes.data(), Bytes.size()), std::nullopt);
    return Path;
  }

  std::filesystem::path Folder;
};

} // namespace remat::runtime::test

#endif // REMAT_TEST_RUNTIME_DATAFILES_H
