//===- ThreadsTest.cpp - several sessions on one device -------------------===//

#include "TestProgram.h"
#include <atomic>
#include <thread>

using namespace remat;
using namespace remat::runtime;
using namespace remat::runtime::test;

namespace {

/// y = softmax(x x) over 64 x 64 elements: a matrix product in several tasks,
/// then a kernel that uses the workers' scratch.
std::vector<uint8_t> makeProgram() {
  ProgramMaker P;
  Array Type = f32({64, 64});
  uint32_t X = P.argument("x", Type), H = P.tensor(Type), Y = P.tensor(Type);
  P.step("matmul", {X, X, NoTensor}, {H});
  P.kernel({H}, {Y}, {{"exp", {0}, Type}, {"add", {1, 0}, Type}}, {2});
  P.result("y", Y);
  return P.finish();
}

struct Outcome {
  std::string Failed;
  std::vector<uint8_t> Bytes;
};

/// Makes a session, runs steps, reads; as often as `Rounds` says.
Outcome use(Device &D, const std::vector<uint8_t> &Program, unsigned Seed,
            unsigned Rounds) {
  Outcome Out;
  Out.Bytes.resize(64 * 64 * 4);
  std::vector<uint8_t> X = randomArray(DType::F32, {64, 64}, Seed).encode();
  for (unsigned Round = 0; Round < Rounds; ++Round) {
    auto S = Session::create(Program, D);
    if (!S)
      return {messageOf(S), {}};
    for (unsigned Step = 0; Step < 5; ++Step) {
      Status Done = (*S)->writeArgument("x", X.data(), X.size());
      if (Done)
        Done = (*S)->runStep();
      if (Done)
        Done = (*S)->readResult("y", Out.Bytes.data(), Out.Bytes.size());
      if (!Done)
        return {messageOf(Done), {}};
    }
  }
  return Out;
}

/// Each thread has its own sessions and numbers; all get what they get alone.
TEST(Threads, SessionsOnOneDevice) {
  constexpr unsigned NumThreads = 4, Rounds = 40;
  std::vector<uint8_t> Program = makeProgram();
  auto D = createDevice("host", {.Threads = 3});
  ASSERT_TRUE(D) << messageOf(D);
  std::vector<Outcome> Alone, Together(NumThreads);
  for (unsigned I = 0; I < NumThreads; ++I) {
    Alone.push_back(use(**D, Program, I + 1, 1));
    ASSERT_EQ(Alone.back().Failed, "");
  }
  std::vector<std::thread> Threads;
  for (unsigned I = 0; I < NumThreads; ++I)
    Threads.emplace_back(
        [&, I] { Together[I] = use(**D, Program, I + 1, Rounds); });
  for (std::thread &T : Threads)
    T.join();
  for (unsigned I = 0; I < NumThreads; ++I) {
    EXPECT_EQ(Together[I].Failed, "");
    EXPECT_EQ(Together[I].Bytes, Alone[I].Bytes) << "thread " << I;
  }
}

/// One device a thread: the BLAS is shared by all.
TEST(Threads, DevicesAtOnce) {
  std::vector<uint8_t> Program = makeProgram();
  std::vector<Outcome> Outcomes(4);
  std::vector<std::thread> Threads;
  for (Outcome &Out : Outcomes)
    Threads.emplace_back([&] {
      auto D = createDevice("host", {.Threads = 2});
      Out = D ? use(**D, Program, 1, 20) : Outcome{messageOf(D), {}};
    });
  for (std::thread &T : Threads)
    T.join();
  for (const Outcome &Out : Outcomes) {
    EXPECT_EQ(Out.Failed, "");
    EXPECT_EQ(Out.Bytes, Outcomes[0].Bytes);
  }
}

} // namespace
