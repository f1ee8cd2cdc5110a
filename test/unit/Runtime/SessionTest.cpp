//===- SessionTest.cpp - programs with their memory -----------------------===//

#include "TestProgram.h"
#include "remat/runtime/Philox.h"
#include <cmath>

using namespace remat;
using namespace remat::runtime;
using namespace remat::runtime::test;

namespace {

constexpr int64_t Rows = 6, Width = 5, Classes = 4;

/// A two-layer perceptron with cross entropy and AdamW. With `Recompute` the
/// hidden value is computed again for the backward at other bytes.
ProgramMaker makeTraining(bool Recompute) {
  ProgramMaker P;
  Array XT = f32({Rows, Width}), WT = f32({Width, Width}),
        VT = f32({Width, Classes}), YT = f32({Rows, Classes});
  using program::Role;
  uint32_t X = P.argument("x", XT);
  uint32_t Target = P.argument("targets", i64({Rows}));
  P.Program.arguments.back()->bound = Classes;
  uint32_t W = P.argument("w", WT, Role::Parameter, 1);
  P.Program.arguments.back()->init_kind = "normal";
  P.Program.arguments.back()->init_value = 0.3;
  uint32_t M = P.argument("w.exp_avg", WT, Role::State, 2);
  uint32_t V2 = P.argument("w.exp_avg_sq", WT, Role::State, 3);
  uint32_t V = P.argument("v", VT, Role::Parameter);
  P.Program.arguments.back()->init_kind = "uniform";
  P.Program.arguments.back()->init_value = 0.5;
  uint32_t Rate = P.argument("learning_rate", f32({}), Role::LearningRate);
  P.Program.arguments.back()->init_kind = "constant";
  P.Program.arguments.back()->init_value = 0.05;
  uint32_t Step = P.argument("step", i64({}), Role::Step, 4);

  auto Add = [&](const char *Op, std::vector<uint32_t> In, const Array &Type,
                 const Attrs &List = {}, int64_t Offset = -1) {
    uint32_t Out = P.tensor(Type, Offset);
    P.step(Op, std::move(In), {Out}, List);
    return Out;
  };
  auto At = [&](uint32_t Tensor) { return int64_t(offsetOf(P, Tensor)); };
  uint32_t H = Add("matmul", {X, W, NoTensor}, XT);
  // The activation over its operand's bytes.
  uint32_t R = Add("relu", {H}, XT, {}, Recompute ? At(H) : -1);
  uint32_t L = Add("matmul", {R, V, NoTensor}, YT);
  uint32_t Loss = P.tensor(f32({})), Lse = P.tensor(f32({Rows}));
  P.step("cross_entropy", {L, Target}, {Loss, Lse},
         {ints("ignore_index", {-100})});
  uint32_t One = Add("constant", {}, f32({}), {number("value", 1)});
  uint32_t DL = Add("cross_entropy_backward", {One, L, Target, Lse}, YT,
                    {ints("ignore_index", {-100})}, At(L));
  if (Recompute) {
    H = Add("matmul", {X, W, NoTensor}, XT);
    R = Add("relu", {H}, XT, {}, At(H));
    P.Program.steps.back()->recomputes = 1;
  }
  uint32_t DR = Add("matmul", {DL, V, NoTensor}, XT, {flag("transpose_rhs")});
  uint32_t DH = Add("relu_backward", {R, DR}, XT, {}, At(DR));
  uint32_t G = Add("matmul", {X, DH, NoTensor}, WT, {flag("transpose_lhs")});
  uint32_t NW = P.tensor(WT, At(W)), NM = P.tensor(WT, At(M)),
           NV = P.tensor(WT, At(V2));
  P.step("adamw", {W, G, M, V2, Rate, Step, NoTensor}, {NW, NM, NV},
         {number("beta1", 0.9), number("beta2", 0.999), number("epsilon", 1e-8),
          number("weight_decay", 0.01)});
  uint32_t Unit = Add("constant", {}, i64({}), {ints("value", {1})});
  uint32_t NS = Add("add", {Step, Unit}, i64({}), {}, At(Step));
  P.result("loss", Loss, Role::Loss);
  P.result("w", NW, Role::Parameter);
  P.result("w.exp_avg", NM, Role::State);
  P.result("w.exp_avg_sq", NV, Role::State);
  P.result("step", NS, Role::Step);
  return P;
}

struct Trained {
  std::vector<float> Losses;
  std::string Digest;
};

Trained train(const ProgramMaker &P, unsigned Threads, bool Poison,
              int Steps = 20) {
  Trained T;
  DeviceOptions Options;
  Options.Threads = Threads;
  auto D = createDevice("host", Options);
  SessionOptions WithPoison;
  WithPoison.Poison = Poison;
  auto S = Session::create(P.finish(), **D, WithPoison);
  EXPECT_EQ(messageOf(S), "");
  if (!S)
    return T;
  EXPECT_EQ(messageOf((*S)->initialise(42)), "");
  EXPECT_EQ(messageOf((*S)->fillInputs(7, 0)), "");
  for (int I = 0; I < Steps; ++I) {
    EXPECT_EQ(messageOf((*S)->runStep()), "");
    T.Losses.emplace_back();
    EXPECT_TRUE((*S)->readResult("loss", &T.Losses.back(), 4));
  }
  auto Digest = (*S)->computeParametersDigest();
  EXPECT_EQ(messageOf(Digest), "");
  T.Digest = Digest ? *Digest : "";
  int64_t Step = 0;
  EXPECT_TRUE((*S)->readArgument("step", &Step, 8));
  EXPECT_EQ(Step, Steps);
  EXPECT_EQ((*S)->getStatistics().MeasuredPeakBytes, P.Program.arena_bytes);
  EXPECT_EQ((*S)->getStatistics().Steps, uint64_t(Steps));
  EXPECT_GT((*S)->getStatistics().MedianStepMs, 0);
  return T;
}

TEST(Session, LossFallsAndNothingDependsOnThreadsPoisonOrRecomputation) {
  Trained Base = train(makeTraining(false), 1, false);
  ASSERT_EQ(Base.Losses.size(), 20u);
  EXPECT_LT(Base.Losses.back(), Base.Losses.front() - 0.1f);
  for (bool Recompute : {false, true})
    for (unsigned Threads : {1u, 4u}) {
      Trained Other = train(makeTraining(Recompute), Threads, true);
      EXPECT_EQ(Other.Losses, Base.Losses);
      EXPECT_EQ(Other.Digest, Base.Digest);
    }
  EXPECT_NE(train(makeTraining(false), 1, false, 19).Digest, Base.Digest);
}

TEST(Session, TheHostRunsProgramsOfOtherDevices) {
  ProgramMaker P = makeTraining(false);
  P.Program.device = "cuda";
  P.Program.arch = "sm_90";
  EXPECT_EQ(train(P, 2, true).Digest,
            train(makeTraining(false), 1, false).Digest);
}

TEST(Session, InitialValues) {
  ProgramMaker P;
  auto Add = [&](const char *Name, const Array &Type, const char *Kind,
                 double Value) {
    uint32_t T = P.argument(Name, Type, program::Role::Parameter);
    P.Program.arguments.back()->init_kind = Kind;
    P.Program.arguments.back()->init_value = Value;
    return T;
  };
  Add("n", f32({200000}), "normal", 0.02);
  Add("u", bf16({1000}), "uniform", 3);
  Add("c", f32({3}), "constant", 1.5);
  Add("z", f32({3}), "", 9);
  Add("i", i32({2}), "constant", -4);
  P.argument("seed", i64({}), program::Role::Seed);
  auto D = createDevice("host");
  auto S = Session::create(P.finish(), **D);
  ASSERT_TRUE(S) << messageOf(S);
  auto Read = [&](const char *Name, Array Type) {
    std::vector<uint8_t> Bytes(Type.getNumElements() * getByteWidth(Type.Type));
    EXPECT_EQ(messageOf((*S)->readArgument(Name, Bytes.data(), Bytes.size())),
              "");
    Type.decode(Bytes);
    return Type.Data;
  };
  std::vector<uint8_t> Nothing(12);
  EXPECT_FALSE((*S)->readArgument("c", Nothing.data(), 12));
  ASSERT_TRUE((*S)->initialise(5));
  auto N = Read("n", f32({200000}));
  double Square = 0;
  for (double X : N)
    Square += X * X / double(N.size());
  EXPECT_NEAR(std::sqrt(Square), 0.02, 0.0005);
  auto U = Read("u", bf16({1000}));
  EXPECT_GE(*std::min_element(U.begin(), U.end()), -3);
  EXPECT_LT(*std::min_element(U.begin(), U.end()), -2.8);
  EXPECT_GT(*std::max_element(U.begin(), U.end()), 2.8);
  EXPECT_EQ(Read("c", f32({3})), (std::vector<double>{1.5, 1.5, 1.5}));
  EXPECT_EQ(Read("z", f32({3})), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(Read("i", i32({2})), (std::vector<double>{-4, -4}));
  EXPECT_EQ(Read("seed", i64({})), (std::vector<double>{5}));
  ASSERT_TRUE((*S)->initialise(6));
  EXPECT_NE(Read("n", f32({200000})), N);
  ASSERT_TRUE((*S)->initialise(5));
  EXPECT_EQ(Read("n", f32({200000})), N);
}

TEST(Session, RandomInputs) {
  ProgramMaker P;
  P.argument("x", f32({1000}));
  P.argument("ids", i32({1000}));
  P.Program.arguments.back()->bound = 7;
  P.argument("mask", i1({1000}));
  auto D = createDevice("host");
  auto S = Session::create(P.finish(), **D);
  ASSERT_TRUE(S) << messageOf(S);
  std::vector<int32_t> Ids(1000), Later(1000);
  std::vector<uint8_t> Mask(1000);
  ASSERT_TRUE((*S)->fillInputs(1, 0));
  ASSERT_TRUE((*S)->readArgument("ids", Ids.data(), 4000));
  ASSERT_TRUE((*S)->readArgument("mask", Mask.data(), 1000));
  EXPECT_EQ(*std::min_element(Ids.begin(), Ids.end()), 0);
  EXPECT_EQ(*std::max_element(Ids.begin(), Ids.end()), 6);
  EXPECT_EQ(*std::max_element(Mask.begin(), Mask.end()), 1);
  ASSERT_TRUE((*S)->fillInputs(1, 1));
  ASSERT_TRUE((*S)->readArgument("ids", Later.data(), 4000));
  EXPECT_NE(Ids, Later);
}

TEST(Session, NamesAndSizesAreChecked) {
  auto D = createDevice("host");
  auto S = Session::create(makeTraining(false).finish(), **D);
  ASSERT_TRUE(S);
  float X[100] = {};
  EXPECT_FALSE((*S)->writeArgument("nobody", X, 4));
  EXPECT_FALSE((*S)->writeArgument("x", X, 4));
  EXPECT_FALSE((*S)->readArgument("x", X, 120)) << "never written";
  EXPECT_FALSE((*S)->readResult("loss", X, 4)) << "before the first step";
  EXPECT_FALSE((*S)->readResult("x", X, 120));
  Status Run = (*S)->runStep();
  ASSERT_FALSE(Run);
  EXPECT_NE(messageOf(Run).find("'x'"), std::string::npos);
}

TEST(Session, AnInputThatAStepOverwritesIsGivenAnew) {
  ProgramMaker P;
  uint32_t X = P.argument("x", f32({8}));
  uint32_t Y = P.tensor(f32({8}), int64_t(offsetOf(P, X)));
  P.step("neg", {X}, {Y});
  P.result("y", Y);
  auto D = createDevice("host");
  auto S = Session::create(P.finish(), **D);
  ASSERT_TRUE(S);
  float In[8] = {1, 2, 3}, Out[8];
  ASSERT_TRUE((*S)->writeArgument("x", In, sizeof In));
  ASSERT_TRUE((*S)->runStep());
  ASSERT_TRUE((*S)->readResult("y", Out, sizeof Out));
  EXPECT_EQ(Out[1], -2);
  EXPECT_FALSE((*S)->runStep());
  ASSERT_TRUE((*S)->writeArgument("x", In, sizeof In));
  EXPECT_TRUE((*S)->runStep());
}

TEST(Session, PoisonFillsWhatHoldsNothing) {
  // y is dead behind the second step: its bytes are NaN afterwards.
  ProgramMaker P;
  uint32_t X = P.argument("x", f32({64}));
  uint32_t Y = P.tensor(f32({64})), Z = P.tensor(f32({64}));
  P.step("neg", {X}, {Y});
  P.step("neg", {Y}, {Z});
  P.result("z", Z);
  DeviceOptions Options;
  auto D = createDevice("host", Options);
  auto Loaded = Program::load(P.finish());
  ASSERT_TRUE(Loaded);
  auto E = (*D)->prepare(*Loaded);
  ASSERT_TRUE(E);
  for (bool Poison : {false, true}) {
    auto Arena = (*D)->allocate(P.Program.arena_bytes);
    ASSERT_TRUE(Arena);
    auto *Floats = static_cast<float *>(*Arena);
    std::fill_n(Floats, 64, 2.0f);
    RunOptions Run;
    Run.Poison = Poison;
    ASSERT_TRUE((*E)->run(*Arena, Run));
    EXPECT_EQ(std::isnan(Floats[64]), Poison);
    EXPECT_EQ(Floats[128], 2.0f);
    EXPECT_EQ(Floats[0], 2.0f);
    (*D)->deallocate(*Arena, P.Program.arena_bytes);
  }
}

TEST(Session, OutOfMemoryNamesThePeak) {
  ProgramMaker P = makeTraining(false);
  for (auto &S : P.Program.steps)
    S->location = "mlp.mlir:9:3";
  auto D = createDevice("host");
  SessionOptions Options;
  Options.Pool.LimitBytes = 1000;
  auto S = Session::create(P.finish(), **D, Options);
  ASSERT_FALSE(S);
  EXPECT_EQ(S.getError().getCode(), ErrorCode::OutOfMemory);
  for (std::string Part : {std::to_string(P.Program.arena_bytes) + " bytes",
                           std::string("peak is at step"),
                           std::string("mlp.mlir:9:3"), std::string("1000")})
    EXPECT_NE(messageOf(S).find(Part), std::string::npos) << messageOf(S);
}

TEST(Session, ProfilesSteps) {
  auto D = createDevice("host");
  auto S = Session::create(makeTraining(false).finish(), **D);
  ASSERT_TRUE(S);
  (*S)->getExecutable().setProfiling(true);
  ASSERT_TRUE((*S)->initialise(1));
  ASSERT_TRUE((*S)->fillInputs(1, 0));
  ASSERT_TRUE((*S)->runStep());
  EXPECT_EQ((*S)->getExecutable().getStepMilliseconds().size(),
            (*S)->getProgram().Steps.size());
}

} // namespace
