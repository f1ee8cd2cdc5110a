//===- OutputTest.cpp - files that are whole or not there -----------------===//

#include "TestProgram.h"
#include "remat/Support/File.h"
#include "remat/Support/Numbers.h"
#include "remat/runtime/Safetensors.h"
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

using namespace remat;
using namespace remat::runtime;
using namespace remat::runtime::test;
namespace fs = std::filesystem;

namespace {

class OutputTest : public ::testing::Test {
protected:
  void SetUp() override {
    Folder = fs::temp_directory_path() /
             ("remat-output-" + std::to_string(::getpid()));
    fs::create_directories(Folder);
  }
  void TearDown() override { fs::remove_all(Folder); }

  std::string at(const char *Name) const { return (Folder / Name).string(); }
  std::string read(const char *Name) const {
    std::string Bytes;
    EXPECT_EQ(readWholeFile(at(Name), 1 << 20, Bytes), std::nullopt);
    return Bytes;
  }
  FileFailure write(const std::string &Path, const std::string &Text) {
    return writeWholeFile(Path, Text.data(), Text.size());
  }
  size_t countFiles() const {
    return std::distance(fs::directory_iterator(Folder),
                         fs::directory_iterator());
  }

  fs::path Folder;
};

TEST_F(OutputTest, NothingIsThereBeforeCommit) {
  ASSERT_EQ(write(at("f"), "old"), std::nullopt);
  {
    OutputFile File;
    ASSERT_EQ(File.open(at("f")), std::nullopt);
    ASSERT_EQ(File.write("new", 3), std::nullopt);
    EXPECT_EQ(read("f"), "old");
    EXPECT_EQ(countFiles(), 2u);
  }
  EXPECT_EQ(read("f"), "old");
  EXPECT_EQ(countFiles(), 1u);
}

TEST_F(OutputTest, UnfinishedFilesAreRemoved) {
  OutputFile File;
  ASSERT_EQ(File.open(at("f")), std::nullopt);
  removeUnfinishedFiles();
  EXPECT_EQ(countFiles(), 0u);
}

/// A node with the numbers of /dev/null, made here: the system's own is left
/// alone. Only root can make one.
TEST_F(OutputTest, DevicesStayDevices) {
  if (::mknod(at("device").c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0)
    GTEST_SKIP() << "this user cannot make devices";
  FileFailure Failed = write(at("device"), "text");
  // A file system may be mounted without devices.
  if (Failed)
    EXPECT_NE(Failed->find("Permission denied"), std::string::npos) << *Failed;
  struct stat Status;
  ASSERT_EQ(::stat(at("device").c_str(), &Status), 0);
  EXPECT_TRUE(S_ISCHR(Status.st_mode));
  EXPECT_EQ(countFiles(), 1u);
}

TEST_F(OutputTest, PipesAreWrittenTo) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_EQ(checkWritable(at("pipe")), std::nullopt); // and does not wait
  int Reader = ::open(at("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(Reader, 0);
  EXPECT_EQ(write(at("pipe"), "text"), std::nullopt);
  char Text[8] = {};
  EXPECT_EQ(::read(Reader, Text, sizeof Text), 4);
  EXPECT_STREQ(Text, "text");
  ::close(Reader);
}

TEST_F(OutputTest, FullDisk) {
  FileFailure Failed = write("/dev/full", "text");
  ASSERT_TRUE(Failed);
  EXPECT_NE(Failed->find("No space left"), std::string::npos) << *Failed;
  // A limit of the file's size stands for a disk that fills on the way: 4 KiB
  // of 8 can be written.
  struct rlimit Old, Small;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &Old), 0);
  Small = {4096, Old.rlim_max};
  auto *Handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &Small), 0);
  Failed = write(at("f"), std::string(8192, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &Old);
  std::signal(SIGXFSZ, Handler);
  ASSERT_TRUE(Failed);
  EXPECT_NE(Failed->find("File too large"), std::string::npos) << *Failed;
  EXPECT_EQ(countFiles(), 0u);
}

TEST_F(OutputTest, LinksAreFollowed) {
  ASSERT_EQ(::symlink("real", at("link").c_str()), 0);
  ASSERT_EQ(write(at("link"), "one"), std::nullopt); // it dangles until now
  EXPECT_TRUE(fs::is_symlink(Folder / "link"));
  EXPECT_EQ(read("real"), "one");
  ASSERT_EQ(::symlink("loop", at("loop").c_str()), 0);
  EXPECT_NE(write(at("loop"), "x"), std::nullopt);
}

TEST_F(OutputTest, TwoOptionsOneFile) {
  std::vector<std::pair<const char *, std::string>> Outputs = {
      {"--a", at("f")}, {"--b", ""}, {"--c", at("./f")}};
  FileFailure Failed = checkOutputs(Outputs);
  ASSERT_TRUE(Failed);
  EXPECT_EQ(Failed->find("--c and --a both write"), 0u) << *Failed;
  Outputs = {{"--a", "/dev/null"}, {"--b", "/dev/null"}, {"--c", at("f")}};
  EXPECT_EQ(checkOutputs(Outputs), std::nullopt);
  EXPECT_EQ(countFiles(), 0u);
}

TEST_F(OutputTest, ReadingIsBounded) {
  ASSERT_EQ(write(at("f"), "12345"), std::nullopt);
  std::string Bytes;
  EXPECT_EQ(readWholeFile(at("f"), 5, Bytes), std::nullopt);
  EXPECT_EQ(Bytes, "12345");
  EXPECT_NE(readWholeFile(at("f"), 4, Bytes), std::nullopt);
  EXPECT_NE(readWholeFile("/dev/zero", 1 << 20, Bytes), std::nullopt);
  EXPECT_NE(readWholeFile(Folder.string(), 1 << 20, Bytes), std::nullopt);
  // /proc files say that they are empty and are not.
  EXPECT_EQ(readWholeFile("/proc/self/status", 1 << 20, Bytes), std::nullopt);
  EXPECT_NE(Bytes.find("VmRSS"), std::string::npos);
}

TEST_F(OutputTest, WriterWantsAllBytes) {
  SafetensorsHeader Header;
  Header.Tensors = {{"w", DType::F32, {2}, 0, 8}};
  auto Writer = TensorWriter::create(at("f"), Header);
  ASSERT_TRUE(Writer) << messageOf(Writer);
  std::vector<uint8_t> Bytes(12, 1);
  EXPECT_TRUE(Writer->write(Bytes.data(), 4));
  EXPECT_FALSE(Writer->finish());
  EXPECT_FALSE(Writer->write(Bytes.data(), 8));
  EXPECT_TRUE(Writer->write(Bytes.data(), 4));
  EXPECT_TRUE(Writer->finish());
  auto Reader = TensorReader::open(at("f"));
  ASSERT_TRUE(Reader) << messageOf(Reader);
  ASSERT_EQ(Reader->getHeader().Tensors.size(), 1u);
  EXPECT_TRUE(Reader->read(Reader->getHeader().Tensors[0], 4, Bytes.data(), 4));
  // Cut short after it was opened.
  fs::resize_file(at("f"), fs::file_size(at("f")) - 1);
  EXPECT_FALSE(
      Reader->read(Reader->getHeader().Tensors[0], 4, Bytes.data(), 4));
}

TEST(Numbers, WholeDecimalTextsOnly) {
  auto Read = [](std::string_view Text) {
    return parseInteger<int64_t>(Text, -5, 100);
  };
  EXPECT_EQ(Read("010"), 10);
  EXPECT_EQ(Read("-5"), -5);
  for (const char *Bad : {"", " 1", "1 ", "+1", "0x10", "1e1", "1.0", "101",
                          "-6", "99999999999999999999"})
    EXPECT_EQ(Read(Bad), std::nullopt) << Bad;
  EXPECT_EQ(parseInteger<uint64_t>("-1", 0, UINT64_MAX), std::nullopt);
  EXPECT_EQ(parseInteger<uint64_t>("18446744073709551615", 0, UINT64_MAX),
            UINT64_MAX);
  EXPECT_EQ(parseReal("1.5e1", 0), 15.0);
  for (const char *Bad : {"", "nan", "inf", "-1", "1e999", "0x1p3", "1.5x"})
    EXPECT_EQ(parseReal(Bad, 0), std::nullopt) << Bad;
  EXPECT_EQ(parseReal("1", 0, 1), std::nullopt);
  std::string Half = "0.5" + std::string(509, '0');
  EXPECT_EQ(parseReal(Half, 0), 0.5);
  EXPECT_EQ(parseReal(Half + "0", 0), std::nullopt);
}

} // namespace
