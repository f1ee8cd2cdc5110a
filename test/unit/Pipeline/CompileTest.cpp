//===- CompileTest.cpp - what a compilation reports -----------------------===//

#include "mlir/IR/MLIRContext.h"
#include "remat/IR/GraphFile.h"
#include "remat/Pipeline.h"
#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace remat;

namespace {

/// Four layers of 64x64 on 128 rows: rows take 128 * 64 * 4 = 32768 bytes,
/// weights 16384.
constexpr const char *Graph = R"mlir(
func.func @main(%x: tensor<128x64xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                %a: tensor<64x64xf32> {remat.role = #remat.role<parameter>, remat.name = "a"},
                %b: tensor<64x64xf32> {remat.role = #remat.role<parameter>, remat.name = "b"},
                %c: tensor<64x64xf32> {remat.role = #remat.role<parameter>, remat.name = "c"},
                %d: tensor<64x64xf32> {remat.role = #remat.role<parameter>, remat.name = "d"},
                %t: tensor<128xi64> {remat.role = #remat.role<input>, remat.name = "t"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.matmul %x, %a : (tensor<128x64xf32>, tensor<64x64xf32>) -> tensor<128x64xf32>
  %1 = remat.gelu %0 : tensor<128x64xf32>
  %2 = remat.matmul %1, %b : (tensor<128x64xf32>, tensor<64x64xf32>) -> tensor<128x64xf32>
  %3 = remat.gelu %2 : tensor<128x64xf32>
  %4 = remat.matmul %3, %c : (tensor<128x64xf32>, tensor<64x64xf32>) -> tensor<128x64xf32>
  %5 = remat.gelu %4 : tensor<128x64xf32>
  %6 = remat.matmul %5, %d : (tensor<128x64xf32>, tensor<64x64xf32>) -> tensor<128x64xf32>
  %loss, %lse = remat.cross_entropy %6, %t : (tensor<128x64xf32>, tensor<128xi64>) -> (tensor<f32>, tensor<128xf32>)
  return %loss : tensor<f32>
}
)mlir";

class CompileTest : public ::testing::Test {
protected:
  /// Compiles the graph; diagnostics are collected, not shown.
  bool compile(llvm::StringRef Budget, llvm::StringRef Text = Graph) {
    Errors.clear();
    Program.clear();
    ScopedDiagnosticHandler Handler(&Context, [&](Diagnostic &D) {
      Errors += D.str() + "\n";
      for (Diagnostic &Note : D.getNotes())
        Errors += "note: " + Note.str() + "\n";
    });
    OwningOpRef<ModuleOp> Module = parseGraph(Text, "test.mlir", Context);
    if (!Module)
      return false;
    Options.Budget = *Budget::parse(Budget);
    return succeeded(remat::compile(*Module, Options, Program, Report));
  }

  MLIRContext Context;
  CompileOptions Options;
  CompileReport Report;
  std::vector<uint8_t> Program;
  std::string Errors;
};

TEST_F(CompileTest, UnlimitedIsUnplanned) {
  ASSERT_TRUE(compile("unlimited")) << Errors;
  EXPECT_FALSE(Program.empty());
  EXPECT_EQ(Report.BudgetBytes, std::nullopt);
  EXPECT_EQ(Report.PredictedPeakBytes, Report.UnplannedPeakBytes);
  EXPECT_EQ(Report.RecomputedOps, 0);
  EXPECT_EQ(Report.PredictedOverhead, 0);
  EXPECT_GT(Report.PredictedMs, 0);
  EXPECT_LT(Report.SmallestFeasibleBytes, Report.UnplannedPeakBytes);
}

TEST_F(CompileTest, ClassesAddUpToTheArena) {
  for (llvm::StringRef Budget : {"unlimited", "90%", "85%"}) {
    ASSERT_TRUE(compile(Budget)) << Errors;
    int64_t Sum = 0;
    for (const auto &[Class, Bytes] : Report.Classes) {
      EXPECT_GE(Bytes, 0) << Class;
      Sum += Bytes;
      if (Class == "parameters") {
        EXPECT_EQ(Bytes, 4 * 16384);
      } else if (Class == "optimizer_state") {
        EXPECT_EQ(Bytes, 8 * 16384);
      }
    }
    EXPECT_EQ(Sum, Report.PredictedPeakBytes);
  }
}

TEST_F(CompileTest, SmallestFeasibleIsRealAndTheSameAtEveryBudget) {
  ASSERT_TRUE(compile("unlimited")) << Errors;
  const int64_t Unplanned = Report.UnplannedPeakBytes;
  const int64_t Smallest = Report.SmallestFeasibleBytes;

  ASSERT_TRUE(compile(std::to_string(Smallest))) << Errors;
  EXPECT_EQ(Report.PredictedPeakBytes, Smallest);
  EXPECT_EQ(Report.SmallestFeasibleBytes, Smallest);
  EXPECT_GT(Report.RecomputedOps, 0);
  EXPECT_GT(Report.PredictedOverhead, 0);
  std::vector<uint8_t> First = Program;
  ASSERT_TRUE(compile(std::to_string(Smallest))) << Errors;
  EXPECT_EQ(Program, First);

  for (int64_t Budget : {(Smallest + Unplanned) / 2, Unplanned - 1}) {
    ASSERT_TRUE(compile(std::to_string(Budget))) << Errors;
    EXPECT_LE(Report.PredictedPeakBytes, Budget);
    EXPECT_EQ(Report.BudgetBytes, Budget);
    EXPECT_EQ(Report.SmallestFeasibleBytes, Smallest);
    EXPECT_EQ(Report.UnplannedPeakBytes, Unplanned);
  }
}

TEST_F(CompileTest, OneByteLessIsRefused) {
  ASSERT_TRUE(compile("unlimited")) << Errors;
  const int64_t Smallest = Report.SmallestFeasibleBytes;
  const int64_t Unplanned = Report.UnplannedPeakBytes;
  EXPECT_FALSE(compile(std::to_string(Smallest - 1)));
  ASSERT_TRUE(Report.Refused.has_value());
  EXPECT_EQ(Report.Refused->BudgetBytes, Smallest - 1);
  EXPECT_EQ(Report.Refused->SmallestFeasibleBytes, Smallest);
  EXPECT_EQ(Report.Refused->UnplannedPeakBytes, Unplanned);
  EXPECT_NE(Report.Refused->PeakOp.find("test.mlir:"), std::string::npos);
  ASSERT_FALSE(Report.Refused->Largest.empty());
  EXPECT_EQ(Report.Refused->Largest.front().Bytes, 32768);
  EXPECT_NE(Errors.find("the smallest budget found is " +
                        std::to_string(Smallest) + " bytes"),
            std::string::npos)
      << Errors;
  EXPECT_TRUE(Program.empty());
}

/// Of the programs for some budgets, with fusion after the plan: each bound is
/// below the times of all that fit its budget, and so is what is impossible.
TEST_F(CompileTest, NoBoundIsAboveAProgramThatFits) {
  ASSERT_TRUE(compile("unlimited")) << Errors;
  const int64_t Smallest = Report.SmallestFeasibleBytes;
  const int64_t Unplanned = Report.UnplannedPeakBytes;
  std::vector<CompileReport> Reports;
  for (int Part = 0; Part <= 8; ++Part)
    for (llvm::StringRef Strategy : {"search", "sqrt", "mincut"}) {
      Options.Strategy = Strategy.str();
      int64_t Budget = Smallest + (Unplanned - Smallest) * Part / 8;
      if (compile(std::to_string(Budget)))
        Reports.push_back(Report);
    }
  ASSERT_GE(Reports.size(), 9u);
  for (const CompileReport &Bounded : Reports) {
    EXPECT_GE(Bounded.Gap, 0);
    EXPECT_GE(Bounded.PredictedOverhead, 0);
    for (const CompileReport &Fits : Reports) {
      EXPECT_LT(Bounded.ImpossibleBytes, Fits.PredictedPeakBytes);
      if (Fits.PredictedPeakBytes <= *Bounded.BudgetBytes) {
        EXPECT_LE(Bounded.LowerBoundMs, Fits.PredictedMs);
      }
    }
  }
}

TEST_F(CompileTest, PercentIsOfTheUnplannedPeak) {
  ASSERT_TRUE(compile("90%")) << Errors;
  EXPECT_EQ(Report.BudgetBytes, Report.UnplannedPeakBytes * 9 / 10);
  EXPECT_LE(Report.PredictedPeakBytes, *Report.BudgetBytes);
}

TEST_F(CompileTest, OtherFailuresAreNoRefusals) {
  EXPECT_FALSE(compile("unlimited", "func.func @other() { return }"));
  EXPECT_FALSE(Report.Refused.has_value());
  Options.Device = "tpu";
  EXPECT_FALSE(compile("1"));
  EXPECT_FALSE(Report.Refused.has_value());
  EXPECT_NE(Errors.find("unknown device 'tpu'"), std::string::npos) << Errors;
  Options.Device = "host";
  Options.Strategy = "fastest";
  EXPECT_FALSE(compile("1"));
  EXPECT_FALSE(Report.Refused.has_value());
}

TEST_F(CompileTest, StrategiesAgreeOnWhatIsUnplanned) {
  ASSERT_TRUE(compile("unlimited")) << Errors;
  const int64_t Unplanned = Report.UnplannedPeakBytes;
  const int64_t Searched = Report.SmallestFeasibleBytes;
  for (llvm::StringRef Strategy : {"none", "sqrt", "mincut"}) {
    Options.Strategy = Strategy.str();
    ASSERT_TRUE(compile("unlimited")) << Errors;
    EXPECT_EQ(Report.UnplannedPeakBytes, Unplanned);
    EXPECT_GE(Report.SmallestFeasibleBytes, Searched);
    if (Strategy == "none") {
      EXPECT_EQ(Report.SmallestFeasibleBytes, Unplanned);
    }
  }
}

/// A new option must be said to change numbers, or not: a run that goes on with
/// another value must be refused, or must end with the same bits.
TEST(CompileOptions, ChangeNumbersOrNot) {
  std::set<llvm::StringRef> Changing,
      Others = {"device",    "budget",        "strategy", "effort",
                "fuse",      "planner-seed",  "arch",     "attention",
                "recompute", "keep",          "prefer",   "scope-budget",
                "explain",   "gradient-norm", "parallel", "ranks",
                "bucket",    "deterministic", "costs",    "bitwise-budget"};
  auto Options = getNumericOptions(CompileOptions());
  for (const auto &[Name, Text] : Options)
    Changing.insert(Name);
  for (const CompileOption &Option : getCompileOptions())
    EXPECT_EQ(Changing.count(Option.Name) + Others.count(Option.Name), 1u)
        << Option.Name.str();
  EXPECT_EQ(Changing.size() + Others.size(), getCompileOptions().size());
}

} // namespace
