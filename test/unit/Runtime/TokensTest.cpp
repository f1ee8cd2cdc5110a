//===- TokensTest.cpp - token files and their batches ---------------------===//

#include "DataFiles.h"
#include "TestProgram.h"
#include "lib/Data/TokenBatches.h"
#include <random>
#include <set>

using namespace remat::runtime;
using namespace remat::runtime::test;

namespace {

template <typename Token>
std::vector<uint8_t> makeTokens(size_t Count, Token First = 0) {
  std::vector<Token> T(Count);
  for (size_t I = 0; I < Count; ++I)
    T[I] = static_cast<Token>(First + I);
  auto Bytes = formatTokens(std::span<const Token>(T));
  EXPECT_TRUE(Bytes) << messageOf(Bytes);
  return *Bytes;
}

class Tokens : public DataFiles {
protected:
  Result<std::unique_ptr<TokenBatches>>
  open(const std::vector<std::string> &Paths, const TokenBatches::Sizes &Sizes,
       uint64_t Seed = 1) {
    std::vector<TokenFile> Files;
    for (const std::string &Path : Paths) {
      auto File = TokenFile::open(Path);
      if (!File)
        return File.getError();
      Files.push_back(std::move(*File));
    }
    return TokenBatches::create(std::move(Files), Sizes, Seed);
  }
};

TEST_F(Tokens, BothWidths) {
  for (size_t Count : {0, 1, 1000}) {
    constexpr uint32_t Large = 4'000'000'000;
    std::pair<std::vector<uint8_t>, uint32_t> Files[] = {
        {makeTokens<uint16_t>(Count, 7), 7},
        {makeTokens<uint32_t>(Count, Large), Large}};
    for (auto &[Bytes, First] : Files) {
      auto File = TokenFile::open(write("t", Bytes));
      ASSERT_TRUE(File) << messageOf(File);
      ASSERT_EQ(File->getCount(), Count);
      std::vector<int64_t> Read(Count);
      ASSERT_EQ(messageOf(File->read(0, Read)), "");
      for (size_t I = 0; I < Count; ++I)
        ASSERT_EQ(Read[I], int64_t(First) + int64_t(I));
      if (Count > 1) {
        ASSERT_EQ(messageOf(File->read(500, std::span(Read).first(3))), "");
        EXPECT_EQ(Read[2], int64_t(First) + 502);
      }
    }
  }
}

TEST_F(Tokens, Malformed) {
  std::vector<uint8_t> Valid = makeTokens<uint16_t>(10);
  auto Says = [](std::span<const uint8_t> Bytes) {
    return messageOf(parseTokenHeader(Bytes, Bytes.size()));
  };
  auto Broken = [&](size_t At, uint8_t Value) {
    std::vector<uint8_t> Bytes = Valid;
    Bytes[At] = Value;
    return Bytes;
  };
  EXPECT_EQ(Says(Valid), "");
  EXPECT_NE(Says({}), "");
  EXPECT_NE(Says(std::span(Valid).first(1023)), "");
  EXPECT_NE(Says(std::span(Valid).first(1043)), "");
  EXPECT_NE(Says(std::span(Valid).first(1042)), "");
  EXPECT_NE(Says(Broken(0, 1)), "");    // magic
  EXPECT_NE(Says(Broken(4, 2)), "");    // version
  EXPECT_NE(Says(Broken(4, 7)), "");    // the other format's version
  EXPECT_NE(Says(Broken(8, 11)), "");   // count
  EXPECT_NE(Says(Broken(8, 5)), "");    // count of wider tokens
  EXPECT_NE(Says(Broken(11, 255)), ""); // negative count
  EXPECT_FALSE(TokenFile::open("/nowhere"));
  EXPECT_FALSE(TokenFile::open("/"));
  std::mt19937 Generator(5);
  for (int Round = 0; Round < 500; ++Round) {
    auto Bytes = Broken(Generator() % 12, static_cast<uint8_t>(Generator()));
    Bytes.resize(Generator() % (2 * Bytes.size()));
    if (auto R = parseTokenHeader(Bytes, Bytes.size()))
      EXPECT_EQ(R->Count * R->Width, Bytes.size() - 1024);
  }
}

TEST_F(Tokens, BatchesAndTargets) {
  // 101 tokens are 10 windows of 10: 3 batches of 3 an epoch.
  std::string Path = write("t", makeTokens<uint16_t>(101));
  TokenBatches::Sizes Sizes{.Batch = 3, .Length = 10};
  auto B = open({Path}, Sizes);
  ASSERT_TRUE(B) << messageOf(B);
  EXPECT_EQ((*B)->getBatchesPerEpoch(), 3u);
  std::set<int64_t> Windows;
  std::vector<int64_t> Inputs(30), Targets(30), Again(30);
  std::vector<std::vector<int64_t>> All;
  for (uint64_t Step = 0; Step < 3; ++Step) {
    ASSERT_TRUE((*B)->get(Step, Inputs, Targets));
    for (size_t I = 0; I < 30; ++I) {
      EXPECT_EQ(Targets[I], Inputs[I] + 1);
      EXPECT_EQ(Inputs[I], Inputs[I / 10 * 10] + int64_t(I % 10));
    }
    for (size_t Row = 0; Row < 3; ++Row) {
      EXPECT_EQ(Inputs[Row * 10] % 10, 0);
      EXPECT_TRUE(Windows.insert(Inputs[Row * 10]).second) << "seen twice";
    }
    All.push_back(Inputs);
  }
  // The order depends on the step alone; epochs and seeds differ.
  for (uint64_t Step : {2, 0, 1}) {
    ASSERT_TRUE((*B)->get(Step, Again, {}));
    EXPECT_EQ(Again, All[Step]);
    ASSERT_TRUE((*B)->get(Step, {}, Targets));
    EXPECT_EQ(Targets[0], Again[0] + 1);
  }
  ASSERT_TRUE((*B)->get(3, Again, {}));
  EXPECT_NE(Again, All[0]);
  auto Other = open({Path}, Sizes, 2);
  ASSERT_TRUE((*Other)->get(0, Again, {}));
  EXPECT_NE(Again, All[0]);
}

TEST_F(Tokens, NoWindowLiesInTwoFiles) {
  // 2, 0, 3 and 1 windows of 4; the files' widths differ.
  std::vector<std::string> Paths = {write("a", makeTokens<uint16_t>(11, 100)),
                                    write("b", makeTokens<uint16_t>(4, 200)),
                                    write("c", makeTokens<uint32_t>(13, 300)),
                                    write("d", makeTokens<uint16_t>(5, 400))};
  auto B = open(Paths, {.Batch = 2, .Length = 4});
  ASSERT_TRUE(B) << messageOf(B);
  ASSERT_EQ((*B)->getBatchesPerEpoch(), 3u);
  std::set<int64_t> Firsts;
  std::vector<int64_t> Inputs(8), Targets(8);
  for (uint64_t Step = 0; Step < 3; ++Step) {
    ASSERT_TRUE((*B)->get(Step, Inputs, Targets));
    for (size_t I = 0; I < 8; ++I)
      EXPECT_EQ(Targets[I], Inputs[I / 4 * 4] + int64_t(I % 4) + 1);
    Firsts.insert({Inputs[0], Inputs[4]});
  }
  EXPECT_EQ(Firsts, (std::set<int64_t>{100, 104, 300, 304, 308, 400}));
}

TEST_F(Tokens, BatchesThatCannotBe) {
  std::string Path = write("t", makeTokens<uint16_t>(100));
  EXPECT_EQ(messageOf(open({Path}, {.Batch = 10, .Length = 10})),
            Path + ": 100 tokens are 9 windows of 10; a batch needs 10");
  EXPECT_TRUE(open({Path, Path}, {.Batch = 10, .Length = 10}));
  EXPECT_FALSE(open({}, {.Batch = 1, .Length = 1}));
  EXPECT_FALSE(open({Path}, {.Batch = 0, .Length = 10}));
  EXPECT_FALSE(open({Path}, {.Batch = 1, .Length = 0}));
  EXPECT_EQ(messageOf(open({Path}, {.Batch = 1, .Length = 10, .Bound = 99})),
            Path + ": token 99 at position 99 is outside a vocabulary of 99");
  EXPECT_TRUE(open({Path}, {.Batch = 1, .Length = 10, .Bound = 100}));
}

TEST_F(Tokens, SharesAreRowsOfOneBatch) {
  std::string Path = write("t", makeTokens<uint16_t>(1000));
  auto All = open({Path}, {.Batch = 6, .Length = 10});
  auto Shared = open({Path}, {.Batch = 2, .Length = 10, .Shares = 3});
  ASSERT_TRUE(All && Shared);
  EXPECT_EQ((*All)->getBatchesPerEpoch(), (*Shared)->getBatchesPerEpoch());
  // The second epoch has another order.
  for (uint64_t Step : {uint64_t(0), (*All)->getBatchesPerEpoch() + 3}) {
    std::vector<int64_t> Whole(60), Own(20), Joined;
    ASSERT_EQ(messageOf((*All)->get(Step, {}, Whole)), "");
    for (uint64_t Share = 0; Share < 3; ++Share) {
      ASSERT_EQ(messageOf((*Shared)->get(Step, {}, Own, Share)), "");
      Joined.insert(Joined.end(), Own.begin(), Own.end());
    }
    EXPECT_EQ(Joined, Whole);
  }
  EXPECT_EQ(messageOf(open({Path}, {.Batch = 50, .Length = 10, .Shares = 3})),
            Path + ": 1000 tokens are 99 windows of 10; a batch needs 150");
}

TEST_F(Tokens, FilesThatChange) {
  std::string Path = write("t", makeTokens<uint16_t>(41));
  auto B = open({Path}, {.Batch = 1, .Length = 10, .Bound = 50});
  ASSERT_TRUE(B) << messageOf(B);
  auto Count = [&](const char *Words) {
    int Found = 0;
    std::vector<int64_t> Inputs(10);
    for (uint64_t Step = 0; Step < 4; ++Step) {
      Status Got = (*B)->get(Step, Inputs, {});
      Found += !Got && messageOf(Got).find(Words) != std::string::npos;
    }
    return Found;
  };
  // Its last token goes, then all.
  std::filesystem::resize_file(Path, 1024 + 80);
  EXPECT_EQ(Count("it ends at byte 1104"), 1);
  std::filesystem::resize_file(Path, 1024);
  EXPECT_EQ(Count("it ends at byte"), 4);
}

} // namespace
