//===- LibraryTest.cpp - where libraries are looked for -------------------===//
//
// A library is planted in every place of the working directory that a search
// might come by. None is loaded unless a variable names its folder.
//
//===----------------------------------------------------------------------===//

#include "remat/Support/Library.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace remat;
namespace fs = std::filesystem;

namespace {

constexpr const char *Name = "libremat-planted.so.1";

class LibraryTest : public testing::Test {
protected:
  void SetUp() override {
    Before = fs::current_path();
    std::string Pattern = fs::temp_directory_path() / "remat-library-XXXXXX";
    ASSERT_TRUE(mkdtemp(Pattern.data()));
    Here = Pattern;
    for (fs::path Prefix : {"", ".venv"}) {
      fs::path Lib =
          Here / Prefix / "lib/python3.11/site-packages/nvidia/cu13/lib";
      fs::create_directories(Lib);
      fs::copy_file(REMAT_PLANTED, Lib / Name);
      fs::create_directories(Here / Prefix / "bin");
      std::ofstream(Here / Prefix / "bin/python3") << "";
    }
    fs::create_directories(Here / "lib64");
    fs::copy_file(REMAT_PLANTED, Here / "lib64" / Name);
    fs::copy_file(REMAT_PLANTED, Here / Name);
    fs::current_path(Here);
    OldPath = std::getenv("PATH");
    for (const char *Variable :
         {"REMAT_CUDA_LIBRARIES", "CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV",
          "REMAT_TEST_PLANTED"})
      unsetenv(Variable);
  }
  void TearDown() override {
    setenv("PATH", OldPath.c_str(), 1);
    unsetenv("REMAT_CUDA_LIBRARIES");
    fs::current_path(Before);
    fs::remove_all(Here);
  }

  fs::path Before, Here;
  std::string OldPath;
};

TEST_F(LibraryTest, TheWorkingDirectoryIsNoPlaceToLookIn) {
  // What a careless search path has: the empty entry, ".", a relative folder.
  for (const char *Path : {"", ".", "bin", ".venv/bin:.:bin", ":bin:"}) {
    setenv("PATH", Path, 1);
    SharedLibrary Found = openCUDALibrary({Name}, /*IsGlobal=*/false);
    EXPECT_EQ(Found.Handle, nullptr) << Path;
    EXPECT_NE(Found.Why.find(Name), std::string::npos) << Found.Why;
    EXPECT_EQ(Found.Why.find(Here.string()), std::string::npos) << Found.Why;
  }
  EXPECT_EQ(openLibrary({Name}).Handle, nullptr);
  EXPECT_EQ(std::getenv("REMAT_TEST_PLANTED"), nullptr)
      << "a library of the working directory was loaded";
}

TEST_F(LibraryTest, AFolderThatIsNamedIsLookedIn) {
  setenv("REMAT_CUDA_LIBRARIES", "no-such-folder:.", 1);
  SharedLibrary Found = openCUDALibrary({"libno-such.so", Name}, false);
  ASSERT_NE(Found.Handle, nullptr) << Found.Why;
  EXPECT_EQ(Found.Folder, ".");
  EXPECT_NE(std::getenv("REMAT_TEST_PLANTED"), nullptr);
  auto *Planted = reinterpret_cast<int (*)()>(Found.find("planted"));
  ASSERT_NE(Planted, nullptr);
  EXPECT_EQ(Planted(), 42);
  EXPECT_EQ(Found.find("no_such_function"), nullptr);
}

TEST_F(LibraryTest, EveryPlaceIsLookedIn) {
  auto FolderOf = [] {
    return fs::path(openCUDALibrary({Name}, /*IsGlobal=*/false).Folder);
  };
  fs::path Packages = "lib/python3.11/site-packages/nvidia/cu13/lib";
  setenv("PATH", (Here / "bin").c_str(), 1);
  EXPECT_EQ(FolderOf(), Here / Packages);
  setenv("VIRTUAL_ENV", (Here / ".venv").c_str(), 1);
  EXPECT_EQ(FolderOf(), Here / ".venv" / Packages);
  setenv("CUDA_PATH", Here.c_str(), 1);
  EXPECT_EQ(FolderOf(), Here / "lib64");
  unsetenv("CUDA_PATH");
  setenv("CUDA_HOME", Here.c_str(), 1);
  EXPECT_EQ(FolderOf(), Here / "lib64");
  unsetenv("CUDA_HOME");
  unsetenv("VIRTUAL_ENV");
}

TEST_F(LibraryTest, WhatDoesNotLoadIsSaid) {
  std::ofstream(Here / "libremat-broken.so.1") << "no library";
  setenv("REMAT_CUDA_LIBRARIES", Here.c_str(), 1);
  SharedLibrary Found = openCUDALibrary({"libremat-broken.so.1"}, false);
  EXPECT_EQ(Found.Handle, nullptr);
  EXPECT_NE(Found.Why.find("file too short"), std::string::npos) << Found.Why;
}

} // namespace
