//===- ElementwiseTest.cpp - elementwise ops by values --------------------===//

#include "TestProgram.h"
#include <cmath>
#include <limits>

using namespace remat::runtime;
using namespace remat::runtime::test;

namespace {

constexpr double Nan = std::numeric_limits<double>::quiet_NaN();
constexpr double Inf = std::numeric_limits<double>::infinity();

void testUnary(const std::string &Op, std::vector<double> In,
               std::vector<double> Out, const Attrs &List = {}) {
  SCOPED_TRACE(Op);
  auto Size = static_cast<int64_t>(In.size());
  for (auto InPlace : {std::optional<std::pair<unsigned, unsigned>>(),
                       std::optional(std::pair(0u, 0u))}) {
    RunSetup Setup;
    Setup.InPlace = InPlace;
    auto R = runOp(Op, {f32({Size}, In)}, {f32({Size})}, List, Setup);
    ASSERT_EQ(R.size(), 1u);
    expectNear(R[0], Out);
  }
}

void testBinary(const std::string &Op, Array A, Array B, Array Out,
                const Attrs &List = {}) {
  SCOPED_TRACE(Op);
  auto R = runOp(Op, {A, B}, {Out}, List);
  ASSERT_EQ(R.size(), 1u);
  expectNear(R[0], Out.Data);
}

TEST(Elementwise, Unary) {
  testUnary("neg", {1, -2, 0}, {-1, 2, 0});
  testUnary("abs", {1, -2, 0}, {1, 2, 0});
  testUnary("exp", {0, 1, -1}, {1, 2.718281828, 0.3678794412});
  testUnary("log", {1, 2.718281828, 0}, {0, 1, -Inf});
  testUnary("sqrt", {4, 2, -1}, {2, 1.414213562, Nan});
  testUnary("rsqrt", {4, 0.25}, {0.5, 2});
  testUnary("reciprocal", {4, -0.5}, {0.25, -2});
  testUnary("log1p", {0, 1e-6, -1}, {0, 9.999995e-7, -Inf});
  testUnary("expm1", {0, 1e-6, 1}, {0, 1.0000005e-6, 1.718281828});
  testUnary("tan", {0, 0.5}, {0, 0.5463024898});
  testUnary("atan", {0, 1, -Inf}, {0, 0.7853981634, -1.570796327});
  testUnary("floor", {-1.5, 2, 2.7, Nan}, {-2, 2, 2, Nan});
  testUnary("ceil", {-1.5, 2, 2.2, Nan}, {-1, 2, 3, Nan});
  testUnary("round", {-1.5, 0.5, 2.5, 2.6, Nan}, {-2, 0, 2, 3, Nan});
  testUnary("sign", {-3, 0, 2, Nan}, {-1, 0, 1, Nan});
  testUnary("sin", {0, 1.570796327, 0.5}, {0, 1, 0.4794255386});
  testUnary("cos", {0, 3.141592654, 0.5}, {1, -1, 0.8775825619});
  testUnary("tanh", {0, 0.5, -20}, {0, 0.4621171573, -1});
  testUnary("erf", {0, 0.5, -3}, {0, 0.5204998778, -0.9999779095});
  testUnary("sigmoid", {0, 2, -100}, {0.5, 0.880797078, 0});
  testUnary("silu", {0, 2, -1}, {0, 1.761594156, -0.2689414214});
  testUnary("copy", {-1, 0, Nan}, {-1, 0, Nan});
  testUnary("hardswish", {-4, -1, 0, 1.5, 4, Nan},
            {0, -0.3333333333, 0, 1.125, 4, Nan});
  testUnary("relu", {-1, 0, 2, Nan}, {0, 0, 2, Nan});
  testUnary("leaky_relu", {-2, 0, 3, Nan}, {-0.5, 0, 3, Nan},
            {number("negative_slope", 0.25)});
  testUnary("gelu", {0, 1, -1, 3},
            {0, 0.8413447461, -0.1586552539, 2.995950307},
            {text("kind", "erf")});
  testUnary("gelu", {0, 1, -1, 3},
            {0, 0.8411919906, -0.1588080094, 2.996362607},
            {text("kind", "tanh")});
}

TEST(Elementwise, BackwardOfActivations) {
  testBinary("relu_backward", f32({3}, {1, 0, 2}), f32({3}, {5, 6, 7}),
             f32({3}, {5, 0, 7}));
  // Phi(1) + phi(1) = 0.8413447461 + 0.2419707245, twice.
  testBinary("gelu_backward", f32({2}, {1, 0}), f32({2}, {2, 3}),
             f32({2}, {2.1666309412, 1.5}), {text("kind", "erf")});
  testBinary("gelu_backward", f32({2}, {1, 0}), f32({2}, {1, 3}),
             f32({2}, {1.0829640838, 1.5}), {text("kind", "tanh")});
}

TEST(Elementwise, BinaryOfFloats) {
  Array A = f32({4}, {1, 2, -3, Nan}), B = f32({4}, {4, -2, 0, 1});
  testBinary("add", A, B, f32({4}, {5, 0, -3, Nan}));
  testBinary("sub", A, B, f32({4}, {-3, 4, -3, Nan}));
  testBinary("mul", A, B, f32({4}, {4, -4, 0, Nan}));
  testBinary("div", A, B, f32({4}, {0.25, -1, -Inf, Nan}));
  testBinary("max", A, B, f32({4}, {4, 2, 0, Nan}));
  testBinary("min", A, B, f32({4}, {1, -2, -3, Nan}));
  testBinary("max", B, A, f32({4}, {4, 2, 0, Nan}));
  testBinary("pow", f32({3}, {2, 4, -2}), f32({3}, {3, 0.5, 3}),
             f32({3}, {8, 2, -8}));
}

TEST(Elementwise, BinaryOfIntegers) {
  double Least = -2147483648.0;
  Array A = i32({4}, {7, -7, 5, Least}), B = i32({4}, {2, 2, 0, -1});
  testBinary("add", A, B, i32({4}, {9, -5, 5, 2147483647}));
  testBinary("mul", A, B, i32({4}, {14, -14, 0, Least}));
  testBinary("div", A, B, i32({4}, {3, -3, 0, Least}));
  testBinary("max", A, B, i32({4}, {7, 2, 5, -1}));
  testBinary("sub", i64({2}, {1e15, -4}), i64({2}, {1, 5}),
             i64({2}, {1e15 - 1, -9}));
}

TEST(Elementwise, Broadcasting) {
  testBinary("add", f32({2, 3}, {1, 2, 3, 4, 5, 6}), f32({3}, {10, 20, 30}),
             f32({2, 3}, {11, 22, 33, 14, 25, 36}));
  testBinary("add", f32({2, 1}, {1, 2}), f32({1, 3}, {10, 20, 30}),
             f32({2, 3}, {11, 21, 31, 12, 22, 32}));
  testBinary("mul", f32({}, {3}), f32({2, 2}, {1, 2, 3, 4}),
             f32({2, 2}, {3, 6, 9, 12}));
  testBinary("sub", f32({2, 1, 2}, {1, 2, 3, 4}), f32({2, 1}, {1, 10}),
             f32({2, 2, 2}, {0, 1, -9, -8, 2, 3, -7, -6}));
}

TEST(Elementwise, RoundsOnceToNarrowTypes) {
  // 1 + 2^-8 lies between 1 and 1 + 2^-7: to even.
  testBinary("add", bf16({3}, {1, 1, 256}),
             bf16({3}, {0.00390625, 0.01171875, 1}),
             bf16({3}, {1, 1.015625, 256}));
  testBinary("mul", f16({3}, {256, 0.25, 3}),
             f16({3}, {256, 0.00006103515625, 5}),
             f16({3}, {Inf, 0.0000152587890625, 15}));
}

TEST(Elementwise, Compare) {
  Array A = f32({4}, {1, 2, 3, Nan}), B = f32({4}, {2, 2, 2, Nan});
  auto Test = [&](const char *Predicate, std::vector<double> Expected) {
    testBinary("compare", A, B, i1({4}, Expected),
               {text("predicate", Predicate)});
  };
  Test("eq", {0, 1, 0, 0});
  Test("ne", {1, 0, 1, 1});
  Test("lt", {1, 0, 0, 0});
  Test("le", {1, 1, 0, 0});
  Test("gt", {0, 0, 1, 0});
  Test("ge", {0, 1, 1, 0});
  testBinary("compare", i64({2}, {1, 3}), i64({}, {2}), i1({2}, {1, 0}),
             {text("predicate", "lt")});
}

TEST(Elementwise, Select) {
  auto R = runOp("select",
                 {i1({2, 1}, {1, 0}), f32({2, 2}, {1, 2, 3, 4}), f32({}, {9})},
                 {f32({2, 2})});
  ASSERT_EQ(R.size(), 1u);
  expectNear(R[0], {1, 2, 9, 9});
  for (auto Make : {bf16, i32, i64, i1}) {
    auto Typed =
        runOp("select", {i1({2}, {0, 1}), Make({2}, {1, 1}), Make({2}, {0, 0})},
              {Make({2}, {})});
    ASSERT_EQ(Typed.size(), 1u);
    expectNear(Typed[0], {0, 1});
  }
}

TEST(Elementwise, Cast) {
  auto Test = [](Array From, Array To) {
    auto R = runOp("cast", {From}, {To});
    ASSERT_EQ(R.size(), 1u);
    expectNear(R[0], To.Data, 0);
  };
  Test(f32({3}, {1.00390625, 1.01171875, Inf}), bf16({3}, {1, 1.015625, Inf}));
  Test(f32({2}, {65519, 65520}), f16({2}, {65504, Inf}));
  Test(f32({5}, {2.9, -2.9, Nan, 1e20, -1e20}),
       i32({5}, {2, -2, 0, 2147483647, -2147483648.0}));
  Test(f32({3}, {0, -0.5, Nan}), i1({3}, {0, 1, 1}));
  Test(i64({3}, {5, 0, 4294967297}), i32({3}, {5, 0, 1}));
  Test(i1({2}, {1, 0}), f32({2}, {1, 0}));
  Test(i32({2}, {-3, 7}), bf16({2}, {-3, 7}));
  Test(i64({2}, {-3, 0}), i1({2}, {1, 0}));
}

TEST(Elementwise, ManyElementsOnAnyNumberOfThreads) {
  Array A = randomArray(DType::F32, {123, 457}, 1);
  Array B = randomArray(DType::F32, {457}, 2);
  RunSetup One, Many;
  One.Threads = 1;
  Many.Threads = 5;
  auto R1 = runOp("mul", {A, B}, {f32({123, 457})}, {}, One);
  auto R5 = runOp("mul", {A, B}, {f32({123, 457})}, {}, Many);
  ASSERT_EQ(R1.size(), 1u);
  EXPECT_EQ(R1[0].Data, R5[0].Data);
  for (size_t I = 0; I < A.Data.size(); I += 97)
    EXPECT_EQ(R1[0].Data[I], double(float(A.Data[I]) * float(B.Data[I % 457])));
}

TEST(Elementwise, Checks) {
  EXPECT_NE(checkOp("add", {f32({2}), f32({3})}, {f32({3})}), "");
  EXPECT_NE(checkOp("add", {f32({2}), bf16({2})}, {f32({2})}), "");
  EXPECT_NE(checkOp("add", {f32({2})}, {f32({2})}), "");
  EXPECT_NE(checkOp("add", {f32({2}), std::nullopt}, {f32({2})}), "");
  EXPECT_NE(checkOp("add", {f32({4}), f32({4})}, {f32({2})}), "");
  EXPECT_NE(checkOp("exp", {i32({2})}, {i32({2})}), "");
  EXPECT_NE(checkOp("gelu", {f32({2})}, {f32({2})}), "");
  EXPECT_NE(checkOp("compare", {f32({2}), f32({2})}, {i1({2})},
                    {text("predicate", "almost")}),
            "");
  EXPECT_NE(checkOp("select", {f32({2}), f32({2}), f32({2})}, {f32({2})}), "");
  EXPECT_EQ(checkOp("add", {f32({2}), f32({2})}, {f32({2})}), "");
}

} // namespace
