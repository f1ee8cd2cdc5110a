//===- CheckpointTest.cpp - a training that can go on later ---------------===//

#include "remat/runtime/Checkpoint.h"
#include "TestProgram.h"
#include "remat/runtime/Safetensors.h"
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace remat;
using namespace remat::runtime;
using namespace remat::runtime::test;
namespace fs = std::filesystem;

namespace {

/// One parameter, a state that no step writes, a count; each step copies the
/// input to the parameter.
std::vector<uint8_t> makeProgram(const Array &Type = f32({3}),
                                 const char *Name = "w") {
  ProgramMaker P;
  using program::Role;
  uint32_t X = P.argument("x", Type);
  uint32_t W = P.argument(Name, Type, Role::Parameter, 1);
  P.argument("frozen", i64({2}), Role::State);
  uint32_t Step = P.argument("step", i64({}), Role::Step, 0);
  uint32_t One = P.tensor(i64({}));
  P.step("constant", {}, {One}, {ints("value", {1})});
  uint32_t Next = P.tensor(i64({}), int64_t(offsetOf(P, Step)));
  P.step("add", {Step, One}, {Next});
  uint32_t New = P.tensor(Type, int64_t(offsetOf(P, W)));
  P.step("copy", {X}, {New});
  P.result("step", Next, Role::Step);
  P.result(Name, New, Role::Parameter);
  return P.finish();
}

class CheckpointTest : public ::testing::Test {
protected:
  void SetUp() override {
    // In memory where that is possible.
    Folder = (fs::is_directory("/dev/shm") ? fs::path("/dev/shm")
                                           : fs::temp_directory_path()) /
             ("remat-checkpoints-" + std::to_string(::getpid()));
    fs::remove_all(Folder);
    Device = std::move(*createDevice("host", {.Threads = 1}));
  }
  void TearDown() override { fs::remove_all(Folder); }

  std::unique_ptr<Session> makeSession(const std::vector<uint8_t> &Program) {
    auto Made = Session::create(Program, *Device);
    EXPECT_EQ(messageOf(Made), "");
    EXPECT_TRUE((*Made)->initialise(0));
    return std::move(*Made);
  }
  /// Saves the state after steps 1 to `Last`.
  void save(Session &S, unsigned Last, uint64_t Keep) {
    auto Writing = CheckpointFolder::open(Folder);
    ASSERT_TRUE(Writing) << messageOf(Writing);
    for (unsigned Done = 1; Done <= Last; ++Done) {
      std::vector<float> X(3, float(Done));
      ASSERT_TRUE(S.writeArgument("x", X.data(), 12));
      ASSERT_EQ(messageOf(S.runStep()), "");
      EXPECT_EQ(messageOf(Writing->save(S, Done, {{"a", "b"}}, Keep)), "");
    }
  }
  std::vector<std::string> list() const {
    std::vector<std::string> Names;
    for (const auto &Entry : fs::directory_iterator(Folder))
      Names.push_back(Entry.path().filename().string());
    std::sort(Names.begin(), Names.end());
    return Names;
  }

  fs::path Folder;
  std::unique_ptr<runtime::Device> Device;
};

std::string nameOf(unsigned Steps) {
  return "step-000000000" + std::to_string(Steps) + ".safetensors";
}

TEST_F(CheckpointTest, AllButInputsComesBack) {
  auto S = makeSession(makeProgram());
  int64_t Frozen[2] = {7, -9};
  ASSERT_TRUE(S->writeArgument("frozen", Frozen, sizeof Frozen));
  save(*S, 3, 2);
  EXPECT_EQ(list(), (std::vector{nameOf(2), nameOf(3)}));

  auto Search = findCheckpoint(Folder);
  ASSERT_TRUE(Search && Search->Newest) << messageOf(Search);
  EXPECT_TRUE(Search->Skipped.empty());
  EXPECT_EQ(Search->Newest->Steps, 3u);
  EXPECT_EQ(Search->Newest->Facts, (RunFacts{{"a", "b"}}));
  auto Other = makeSession(makeProgram());
  ASSERT_EQ(messageOf(loadCheckpoint(*Other, *Search->Newest)), "");
  std::vector<float> W(3);
  int64_t Read[2] = {}, Step = 0;
  ASSERT_TRUE(Other->readArgument("w", W.data(), 12));
  ASSERT_TRUE(Other->readArgument("frozen", Read, sizeof Read));
  ASSERT_TRUE(Other->readArgument("step", &Step, sizeof Step));
  EXPECT_EQ(W, std::vector<float>(3, 3.0f));
  EXPECT_EQ(Read[0], 7);
  EXPECT_EQ(Read[1], -9);
  EXPECT_EQ(Step, 3);
  EXPECT_NE(messageOf(Other->runStep()), ""); // its input is not there
}

TEST_F(CheckpointTest, ProgramsOfOtherArguments) {
  auto S = makeSession(makeProgram());
  save(*S, 1, 1);
  auto Search = findCheckpoint(Folder);
  ASSERT_TRUE(Search && Search->Newest);
  for (auto [Program, Said] :
       {std::pair(makeProgram(f32({4})), "tensor<4xf32> in the program but"),
        std::pair(makeProgram(f32({3}), "v"), "the program has 'v', which")}) {
    auto Other = makeSession(Program);
    std::string Message = messageOf(loadCheckpoint(*Other, *Search->Newest));
    EXPECT_NE(Message.find(Said), std::string::npos) << Message;
    int64_t Step = 1;
    EXPECT_TRUE(Other->readArgument("step", &Step, sizeof Step));
    EXPECT_EQ(Step, 0) << "nothing may be written";
  }
}

TEST_F(CheckpointTest, NothingThere) {
  auto Search = findCheckpoint(Folder);
  ASSERT_TRUE(Search) << messageOf(Search);
  EXPECT_FALSE(Search->Newest);
  auto Writing = CheckpointFolder::open(Folder.string() + "///");
  ASSERT_TRUE(Writing) << messageOf(Writing);
  EXPECT_TRUE(Writing->wasEmpty());
  EXPECT_FALSE(findCheckpoint(Folder)->Newest);
  auto Second = CheckpointFolder::open(Folder);
  EXPECT_NE(messageOf(Second).find("another run"), std::string::npos);
  auto S = makeSession(makeProgram());
  EXPECT_NE(messageOf(Writing->save(*S, 1, {}, 0)), "");
}

TEST_F(CheckpointTest, EveryBitCounts) {
  auto S = makeSession(makeProgram());
  save(*S, 1, 1);
  std::string Whole;
  fs::path File = Folder / nameOf(1);
  ASSERT_EQ(readWholeFile(File, 1 << 20, Whole), std::nullopt);
  auto Try = [&](const std::string &Bytes) {
    std::ofstream(File, std::ios::binary) << Bytes;
    auto Search = findCheckpoint(Folder);
    EXPECT_NE(messageOf(Search).find("is whole: "), std::string::npos);
  };
  for (size_t At = 0; At < Whole.size(); ++At) {
    std::string Torn = Whole;
    Torn[At] = char(Torn[At] ^ 1 << At % 8);
    // JSON may have blanks wherever it likes.
    if (Torn[At] != ' ' && Whole[At] != ' ')
      Try(Torn);
    Try(Whole.substr(0, At));
    if (HasFailure())
      FAIL() << "byte " << At;
  }
  ASSERT_EQ(writeWholeFile(File, Whole.data(), Whole.size()), std::nullopt);
  EXPECT_TRUE(findCheckpoint(Folder)->Newest);
}

TEST_F(CheckpointTest, BeforeTheFirstStepAndWithoutAChecksum) {
  auto S = makeSession(makeProgram());
  auto Writing = CheckpointFolder::open(Folder);
  ASSERT_TRUE(Writing) << messageOf(Writing);
  ASSERT_EQ(messageOf(Writing->save(*S, 0, {}, 1)), "");
  auto Search = findCheckpoint(Folder);
  ASSERT_TRUE(Search && Search->Newest) << messageOf(Search);
  EXPECT_EQ(Search->Newest->Steps, 0u);
  // Its last tensor has another name.
  std::string Bytes;
  fs::path File = Folder / nameOf(0);
  ASSERT_EQ(readWholeFile(File, 1 << 20, Bytes), std::nullopt);
  size_t At = Bytes.find("remat.sha256");
  ASSERT_NE(At, std::string::npos);
  Bytes[At] = 'x';
  std::ofstream(File, std::ios::binary) << Bytes;
  std::string Message = messageOf(findCheckpoint(Folder));
  EXPECT_NE(Message.find("has no checksum at its end"), std::string::npos)
      << Message;
}

TEST_F(CheckpointTest, WhatKilledProcessesLeft) {
  auto S = makeSession(makeProgram());
  save(*S, 2, 2);
  OutputFile Mine; // this process writes it: it stays
  ASSERT_EQ(Mine.open(Folder / "mine"), std::nullopt);
  std::ofstream(Folder / ".remat-1-0.partial") << "left";
  std::ofstream(Folder / "other") << "not ours";
  ASSERT_EQ(list().size(), 5u);
  ASSERT_TRUE(CheckpointFolder::open(Folder));
  EXPECT_EQ(list().size(), 4u);
  EXPECT_EQ(Mine.commit(), std::nullopt);
  // One of more steps, of a run that went on from an older one, is not counted.
  fs::rename(Folder / nameOf(2), Folder / nameOf(9));
  save(*S, 1, 1);
  EXPECT_EQ(list(),
            (std::vector<std::string>{"mine", "other", nameOf(1), nameOf(9)}));
}

} // namespace
