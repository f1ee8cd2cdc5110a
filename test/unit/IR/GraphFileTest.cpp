//===- GraphFileTest.cpp - reading graphs from C++ --------------*- C++ -*-===//

#include "remat/IR/GraphFile.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace remat;

namespace {

constexpr llvm::StringLiteral Good = R"(
func.func @main(%x: tensor<4xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.neg %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
)";

/// Parses `Text` in a fresh context; the diagnostics come back in `Message`.
bool parses(llvm::StringRef Text, std::string &Message,
            GraphFileOptions Options = {}) {
  MLIRContext Context;
  Context.printOpOnDiagnostic(false);
  llvm::raw_string_ostream Output(Message);
  GraphDiagnostics Diagnostics(Context, Output);
  Options.Diagnostics = &Diagnostics;
  return bool(parseGraph(Text, "graph.mlir", Context, Options));
}

TEST(GraphFile, ParsesIntoAContextWithoutDialects) {
  std::string Message;
  EXPECT_TRUE(parses(Good, Message));
  EXPECT_EQ(Message, "");
}

TEST(GraphFile, ShowsTheLineOfAnError) {
  std::string Text = Good.str(), Message;
  Text.replace(Text.find("remat.neg"), 9, "remat.nag");
  EXPECT_FALSE(parses(Text, Message));
  EXPECT_NE(Message.find("graph.mlir:4:"), std::string::npos) << Message;
  EXPECT_NE(Message.find("%0 = remat.nag %x"), std::string::npos) << Message;
}

TEST(GraphFile, ShowsNoFirstLineOfAFunction) {
  std::string Text = Good.str(), Message;
  Text.replace(Text.find("remat.role"), 10, "remat.rule");
  EXPECT_FALSE(parses(Text, Message));
  EXPECT_NE(Message.find("graph.mlir:2:"), std::string::npos) << Message;
  EXPECT_EQ(Message.find("func.func"), std::string::npos) << Message;

  // An error on that line shows what stands there.
  Text = Good.str();
  Message.clear();
  Text.replace(Text.find("tensor<4xf32> {"), 13, "tensor<4xf33>");
  EXPECT_FALSE(parses(Text, Message));
  EXPECT_EQ(Message.find("func.func"), std::string::npos) << Message;
  EXPECT_NE(Message.find("f33> {remat.role"), std::string::npos) << Message;
}

TEST(GraphFile, SaysNothingOfAPlaceThatIsNotKnown) {
  MLIRContext Context;
  std::string Message;
  llvm::raw_string_ostream Output(Message);
  GraphDiagnostics Diagnostics(Context, Output);
  Builder B(&Context);
  Location Nowhere = B.getUnknownLoc();
  Location Named = NameLoc::get(B.getStringAttr("head"), Nowhere);
  Location Nested = NameLoc::get(B.getStringAttr("mlp"),
                                 FileLineColLoc::get(&Context, "a.py", 7, 3));
  emitError(Nowhere) << "first";
  emitError(FusedLoc::get(&Context, {Named})) << "second";
  emitError(FusedLoc::get(&Context, {Nested})) << "third";
  EXPECT_EQ(Message, "error: first\nerror: second\na.py:7:3: error: third\n");
}

TEST(GraphFile, IsParsedOnceWhenItIsAskedFor) {
  MLIRContext Context;
  ScopedDiagnosticHandler Silent(&Context, [](Diagnostic &) {});
  LazyGraph Graph(Good, "graph.mlir", Context);
  EXPECT_EQ(Graph.getSeconds(), 0);
  ModuleOp First = Graph.get();
  ASSERT_TRUE(First);
  double Seconds = Graph.getSeconds();
  EXPECT_GT(Seconds, 0);
  EXPECT_EQ(Graph.get(), First);
  EXPECT_EQ(Graph.getSeconds(), Seconds);
  EXPECT_FALSE(LazyGraph("func.func", "graph.mlir", Context).get());
}

TEST(GraphFile, OpensNoFileThatALocationNames) {
  llvm::SmallString<128> Path;
  int Descriptor = -1;
  ASSERT_FALSE(
      llvm::sys::fs::createTemporaryFile("remat", "txt", Descriptor, Path));
  llvm::raw_fd_ostream(Descriptor, /*shouldClose=*/true) << "a secret line\n";
  std::string Text = Good.str(), Message;
  Text.insert(Text.find("  return"),
              "  %1 = remat.cast %x : tensor<4xf32> to tensor<5xf32> loc(\"" +
                  Path.str().str() + "\":1:1)\n");
  EXPECT_FALSE(parses(Text, Message));
  llvm::sys::fs::remove(Path);
  EXPECT_NE(Message.find("differs from operand"), std::string::npos) << Message;
  EXPECT_EQ(Message.find("secret"), std::string::npos) << Message;
}

TEST(GraphFile, KeepsToItsLimits) {
  std::string Message;
  GraphFileOptions Options;
  Options.MaxBytes = 100;
  EXPECT_FALSE(parses(Good, Message, Options));
  EXPECT_NE(Message.find("more than the 100"), std::string::npos) << Message;

  Message.clear();
  Options = {};
  Options.MaxDepth = 2;
  EXPECT_FALSE(parses(Good, Message, Options));
  EXPECT_NE(Message.find("nested 3 deep"), std::string::npos) << Message;
}

TEST(GraphFile, RefusesWhatIsNoFile) {
  MLIRContext Context;
  std::string Message;
  llvm::raw_string_ostream Output(Message);
  GraphDiagnostics Diagnostics(Context, Output);
  EXPECT_FALSE(loadGraph("/no/such/file", Context));
  EXPECT_FALSE(loadGraph("/dev/zero", Context));
  EXPECT_FALSE(loadGraph("/", Context));
  EXPECT_NE(Message.find("No such file or directory"), std::string::npos)
      << Message;
  EXPECT_NE(Message.find("is neither a file nor a pipe"), std::string::npos)
      << Message;
}

} // namespace
