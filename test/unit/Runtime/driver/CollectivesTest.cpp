//===- CollectivesTest.cpp - what the CUDA device asks of NCCL ------------===//
//
// Rank 0 of two, with stand-ins for the driver and for NCCL. Rank 1 is a thread
// that takes part in nothing but what ranks say to each other on the host.
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"
#include "remat/runtime/Together.h"
#include <cstring>
#include <thread>

using namespace remat;
using namespace remat::runtime;
using namespace remat::runtime::test;

namespace {

/// As in FakeNccl.c.
struct FakeNcclState {
  int InProgress, Error, Aborted, Destroyed;
};

class FakeNccl : public FakeDriver {
protected:
  void SetUp() override {
    FakeDriver::SetUp();
    Nccl = openCUDALibrary({"libnccl.so.2"}, /*IsGlobal=*/true);
    ASSERT_TRUE(Nccl.Handle) << Nccl.Why;
    State = static_cast<FakeNcclState *>(Nccl.find("fakeNccl"));
    ASSERT_TRUE(State) << "another NCCL was loaded";
    *State = {};
  }

  void TearDown() override {
    D.reset();
    if (Other.joinable())
      Other.join();
  }

  /// The device of rank 0 and the thread of rank 1, which says of its own
  /// connection what `Connect` gives.
  void makeRanks(const std::function<Result<bool>()> &Connect = [] {
    return Result<bool>(true);
  }) {
    std::vector<std::shared_ptr<Ranks>> All = createThreadRanks(2);
    Own = All[0];
    D = make(nullptr, All[0]);
    Other = std::thread([R = std::move(All[1]), Connect]() mutable {
      char Id[128] = {};
      EXPECT_TRUE(broadcast(*R, 0, Id, sizeof Id));
      EXPECT_EQ(Id[127], 5);
      if (Connect)
        (void)pollTogether(*R, Connect);
      R.reset();
    });
  }

  SharedLibrary Nccl;
  FakeNcclState *State = nullptr;
  std::shared_ptr<Ranks> Own;
  std::unique_ptr<Device> D;
  std::thread Other;
};

/// A step that NCCL runs.
program::StepT &ncclStep(ProgramMaker &P, const std::string &Op,
                         std::vector<uint32_t> Operands,
                         std::vector<uint32_t> Results, Attrs List) {
  List.push_back(ints("group", {1, 2}));
  program::StepT &S = P.step(Op, std::move(Operands), std::move(Results), List);
  S.kernel = program::KernelKind::Nccl;
  return S;
}

void finishProgram(ProgramMaker &P) {
  setKernel(P);
  P.Program.mesh.push_back(std::make_unique<program::MeshAxisT>());
  P.Program.mesh.back()->name = "data";
  P.Program.mesh.back()->size = 2;
}

/// s = x + x; r = all_reduce(s); t = x + x; u = t + t; v = r + t.
ProgramMaker makeSums() {
  ProgramMaker P;
  Array Type = f32({64});
  uint32_t X = P.argument("x", Type), S = P.tensor(Type), R = P.tensor(Type);
  uint32_t T = P.tensor(Type), U = P.tensor(Type), V = P.tensor(Type);
  add(P, X, X, S, 64);
  ncclStep(P, "all_reduce", {S}, {R}, {text("kind", "sum")});
  add(P, X, X, T, 64);
  add(P, T, T, U, 64);
  add(P, R, T, V, 64);
  P.result("u", U);
  P.result("v", V);
  finishProgram(P);
  return P;
}

/// Names events by the order in which they come up, as letters.
std::string nameEvents(const char *Log) {
  std::string Text = Log, Out;
  std::vector<std::string> Seen;
  for (size_t At = 0; At < Text.size();) {
    size_t End = Text.find(", ", At);
    std::string Entry = Text.substr(At, End - At);
    At = End + 2;
    if (Entry.starts_with("record") || Entry.starts_with("wait")) {
      size_t Space = Entry.rfind(' ');
      std::string Event = Entry.substr(Space + 1);
      auto It = std::find(Seen.begin(), Seen.end(), Event);
      if (It == Seen.end())
        It = Seen.insert(Seen.end(), Event);
      Entry = Entry.substr(0, Space + 1) + char('a' + (It - Seen.begin()));
    }
    Out += Entry + "\n";
  }
  return Out;
}

TEST_F(FakeNccl, RunsBesideWhatItDoesNotTouch) {
  State->InProgress = 3;
  makeRanks();
  ASSERT_TRUE(D);
  auto S = Session::create(makeSums().finish(), *D);
  ASSERT_TRUE(S) << messageOf(S);
  Other.join();
  std::vector<float> X(64, 1), V(64);
  ASSERT_TRUE((*S)->writeArgument("x", X.data(), 256));
  auto P = Program::load(makeSums().finish());
  auto E = D->prepare(*P);
  ASSERT_TRUE(E) << messageOf(E);
  auto Arena = D->allocate((*P)->ArenaBytes);
  std::memcpy(*Arena, X.data(), 256);
  Fake->Log[0] = 0;
  Status Ran = (*E)->run(*Arena, {});
  ASSERT_TRUE(Ran) << messageOf(Ran);
  ASSERT_TRUE(D->synchronize());
  // Stream 0 is the main one. It waits before the last sum, not before.
  EXPECT_EQ(nameEvents(Fake->Log), "add 0\n"
                                   "record 0 a\n"
                                   "wait 1 a\n"
                                   "all_reduce 1\n"
                                   "record 1 b\n"
                                   "add 0\n"
                                   "add 0\n"
                                   "wait 0 b\n"
                                   "add 0\n");
  const auto *Out = reinterpret_cast<float *>(static_cast<char *>(*Arena) +
                                              (*P)->Tensors[5].Offset);
  EXPECT_EQ(*Out, (2 + 102) + 2);
  // One by one, each collective is done before the next step.
  Fake->Log[0] = 0;
  RunOptions Single;
  Single.Poison = true;
  ASSERT_TRUE((*E)->run(*Arena, Single));
  EXPECT_EQ(nameEvents(Fake->Log), "add 0\n"
                                   "record 0 a\n"
                                   "wait 1 a\n"
                                   "all_reduce 1\n"
                                   "record 1 b\n"
                                   "wait 0 b\n"
                                   "add 0\n"
                                   "add 0\n"
                                   "add 0\n");
  D->deallocate(*Arena, (*P)->ArenaBytes);
}

/// What reuses the bytes that a collective still reads waits for it, and a
/// graph ends with all of them.
TEST_F(FakeNccl, IsWaitedForByAddress) {
  ProgramMaker P;
  Array Type = f32({64});
  uint32_t X = P.argument("x", Type), S = P.tensor(Type), R = P.tensor(Type);
  uint32_t Q = P.tensor(Type), W = P.tensor(Type);
  uint32_t T = P.tensor(Type, int64_t(offsetOf(P, S)));
  add(P, X, X, S, 64);
  ncclStep(P, "all_reduce", {S}, {R}, {text("kind", "sum")});
  ncclStep(P, "all_reduce", {X}, {Q}, {text("kind", "sum")});
  add(P, X, X, W, 64); // both only read x
  add(P, X, X, T, 64); // over s
  P.result("r", R);
  P.result("q", Q);
  P.result("t", T);
  P.result("w", W);
  finishProgram(P);
  makeRanks();
  auto Loaded = Program::load(P.finish());
  ASSERT_TRUE(Loaded) << messageOf(Loaded);
  auto E = D->prepare(*Loaded);
  ASSERT_TRUE(E) << messageOf(E);
  auto Arena = D->allocate((*Loaded)->ArenaBytes);
  std::memset(*Arena, 0, (*Loaded)->ArenaBytes);
  Fake->Log[0] = 0;
  ASSERT_TRUE((*E)->run(*Arena, {}));
  EXPECT_EQ(nameEvents(Fake->Log), "add 0\n"
                                   "record 0 a\n"
                                   "wait 1 a\n"
                                   "all_reduce 1\n"
                                   "record 1 b\n"
                                   "record 0 c\n"
                                   "wait 1 c\n"
                                   "all_reduce 1\n"
                                   "record 1 d\n"
                                   "add 0\n"
                                   "wait 0 b\n"
                                   "add 0\n"
                                   "wait 0 d\n");
  D->deallocate(*Arena, (*Loaded)->ArenaBytes);
}

/// Every op, from rank 0: what the other rank gives is bytes of 7.
TEST_F(FakeNccl, MovesParts) {
  ProgramMaker P;
  Array Part = f32({2, 2}), Whole = f32({2, 4});
  uint32_t X = P.argument("x", Whole), Y = P.argument("y", Part);
  uint32_t Out[] = {P.tensor(Part), P.tensor(Whole), P.tensor(f32({4, 2})),
                    P.tensor(Part), P.tensor(Part),  P.tensor(Part),
                    P.tensor(Part)};
  uint32_t Index = P.tensor(i64({}));
  Attr Dim = ints("dim", {1});
  ncclStep(P, "reduce_scatter", {X}, {Out[0]}, {Dim, text("kind", "sum")});
  ncclStep(P, "all_gather", {Y}, {Out[1]}, {Dim});
  ncclStep(P, "all_to_all", {X}, {Out[2]},
           {ints("split_dim", {1}), ints("concat_dim", {0})});
  ncclStep(P, "collective_broadcast", {Y}, {Out[3]}, {ints("root", {1})});
  ncclStep(P, "collective_permute", {Y}, {Out[4]}, {ints("pairs", {1, 0})});
  ncclStep(P, "collective_permute", {Y}, {Out[5]}, {ints("pairs", {0, 1})});
  ncclStep(P, "rank_part", {X}, {Out[6]}, {Dim});
  ncclStep(P, "rank_index", {}, {Index}, {});
  for (size_t I = 0; I < 7; ++I)
    P.result(std::to_string(I), Out[I]);
  P.result("7", Index);
  finishProgram(P);
  makeRanks();
  auto S = Session::create(P.finish(), *D);
  ASSERT_TRUE(S) << messageOf(S);
  auto E = &(*S)->getExecutable();
  ASSERT_TRUE(E);
  const Program &Loaded = (*S)->getProgram();
  auto Arena = D->allocate(Loaded.ArenaBytes);
  auto At = [&](uint32_t Tensor) {
    return reinterpret_cast<float *>(static_cast<char *>(*Arena) +
                                     Loaded.Tensors[Tensor].Offset);
  };
  for (int I = 0; I < 8; ++I)
    At(X)[I] = float(I);
  for (int I = 0; I < 4; ++I)
    At(Y)[I] = float(I + 20);
  ASSERT_TRUE(E->run(*Arena, {}));
  ASSERT_TRUE(D->synchronize());
  float Seven = 0;
  std::memset(&Seven, 7, 4);
  auto Expect = [&](uint32_t Tensor, std::vector<float> Numbers) {
    EXPECT_EQ(std::vector<float>(At(Tensor), At(Tensor) + Numbers.size()),
              Numbers);
  };
  Expect(Out[0], {100, 102, 108, 110});
  Expect(Out[1], {20, 21, Seven, Seven, 22, 23, Seven, Seven});
  Expect(Out[2], {0, 1, 4, 5, Seven, Seven, Seven, Seven});
  Expect(Out[3], {Seven, Seven, Seven, Seven});
  Expect(Out[4], {Seven, Seven, Seven, Seven});
  Expect(Out[5], {0, 0, 0, 0});
  Expect(Out[6], {0, 1, 4, 5});
  EXPECT_EQ(*reinterpret_cast<int64_t *>(At(Index)), 0);
  D->deallocate(*Arena, Loaded.ArenaBytes);
}

/// NCCL waits for who does not come for as long as it is let: the ranks notice.
TEST_F(FakeNccl, NamesWhoDoesNotConnect) {
  State->InProgress = std::numeric_limits<int>::max();
  makeRanks(nullptr);
  auto P = Program::load(makeSums().finish());
  std::string Message = messageOf(D->prepare(*P));
  EXPECT_NE(Message.find("cannot connect the ranks: rank 1 has ended"),
            std::string::npos)
      << Message;
  D.reset();
  EXPECT_EQ(State->Aborted, 1);
}

TEST_F(FakeNccl, HearsWhyAnotherDoesNotConnect) {
  State->InProgress = std::numeric_limits<int>::max();
  makeRanks([] { return Error(ErrorCode::DeviceFailure, "no network"); });
  auto P = Program::load(makeSums().finish());
  std::string Message = messageOf(D->prepare(*P));
  EXPECT_NE(Message.find("cannot connect the ranks: rank 1: no network"),
            std::string::npos)
      << Message;
}

/// A rank that connects more slowly than the others wait in an exchange is
/// there all the same.
TEST_F(FakeNccl, ConnectsForLongerThanTheLimit) {
  auto Begin = std::chrono::steady_clock::now();
  makeRanks([&] {
    return Result<bool>(std::chrono::steady_clock::now() - Begin >
                        std::chrono::seconds(2));
  });
  Own->setTimeLimit(Ranks::Milliseconds(1000));
  auto P = Program::load(makeSums().finish());
  auto E = D->prepare(*P);
  EXPECT_TRUE(E) << messageOf(E);
  EXPECT_GT(std::chrono::steady_clock::now() - Begin, std::chrono::seconds(2));
}

/// The first collective begins and is not done, and rank 1 is gone.
TEST_F(FakeNccl, NamesTheStepThatWaits) {
  makeRanks();
  Own->setTimeLimit(Ranks::Milliseconds(200));
  auto P = Program::load(makeSums().finish());
  auto E = D->prepare(*P);
  ASSERT_TRUE(E) << messageOf(E);
  Other.join();
  auto Arena = D->allocate((*P)->ArenaBytes);
  std::memset(*Arena, 0, (*P)->ArenaBytes);
  RunOptions Stop;
  Stop.AfterStep = [&](size_t) -> Status {
    // Of the copies from now on one is done: the number of the collective.
    Fake->Stuck = 1;
    return {};
  };
  Status Ran = (*E)->run(*Arena, Stop);
  std::string Message = messageOf(Ran);
  EXPECT_NE(Message.find("step 1 (all_reduce): not done within 0.2 s; rank 1 "
                         "has ended"),
            std::string::npos)
      << Message;
  Fake->Stuck = 0;
  // Nothing is asked of NCCL any more.
  EXPECT_FALSE((*E)->run(*Arena, {}));
  D->deallocate(*Arena, (*P)->ArenaBytes);
  (*E).reset();
  D.reset();
  EXPECT_EQ(State->Aborted, 1);
  EXPECT_EQ(State->Destroyed, 0);
}

/// While there is a graph of the step, too, for which NCCL's abort waits.
TEST_F(FakeNccl, EndsWithNcclsErrors) {
  makeRanks();
  auto P = Program::load(makeSums().finish());
  auto E = D->prepare(*P);
  ASSERT_TRUE(E) << messageOf(E);
  auto Arena = D->allocate((*P)->ArenaBytes);
  std::memset(*Arena, 0, (*P)->ArenaBytes);
  ASSERT_TRUE((*E)->run(*Arena, {}));
  ASSERT_TRUE(D->synchronize());
  Other.join();
  Fake->Stuck = 1;
  State->Error = 6;
  std::string Message = messageOf(D->synchronize());
  EXPECT_NE(Message.find("ranks lost each other: NCCL: refused by the test; "
                         "rank 1 has ended"),
            std::string::npos)
      << Message;
  Fake->Stuck = 0;
  D->deallocate(*Arena, (*P)->ArenaBytes);
  (*E).reset();
  D.reset();
  EXPECT_EQ(State->Aborted, 1);
}

TEST_F(FakeNccl, RanksAreAsManyAsTheProgramIsFor) {
  D = make();
  auto P = Program::load(makeSums().finish());
  std::string Message = messageOf(D->prepare(*P));
  EXPECT_NE(Message.find("the program is for 2 ranks (data=2); 1 was started"),
            std::string::npos)
      << Message;
}

} // namespace
