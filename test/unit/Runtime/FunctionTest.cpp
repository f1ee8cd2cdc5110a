//===- FunctionTest.cpp - functions over a program's arena ----------------===//

#include "TestProgram.h"
#include <functional>

using namespace remat;
using namespace remat::runtime;
using namespace remat::runtime::test;

namespace {

/// x at 0, w at 256, the rate at 512, and what a forward makes behind them.
ProgramMaker makeForward() {
  ProgramMaker P;
  uint32_t X = P.argument("x", f32({4, 2}));
  uint32_t W = P.argument("w", f32({2, 3}), program::Role::Parameter);
  P.argument("rate", f32({}), program::Role::LearningRate);
  uint32_t Y = P.tensor(f32({4, 3}));
  uint32_t Loss = P.tensor(f32({}));
  P.step("matmul", {X, W, NoTensor}, {Y});
  P.step("reduce", {Y}, {Loss}, {text("kind", "mean"), ints("dims", {0, 1})});
  P.result("loss", Loss, program::Role::Loss);
  return P;
}

/// The forward and a step of SGD on the gradient of something like it.
ProgramMaker makeTraining() {
  ProgramMaker P = makeForward();
  uint32_t X = 0, W = 1, Rate = 2, Y = 3;
  uint32_t G = P.tensor(f32({2, 3}));
  uint32_t New = P.tensor(f32({2, 3}), int64_t(offsetOf(P, W)));
  P.step("matmul", {X, Y, NoTensor}, {G}, {flag("transpose_lhs")});
  P.step("sgd", {W, G, NoTensor, Rate, NoTensor}, {New});
  P.result("w", New, program::Role::Parameter);
  P.Program.arguments[W]->donated_result = 1;
  return P;
}

void addFunction(ProgramMaker &P, const std::string &Name,
                 ProgramMaker Function) {
  auto Out = std::make_unique<program::FunctionT>();
  Out->name = Name;
  Out->program =
      std::make_unique<program::ProgramT>(std::move(Function.Program));
  if (!P.Program.functions)
    P.Program.functions = std::make_unique<program::FunctionsT>();
  P.Program.functions->list.push_back(std::move(Out));
}

ProgramMaker makeBoth() {
  ProgramMaker P = makeTraining();
  addFunction(P, "evaluate", makeForward());
  return P;
}

std::string loadMessage(const ProgramMaker &P) {
  return messageOf(Program::load(P.finish()));
}

TEST(Function, Loads) {
  auto P = Program::load(makeBoth().finish());
  ASSERT_TRUE(P) << messageOf(P);
  ASSERT_EQ((*P)->Functions.size(), 1u);
  EXPECT_EQ((*P)->findFunction("evaluate"), 0u);
  EXPECT_EQ((*P)->findFunction("main"), std::nullopt);
  EXPECT_EQ((*P)->Functions[0].Body->Steps.size(), 2u);
}

/// Changes the function of a valid program; `Says` is part of the message.
struct Break {
  const char *Says;
  std::function<void(ProgramMaker &P, ProgramMaker &F)> Change;
};

void expectRefused(const std::vector<Break> &All) {
  for (const Break &B : All) {
    ProgramMaker P = makeTraining(), F = makeForward();
    B.Change(P, F);
    addFunction(P, "evaluate", std::move(F));
    std::string Message = loadMessage(P);
    EXPECT_NE(Message.find(B.Says), std::string::npos)
        << "expected: " << B.Says << "\nsaid: " << Message;
    EXPECT_NE(Message.find("function 'evaluate'"), std::string::npos)
        << Message;
  }
}

TEST(Function, LeavesWhatSurvivesAStep) {
  auto Offset = [](ProgramMaker &P, uint32_t Tensor) -> uint64_t & {
    return P.Program.tensors[Tensor]->offset;
  };
  expectRefused({
      {"was overwritten but is not donated",
       [&](auto &, auto &F) { Offset(F, 4) = Offset(F, 2); }},
      {"lies over tensor", [&](auto &, auto &F) { Offset(F, 0) = 256; }},
      {"has argument 'w' of 24 bytes at offset 0",
       [&](auto &, auto &F) { std::swap(Offset(F, 0), Offset(F, 1)); }},
      {"does not keep argument 'rate' of 4 bytes at offset 512",
       [](auto &, auto &F) { F.Program.arguments.pop_back(); }},
      {"does not keep argument 'w'",
       [](auto &, auto &F) { F.Program.arguments[1]->name = "v"; }},
      {"or another role",
       [](auto &, auto &F) {
         F.Program.arguments[2]->role = program::Role::State;
       }},
      {"has argument 'more', which is neither",
       [](auto &, auto &F) {
         F.argument("more", f32({}), program::Role::State);
       }},
      {"does not keep the program's constant of 4 bytes at offset",
       [](auto &P, auto &) {
         auto C = std::make_unique<program::ConstantT>();
         C->tensor = P.tensor(f32({}));
         C->data.resize(4);
         P.Program.constants.push_back(std::move(C));
       }},
  });
}

/// In place the function would train, too.
TEST(Function, WritesNothingThatIsShared) {
  ProgramMaker P = makeTraining();
  addFunction(P, "evaluate", makeTraining());
  EXPECT_NE(loadMessage(P).find("writes its argument 'w'"), std::string::npos);
}

TEST(Function, RunsWhereTheProgramDoes) {
  expectRefused({
      {"is for another device",
       [](auto &, auto &F) { F.Program.device = "cuda"; }},
      {"is for another device",
       [](auto &, auto &F) { F.Program.arch = "sm_90"; }},
      {"has an arena of",
       [](auto &P, auto &F) {
         F.Program.arena_bytes = P.Program.arena_bytes + 1;
       }},
      {"unknown device",
       [](auto &, auto &F) {
         F = ProgramMaker();
         F.Program.device = "";
       }},
  });
}

TEST(Function, HasANameAndNoFunctions) {
  ProgramMaker P = makeBoth();
  addFunction(P, "evaluate", makeForward());
  EXPECT_NE(loadMessage(P).find("of another function"), std::string::npos);
  ProgramMaker Unnamed = makeTraining();
  addFunction(Unnamed, "", makeForward());
  EXPECT_NE(loadMessage(Unnamed).find("has no name"), std::string::npos);
  ProgramMaker Nested = makeTraining();
  addFunction(Nested, "evaluate", makeBoth());
  EXPECT_NE(loadMessage(Nested).find("has functions itself"),
            std::string::npos);
}

//===----------------------------------------------------------------------===//
// Sessions
//===----------------------------------------------------------------------===//

class FunctionSession : public testing::Test {
protected:
  void SetUp() override {
    auto Made = createDevice("host");
    ASSERT_TRUE(Made) << messageOf(Made);
    Host = std::move(*Made);
  }

  /// The session of a program with a function, or of one without.
  std::unique_ptr<Session> make(bool WithFunction = true) {
    SessionOptions Options;
    Options.Poison = true; // what a function reads too late is a NaN
    auto S = Session::create(
        (WithFunction ? makeBoth() : makeTraining()).finish(), *Host, Options);
    EXPECT_TRUE(S) << messageOf(S);
    EXPECT_TRUE((*S)->initialise(1));
    std::vector<float> W = {1, 2, 3, 4, 5, 6};
    float Rate = 0.5;
    EXPECT_TRUE((*S)->writeArgument("w", W.data(), 24));
    EXPECT_TRUE((*S)->writeArgument("rate", &Rate, 4));
    return std::move(*S);
  }

  static float run(Session &S, float Seed) {
    std::vector<float> X = {Seed, 1, -Seed, 2, 0.5, Seed, 3, -1};
    float Loss = 0;
    EXPECT_TRUE(S.writeArgument("x", X.data(), 32));
    Status Ran = S.runStep();
    EXPECT_TRUE(Ran) << Ran.getError().getMessage();
    EXPECT_TRUE(S.readResult("loss", &Loss, 4));
    return Loss;
  }

  std::unique_ptr<Device> Host;
};

TEST_F(FunctionSession, TrainingIsAsWithoutIt) {
  auto Alone = make(/*WithFunction=*/false), Both = make();
  Session &Evaluate = **Both->getFunction("evaluate");
  for (int Step = 0; Step < 5; ++Step) {
    // A function that computes what the step does sees the same parameters.
    float Before = run(Evaluate, float(Step));
    EXPECT_EQ(run(*Alone, float(Step)), run(*Both, float(Step)));
    EXPECT_EQ(Both->getStatistics().Steps, Step + 1u);
    float Loss = 0;
    EXPECT_TRUE(Both->readResult("loss", &Loss, 4));
    EXPECT_EQ(Before, Loss);
    EXPECT_EQ(*Alone->computeParametersDigest(),
              *Both->computeParametersDigest());
  }
  EXPECT_EQ(Both->getStatistics().MeasuredPeakBytes,
            Both->getProgram().ArenaBytes);
  EXPECT_EQ(Evaluate.getStatistics().MeasuredPeakBytes,
            Both->getProgram().ArenaBytes);
}

TEST_F(FunctionSession, TakesTheOthersInputsAndResults) {
  auto Both = make();
  Session &Evaluate = **Both->getFunction("evaluate");
  float Loss = 0;
  run(*Both, 1);
  run(Evaluate, 2);
  Status Again = Both->runStep();
  ASSERT_FALSE(Again);
  EXPECT_NE(Again.getError().getMessage().find("'x' was not written"),
            std::string::npos);
  EXPECT_FALSE(Both->readResult("loss", &Loss, 4));
  run(*Both, 1);
  EXPECT_FALSE(Evaluate.runStep());
  EXPECT_FALSE(Evaluate.readResult("loss", &Loss, 4));
}

TEST_F(FunctionSession, ReadsWhatIsShared) {
  auto Both = make();
  Session &Evaluate = **Both->getFunction("evaluate");
  std::vector<float> W(6);
  EXPECT_TRUE(Evaluate.readArgument("w", W.data(), 24));
  EXPECT_EQ(W[5], 6);
  Status Written = Evaluate.writeArgument("w", W.data(), 24);
  ASSERT_FALSE(Written);
  EXPECT_NE(Written.getError().getMessage().find("'w' is shared"),
            std::string::npos);
  EXPECT_FALSE(Evaluate.initialise(1));
  EXPECT_FALSE(Both->getFunction("generate"));
}

/// What the program's session was not given is missing in its functions too.
TEST_F(FunctionSession, NeedsWhatIsShared) {
  auto S = Session::create(makeBoth().finish(), *Host);
  ASSERT_TRUE(S) << messageOf(S);
  Session &Evaluate = **(*S)->getFunction("evaluate");
  std::vector<float> X(8);
  EXPECT_TRUE(Evaluate.writeArgument("x", X.data(), 32));
  EXPECT_FALSE(Evaluate.runStep());
  EXPECT_FALSE(Evaluate.readArgument("w", X.data(), 24));
  EXPECT_TRUE((*S)->initialise(1));
  EXPECT_TRUE(Evaluate.runStep());
}

} // namespace
