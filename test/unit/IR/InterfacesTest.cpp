//===- InterfacesTest.cpp - what operations answer --------------*- C++ -*-===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "remat/IR/RematOps.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace remat;

namespace {

class Interfaces : public ::testing::Test {
protected:
  Interfaces() { Context.loadDialect<func::FuncDialect, RematDialect>(); }

  /// The last operation before the return of a function with this body.
  Operation *parse(const std::string &Arguments, const std::string &Body) {
    Module = parseSourceString<ModuleOp>(
        "func.func @f(" + Arguments + ") {\n" + Body + "\n return }", &Context);
    if (!Module)
      return nullptr;
    auto Func = cast<func::FuncOp>(Module->getBody()->front());
    return Func.getBody().front().getTerminator()->getPrevNode();
  }

  using Numbers = SmallVector<unsigned>;
  MLIRContext Context;
  OwningOpRef<ModuleOp> Module;
};

TEST_F(Interfaces, SlicesAreViewsWhenContiguous) {
  auto Offset = [&](const std::string &Box, const std::string &Result) {
    return cast<ViewOpInterface>(parse("%x: tensor<4x5x6xf32>",
                                       "%0 = remat.slice %x, " + Box +
                                           " : (tensor<4x5x6xf32>) -> tensor<" +
                                           Result + ">"))
        .getViewOffset();
  };
  EXPECT_EQ(Offset("[1, 0, 0] [2, 5, 6]", "2x5x6xf32"), 1 * 30 * 4);
  EXPECT_EQ(Offset("[1, 2, 0] [1, 2, 6]", "1x2x6xf32"), (30 + 12) * 4);
  EXPECT_EQ(Offset("[3, 4, 2] [1, 1, 3]", "1x1x3xf32"), (90 + 24 + 2) * 4);
  EXPECT_EQ(Offset("[0, 1, 0] [2, 2, 6]", "2x2x6xf32"), std::nullopt);
  EXPECT_EQ(Offset("[0, 0, 1] [1, 2, 2]", "1x2x2xf32"), std::nullopt);
}

TEST_F(Interfaces, ElementwiseResultsOverwriteOperandsOfTheirSize) {
  auto Add = cast<InPlaceOpInterface>(
      parse("%x: tensor<2x3xf32>, %y: tensor<3xf32>",
            "%0 = remat.add %y, %x : (tensor<3xf32>, tensor<2x3xf32>) -> "
            "tensor<2x3xf32>"));
  EXPECT_EQ(Add.getReusableOperands(0), Numbers{1});
  auto Narrow = cast<InPlaceOpInterface>(
      parse("%x: tensor<4xf32>",
            "%0 = remat.cast %x : tensor<4xf32> to tensor<4xbf16>"));
  EXPECT_EQ(Narrow.getReusableOperands(0), Numbers{});
}

TEST_F(Interfaces, OptimizersUpdateInPlace) {
  auto AdamW = cast<InPlaceOpInterface>(
      parse("%p: tensor<4xf32>, %r: tensor<f32>, %s: tensor<i64>",
            "%0:3 = remat.adamw %p, %p moments %p, %p rate %r step %s : "
            "(tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, "
            "tensor<f32>, tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>, "
            "tensor<4xf32>)"));
  EXPECT_EQ(AdamW.getReusableOperands(0), Numbers{0});
  EXPECT_EQ(AdamW.getReusableOperands(1), Numbers{2});
  EXPECT_EQ(AdamW.getReusableOperands(2), Numbers{3});
  EXPECT_TRUE(AdamW->hasTrait<RunsOnce>());
}

TEST_F(Interfaces, KernelsOverwriteOperandsThatOneThreadReads) {
  const std::string Arguments = "%x: tensor<2x3xf32>, %y: tensor<3xf32>";
  auto Pointwise = cast<InPlaceOpInterface>(parse(
      Arguments,
      "%0 = remat.kernel(%a = %x : tensor<2x3xf32>, %b = %y : tensor<3xf32>) "
      "-> tensor<2x3xf32> { %1 = remat.add %a, %b : (tensor<2x3xf32>, "
      "tensor<3xf32>) -> tensor<2x3xf32>\n"
      "remat.yield %1 : tensor<2x3xf32> }"));
  EXPECT_EQ(Pointwise.getReusableOperands(0), Numbers{0});

  // A broadcast operand of the result's shape is read by several threads.
  auto Smaller = cast<InPlaceOpInterface>(parse(
      Arguments,
      "%0:2 = remat.kernel(%a = %x : tensor<2x3xf32>, %b = %y : tensor<3xf32>) "
      "-> (tensor<3xf32>, tensor<2x3xf32>) { %1 = remat.neg %b : "
      "tensor<3xf32>\n"
      "%2 = remat.add %a, %1 : (tensor<2x3xf32>, tensor<3xf32>) -> "
      "tensor<2x3xf32>\n"
      "remat.yield %1, %2 : tensor<3xf32>, tensor<2x3xf32> }"));
  EXPECT_EQ(Smaller.getReusableOperands(0), Numbers{});
  EXPECT_EQ(Smaller.getReusableOperands(1), Numbers{0});

  auto Rows = cast<InPlaceOpInterface>(
      parse(Arguments,
            "%0 = remat.kernel(%a = %x : tensor<2x3xf32>) -> tensor<2x3xf32> { "
            "%1 = remat.softmax %a : tensor<2x3xf32>\n"
            "remat.yield %1 : tensor<2x3xf32> }"));
  EXPECT_EQ(Rows.getReusableOperands(0), Numbers{});
}

TEST_F(Interfaces, CountsFlops) {
  EXPECT_EQ(cast<CostOpInterface>(
                parse("%x: tensor<2x8x16xf32>, %w: tensor<4x16xf32>",
                      "%0 = remat.matmul %x, %w {transpose_rhs} : "
                      "(tensor<2x8x16xf32>, tensor<4x16xf32>) -> "
                      "tensor<2x8x4xf32>"))
                .getFlops(),
            2.0 * 2 * 8 * 4 * 16);
  EXPECT_EQ(
      cast<CostOpInterface>(parse("%x: tensor<2x3xf32>, %y: tensor<3xf32>",
                                  "%0 = remat.add %x, %y : (tensor<2x3xf32>, "
                                  "tensor<3xf32>) -> tensor<2x3xf32>"))
          .getFlops(),
      6.0);
}

TEST_F(Interfaces, ReplacesRandomIds) {
  auto Random = cast<RandomOpInterface>(parse(
      "%s: tensor<i64>",
      "%0 = remat.random <uniform> %s, %s {id = 3 : i64} : tensor<4xf32>"));
  EXPECT_EQ(Random.getRandomId(), 3);
  Random.setRandomId(int64_t(1) << 40);
  EXPECT_EQ(Random.getRandomId(), int64_t(1) << 40);
}

} // namespace
