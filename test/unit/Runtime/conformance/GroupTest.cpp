//===- GroupTest.cpp - kernel groups equal their ops ----------------------===//

#include "TestProgram.h"

using namespace remat::runtime;
using namespace remat::runtime::test;

namespace {

/// Runs a chain of single ops: each Inner reads operands or earlier results.
std::vector<Array> runApart(const std::vector<Array> &Operands,
                            const std::vector<Inner> &Body,
                            const std::vector<uint32_t> &Yields) {
  std::vector<Array> Values = Operands;
  for (const Inner &I : Body) {
    std::vector<std::optional<Array>> In;
    for (uint32_t V : I.Operands)
      In.push_back(Values[V]);
    auto R = runOp(I.Op, In, {I.Type}, I.Attributes);
    if (R.empty())
      return {};
    Values.push_back(R[0]);
  }
  std::vector<Array> Out;
  for (uint32_t V : Yields)
    Out.push_back(Values[V]);
  return Out;
}

/// The group and its ops apart give the same bits.
void expectSame(const std::vector<Array> &Operands,
                const std::vector<Inner> &Body,
                const std::vector<uint32_t> &Yields,
                const RunSetup &Setup = {}) {
  std::vector<Array> Apart = runApart(Operands, Body, Yields);
  ASSERT_EQ(Apart.size(), Yields.size());
  std::vector<Array> Types = Apart;
  auto Together = runKernel(Operands, Types, Body, Yields, Setup);
  ASSERT_EQ(Together.size(), Yields.size());
  for (size_t I = 0; I < Yields.size(); ++I)
    EXPECT_EQ(Together[I].encode(), Apart[I].encode()) << "result " << I;
}

TEST(Group, ByHand) {
  auto R =
      runKernel({f32({2, 2}, {1, -2, 3, -4}), f32({2}, {10, 1})},
                {f32({2, 2}), i1({2, 2})},
                {{"add", {0, 1}, f32({2, 2})},
                 {"constant", {}, f32({}), {number("value", 0)}},
                 {"relu", {2}, f32({2, 2})},
                 {"compare", {4, 3}, i1({2, 2}), {text("predicate", "gt")}}},
                {4, 5});
  ASSERT_EQ(R.size(), 2u);
  expectNear(R[0], {11, 0, 13, 0});
  expectNear(R[1], {1, 0, 1, 0});
}

TEST(Group, PointwiseChainInEveryFloatType) {
  for (DType Type : {DType::F32, DType::BF16, DType::F16}) {
    Array T = {Type, {37, 61}, {}}, Row = {Type, {61}, {}};
    std::vector<Inner> Body = {
        {"add", {0, 1}, T},
        {"gelu", {3}, T, {text("kind", "tanh")}},
        {"constant", {}, Array{Type, {}, {}}, {number("value", 1.7)}},
        {"mul", {4, 5}, T},
        {"mul", {6, 2}, T},
        {"cast", {7}, f32({37, 61})},
        {"exp", {6}, T}};
    expectSame({randomArray(Type, {37, 61}, 1), randomArray(Type, {61}, 2),
                randomArray(Type, {37, 1}, 3)},
               Body, {7, 8, 9});
  }
}

TEST(Group, DropoutAndRandomKeepTheirElements) {
  Array T = f32({50, 63});
  std::vector<Inner> Body = {
      {"dropout", {0, 1, 2}, T, {number("p", 0.3), ints("id", {4})}},
      {"random",
       {1, 2},
       f32({63}),
       {text("distribution", "normal"), ints("id", {5})}},
      {"add", {3, 4}, T},
      {"random",
       {1, 2},
       f32({50, 1}),
       {text("distribution", "uniform"), ints("id", {6})}},
      {"mul", {5, 6}, T}};
  expectSame(
      {randomArray(DType::F32, {50, 63}, 1), i64({}, {11}), i64({}, {2})}, Body,
      {3, 7});
}

TEST(Group, IntegersAndSelect) {
  std::vector<Inner> Body = {
      {"add", {0, 1}, i32({3, 4})},
      {"compare", {2, 0}, i1({3, 4}), {text("predicate", "ge")}},
      {"select", {3, 2, 0}, i32({3, 4})},
      {"cast", {4}, i64({3, 4})},
      {"broadcast", {1}, i32({3, 4})}};
  expectSame({i32({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
              i32({4}, {-1, 1, 0, 2})},
             Body, {4, 5, 6});
}

TEST(Group, BooleanConstants) {
  for (int64_t Value : {0, 1}) {
    std::vector<Inner> Body = {
        {"constant", {}, i1({4}), {ints("value", {Value})}},
        {"select", {2, 0, 1}, f32({4})}};
    auto R = runKernel({f32({4}, {1, 2, 3, 4}), f32({4}, {5, 6, 7, 8})},
                       {f32({4}), i1({4})}, Body, {3, 2});
    ASSERT_EQ(R.size(), 2u);
    expectNear(R[0], Value ? std::vector<double>{1, 2, 3, 4}
                           : std::vector<double>{5, 6, 7, 8});
    expectNear(R[1], std::vector<double>(4, double(Value)));
  }
}

TEST(Group, RowReductionWithKeptDimensions) {
  for (DType Type : {DType::F32, DType::BF16}) {
    int64_t Rows = 9, Columns = 1500; // a row is longer than a block
    Array T = {Type, {Rows, Columns}, {}}, R = {Type, {Rows, 1}, {}};
    Attrs Sum = {text("kind", "sum"), ints("dims", {1}), flag("keep_dims")};
    Attrs Max = {text("kind", "max"), ints("dims", {1}), flag("keep_dims")};
    std::vector<Inner> Body = {{"reduce", {0}, R, Max}, {"sub", {0, 1}, T},
                               {"exp", {2}, T},         {"reduce", {3}, R, Sum},
                               {"div", {3, 4}, T},      {"log", {4}, R}};
    expectSame({randomArray(Type, {Rows, Columns}, 8)}, Body, {5, 6, 1});
  }
}

TEST(Group, RowReductionWithoutKeptDimensions) {
  // The result lacks the row; so does what is computed with it. Eight rows of
  // eight: the shapes alone do not tell.
  Array T = f32({8, 8}), R = f32({8});
  std::vector<Inner> Body = {
      {"mul", {0, 0}, T},
      {"reduce", {2}, R, {text("kind", "mean"), ints("dims", {1})}},
      {"add", {3, 1}, R},
      {"rsqrt", {4}, R}};
  expectSame(
      {randomArray(DType::F32, {8, 8}, 1), f32({8}, {1, 2, 3, 4, 5, 6, 7, 8})},
      Body, {5, 3});
  // The reduction comes first in the group.
  expectSame({randomArray(DType::F32, {8, 8}, 2)},
             {{"reduce", {0}, R, {text("kind", "sum"), ints("dims", {1})}},
              {"exp", {1}, R}},
             {2});
}

TEST(Group, ReductionOverSeveralLastDimensions) {
  Array T = f32({6, 3, 5});
  std::vector<Inner> Body = {
      {"abs", {0}, T},
      {"reduce", {1}, f32({6}), {text("kind", "sum"), ints("dims", {1, 2})}}};
  expectSame({randomArray(DType::F32, {6, 3, 5}, 1)}, Body, {2});
}

TEST(Group, SoftmaxInside) {
  Array T = bf16({7, 33});
  std::vector<Inner> Body = {
      {"mul", {0, 1}, T}, {"softmax", {2}, T}, {"softmax_backward", {3, 0}, T}};
  expectSame({randomArray(DType::BF16, {7, 33}, 1), bf16({}, {0.5})}, Body,
             {3, 4});
}

TEST(Group, RollsOperands) {
  // Blocks begin and end inside of lines, and each element is read twice.
  for (DType Type : {DType::F32, DType::BF16, DType::I32})
    for (auto [Dim, Shift] :
         {std::pair<int64_t, int64_t>{0, 2}, {1, 699}, {1, 0}, {2, 1}}) {
      Array T = {Type, {5, 700, 3}, {}};
      Attrs Roll = {ints("dim", {Dim}), ints("shift", {Shift})};
      RunSetup Setup;
      Setup.Threads = 3;
      expectSame({randomArray(Type, {5, 700, 3}, 5)},
                 {{"roll", {0}, T, Roll}, {"add", {0, 1}, T}}, {2, 1}, Setup);
    }
}

TEST(Group, SmallerResultsAreStoredOnce) {
  // neg is [40], shared by all rows.
  std::vector<Inner> Whole = {{"neg", {1}, f32({40})},
                              {"add", {0, 2}, f32({100, 40})}};
  RunSetup Setup;
  Setup.Threads = 4;
  expectSame(
      {randomArray(DType::F32, {100, 40}, 1), randomArray(DType::F32, {40}, 2)},
      Whole, {2, 3}, Setup);
}

TEST(Group, SmallerResultsEndWhereTheyEnd) {
  // 256 bytes of sums, and right behind them what the first block wrote long
  // before the last sum is stored.
  Array T = f32({64, 1500}), R = f32({64});
  RunSetup Setup;
  Setup.Threads = 1;
  expectSame({randomArray(DType::F32, {64, 1500}, 1)},
             {{"reduce", {0}, R, {text("kind", "sum"), ints("dims", {1})}},
              {"exp", {0}, T}},
             {1, 2}, Setup);
}

TEST(Group, InPlace) {
  RunSetup Setup;
  Setup.InPlace = {0, 1};
  Setup.Threads = 3;
  Array T = f32({90, 70});
  std::vector<Inner> Body = {{"sub", {0, 1}, T}, {"mul", {3, 2}, T}};
  expectSame({randomArray(DType::F32, {90, 70}, 1),
              randomArray(DType::F32, {90, 70}, 2),
              randomArray(DType::F32, {70}, 3)},
             Body, {4}, Setup);
}

/// The message that a program with this group loads with.
std::string check(const std::vector<Array> &Operands, const Array &Result,
                  const std::vector<Inner> &Body,
                  const std::vector<uint32_t> &Yields,
                  std::optional<unsigned> Over = std::nullopt) {
  ProgramMaker P;
  std::vector<uint32_t> In;
  for (size_t I = 0; I < Operands.size(); ++I)
    In.push_back(P.argument(std::to_string(I), Operands[I]));
  uint32_t Out = P.tensor(Result, Over ? int64_t(offsetOf(P, In[*Over])) : -1);
  P.kernel(In, {Out}, Body, Yields);
  P.result("r", Out);
  return messageOf(Program::load(P.finish()));
}

TEST(Group, Checks) {
  Array T = f32({4, 4});
  Attrs Sum = {text("kind", "sum"), ints("dims", {1}), flag("keep_dims")};
  EXPECT_EQ(check({T}, T, {{"neg", {0}, T}}, {1}), "");
  EXPECT_EQ(check({T}, T, {{"neg", {0}, T}}, {1}, 0), "");
  EXPECT_NE(check({T}, T, {{"neg", {1}, T}}, {1}), "") << "reads itself";
  EXPECT_NE(check({T}, T, {{"neg", {0}, T}}, {2}), "");
  EXPECT_NE(check({T}, T, {{"neg", {0}, T}}, {}), "");
  EXPECT_NE(check({T}, T, {{"neg", {0}, f32({5})}}, {1}), "");
  EXPECT_NE(check({T}, T, {{"matmul", {0, 0}, T}}, {1}), "");
  EXPECT_NE(check({T}, T, {{"kernel", {0}, T}}, {1}), "");
  EXPECT_NE(check({T}, T, {{"vanish", {0}, T}}, {1}), "");
  EXPECT_NE(
      check({T}, f32({1, 4}),
            {{"reduce",
              {0},
              f32({1, 4}),
              {text("kind", "sum"), ints("dims", {0}), flag("keep_dims")}}},
            {1}),
      "")
      << "not a row";
  EXPECT_NE(check({T}, T,
                  {{"reduce", {0}, f32({4, 1}), Sum}, {"sub", {0, 1}, T}}, {2},
                  0),
            "")
      << "in place beside a row reduction";
  Attrs Roll = {ints("dim", {1}), ints("shift", {1})};
  EXPECT_EQ(check({T}, T, {{"roll", {0}, T, Roll}}, {1}), "");
  EXPECT_EQ(
      check({T, T}, T, {{"roll", {0}, T, Roll}, {"add", {1, 2}, T}}, {3}, 1),
      "");
  EXPECT_NE(
      check({T, T}, T, {{"roll", {0}, T, Roll}, {"add", {1, 2}, T}}, {3}, 0),
      "")
      << "over what is rolled";
  EXPECT_NE(check({T}, T, {{"neg", {0}, T}, {"roll", {1}, T, Roll}}, {2}), "")
      << "rolls what the group makes";
  EXPECT_NE(check({f32({1, 4}), T}, T,
                  {{"roll", {0}, f32({1, 4}), Roll}, {"add", {1, 2}, T}}, {3}),
            "")
      << "rolls less than the group's shape";
  EXPECT_NE(check({T}, T,
                  {{"roll", {0}, T, {ints("dim", {1}), ints("shift", {4})}}},
                  {1}),
            "");
  EXPECT_NE(check({f32({4})}, T, {{"broadcast", {0}, T}}, {1}, 0), "");
  EXPECT_NE(check({T}, T, {{"neg", {0}, f32({INT64_MAX, INT64_MAX})}}, {1}),
            "");
  Array Unknown = {static_cast<DType>(32), {4, 4}, {}};
  EXPECT_NE(check({T}, T, {{"neg", {0}, Unknown}}, {1}), "");
  EXPECT_NE(check({T}, T, {{"neg", {0}, f32({0, 4})}}, {1}), "");
}

} // namespace
