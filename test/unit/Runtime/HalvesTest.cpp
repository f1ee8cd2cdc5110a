//===- HalvesTest.cpp - f32 parameters that lie in two halves -------------===//

#include "ops/Halves.h"
#include "TestProgram.h"
#include <bit>
#include <cmath>

using namespace remat;
using namespace remat::runtime;
using namespace remat::runtime::test;

namespace {

float fromBits(uint32_t Bits) { return std::bit_cast<float>(Bits); }

uint32_t storeAndLoad(uint32_t Bits) {
  auto Upper = narrow<BFloat16>(fromBits(Bits));
  int16_t Lower = getLowerHalf(fromBits(Bits), Upper);
  return std::bit_cast<uint32_t>(joinHalves(Upper, Lower));
}

/// With every upper 16 bits: what rounds down and up, and what lies half-way.
TEST(Halves, KeepAllNumbersButTiesThatRoundDown) {
  for (uint32_t Upper = 0; Upper < 0x10000; ++Upper)
    for (uint32_t Lower : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      uint32_t Bits = Upper << 16 | Lower;
      if (std::isnan(fromBits(Bits))) {
        EXPECT_TRUE(std::isnan(fromBits(storeAndLoad(Bits)))) << Bits;
        continue;
      }
      bool TieDown = Lower == 0x8000 && Upper % 2 == 0;
      ASSERT_EQ(storeAndLoad(Bits), TieDown ? Bits - 1 : Bits) << Bits;
    }
}

/// A step of adamw on a parameter of `Type`, whose rounded elements are the
/// result "rounded". `AsHalves`: with the numbers of one in halves.
ProgramMaker makeUpdate(const Array &Type, bool AsHalves = false) {
  using program::Role;
  ProgramMaker P;
  Array Whole = f32(Type.Shape);
  uint32_t W = P.argument("w", Type, Role::Parameter, 0);
  P.Program.arguments.back()->init_kind = "normal";
  P.Program.arguments.back()->init_value = 0.3;
  uint32_t G = P.argument("g", Whole);
  uint32_t M = P.argument("m", Whole, Role::State, 1);
  uint32_t V = P.argument("v", Whole, Role::State, 2);
  uint32_t Rate = P.argument("rate", f32({}), Role::LearningRate);
  P.Program.arguments.back()->init_kind = "constant";
  P.Program.arguments.back()->init_value = 0.05;
  uint32_t Step = P.argument("step", i64({}), Role::Step);
  auto At = [&](uint32_t Tensor) { return int64_t(offsetOf(P, Tensor)); };
  uint32_t Rounded = P.tensor(bf16(Type.Shape));
  if (Type.InHalves)
    P.step("copy", {P.tensor(bf16(Type.Shape), At(W))}, {Rounded});
  else
    P.step("cast", {W}, {Rounded});
  uint32_t NewW = P.tensor(Type, At(W)), NewM = P.tensor(Whole, At(M)),
           NewV = P.tensor(Whole, At(V));
  Attrs List = {number("beta1", 0.9), number("beta2", 0.999),
                number("epsilon", 1e-8), number("weight_decay", 0.01)};
  if (Type.InHalves)
    List.push_back(flag("in_halves"));
  if (AsHalves)
    List.push_back(flag("as_halves"));
  P.step("adamw", {W, G, M, V, Rate, Step, NoTensor}, {NewW, NewM, NewV}, List);
  P.result("w", NewW, Role::Parameter);
  P.result("m", NewM, Role::State);
  P.result("v", NewV, Role::State);
  P.result("rounded", Rounded);
  return P;
}

std::unique_ptr<Session> open(const ProgramMaker &P, Device &On,
                              SessionOptions Options = {}) {
  auto Made = Session::create(P.finish(), On, Options);
  if (!Made) {
    ADD_FAILURE() << Made.getError().getMessage();
    return nullptr;
  }
  return std::move(*Made);
}

template <typename T>
std::vector<T> readResult(Session &S, const char *Name, size_t Count) {
  std::vector<T> Data(Count);
  EXPECT_TRUE(S.readResult(Name, Data.data(), Count * sizeof(T)));
  return Data;
}

/// More elements than are taken apart at once, and an odd number of them.
constexpr int64_t Count = (1 << 16) + 1001;

TEST(Halves, AStepLeavesTheSameNumbers) {
  auto Host = createDevice("host");
  ASSERT_TRUE(Host);
  std::unique_ptr<Session> Sessions[] = {
      open(makeUpdate(f32({Count})), **Host),
      open(makeUpdate(halves({Count})), **Host)};
  for (auto &S : Sessions) {
    ASSERT_TRUE(S);
    ASSERT_TRUE(S->initialise(3));
  }
  EXPECT_EQ(*Sessions[0]->computeParametersDigest(),
            *Sessions[1]->computeParametersDigest());
  for (int Step = 0; Step < 3; ++Step) {
    for (auto &S : Sessions) {
      ASSERT_TRUE(S->fillInputs(5, Step));
      ASSERT_TRUE(S->runStep());
    }
    auto W = readResult<float>(*Sessions[0], "w", Count);
    auto H = readResult<float>(*Sessions[1], "w", Count);
    int64_t Others = 0;
    for (int64_t I = 0; I < Count; ++I) {
      Others += W[I] != H[I];
      // A tie that rounds down is a unit of the last place less.
      ASSERT_NEAR(W[I], H[I], 4e-7 * std::abs(W[I])) << I;
    }
    EXPECT_LE(Others, 10 * (Step + 1)); // 66,537 of them / 131,072 a step
    if (Step == 0) {
      auto Of = [&](Session &S) {
        return readResult<uint16_t>(S, "rounded", Count);
      };
      EXPECT_EQ(Of(*Sessions[0]), Of(*Sessions[1]));
    }
  }
}

/// As where ranks update parts of a parameter that each holds whole.
TEST(Halves, AWholeParameterCanHaveTheirNumbers) {
  auto Host = createDevice("host");
  ASSERT_TRUE(Host);
  auto InHalves = open(makeUpdate(halves({Count})), **Host);
  auto AsHalves = open(makeUpdate(f32({Count}), /*AsHalves=*/true), **Host);
  ASSERT_TRUE(InHalves && AsHalves);
  // Ties, of which every second one rounds down.
  std::vector<float> W(Count);
  for (int64_t I = 0; I < Count; ++I)
    W[I] = fromBits(static_cast<uint32_t>(0x3f000000 + I % 0x4000 * 0x8000));
  for (Session *S : {InHalves.get(), AsHalves.get()}) {
    ASSERT_TRUE(S->initialise(3));
    ASSERT_TRUE(S->writeArgument("w", W.data(), Count * sizeof(float)));
    for (int Step = 0; Step < 3; ++Step) {
      ASSERT_TRUE(S->fillInputs(5, Step));
      ASSERT_TRUE(S->runStep());
    }
  }
  for (const char *Name : {"w", "m", "v"})
    EXPECT_EQ(readResult<float>(*InHalves, Name, Count),
              readResult<float>(*AsHalves, Name, Count))
        << Name;
  EXPECT_EQ(readResult<uint16_t>(*InHalves, "rounded", Count),
            readResult<uint16_t>(*AsHalves, "rounded", Count));
}

TEST(Halves, AreWrittenAndReadAsNumbers) {
  auto Host = createDevice("host");
  ASSERT_TRUE(Host);
  auto S = open(makeUpdate(halves({Count})), **Host);
  ASSERT_TRUE(S);
  ASSERT_TRUE(S->initialise(1));
  std::vector<float> Data(Count), Read(Count);
  // Odd, so that none lies half-way between two bf16.
  for (int64_t I = 0; I < Count; ++I)
    Data[I] =
        fromBits(std::bit_cast<uint32_t>(std::sin(static_cast<float>(I))) | 1);
  uint64_t Bytes = Count * sizeof(float);
  auto ChangeAll = [&] {
    for (float &X : Data)
      X *= 2;
  };
  ASSERT_TRUE(S->writeArgument("w", Data.data(), Bytes));
  ASSERT_TRUE(S->readArgument("w", Read.data(), Bytes));
  EXPECT_EQ(Data, Read);
  ChangeAll();
  ASSERT_TRUE(S->writeArgumentLater("w", Data.data(), Bytes));
  ASSERT_TRUE(S->readArgument("w", Read.data(), Bytes));
  EXPECT_EQ(Data, Read);
  ChangeAll();
  ASSERT_TRUE(S->writeArgumentFromDevice("w", Data.data(), Bytes));
  std::vector<char> Stored;
  ASSERT_TRUE(S->storeArgument("w", [&](const void *From, uint64_t Some) {
    Stored.insert(Stored.end(), static_cast<const char *>(From),
                  static_cast<const char *>(From) + Some);
    return Status();
  }));
  ASSERT_EQ(Stored.size(), Bytes);
  EXPECT_EQ(std::memcmp(Stored.data(), Data.data(), Bytes), 0);
  ChangeAll();
  ASSERT_TRUE(
      S->loadArgument("w", [&](uint64_t Offset, void *To, uint64_t Some) {
        std::memcpy(To, reinterpret_cast<char *>(Data.data()) + Offset, Some);
        return Status();
      }));
  ASSERT_TRUE(S->readArgument("w", Read.data(), Bytes));
  EXPECT_EQ(Data, Read);
  auto Address = S->getAddress("w", /*IsArgument=*/true);
  ASSERT_FALSE(Address);
  EXPECT_NE(Address.getError().getMessage().find("lies in halves"),
            std::string::npos);
  EXPECT_TRUE(S->getAddress("m", /*IsArgument=*/true));
}

TEST(Halves, AreCheckedForNaN) {
  auto Host = createDevice("host");
  ASSERT_TRUE(Host);
  SessionOptions Options;
  Options.CheckFinite = true;
  auto S = open(makeUpdate(halves({4})), **Host, Options);
  ASSERT_TRUE(S);
  ASSERT_TRUE(S->initialise(1));
  ASSERT_TRUE(S->fillInputs(1, 0));
  ASSERT_TRUE(S->runStep());
  EXPECT_FALSE(S->getFirstNonfinite());
  // Its halves, read as f32, are finite.
  const float W[] = {1, NAN, 2, 3};
  ASSERT_TRUE(S->writeArgument("w", W, sizeof W));
  ASSERT_TRUE(S->fillInputs(1, 1));
  ASSERT_TRUE(S->runStep());
  ASSERT_TRUE(S->getFirstNonfinite());
  EXPECT_NE(S->getFirstNonfinite()->find(
                "argument 'w', before the step: 1 of 4 elements is NaN"),
            std::string::npos)
      << *S->getFirstNonfinite();
}

TEST(Halves, Join) {
  // 1.00390625 lies half-way between 1 and 1.0078125, and 1 is even.
  auto R = runOp("join_halves", {halves({3}, {1.00390625, 1.01171875, -0.1f})},
                 {f32({3})});
  ASSERT_EQ(R.size(), 1u);
  EXPECT_EQ(R[0].Data[0], fromBits(0x3f807fff));
  EXPECT_EQ(R[0].Data[1], 1.01171875);
  EXPECT_EQ(R[0].Data[2], -0.1f);
}

TEST(Halves, OnlyWhoKnowsOfThemReadsThem) {
  EXPECT_EQ(checkOp("join_halves", {halves({4})}, {f32({4})}), "");
  EXPECT_NE(checkOp("join_halves", {f32({4})}, {f32({4})}), "");
  EXPECT_NE(checkOp("join_halves", {halves({4})}, {halves({4})}), "");
  EXPECT_NE(checkOp("exp", {halves({4})}, {f32({4})}), "");
  EXPECT_NE(checkOp("exp", {f32({4})}, {halves({4})}), "");
  EXPECT_NE(checkOp("copy", {halves({4})}, {halves({4})}), "");
  Array BF16 = bf16({4});
  BF16.InHalves = true;
  EXPECT_NE(checkOp("copy", {BF16}, {bf16({4})}), "");
  auto Update = [](const Array &W, const Array &M, const Attrs &List) {
    return checkOp("adamw",
                   {W, f32({4}), M, f32({4}), f32({}), i64({}), std::nullopt},
                   {W, M, f32({4})}, List);
  };
  EXPECT_EQ(Update(halves({4}), f32({4}), {flag("in_halves")}), "");
  EXPECT_EQ(Update(f32({4}), f32({4}), {}), "");
  EXPECT_NE(Update(f32({4}), f32({4}), {flag("in_halves")}), "");
  EXPECT_NE(Update(halves({4}), f32({4}), {}), "");
  EXPECT_NE(Update(halves({4}), halves({4}), {flag("in_halves")}), "");
  EXPECT_EQ(Update(f32({4}), f32({4}), {flag("as_halves")}), "");
  EXPECT_NE(Update(bf16({4}), f32({4}), {flag("as_halves")}), "");
}

/// A view of `Type` that lies `Offset` bytes behind the begin of 128 numbers.
std::string checkView(const Array &Type, int64_t Offset) {
  ProgramMaker P;
  uint32_t W = P.argument("w", halves({128}), program::Role::Parameter);
  uint32_t Out = P.tensor(f32({128}));
  P.step("copy", {P.tensor(Type, int64_t(offsetOf(P, W)) + Offset)},
         {P.tensor(Type)});
  P.step("join_halves", {W}, {Out});
  P.result("y", Out);
  auto Loaded = Program::load(P.finish());
  return Loaded ? "" : Loaded.getError().getMessage();
}

TEST(Halves, TheUpperOneIsAViewOfBF16) {
  EXPECT_EQ(checkView(bf16({128}), 0), "");
  EXPECT_EQ(checkView(bf16({2, 64}), 0), "");
  EXPECT_EQ(checkView(bf16({127}), 2), "");
  EXPECT_NE(checkView(bf16({128}), 2), "");
  EXPECT_NE(checkView(bf16({128}), 256), "");
  EXPECT_NE(checkView(f32({64}), 0), "");
  EXPECT_NE(checkView(f16({128}), 0), "");
}

} // namespace
