//===- MPITest.cpp - ranks that mpirun started ----------------------------===//
//
// Each test runs this program anew under mpirun, with the name of a part that
// all ranks then play, and reads what they print.
//
//===----------------------------------------------------------------------===//

#include "RankPrograms.h"
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>
#include <unistd.h>

using namespace remat;
using namespace remat::runtime;
using namespace remat::runtime::test;

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

namespace {

using Milliseconds = Ranks::Milliseconds;

std::string getPattern(size_t Bytes, uint32_t From, uint32_t To) {
  std::string Text(Bytes, ' ');
  for (size_t I = 0; I < Bytes; ++I)
    Text[I] = static_cast<char>(I * 7 + From * 31 + To);
  return Text;
}

/// Messages of no bytes, of some, and of so many that MPI waits for who takes
/// them, from each rank to each.
std::string exchangeAll(Ranks &R) {
  for (size_t Bytes : {0, 1, 1000, 5000000}) {
    std::vector<std::string> Out(R.getSize()), In(R.getSize());
    std::vector<Send> Sends;
    std::vector<Receive> Receives;
    for (uint32_t Peer = 0; Peer < R.getSize(); ++Peer)
      if (Peer != R.getRank()) {
        Out[Peer] = getPattern(Bytes, R.getRank(), Peer);
        In[Peer].resize(Bytes);
        Sends.push_back({Peer, Out[Peer].data(), Bytes});
        Receives.push_back({Peer, In[Peer].data(), Bytes});
      }
    if (Status S = R.exchange(Sends, Receives); !S)
      return messageOf(S);
    for (const Receive &Of : Receives)
      if (In[Of.Peer] != getPattern(Bytes, Of.Peer, R.getRank()))
        return "wrong bytes from " + std::to_string(Of.Peer);
  }
  auto Names = allGather(R, std::to_string(R.getRank()));
  std::string Text;
  if (Names)
    for (const std::string &Name : *Names)
      Text += Name;
  return Names ? Text : messageOf(Names);
}

/// A sum over all ranks by the host device: 1 + 2 + ...
std::string sum(std::shared_ptr<Ranks> R) {
  RankedOp Op = {.Op = "all_reduce", .Sizes = {R->getSize()}};
  Op.List = {groupOf(Op.Sizes, {0}), text("kind", "sum")};
  Op.Results = {f32({1000003})};
  Op.Operands = {{Op.Results[0]}};
  DeviceOptions Options;
  Options.Threads = 1;
  Options.TheRanks = R;
  auto D = createDevice("host", Options);
  auto S = D ? Session::create(Op.make().finish(), **D) : D.getError();
  if (!S)
    return messageOf(S);
  std::vector<float> X(1000003, float(R->getRank() + 1));
  for (int Step = 0; Step < 3; ++Step) {
    Status Done = (*S)->writeArgument("0", X.data(), X.size() * 4);
    if (Done)
      Done = (*S)->runStep();
    if (!Done)
      return messageOf(Done);
  }
  std::vector<float> Y(X.size());
  if (Status Read = (*S)->readResult("0", Y.data(), Y.size() * 4); !Read)
    return messageOf(Read);
  for (float Element : Y)
    if (Element != Y[0])
      return "sums differ";
  return std::to_string(int(Y[0]));
}

std::string wait(Ranks &R) { return messageOf(barrier(R)); }

std::string waitTwice(Ranks &R) {
  std::string First = wait(R), Second = wait(R);
  return First == Second ? First : First + " | " + Second;
}

/// Rank 0 waits for rank 2, which waits for rank 1, which does not come.
std::string waitInChain(Ranks &R) {
  char Byte = 0;
  std::this_thread::sleep_for(Milliseconds(R.getRank() == 1   ? 5000
                                           : R.getRank() == 2 ? 300
                                                              : 0));
  Receive From[] = {{R.getRank() == 0 ? 2u : 1u, &Byte, 1}};
  return R.getRank() == 1 ? wait(R) : messageOf(R.exchange({}, From));
}

/// What a rank of the part `Name` does.
std::string play(const std::string &Name, std::shared_ptr<Ranks> R) {
  if (Name == "exchange")
    return exchangeAll(*R);
  if (Name == "sum")
    return sum(R);
  bool IsOdd = R->getRank() == 1;
  if (Name == "abort") {
    if (IsOdd)
      R->abort("no memory");
    return waitTwice(*R);
  }
  if (Name == "leave")
    return IsOdd ? "left" : waitTwice(*R);
  if (Name == "sizes") {
    char Bytes[64] = {};
    Send Sends[] = {{1, Bytes, 48}};
    Receive Receives[] = {{0, Bytes, 16}};
    if (R->getRank() == 0)
      return messageOf(R->exchange(Sends, {}));
    return IsOdd ? messageOf(R->exchange({}, Receives)) : wait(*R);
  }
  R->setTimeLimit(Milliseconds(1500));
  if (Name == "chain")
    return waitInChain(*R);
  if (Name == "late" && IsOdd)
    std::this_thread::sleep_for(Milliseconds(3000));
  if (Name == "killed" && IsOdd)
    raise(SIGKILL);
  return waitTwice(*R);
}

int playUnderMPI(const std::string &Name) {
  auto R = createRanks("host");
  if (!R || !*R) {
    std::printf("no ranks: %s\n", messageOf(R).c_str());
    return 1;
  }
  uint32_t Rank = (*R)->getRank();
  std::string Message = play(Name, *R);
  // One write a line: mpirun mixes the lines of ranks.
  std::printf("<%u> %s\n", Rank, Message.c_str());
  std::fflush(stdout);
  return 0;
}

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

/// What each rank printed, and all that was.
struct Printed {
  std::map<int, std::string> Of;
  std::string All;
};

Printed read(const std::string &Command) {
  Printed Out;
  FILE *From = popen((Command + " 2>&1 </dev/null").c_str(), "r");
  char Buffer[8192];
  while (From && std::fgets(Buffer, sizeof Buffer, From)) {
    std::string Line = Buffer;
    Out.All += Line;
    size_t End = Line.find("> ");
    if (Line[0] == '<' && End != std::string::npos)
      Out.Of[std::atoi(&Line[1])] = Line.substr(End + 2, Line.size() - End - 3);
  }
  if (From)
    pclose(From);
  return Out;
}

std::string getSelf() {
  char Self[4096] = {};
  EXPECT_GT(readlink("/proc/self/exe", Self, sizeof Self - 1), 0);
  return " '" + std::string(Self) + "' --part ";
}

/// Runs the part on so many ranks. When one ends badly, mpirun ends the others,
/// who would not come to say what they saw; `Going` tells it not to.
constexpr const char *Going = "--enable-recovery";
Printed runPart(const std::string &Name, int Count,
                const std::string &Options = Going) {
  return read("timeout 60 mpirun --oversubscribe " + Options + " -n " +
              std::to_string(Count) + getSelf() + Name);
}

TEST(MPI, ExchangesBytes) {
  for (int Count : {2, 3, 5}) {
    Printed P = runPart("exchange", Count);
    for (int Rank = 0; Rank < Count; ++Rank)
      EXPECT_EQ(P.Of[Rank], std::string("01234").substr(0, Count)) << P.All;
  }
}

TEST(MPI, SumsOnTheHost) {
  Printed P = runPart("sum", 4);
  for (int Rank = 0; Rank < 4; ++Rank)
    EXPECT_EQ(P.Of[Rank], "10") << P.All;
}

/// Both others end with what one said, and go on to say it.
TEST(MPI, HearsWhyOneGivesUp) {
  Printed P = runPart("abort", 3);
  EXPECT_EQ(P.Of[1], "no memory") << P.All;
  for (int Rank : {0, 2})
    EXPECT_EQ(P.Of[Rank], "rank 1: no memory") << P.All;
}

TEST(MPI, NamesWhoHasEnded) {
  Printed P = runPart("leave", 3);
  for (int Rank : {0, 2})
    EXPECT_NE(P.Of[Rank].find("rank 1 has ended"), std::string::npos) << P.All;
}

/// All three name rank 1, whatever each of them waits for.
static void expectRankOneIsLate(const char *Part) {
  Printed P = runPart(Part, 3);
  for (int Rank : {0, 1, 2})
    EXPECT_NE(P.Of[Rank].find("rank 1 did not answer within 1.5 s"),
              std::string::npos)
        << P.All;
}

TEST(MPI, NamesWhoIsLate) { expectRankOneIsLate("late"); }

/// Who waits for the one that is late itself is not named, though it is missing
/// too.
TEST(MPI, NamesWhoIsLateBehindAnother) { expectRankOneIsLate("chain"); }

/// mpirun itself ends the job and names the rank; told not to, nothing hangs.
TEST(MPI, NamesWhoWasKilled) {
  Printed P = runPart("killed", 3, "");
  EXPECT_NE(P.All.find("rank 1 "), std::string::npos) << P.All;
  EXPECT_NE(P.All.find("signal 9"), std::string::npos) << P.All;
  P = runPart("killed", 3);
  for (int Rank : {0, 2})
    EXPECT_NE(P.Of[Rank].find("rank 1 did not answer within 1.5 s"),
              std::string::npos)
        << P.All;
}

TEST(MPI, SeesThatSizesDiffer) {
  Printed P = runPart("sizes", 3);
  EXPECT_NE(P.Of[1].find("receiving 16 bytes from rank 0"), std::string::npos)
      << P.All;
  EXPECT_NE(P.Of[2].find("rank 1: receiving 16 bytes"), std::string::npos)
      << P.All;
}

/// A process that the mpirun of another MPI started.
TEST(MPI, SeesOtherNumbers) {
  Printed P = read("OMPI_COMM_WORLD_SIZE=7 timeout 60" + getSelf() + "sum");
  EXPECT_NE(P.All.find("7 processes were started together, MPI sees 1"),
            std::string::npos)
      << P.All;
}

} // namespace

int main(int Count, char **Arguments) {
  if (Count == 3 && !std::strcmp(Arguments[1], "--part"))
    return playUnderMPI(Arguments[2]);
  // As mpirun wants to be asked where a build runs as root.
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  testing::InitGoogleTest(&Count, Arguments);
  return RUN_ALL_TESTS();
}
