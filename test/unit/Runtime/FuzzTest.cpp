//===- FuzzTest.cpp - mutated programs ------------------------------------===//
//
// A mutated program is refused, or it loads and runs inside its arena: never a
// crash. Run it under the address sanitizer.
//
//===----------------------------------------------------------------------===//

#include "ProgramMutator.h"
#include "TestProgram.h"
#include <cstdlib>
#include <random>

using namespace remat;
using namespace remat::runtime;
using namespace remat::runtime::test;

namespace {

/// One step of many kinds, in an order that runs.
ProgramMaker makeManyOps() {
  ProgramMaker P;
  uint32_t Ids = P.argument("ids", i64({2, 3}));
  uint32_t Table =
      P.argument("table", f32({5, 8}), program::Role::Parameter, 1);
  uint32_t Seed = P.argument("seed", i64({}), program::Role::Seed);
  uint32_t Step = P.argument("step", i64({}), program::Role::Step);
  uint32_t Rate = P.argument("rate", f32({}), program::Role::LearningRate);
  P.Program.arguments[0]->bound = 5;
  P.Program.arguments[0]->data = "tokens";
  P.Program.arguments[1]->init_kind = "normal";
  P.Program.arguments[1]->init_value = 0.5;
  auto Add = [&](const char *Op, std::vector<uint32_t> In, const Array &Type,
                 const Attrs &List = {}) {
    uint32_t Out = P.tensor(Type);
    P.step(Op, std::move(In), {Out}, List);
    return Out;
  };
  uint32_t X = Add("embedding", {Ids, Table}, f32({2, 3, 8}));
  uint32_t D = Add("dropout", {X, Seed, Step}, f32({2, 3, 8}),
                   {number("p", 0.1), ints("id", {1})});
  uint32_t Tr =
      Add("transpose", {D}, f32({2, 8, 3}), {ints("permutation", {0, 2, 1})});
  uint32_t M = Add("matmul", {D, Tr, NoTensor}, f32({2, 3, 3}));
  uint32_t Sm = Add("softmax", {M}, f32({2, 3, 3}));
  uint32_t Sl = Add("slice", {Sm}, f32({2, 2, 3}),
                    {ints("offsets", {0, 1, 0}), ints("sizes", {2, 2, 3})});
  uint32_t Pd = Add("pad", {Sl}, f32({2, 3, 3}),
                    {ints("low", {0, 1, 0}), ints("high", {0, 0, 0})});
  uint32_t Cc = Add("concat", {Pd, M}, f32({2, 3, 6}), {ints("dim", {2})});
  uint32_t K = P.tensor(f32({2, 3, 6}));
  P.kernel({Cc, Rate}, {K},
           {{"mul", {0, 1}, f32({2, 3, 6})},
            {"reduce",
             {2},
             f32({2, 3, 1}),
             {text("kind", "sum"), ints("dims", {2}), flag("keep_dims")}},
            {"sub", {2, 3}, f32({2, 3, 6})},
            {"gelu", {4}, f32({2, 3, 6}), {text("kind", "erf")}}},
           {5});
  uint32_t Rd = Add("reduce", {K}, f32({6}),
                    {text("kind", "mean"), ints("dims", {0, 1})});
  uint32_t Loss = P.tensor(f32({})), Lse = P.tensor(f32({}));
  uint32_t Target = Add("constant", {}, i64({}), {ints("value", {2})});
  P.step("cross_entropy", {Rd, Target}, {Loss, Lse},
         {ints("ignore_index", {-100})});
  uint32_t G = Add("embedding_backward", {Ids, D}, f32({5, 8}));
  uint32_t New = P.tensor(f32({5, 8}), int64_t(offsetOf(P, Table)));
  P.step("sgd", {Table, G, NoTensor, Rate, NoTensor}, {New},
         {number("weight_decay", 0.1)});
  P.result("loss", Loss, program::Role::Loss);
  P.result("table", New, program::Role::Parameter);
  return P;
}

/// The rest of the ops.
ProgramMaker makeMoreOps() {
  ProgramMaker P;
  uint32_t Q = P.argument("q", f32({2, 3, 2, 4}));
  uint32_t Mask = P.argument("mask", i1({3, 3}));
  uint32_t W = P.argument("w", f32({4}), program::Role::Parameter, 1);
  uint32_t M1 = P.argument("m", f32({4}), program::Role::State, 2);
  uint32_t M2 = P.argument("v", f32({4}), program::Role::State, 3);
  uint32_t Seed = P.argument("seed", i64({}), program::Role::Seed);
  uint32_t Step = P.argument("step", i64({}), program::Role::Step);
  uint32_t Rate = P.argument("rate", f32({}), program::Role::LearningRate);
  auto Add = [&](const char *Op, std::vector<uint32_t> In,
                 const std::vector<Array> &Types, const Attrs &List = {}) {
    std::vector<uint32_t> Out;
    for (const Array &Type : Types)
      Out.push_back(P.tensor(Type));
    P.step(Op, std::move(In), Out, List);
    return Out;
  };
  Array QT = f32({2, 3, 2, 4});
  Attrs Attention = {flag("causal"), number("dropout_p", 0.25),
                     number("scale", 0.5), ints("id", {3})};
  auto A = Add("attention", {Q, Q, Q, Mask, Seed, Step}, {QT, f32({2, 2, 3})},
               Attention);
  auto Norm =
      Add("layer_norm", {A[0], W, M1}, {QT, f32({2, 3, 2}), f32({2, 3, 2})},
          {number("epsilon", 1e-5)});
  auto Noise = Add("random", {Seed, Step}, {QT},
                   {text("distribution", "normal"), ints("id", {4})});
  auto Loss = Add("mse", {Norm[0], Noise[0]}, {f32({})});
  auto Wide = Add("broadcast", {Loss[0]}, {QT});
  auto Back =
      Add("layer_norm_backward", {Wide[0], A[0], W, Norm[1], Norm[2], Q},
          {QT, f32({4}), f32({4})});
  auto G = Add("attention_backward",
               {Back[0], Q, Q, Q, A[0], A[1], Mask, Seed, Step}, {QT, QT, QT},
               Attention);
  auto Sm = Add("softmax", {G[0]}, {QT});
  auto SmBack = Add("softmax_backward", {Sm[0], G[1]}, {QT});
  auto Half = Add("cast", {SmBack[0]}, {bf16({2, 3, 2, 4})});
  auto Greater = Add("compare", {Half[0], Half[0]}, {i1({2, 3, 2, 4})},
                     {text("predicate", "ge")});
  auto Chosen = Add("select", {Greater[0], G[2], W}, {QT});
  auto Flat = Add("reshape", {Chosen[0]}, {f32({12, 4})});
  auto Target = Add("constant", {}, {i32({12})}, {ints("value", {1})});
  auto Ce = Add("cross_entropy", {Flat[0], Target[0]}, {f32({}), f32({12})},
                {ints("ignore_index", {-100})});
  auto CeBack =
      Add("cross_entropy_backward", {Ce[0], Flat[0], Target[0], Ce[1]},
          {f32({12, 4})}, {ints("ignore_index", {-100})});
  auto Column = Add("reduce", {CeBack[0]}, {f32({4})},
                    {text("kind", "max"), ints("dims", {0})});
  auto Length = Add("global_norm", {Column[0], Back[1]}, {f32({})});
  auto At = [&](uint32_t Tensor) { return int64_t(offsetOf(P, Tensor)); };
  uint32_t NW = P.tensor(f32({4}), At(W)), N1 = P.tensor(f32({4}), At(M1)),
           N2 = P.tensor(f32({4}), At(M2));
  P.step("adamw", {W, Column[0], M1, M2, Rate, Step, Length[0]}, {NW, N1, N2},
         {number("beta1", 0.9), number("beta2", 0.99), number("epsilon", 1e-8),
          number("weight_decay", 0.1)});
  P.result("loss", Ce[0], program::Role::Loss);
  P.result("w", NW, program::Role::Parameter);
  P.result("m", N1, program::Role::State);
  P.result("v", N2, program::Role::State);
  return P;
}

/// Loads and, if it loads, runs two steps with poison. Whether it loaded.
bool tryProgram(std::span<const uint8_t> Bytes, Device &D) {
  SessionOptions Options;
  Options.Poison = true;
  Options.Pool.LimitBytes = 64 << 20;
  auto S = Session::create(Bytes, D, Options);
  if (!S)
    return false;
  EXPECT_EQ(messageOf((*S)->initialise(1)), "");
  for (int Step = 0; Step < 2; ++Step) {
    EXPECT_EQ(messageOf((*S)->fillInputs(1, Step)), "");
    (void)(*S)->runStep();
  }
  return true;
}

/// REMAT_FUZZ_SEED asks for other mutations than the usual ones.
unsigned getSeed() {
  const char *Text = std::getenv("REMAT_FUZZ_SEED");
  return Text ? static_cast<unsigned>(std::atoi(Text)) : 99;
}

class Fuzz : public testing::Test {
protected:
  void SetUp() override {
    DeviceOptions Options;
    Options.Threads = 1;
    auto Made = createDevice("host", Options);
    ASSERT_TRUE(Made);
    D = std::move(*Made);
  }
  std::unique_ptr<Device> D;
  std::mt19937 Generator{getSeed()};
  unsigned draw(unsigned Bound) { return Generator() % Bound; }
};

TEST_F(Fuzz, TheProgramsThemselvesRun) {
  for (const ProgramMaker &P : {makeManyOps(), makeMoreOps()}) {
    auto S = Session::create(P.finish(), *D);
    ASSERT_TRUE(S) << messageOf(S);
    ASSERT_TRUE((*S)->initialise(1));
    ASSERT_TRUE((*S)->fillInputs(1, 0));
    EXPECT_EQ(messageOf((*S)->runStep()), "");
  }
}

TEST_F(Fuzz, MutatedBytes) {
  const std::vector<uint8_t> Bases[] = {makeManyOps().finish(),
                                        makeMoreOps().finish()};
  unsigned Refused = 0;
  constexpr unsigned Rounds = 4000;
  for (unsigned Round = 0; Round < Rounds; ++Round) {
    std::vector<uint8_t> Bytes = Bases[Round % 2];
    for (unsigned I = 0, N = 1 + draw(3); I < N; ++I) {
      size_t At = draw(Bytes.size());
      switch (draw(3)) {
      case 0:
        Bytes[At] = static_cast<uint8_t>(Generator());
        break;
      case 1:
        Bytes[At] ^= 1 << draw(8);
        break;
      default:
        Bytes[At] = draw(2) ? 0xff : 0;
      }
    }
    if (draw(20) == 0)
      Bytes.resize(draw(Bytes.size()));
    Refused += !tryProgram(Bytes, *D);
  }
  EXPECT_GT(Refused, Rounds / 4);
  EXPECT_LT(Refused, Rounds);
}

/// Mutations that keep the container well formed reach the deeper checks.
TEST_F(Fuzz, MutatedFields) {
  fuzz::Random Random(getSeed());
  unsigned Refused = 0;
  constexpr unsigned Rounds = 6000;
  for (unsigned Round = 0; Round < Rounds; ++Round) {
    ProgramMaker P = Round % 2 ? makeMoreOps() : makeManyOps();
    for (uint64_t N = 1 + Random.draw(2); N > 0; --N)
      fuzz::mutateField(P.Program, Random);
    Refused += !tryProgram(P.finish(), *D);
  }
  EXPECT_GT(Refused, Rounds / 2);
  EXPECT_LT(Refused, Rounds);
}

} // namespace
