//===- ShapeTest.cpp - ops that move or combine elements ------------------===//

#include "TestProgram.h"
#include <cmath>

using namespace remat::runtime;
using namespace remat::runtime::test;

namespace {

void expectOp(const std::string &Op,
              const std::vector<std::optional<Array>> &Operands,
              const Array &Expected, const Attrs &List = {}) {
  SCOPED_TRACE(Op);
  auto R = runOp(Op, Operands, {Expected}, List);
  ASSERT_EQ(R.size(), 1u);
  expectNear(R[0], Expected.Data);
}

TEST(Shape, Constant) {
  expectOp("constant", {}, f32({2, 2}, {1.5, 1.5, 1.5, 1.5}),
           {number("value", 1.5)});
  expectOp("constant", {}, bf16({2}, {1, 1}), {number("value", 1.00390625)});
  expectOp("constant", {}, i64({}, {-7}), {ints("value", {-7})});
  expectOp("constant", {}, i1({3}, {1, 1, 1}), {ints("value", {1})});
  EXPECT_NE(checkOp("constant", {}, {f32({2})}, {ints("value", {1})}), "");
  EXPECT_NE(checkOp("constant", {}, {i32({2})}), "");
}

TEST(Shape, Reshape) {
  expectOp("reshape", {f32({2, 3}, {1, 2, 3, 4, 5, 6})},
           f32({3, 2}, {1, 2, 3, 4, 5, 6}));
  EXPECT_NE(checkOp("reshape", {f32({2, 3})}, {f32({7})}), "");
  EXPECT_NE(checkOp("reshape", {f32({2})}, {i32({2})}), "");
}

TEST(Shape, Transpose) {
  expectOp("transpose", {f32({2, 3}, {1, 2, 3, 4, 5, 6})},
           f32({3, 2}, {1, 4, 2, 5, 3, 6}), {ints("permutation", {1, 0})});
  expectOp("transpose", {i64({2, 1, 2}, {1, 2, 3, 4})},
           i64({2, 2, 1}, {1, 3, 2, 4}), {ints("permutation", {2, 0, 1})});
  expectOp("transpose", {bf16({1, 2, 2}, {1, 2, 3, 4})},
           bf16({2, 1, 2}, {1, 2, 3, 4}), {ints("permutation", {1, 0, 2})});
  expectOp("transpose", {i1({2, 2}, {1, 0, 0, 0})}, i1({2, 2}, {1, 0, 0, 0}),
           {ints("permutation", {1, 0})});
  for (std::vector<int64_t> Bad :
       {std::vector<int64_t>{0, 0}, {0}, {0, 2}, {-1, 0}, {0, 1, 2}})
    EXPECT_NE(checkOp("transpose", {f32({2, 3})}, {f32({3, 2})},
                      {ints("permutation", Bad)}),
              "");
  EXPECT_NE(checkOp("transpose", {f32({2, 3})}, {f32({2, 3})},
                    {ints("permutation", {1, 0})}),
            "");
}

TEST(Shape, Slice) {
  expectOp("slice", {f32({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})},
           f32({2, 2}, {5, 6, 8, 9}),
           {ints("offsets", {1, 1}), ints("sizes", {2, 2})});
  expectOp("slice", {i32({4}, {1, 2, 3, 4})}, i32({1}, {4}),
           {ints("offsets", {3}), ints("sizes", {1})});
  EXPECT_NE(checkOp("slice", {f32({4})}, {f32({2})},
                    {ints("offsets", {3}), ints("sizes", {2})}),
            "");
  EXPECT_NE(checkOp("slice", {f32({4})}, {f32({2})},
                    {ints("offsets", {INT64_MAX}), ints("sizes", {2})}),
            "");
  EXPECT_NE(checkOp("slice", {f32({4})}, {f32({3})},
                    {ints("offsets", {0}), ints("sizes", {2})}),
            "");
}

TEST(Shape, Pad) {
  expectOp("pad", {f32({2, 2}, {1, 2, 3, 4})},
           f32({3, 4}, {0, 1, 2, 0, 0, 3, 4, 0, 0, 0, 0, 0}),
           {ints("low", {0, 1}), ints("high", {1, 1})});
  EXPECT_NE(checkOp("pad", {f32({2})}, {f32({4})},
                    {ints("low", {INT64_MAX}), ints("high", {3})}),
            "");
  EXPECT_NE(checkOp("pad", {f32({2})}, {f32({4})},
                    {ints("low", {-1}), ints("high", {3})}),
            "");
}

TEST(Shape, Concat) {
  expectOp("concat", {f32({2, 1}, {1, 2}), f32({2, 2}, {3, 4, 5, 6})},
           f32({2, 3}, {1, 3, 4, 2, 5, 6}), {ints("dim", {1})});
  expectOp("concat", {i64({1}, {1}), i64({2}, {2, 3}), i64({1}, {4})},
           i64({4}, {1, 2, 3, 4}), {ints("dim", {0})});
  EXPECT_NE(checkOp("concat", {f32({2})}, {f32({3})}, {ints("dim", {0})}), "");
  EXPECT_NE(checkOp("concat", {}, {f32({3})}, {ints("dim", {0})}), "");
  EXPECT_NE(checkOp("concat", {f32({3})}, {f32({3})}, {ints("dim", {1})}), "");
}

TEST(Shape, Roll) {
  auto By = [](int64_t Dim, int64_t Shift) {
    return Attrs{ints("dim", {Dim}), ints("shift", {Shift})};
  };
  expectOp("roll", {f32({2, 3}, {1, 2, 3, 4, 5, 6})},
           f32({2, 3}, {3, 1, 2, 6, 4, 5}), By(1, 1));
  expectOp("roll", {i64({3, 2}, {1, 2, 3, 4, 5, 6})},
           i64({3, 2}, {3, 4, 5, 6, 1, 2}), By(0, 2));
  expectOp("roll", {bf16({1, 2, 2}, {1, 2, 3, 4})},
           bf16({1, 2, 2}, {3, 4, 1, 2}), By(1, 1));
  expectOp("roll", {i1({2}, {1, 0})}, i1({2}, {1, 0}), By(0, 0));
  EXPECT_NE(checkOp("roll", {f32({3})}, {f32({3})}, By(1, 0)), "");
  EXPECT_NE(checkOp("roll", {f32({3})}, {f32({3})}, By(0, 3)), "");
  EXPECT_NE(checkOp("roll", {f32({3})}, {f32({3})}, By(0, -1)), "");
  EXPECT_NE(checkOp("roll", {f32({3})}, {f32({4})}, By(0, 1)), "");
  EXPECT_NE(checkOp("roll", {f32({3})}, {i32({3})}, By(0, 1)), "");
}

TEST(Shape, Broadcast) {
  expectOp("broadcast", {f32({2, 1}, {1, 2})}, f32({2, 3}, {1, 1, 1, 2, 2, 2}));
  expectOp("broadcast", {f32({}, {4})}, f32({2}, {4, 4}));
  EXPECT_NE(checkOp("broadcast", {f32({2})}, {f32({3})}), "");
}

TEST(Reduce, Sum) {
  Array X = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  expectOp("reduce", {X}, f32({2}, {6, 15}),
           {text("kind", "sum"), ints("dims", {1})});
  expectOp("reduce", {X}, f32({3}, {5, 7, 9}),
           {text("kind", "sum"), ints("dims", {0})});
  expectOp("reduce", {X}, f32({}, {21}),
           {text("kind", "sum"), ints("dims", {0, 1})});
  expectOp("reduce", {X}, f32({2, 1}, {6, 15}),
           {text("kind", "sum"), ints("dims", {1}), flag("keep_dims")});
  expectOp("reduce", {X}, X, {text("kind", "sum"), ints("dims", {})});
}

TEST(Reduce, MeanAndMax) {
  Array X = f32({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, -8});
  expectOp("reduce", {X}, f32({2}, {4, 1}),
           {text("kind", "mean"), ints("dims", {0, 1})});
  expectOp("reduce", {X}, f32({2}, {6, 7}),
           {text("kind", "max"), ints("dims", {0, 2})});
  expectOp("reduce", {f32({3}, {1, NAN, 2})}, f32({}, {NAN}),
           {text("kind", "max"), ints("dims", {0})});
  expectOp("reduce", {i32({4}, {-7, 1, 2, 1})}, i32({}, {0}),
           {text("kind", "mean"), ints("dims", {0})});
  expectOp("reduce", {i64({2, 2}, {-7, 1, -9, 1})}, i64({2}, {-7, 1}),
           {text("kind", "max"), ints("dims", {0})});
}

TEST(Reduce, NarrowSumsAreMadeWide) {
  // In bf16 256 + 1 would stay 256 each time.
  std::vector<double> Data(129, 1.0);
  Data[0] = 256;
  expectOp("reduce", {bf16({129}, Data)}, bf16({}, {384}),
           {text("kind", "sum"), ints("dims", {0})});
  expectOp("reduce", {bf16({129, 1}, Data)}, bf16({1}, {384}),
           {text("kind", "sum"), ints("dims", {0})});
}

TEST(Reduce, LongSumsDoNotDependOnThreads) {
  Array X = randomArray(DType::F32, {300000}, 3);
  Array Columns = randomArray(DType::F32, {700, 300}, 4);
  double Exact = 0;
  for (double V : X.Data)
    Exact += V;
  std::vector<double> First;
  for (unsigned Threads : {1u, 2u, 5u}) {
    RunSetup Setup;
    Setup.Threads = Threads;
    auto R = runOp("reduce", {X}, {f32({})},
                   {text("kind", "sum"), ints("dims", {0})}, Setup);
    auto C = runOp("reduce", {Columns}, {f32({300})},
                   {text("kind", "mean"), ints("dims", {0})}, Setup);
    ASSERT_EQ(R.size() + C.size(), 2u);
    EXPECT_EQ(R[0].Data[0], double(float(Exact)));
    if (First.empty())
      First = C[0].Data;
    EXPECT_EQ(C[0].Data, First);
  }
}

TEST(Reduce, Checks) {
  auto Check = [](std::vector<int64_t> Dims, Array Result,
                  const char *Kind = "sum") {
    return checkOp("reduce", {f32({2, 3})}, {Result},
                   {text("kind", Kind), ints("dims", Dims)});
  };
  EXPECT_EQ(Check({1}, f32({2})), "");
  EXPECT_NE(Check({1, 0}, f32({})), "");
  EXPECT_NE(Check({0, 0}, f32({3})), "");
  EXPECT_NE(Check({2}, f32({2, 3})), "");
  EXPECT_NE(Check({-1}, f32({2, 3})), "");
  EXPECT_NE(Check({1}, f32({2, 1})), "");
  EXPECT_NE(Check({1}, f32({3})), "");
  EXPECT_NE(Check({1}, f32({2}), "product"), "");
}

} // namespace
