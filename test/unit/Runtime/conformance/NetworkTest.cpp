//===- NetworkTest.cpp - norms, embeddings, losses, optimizers ------------===//

#include "TestProgram.h"
#include <cmath>

using namespace remat::runtime;
using namespace remat::runtime::test;

namespace {

constexpr double Inf = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Softmax and layer normalisation
//===----------------------------------------------------------------------===//

TEST(Softmax, Forward) {
  Array X = f32({2, 3}, {0, std::log(2.0), std::log(5.0), 1000, 1000, -Inf});
  for (const RunSetup &Setup : {RunSetup(), over(0, 0)}) {
    auto R = runOp("softmax", {X}, {f32({2, 3})}, {}, Setup);
    ASSERT_EQ(R.size(), 1u);
    expectNear(R[0], {0.125, 0.25, 0.625, 0.5, 0.5, 0});
  }
  EXPECT_NE(checkOp("softmax", {f32({})}, {f32({})}), "");
  EXPECT_NE(checkOp("softmax", {f32({2})}, {f32({3})}), "");
}

TEST(Softmax, Backward) {
  // dot = 0.25 * 4 + 0.75 * 8 = 7
  for (const RunSetup &Setup : {RunSetup(), over(0, 0), over(0, 1)}) {
    auto R = runOp("softmax_backward",
                   {f32({1, 2}, {0.25, 0.75}), f32({1, 2}, {4, 8})},
                   {f32({1, 2})}, {}, Setup);
    ASSERT_EQ(R.size(), 1u);
    expectNear(R[0], {-0.75, 0.75});
  }
}

const Attrs NoEpsilon = {number("epsilon", 0)};

TEST(LayerNorm, Forward) {
  // Row 1: mean 2, variance 1. Row 2: mean 5, variance 4.
  for (const RunSetup &Setup : {RunSetup(), over(0, 0)}) {
    auto R =
        runOp("layer_norm",
              {f32({2, 2}, {1, 3, 7, 3}), f32({2}, {2, 3}), f32({2}, {10, 20})},
              {f32({2, 2}), f32({2}), f32({2})}, NoEpsilon, Setup);
    ASSERT_EQ(R.size(), 3u);
    expectNear(R[0], {8, 23, 12, 17});
    expectNear(R[1], {2, 5});
    expectNear(R[2], {1, 0.5});
  }
  auto R = runOp("layer_norm",
                 {f32({1, 2}, {1, 3}), f32({2}, {1, 1}), f32({2}, {0, 0})},
                 {f32({1, 2}), f32({1}), f32({1})}, {number("epsilon", 3)});
  ASSERT_EQ(R.size(), 3u);
  expectNear(R[2], {0.5});
}

TEST(LayerNorm, Backward) {
  // Row [1, 2, 6]: mean 3, variance 14/3. With g = grad * scale,
  // dx = rstd (g - mean(g) - xhat mean(g xhat)).
  double Rstd = 1 / std::sqrt(14.0 / 3), X[] = {1, 2, 6};
  double Grad[] = {1, -2, 4}, Scale[] = {2, 1, 0.5}, Hat[3], G[3];
  double MeanG = 0, MeanDot = 0;
  std::vector<double> Dx, Ds, Db;
  for (int I = 0; I < 3; ++I) {
    Hat[I] = (X[I] - 3) * Rstd;
    G[I] = Grad[I] * Scale[I];
    MeanG += G[I] / 3;
    MeanDot += G[I] * Hat[I] / 3;
  }
  for (int I = 0; I < 3; ++I) {
    Dx.push_back(Rstd * (G[I] - MeanG - Hat[I] * MeanDot));
    Ds.push_back(2 * Grad[I] * Hat[I]); // two equal rows
    Db.push_back(2 * Grad[I]);
  }
  std::vector<double> Dx2 = Dx;
  Dx2.insert(Dx2.end(), Dx.begin(), Dx.end());
  for (const RunSetup &Setup : {RunSetup(), over(0, 0), over(0, 1)}) {
    auto R = runOp("layer_norm_backward",
                   {f32({2, 3}, {1, -2, 4, 1, -2, 4}),
                    f32({2, 3}, {1, 2, 6, 1, 2, 6}), f32({3}, {2, 1, 0.5}),
                    f32({2}, {3, 3}), f32({2}, {Rstd, Rstd}), std::nullopt},
                   {f32({2, 3}), f32({3}), f32({3})}, {}, Setup);
    ASSERT_EQ(R.size(), 3u);
    expectNear(R[0], Dx2);
    expectNear(R[1], Ds);
    expectNear(R[2], Db);
  }
  // With an addend, which the result may lie over.
  double Added[] = {10, 20, 30, -1, -2, -3};
  for (int I = 0; I < 6; ++I)
    Dx2[I] += Added[I];
  for (const RunSetup &Setup : {RunSetup(), over(0, 5)}) {
    auto R = runOp("layer_norm_backward",
                   {f32({2, 3}, {1, -2, 4, 1, -2, 4}),
                    f32({2, 3}, {1, 2, 6, 1, 2, 6}), f32({3}, {2, 1, 0.5}),
                    f32({2}, {3, 3}), f32({2}, {Rstd, Rstd}),
                    f32({2, 3}, {10, 20, 30, -1, -2, -3})},
                   {f32({2, 3}), f32({3}), f32({3})}, {}, Setup);
    ASSERT_EQ(R.size(), 3u);
    expectNear(R[0], Dx2);
    expectNear(R[1], Ds);
    expectNear(R[2], Db);
  }
}

/// The sum over rows is that of the gradient as it is stored, with the addend.
TEST(LayerNorm, BackwardSumsWhatItWrites) {
  // Equal gradients and a weight of 1: dx = 0, so that the addend is written.
  auto Run = [](std::optional<Array> Addend, const RunSetup &Setup) {
    return runOp("layer_norm_backward",
                 {bf16({3, 2}, {1, 1, 2, 2, 3, 3}),
                  bf16({3, 2}, {1, -1, 1, -1, 1, -1}), f32({2}, {1, 1}),
                  f32({3}, {0, 0, 0}), f32({3}, {1, 1, 1}), Addend},
                 {bf16({3, 2}), f32({2}), f32({2}), bf16({2})},
                 {flag("with_sum")}, Setup);
  };
  for (const RunSetup &Setup : {RunSetup(), over(0, 0), over(0, 1)}) {
    auto R = Run(std::nullopt, Setup);
    ASSERT_EQ(R.size(), 4u);
    expectNear(R[0], {0, 0, 0, 0, 0, 0});
    expectNear(R[1], {6, -6});
    expectNear(R[2], {6, 6});
    expectNear(R[3], {0, 0});
  }
  // 1 + 2^-8 + 2^-8 in f32 is a number of bf16, which 1 + 2^-8 is not: added in
  // bf16 the sum would be 1.
  double Small = 0.00390625;
  for (const RunSetup &Setup : {RunSetup(), over(0, 5)}) {
    auto R = Run(bf16({3, 2}, {1, 5, Small, 7, Small, -4}), Setup);
    ASSERT_EQ(R.size(), 4u);
    expectNear(R[0], {1, 5, Small, 7, Small, -4});
    expectNear(R[3], {1.0078125, 8});
  }
}

/// The gradient is rounded before the addend comes to it, as if it had been
/// stored.
TEST(LayerNorm, BackwardRoundsBeforeItAdds) {
  // xhat = [1, -1] and equal gradients: dx = g weight - xhat mean(0) = g
  // weight.
  double G = 1.0078125; // exact in bf16
  auto R = runOp("rms_norm_backward",
                 {bf16({1, 2}, {G, G}), bf16({1, 2}, {1, -1}),
                  f32({2}, {0.99609375, 0.99609375}), f32({1}, {1}),
                  bf16({1, 2}, {0.00390625, 0.00390625})},
                 {bf16({1, 2}), f32({2})});
  ASSERT_EQ(R.size(), 2u);
  // g weight = 1.0038757: bf16 has 1 and 1.0078125, the nearer is 1. The sum
  // 1.00390625 is half-way between the two and goes to the even 1; without the
  // first rounding it is 1.0077820 and becomes 1.0078125.
  expectNear(R[0], {1, 1});
}

TEST(LayerNorm, Checks) {
  auto Check = [](Array X, Array Scale, Array Mean) {
    return checkOp("layer_norm", {X, Scale, Scale}, {X, Mean, Mean}, NoEpsilon);
  };
  EXPECT_EQ(Check(bf16({4, 2}), f32({2}), f32({4})), "");
  EXPECT_NE(Check(f32({4, 2}), f32({4}), f32({4})), "");
  EXPECT_NE(Check(f32({4, 2}), f32({2}), f32({2})), "");
  EXPECT_NE(Check(f32({4, 2}), f32({2}), bf16({4})), "");
  // A vector is one row.
  EXPECT_EQ(Check(f32({2}), f32({2}), f32({})), "");
  EXPECT_EQ(checkOp("softmax", {f32({2})}, {f32({2})}), "");
  // Only the second weight, or only the first, is a row.
  for (auto [First, Second] : {std::pair(4, 2), std::pair(2, 4)})
    EXPECT_NE(checkOp("layer_norm", {f32({4, 2}), f32({First}), f32({Second})},
                      {f32({4, 2}), f32({4}), f32({4})}, NoEpsilon),
              "");
  auto CheckRms = [](int64_t Width) {
    return checkOp("rms_norm", {f32({4, 2}), f32({Width})},
                   {f32({4, 2}), f32({4})}, NoEpsilon);
  };
  EXPECT_EQ(CheckRms(2), "");
  EXPECT_NE(CheckRms(4), "");
}

/// A row's gradient is done when the row is read; a weight's gradient is a sum
/// over all rows, which are still read.
TEST(LayerNorm, OnlyGradientsOfRowsLieOverRows) {
  Array Row = f32({1, 4}), Weight = f32({4}), Statistic = f32({1});
  auto Check = [&](unsigned Result, unsigned Operand) {
    return checkOp("layer_norm_backward",
                   {Row, Row, Weight, Statistic, Statistic, Row},
                   {Row, Weight, Weight}, {}, over(Result, Operand));
  };
  for (unsigned Operand : {0, 1, 5}) {
    EXPECT_EQ(Check(0, Operand), "");
    EXPECT_NE(Check(1, Operand), "");
  }
  EXPECT_NE(Check(0, 2), "");
}

TEST(LayerNorm, TheSumHasTheTypeOfTheRowsAndTheirLength) {
  Array Rows = bf16({3, 4}), Weight = f32({4}), Statistic = f32({3});
  auto Check = [&](const std::vector<Array> &Results, const Attrs &Attributes) {
    return checkOp("layer_norm_backward",
                   {Rows, Rows, Weight, Statistic, Statistic, std::nullopt},
                   Results, Attributes);
  };
  Attrs Asked = {flag("with_sum")};
  EXPECT_EQ(Check({Rows, Weight, Weight, bf16({4})}, Asked), "");
  EXPECT_NE(Check({Rows, Weight, Weight, f32({4})}, Asked), "");
  EXPECT_NE(Check({Rows, Weight, Weight, bf16({3})}, Asked), "");
  EXPECT_NE(Check({Rows, Weight, Weight}, Asked), "");
  EXPECT_NE(Check({Rows, Weight, Weight, bf16({4})}, {}), "");
}

//===----------------------------------------------------------------------===//
// Embedding
//===----------------------------------------------------------------------===//

TEST(Embedding, Forward) {
  auto R = runOp("embedding",
                 {i64({2, 2}, {2, 0, 1, 2}), f32({3, 2}, {1, 2, 3, 4, 5, 6})},
                 {f32({2, 2, 2})});
  ASSERT_EQ(R.size(), 1u);
  expectNear(R[0], {5, 6, 1, 2, 3, 4, 5, 6});
}

TEST(Embedding, Backward) {
  auto R =
      runOp("embedding_backward",
            {i32({4}, {2, 0, 2, 2}), f32({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})},
            {f32({4, 2})});
  ASSERT_EQ(R.size(), 1u);
  expectNear(R[0], {3, 4, 0, 0, 13, 16, 0, 0});
}

TEST(Embedding, SumsInTheOrderOfTheIds) {
  // (1e8 + -1e8) + 1 = 1, but 1e8 + (-1e8 + 1) = 0 in f32.
  auto R =
      runOp("embedding_backward",
            {i64({3}, {1, 1, 1}), f32({3, 1}, {1e8, -1e8, 1})}, {f32({2, 1})});
  ASSERT_EQ(R.size(), 1u);
  expectNear(R[0], {0, 1}, 0);
}

TEST(Embedding, IdsOutsideAreErrors) {
  for (double Id : {-1.0, 3.0}) {
    ProgramMaker P;
    uint32_t Ids = P.argument("ids", i64({1}));
    uint32_t Table = P.argument("table", f32({3, 1}));
    uint32_t Out = P.tensor(f32({1, 1}));
    P.step("embedding", {Ids, Table}, {Out}).location = "m.mlir:3:1";
    P.result("out", Out);
    auto Device = createDevice("host");
    auto S = Session::create(P.finish(), **Device);
    ASSERT_TRUE(S) << messageOf(S);
    float Rows[3] = {};
    auto Number = static_cast<int64_t>(Id);
    ASSERT_TRUE((*S)->writeArgument("table", Rows, sizeof Rows));
    ASSERT_TRUE((*S)->writeArgument("ids", &Number, sizeof Number));
    Status Ran = (*S)->runStep();
    ASSERT_FALSE(Ran);
    EXPECT_EQ(Ran.getError().getCode(), ErrorCode::InvalidData);
    EXPECT_NE(messageOf(Ran).find("m.mlir:3:1"), std::string::npos);
    // The step runs once the cause is gone.
    Number = 2;
    ASSERT_TRUE((*S)->writeArgument("ids", &Number, sizeof Number));
    EXPECT_EQ(messageOf((*S)->runStep()), "");
  }
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

const Array Logits =
    f32({3, 2}, {0, std::log(3.0), std::log(4.0), 0, 1000, -1000});

TEST(CrossEntropy, Forward) {
  // Rows lose log(4) - log(3) and log(5); the third is ignored.
  auto R = runOp("cross_entropy", {Logits, i64({3}, {1, 1, -100})},
                 {f32({}), f32({3})}, {ints("ignore_index", {-100})});
  ASSERT_EQ(R.size(), 2u);
  expectNear(R[0], {(std::log(4.0 / 3) + std::log(5.0)) / 2});
  expectNear(R[1], {std::log(4.0), std::log(5.0), 1000});
}

TEST(CrossEntropy, AllIgnored) {
  auto R = runOp("cross_entropy", {Logits, i32({3}, {7, 7, 7})},
                 {f32({}), f32({3})}, {ints("ignore_index", {7})});
  ASSERT_EQ(R.size(), 2u);
  expectNear(R[0], {0});
  auto G =
      runOp("cross_entropy_backward",
            {f32({}, {1}), Logits, i32({3}, {7, 7, 7}), f32({3}, R[1].Data)},
            {f32({3, 2})}, {ints("ignore_index", {7})});
  ASSERT_EQ(G.size(), 1u);
  expectNear(G[0], {0, 0, 0, 0, 0, 0});
}

TEST(CrossEntropy, Backward) {
  for (const RunSetup &Setup : {RunSetup(), over(0, 1)}) {
    auto R = runOp("cross_entropy_backward",
                   {f32({}, {2}), Logits, i64({3}, {1, 1, -100}),
                    f32({3}, {std::log(4.0), std::log(5.0), 1000})},
                   {f32({3, 2})}, {ints("ignore_index", {-100})}, Setup);
    ASSERT_EQ(R.size(), 1u);
    expectNear(R[0], {0.25, -0.25, 0.8, -0.8, 0, 0});
  }
}

TEST(Mse, Forward) {
  auto R = runOp("mse", {f32({2, 2}, {1, 2, 3, 4}), f32({2, 2}, {1, 0, 6, 4})},
                 {f32({})});
  ASSERT_EQ(R.size(), 1u);
  expectNear(R[0], {13.0 / 4});
  EXPECT_NE(checkOp("mse", {f32({2}), f32({3})}, {f32({})}), "");
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

TEST(Sgd, WithoutMomentum) {
  // g = 2 * 0.5 + 0.1 * 10 = 2; p = 10 - 0.25 * 2
  for (const RunSetup &Setup : {RunSetup(), over(0, 0)}) {
    auto R = runOp("sgd",
                   {f32({1}, {10}), f32({1}, {2}), std::nullopt,
                    f32({}, {0.25}), f32({}, {0.5})},
                   {f32({1})}, {number("weight_decay", 0.1)}, Setup);
    ASSERT_EQ(R.size(), 1u);
    expectNear(R[0], {9.5});
  }
}

TEST(Sgd, WithMomentum) {
  auto R = runOp("sgd",
                 {f32({2}, {1, 2}), f32({2}, {4, 8}), f32({2}, {10, 20}),
                  f32({}, {0.5}), std::nullopt},
                 {f32({2}), f32({2})}, {number("momentum", 0.5)}, over(1, 2));
  ASSERT_EQ(R.size(), 2u);
  expectNear(R[0], {1 - 4.5, 2 - 9});
  expectNear(R[1], {9, 18});
}

TEST(AdamW, ThirdStep) {
  double B1 = 0.9, B2 = 0.99, Eps = 1e-8, Decay = 0.1, Rate = 0.01, T = 3;
  double P = 2, G = 0.5 * 3, M = 0.1, V = 0.2;
  M = B1 * M + (1 - B1) * G;
  V = B2 * V + (1 - B2) * G * G;
  P -= Rate * Decay * P;
  P -= Rate * (M / (1 - std::pow(B1, T))) /
       (std::sqrt(V / (1 - std::pow(B2, T))) + Eps);
  for (const RunSetup &Setup :
       {RunSetup(), over(0, 0), over(1, 2), over(2, 3)}) {
    auto R =
        runOp("adamw",
              {f32({1}, {2}), bf16({1}, {3}), f32({1}, {0.1}), f32({1}, {0.2}),
               f32({}, {Rate}), i64({}, {2}), f32({}, {0.5})},
              {f32({1}), f32({1}), f32({1})},
              {number("beta1", B1), number("beta2", B2), number("epsilon", Eps),
               number("weight_decay", Decay)},
              Setup);
    ASSERT_EQ(R.size(), 3u);
    expectNear(R[0], {P});
    expectNear(R[1], {M});
    expectNear(R[2], {V});
  }
}

TEST(GlobalNorm, OfSeveralTensors) {
  auto R =
      runOp("global_norm", {f32({2}, {1, -2}), bf16({1, 1}, {2}), f32({}, {4})},
            {f32({})});
  ASSERT_EQ(R.size(), 1u);
  expectNear(R[0], {5});
  EXPECT_NE(checkOp("global_norm", {}, {f32({})}), "");
}

TEST(Optimizers, Checks) {
  EXPECT_NE(checkOp("sgd",
                    {f32({1}), f32({1}), f32({1}), f32({}), std::nullopt},
                    {f32({1})}),
            "");
  EXPECT_NE(checkOp("sgd", {f32({1})}, {f32({1})}), "");
  EXPECT_NE(checkOp("adamw",
                    {f32({2}), f32({2}), bf16({2}), f32({2}), f32({}), i64({}),
                     std::nullopt},
                    {f32({2}), bf16({2}), f32({2})}),
            "");
  EXPECT_NE(checkOp("adamw",
                    {f32({2}), f32({2}), f32({2}), f32({2}), f32({}), i32({}),
                     std::nullopt},
                    {f32({2}), f32({2}), f32({2})}),
            "");
}

} // namespace
