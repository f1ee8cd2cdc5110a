//===- ValueNumberingTest.cpp - equal and unequal computations ------------===//

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "remat/IR/GraphFile.h"
#include "remat/Transforms/Plan.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace remat;

namespace {

/// Whether two bodies over %x and %y, which return %r, compute the same.
bool computeTheSame(llvm::StringRef First, llvm::StringRef Second) {
  MLIRContext Context;
  ValueNumbering Numbering;
  SmallVector<SmallVector<unsigned>> Numbers;
  SmallVector<OwningOpRef<ModuleOp>> Modules; // types and attributes stay
  for (llvm::StringRef Body : {First, Second}) {
    std::string Text =
        "func.func @main(%x: tensor<4x4xf32> {remat.role = #remat.role<input>, "
        "remat.name = \"x\"}, %y: tensor<4x4xf32> {remat.role = "
        "#remat.role<input>, remat.name = \"y\"}) -> (tensor<4x4xf32> "
        "{remat.role = #remat.role<output>, remat.name = \"r\"}) {\n" +
        Body.str() + "\nreturn %r : tensor<4x4xf32>\n}\n";
    Modules.push_back(parseGraph(Text, "test.mlir", Context));
    if (!Modules.back()) {
      ADD_FAILURE() << "does not parse: " << Text;
      return false;
    }
    Numbers.push_back(Numbering.run(getGraph(*Modules.back())));
  }
  return Numbers[0] == Numbers[1];
}

constexpr const char *Mul =
    "(tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>";

std::string mul(llvm::StringRef Name, llvm::StringRef A, llvm::StringRef B) {
  return ("%" + Name + " = remat.mul %" + A + ", %" + B + " : " + Mul + "\n")
      .str();
}
std::string exp(llvm::StringRef Name, llvm::StringRef A,
                llvm::StringRef Attributes = "") {
  return ("%" + Name + " = remat.exp %" + A + " " + Attributes +
          " : tensor<4x4xf32>\n")
      .str();
}

TEST(ValueNumbering, ClonesAndOrderDoNotMatter) {
  EXPECT_TRUE(computeTheSame(
      exp("a", "x") + exp("b", "y") + mul("c", "a", "b") + mul("r", "c", "a"),
      exp("b", "y") + exp("a", "x", "{remat.id = 0 : i64}") +
          mul("c", "a", "b") + exp("d", "x", "{remat.origin = 0 : i64}") +
          mul("r", "c", "d")));
}

TEST(ValueNumbering, OperandsMatter) {
  EXPECT_FALSE(computeTheSame(exp("a", "x") + mul("r", "a", "y"),
                              exp("a", "x") + mul("r", "a", "x")));
  EXPECT_FALSE(computeTheSame(exp("r", "x"), exp("r", "y")));
}

TEST(ValueNumbering, AttributesMatter) {
  auto gelu = [](llvm::StringRef Kind) {
    return ("%r = remat.gelu %x {kind = #remat.gelu_kind<" + Kind +
            ">} : tensor<4x4xf32>\n")
        .str();
  };
  EXPECT_TRUE(computeTheSame(gelu("tanh"), gelu("tanh")));
  EXPECT_FALSE(computeTheSame(gelu("tanh"), gelu("erf")));
}

TEST(ValueNumbering, KernelsAreTransparent) {
  EXPECT_TRUE(
      computeTheSame(exp("a", "x") + mul("r", "a", "y"),
                     "%r = remat.kernel(%p = %x : tensor<4x4xf32>, %q = %y : "
                     "tensor<4x4xf32>) -> tensor<4x4xf32> {\n" +
                         exp("a", "p") + mul("b", "a", "q") +
                         "remat.yield %b : tensor<4x4xf32>\n}\n"));
}

} // namespace
