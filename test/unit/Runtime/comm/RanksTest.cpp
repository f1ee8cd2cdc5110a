//===- RanksTest.cpp - ranks that are threads -----------------------------===//

#include "RankPrograms.h"
#include <atomic>
#include <cstdlib>
#include <thread>

using namespace remat;
using namespace remat::runtime;
using namespace remat::runtime::test;

namespace {

using Milliseconds = Ranks::Milliseconds;

/// What rank number `Rank` does; the message it ends with.
using Part = std::function<std::string(Ranks &)>;

/// Runs one part a rank, each in a thread, and gives the messages. A rank whose
/// part returns has ended.
std::vector<std::string> runParts(const std::vector<Part> &Parts,
                                  Milliseconds Limit = Milliseconds(20000)) {
  auto Count = static_cast<uint32_t>(Parts.size());
  std::vector<std::shared_ptr<Ranks>> All = createThreadRanks(Count);
  std::vector<std::string> Messages(Count);
  onThreads(Count, [&](uint32_t Rank) {
    std::shared_ptr<Ranks> Own = std::move(All[Rank]);
    Own->setTimeLimit(Limit);
    Messages[Rank] = Parts[Rank](*Own);
  });
  return Messages;
}

std::string wait(Ranks &R) { return messageOf(barrier(R)); }
std::string leave(Ranks &) { return "left"; }

TEST(Ranks, KnowTheirNumbers) {
  std::atomic<uint32_t> Seen = 0;
  Part Look = [&](Ranks &R) {
    EXPECT_EQ(R.getSize(), 3u);
    EXPECT_EQ(R.getLocalRank(), R.getRank());
    Seen += 1u << R.getRank();
    return "";
  };
  runParts({Look, Look, Look});
  EXPECT_EQ(Seen, 7u);
}

TEST(Ranks, GatherAndBroadcast) {
  for (uint32_t Count = 1; Count <= 5; ++Count) {
    Part P = [&](Ranks &R) {
      // Texts of 0, 1000, 2000, ... bytes.
      auto All = allGather(
          R, std::string(1000 * R.getRank(), char('a' + R.getRank())));
      EXPECT_TRUE(All) << messageOf(All);
      for (uint32_t Rank = 0; Rank < Count; ++Rank)
        EXPECT_EQ((*All)[Rank], std::string(1000 * Rank, char('a' + Rank)));
      uint32_t Root = Count / 2;
      auto Text = broadcast(R, Root, "from " + std::to_string(R.getRank()));
      EXPECT_TRUE(Text) << messageOf(Text);
      EXPECT_EQ(*Text, "from " + std::to_string(Root));
      uint64_t Number = R.getRank() + 10;
      EXPECT_TRUE(broadcast(R, Root, &Number, sizeof Number));
      EXPECT_EQ(Number, Root + 10);
      for (bool Said : {true, false}) {
        auto Any = anyOf(R, Said && R.getRank() == Root);
        EXPECT_TRUE(Any) << messageOf(Any);
        EXPECT_EQ(*Any, Said);
      }
      return wait(R);
    };
    for (const std::string &Message : runParts({Count, P}))
      EXPECT_EQ(Message, "");
  }
}

/// The n-th send to a peer is the peer's n-th receive, in one call or several.
TEST(Ranks, KeepTheOrderOfMessages) {
  constexpr int Rounds = 200;
  auto Messages = runParts({
      [](Ranks &R) {
        for (int I = 0; I < Rounds; I += 2) {
          int Pair[] = {I, I + 1};
          Send Sends[] = {{1, &Pair[0], 4}, {1, &Pair[1], 4}};
          if (Status S = R.exchange(Sends, {}); !S)
            return messageOf(S);
        }
        return std::string();
      },
      [](Ranks &R) {
        for (int I = 0; I < Rounds; ++I) {
          int Found = -1;
          Receive Receives[] = {{0, &Found, 4}};
          if (Status S = R.exchange({}, Receives); !S)
            return messageOf(S);
          EXPECT_EQ(Found, I);
        }
        return std::string();
      },
  });
  EXPECT_EQ(Messages, std::vector<std::string>(2));
}

TEST(Ranks, NameWhoIsLate) {
  // Rank 2 does something else for longer than the others wait.
  for (auto [Limit, Said] :
       {std::pair(150, "0.15 s"), std::pair(1000, "1 s")}) {
    std::atomic<bool> Done = false;
    auto Late = [&](Ranks &R) {
      std::string Message = wait(R);
      Done = true;
      return Message;
    };
    auto Messages = runParts({Late, Late,
                              [&](Ranks &R) {
                                while (!Done)
                                  std::this_thread::yield();
                                return wait(R);
                              },
                              Late},
                             Milliseconds(Limit));
    for (uint32_t Rank : {0, 1, 2, 3})
      EXPECT_NE(Messages[Rank].find(
                    std::string("rank 2 did not answer within ") + Said),
                std::string::npos)
          << Messages[Rank];
  }
  auto Many = runParts({wait, leave, leave}, Milliseconds(0));
  EXPECT_NE(Many[0].find("rank"), std::string::npos);
}

TEST(Ranks, NameWhoHasEnded) {
  auto Messages = runParts({wait, wait, leave});
  for (uint32_t Rank : {0, 1})
    EXPECT_NE(Messages[Rank].find("rank 2 has ended"), std::string::npos)
        << Messages[Rank];
}

TEST(Ranks, HearWhyOneGivesUp) {
  // Also those that wait for another one, and at every later call.
  Part Hear = [](Ranks &R) {
    std::string First = wait(R);
    EXPECT_EQ(wait(R), First);
    return First;
  };
  auto Messages = runParts({Hear, Hear, [](Ranks &R) {
                              R.abort("no memory");
                              R.abort("something else");
                              return wait(R);
                            }});
  EXPECT_EQ(Messages[0], "rank 2: no memory");
  EXPECT_EQ(Messages[1], "rank 2: no memory");
  EXPECT_EQ(Messages[2], "no memory");
}

TEST(Ranks, SeeThatSizesDiffer) {
  auto Messages = runParts({[](Ranks &R) {
                              Send Sends[] = {{1, "abcdefgh", 8}};
                              return messageOf(R.exchange(Sends, {}));
                            },
                            [](Ranks &R) {
                              char To[4];
                              Receive Receives[] = {{0, To, 4}};
                              return messageOf(R.exchange({}, Receives));
                            }});
  for (const std::string &Message : Messages)
    EXPECT_NE(Message.find("rank 0 sent 8 bytes where rank 1 expects 4"),
              std::string::npos)
        << Message;
}

TEST(Ranks, RefusePeersThatAreNot) {
  auto Messages = runParts({[](Ranks &R) {
                              char C = 0;
                              for (uint32_t Peer : {0, 2}) {
                                Send Sends[] = {{Peer, &C, 1}};
                                EXPECT_FALSE(R.exchange(Sends, {}));
                                Receive Receives[] = {{Peer, &C, 1}};
                                EXPECT_FALSE(R.exchange({}, Receives));
                              }
                              return wait(R);
                            },
                            wait});
  EXPECT_EQ(Messages, std::vector<std::string>(2));
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

RankedOp makeSum(const Mesh &Sizes, uint32_t Count) {
  RankedOp Op = {.Op = "all_reduce", .Sizes = Sizes};
  Op.List = {groupOf(Sizes, {0}), text("kind", "sum")};
  Op.Results = {f32({8})};
  Op.Operands.assign(Count, {f32({8}, std::vector<double>(8, 1))});
  return Op;
}

TEST(Ranks, AreAsManyAsTheProgramIsFor) {
  RankedOp Op = makeSum({2, 2}, 2);
  for (const Outcome &Of : runOnRanks(Op.make(), 2, Op.Operands, Op.Results))
    EXPECT_NE(
        Of.Failed.find("the program is for 4 ranks (a=2, b=2); 2 were started"),
        std::string::npos)
        << Of.Failed;
  auto Alone = createDevice("host");
  ASSERT_TRUE(Alone);
  auto Refused = Session::create(Op.make().finish(), **Alone);
  EXPECT_NE(messageOf(Refused).find("; 1 was started"), std::string::npos)
      << messageOf(Refused);
  // A program for one rank is not run by two.
  ProgramMaker P;
  P.step("copy", {P.argument("0", f32({8}))}, {P.tensor(f32({8}))});
  P.result("0", 1);
  for (const Outcome &Of : runOnRanks(P, 2, Op.Operands, Op.Results))
    EXPECT_NE(Of.Failed.find("the program is for 1 rank; 2 were started"),
              std::string::npos)
        << Of.Failed;
}

/// An error of one rank ends the step of the others, which would wait for it.
TEST(Ranks, EndWithTheStepOfAnother) {
  ProgramMaker P;
  setMesh(P, {3});
  uint32_t Ids = P.argument("0", i64({1})),
           Table = P.argument("1", f32({4, 8}));
  uint32_t Row = P.tensor(f32({1, 8})), Sum = P.tensor(f32({1, 8}));
  P.step("embedding", {Ids, Table}, {Row});
  P.step("all_reduce", {Row}, {Sum}, {groupOf({3}, {0}), text("kind", "sum")});
  P.result("0", Sum);
  // Rank 1 asks for a row that the table does not have.
  std::vector<std::vector<Array>> Operands;
  for (double Id : {0, 9, 0})
    Operands.push_back({i64({1}, {Id}), randomArray(DType::F32, {4, 8}, 1)});
  auto Outcomes = runOnRanks(P, 3, Operands, {f32({1, 8})});
  EXPECT_NE(Outcomes[1].Failed.find("step 0 (embedding"), std::string::npos)
      << Outcomes[1].Failed;
  for (uint32_t Rank : {0, 2}) {
    const std::string &Message = Outcomes[Rank].Failed;
    EXPECT_NE(Message.find("rank 1: step 0 (embedding"), std::string::npos)
        << Message;
  }
}

/// One rank is interrupted; all of them end before the same step.
TEST(Ranks, EndBeforeTheSameStep) {
  std::vector<uint8_t> Bytes = makeSum({3}, 3).make().finish();
  std::vector<std::shared_ptr<Ranks>> All = createThreadRanks(3);
  std::vector<int> Steps(3);
  onThreads(3, [&](uint32_t Rank) {
    DeviceOptions Options;
    Options.Threads = 1;
    Options.TheRanks = std::move(All[Rank]);
    auto D = createDevice("host", Options);
    ASSERT_TRUE(D);
    auto S = Session::create(Bytes, **D);
    ASSERT_TRUE(S) << messageOf(S);
    std::vector<float> X(8, 1);
    for (;; ++Steps[Rank]) {
      ASSERT_TRUE((*S)->writeArgument("0", X.data(), 32));
      if (Rank == 1 && Steps[Rank] == 5)
        (*S)->interrupt();
      Status Ran = (*S)->runStep();
      if (Ran)
        continue;
      EXPECT_EQ(Ran.getError().getCode(), ErrorCode::Interrupted)
          << messageOf(Ran);
      break;
    }
    // And they go on together.
    EXPECT_TRUE((*S)->runStep());
  });
  EXPECT_EQ(Steps, std::vector<int>(3, 5));
}

//===----------------------------------------------------------------------===//
// Starting
//===----------------------------------------------------------------------===//

TEST(Ranks, AreNoneWhereAProcessIsAlone) {
  for (const char *Variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                               "SLURM_STEP_NUM_TASKS", "WORLD_SIZE"})
    unsetenv(Variable);
  auto None = createRanks("host");
  ASSERT_TRUE(None) << messageOf(None);
  EXPECT_EQ(*None, nullptr);
}

} // namespace
