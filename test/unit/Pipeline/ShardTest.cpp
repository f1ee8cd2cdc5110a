//===- ShardTest.cpp - ranks that share a batch, run side by side ---------===//
//
// What remat-shard makes is trained by threads that are ranks, and compared
// with one process.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/MLIRContext.h"
#include "remat/IR/GraphFile.h"
#include "remat/Pipeline.h"
#include "remat/runtime/Session.h"
#include <cmath>
#include <gtest/gtest.h>
#include <thread>

using namespace mlir;
using namespace remat;

namespace {

/// A block of a language model: a table that is the head too, attention over
/// one matrix of query, key and value, an MLP with dropout; it is evaluated
/// without.
constexpr const char *Arguments = R"mlir(
                %ids: tensor<2x8xi64> {remat.role = #remat.role<input>, remat.name = "ids", remat.bound = 32 : i64},
                %targets: tensor<2x8xi64> {remat.role = #remat.role<input>, remat.name = "targets", remat.bound = 32 : i64},
                %table: tensor<32x16xf32> {remat.role = #remat.role<parameter>, remat.name = "table", remat.init = #remat.init<normal, 0.2>},
                %gain: tensor<16xf32> {remat.role = #remat.role<parameter>, remat.name = "gain", remat.init = #remat.init<constant, 1.0>},
                %qkv: tensor<16x48xf32> {remat.role = #remat.role<parameter>, remat.name = "qkv", remat.init = #remat.init<normal, 0.2>},
                %qkvb: tensor<48xf32> {remat.role = #remat.role<parameter>, remat.name = "qkvb", remat.init = #remat.init<uniform, 0.1>},
                %out: tensor<16x16xf32> {remat.role = #remat.role<parameter>, remat.name = "out", remat.init = #remat.init<normal, 0.2>},
                %outb: tensor<16xf32> {remat.role = #remat.role<parameter>, remat.name = "outb", remat.init = #remat.init<uniform, 0.1>},
                %fc: tensor<16x64xf32> {remat.role = #remat.role<parameter>, remat.name = "fc", remat.init = #remat.init<normal, 0.2>},
                %proj: tensor<64x16xf32> {remat.role = #remat.role<parameter>, remat.name = "proj", remat.init = #remat.init<normal, 0.2>})mlir";

constexpr const char *UpToMLP = R"mlir(
  %0 = remat.embedding %ids, %table : (tensor<2x8xi64>, tensor<32x16xf32>) -> tensor<2x8x16xf32>
  %1, %r1 = remat.rms_norm %0, %gain : (tensor<2x8x16xf32>, tensor<16xf32>) -> (tensor<2x8x16xf32>, tensor<2x8xf32>)
  %2 = remat.matmul %1, %qkv bias %qkvb : (tensor<2x8x16xf32>, tensor<16x48xf32>, tensor<48xf32>) -> tensor<2x8x48xf32>
  %3 = remat.reshape %2 : tensor<2x8x48xf32> to tensor<2x8x3x4x4xf32>
  %4, %lse = remat.attention %3 {causal} : (tensor<2x8x3x4x4xf32>) -> (tensor<2x8x4x4xf32>, tensor<2x4x8xf32>)
  %5 = remat.reshape %4 : tensor<2x8x4x4xf32> to tensor<2x8x16xf32>
  %6 = remat.matmul %5, %out bias %outb : (tensor<2x8x16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> tensor<2x8x16xf32>
  %7 = remat.add %0, %6 : (tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  %8 = remat.matmul %7, %fc : (tensor<2x8x16xf32>, tensor<16x64xf32>) -> tensor<2x8x64xf32>
  %9 = remat.gelu %8 : tensor<2x8x64xf32>
)mlir";

constexpr const char *FromMLP = R"mlir(
  %11 = remat.matmul %10, %proj : (tensor<2x8x64xf32>, tensor<64x16xf32>) -> tensor<2x8x16xf32>
  %12 = remat.add %7, %11 : (tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  %13 = remat.matmul %12, %table {transpose_rhs} : (tensor<2x8x16xf32>, tensor<32x16xf32>) -> tensor<2x8x32xf32>
  %loss, %lse2 = remat.cross_entropy %13, %targets : (tensor<2x8x32xf32>, tensor<2x8xi64>) -> (tensor<f32>, tensor<2x8xf32>)
  return %loss : tensor<f32>
}
)mlir";

std::string makeFunction(const char *Name, const char *More,
                         const char *Middle) {
  return std::string("func.func @") + Name + "(" + Arguments + More +
         ") -> (tensor<f32> {remat.role = #remat.role<loss>, "
         "remat.name = \"loss\"}) {" +
         UpToMLP + Middle + FromMLP;
}

std::string makeGraph() {
  return makeFunction("main", R"mlir(,
                %seed: tensor<i64> {remat.role = #remat.role<seed>, remat.name = "seed"},
                %step: tensor<i64> {remat.role = #remat.role<step>, remat.name = "step"})mlir",
                      R"mlir(
  %10 = remat.dropout %9, %seed, %step {p = 2.0e-01 : f64, id = 1 : i64} : tensor<2x8x64xf32>)mlir") +
         makeFunction("evaluate", "", R"mlir(
  %10 = remat.relu %9 : tensor<2x8x64xf32>)mlir");
}

constexpr int Steps = 4;

/// What training gives: a loss a step, and a parameter at the end.
struct Trained {
  std::vector<float> Losses;
  std::vector<float> Table, Qkv;
  float Evaluated = 0; ///< the loss of another batch, without an update
  uint64_t PeakBytes = 0;
};

/// The program of one of `Ranks` ranks, and what is predicted of it.
std::vector<uint8_t> compileFor(int64_t Ranks, llvm::StringRef Budget,
                                CompileReport &Report) {
  MLIRContext Context;
  OwningOpRef<ModuleOp> Module = parseGraph(makeGraph(), "test.mlir", Context);
  CompileOptions Options;
  Options.Ranks = Ranks;
  Options.Parallel.TensorRanks = Ranks;
  Options.Budget = *Budget::parse(Budget);
  // A step of SGD is as small as its gradient: adamw divides it by itself.
  Options.Optimizer.Kind = "sgd";
  Options.Optimizer.LearningRate = 0.1;
  Options.Optimizer.ClipNorm = 1;
  std::vector<uint8_t> Program;
  EXPECT_TRUE(Module &&
              succeeded(remat::compile(*Module, Options, Program, Report)));
  return Program;
}

runtime::Status read(runtime::Session &S, std::string_view Name,
                     std::vector<float> &Into) {
  return S.storeWhole(Name, [&](const void *Data, uint64_t Bytes) {
    const auto *Numbers = static_cast<const float *>(Data);
    Into.insert(Into.end(), Numbers, Numbers + Bytes / sizeof(float));
    return runtime::Status();
  });
}

runtime::Status train(const std::vector<uint8_t> &Program,
                      std::shared_ptr<runtime::Ranks> Own, Trained &Into) {
  runtime::DeviceOptions Options;
  Options.Threads = 1;
  Options.TheRanks = std::move(Own);
  auto Device = runtime::createDevice("host", Options);
  if (!Device)
    return Device.getError();
  auto S = runtime::Session::create(Program, **Device);
  if (!S)
    return S.getError();
  if (auto Done = (*S)->initialise(3); !Done)
    return Done;
  for (int Step = 0; Step < Steps; ++Step) {
    if (auto Done = (*S)->fillInputs(5, Step); !Done)
      return Done;
    if (auto Done = (*S)->runStep(); !Done)
      return Done;
    float Loss = 0;
    if (auto Done = (*S)->readResult("loss", &Loss, sizeof Loss); !Done)
      return Done;
    Into.Losses.push_back(Loss);
  }
  Into.PeakBytes = (*S)->getStatistics().MeasuredPeakBytes;
  if (auto Done = read(**S, "table", Into.Table); !Done)
    return Done;
  if (auto Done = read(**S, "qkv", Into.Qkv); !Done)
    return Done;
  auto F = (*S)->getFunction("evaluate");
  if (!F)
    return F.getError();
  if (auto Done = (*F)->fillInputs(5, Steps); !Done)
    return Done;
  if (auto Done = (*F)->runStep(); !Done)
    return Done;
  return (*F)->readResult("loss", &Into.Evaluated, sizeof Into.Evaluated);
}

/// What each of `Count` ranks gets.
std::vector<Trained> trainOn(uint32_t Count, llvm::StringRef Budget) {
  CompileReport Report;
  std::vector<uint8_t> Program = compileFor(Count, Budget, Report);
  std::vector<Trained> All(Count);
  std::vector<std::shared_ptr<runtime::Ranks>> Ranks(Count);
  if (Count > 1)
    Ranks = runtime::createThreadRanks(Count);
  std::vector<std::thread> Threads;
  for (uint32_t Rank = 0; Rank < Count; ++Rank)
    Threads.emplace_back([&, Rank] {
      runtime::Status Done = train(Program, std::move(Ranks[Rank]), All[Rank]);
      EXPECT_TRUE(Done) << "rank " << Rank << ": "
                        << Done.getError().getMessage();
    });
  for (std::thread &T : Threads)
    T.join();
  for (const Trained &Own : All)
    EXPECT_EQ(Own.PeakBytes, uint64_t(Report.PredictedPeakBytes));
  return All;
}

void expectNear(const std::vector<float> &Found,
                const std::vector<float> &Right, double Tolerance) {
  ASSERT_EQ(Found.size(), Right.size());
  double Error = 0, Scale = 0;
  for (size_t I = 0; I < Right.size(); ++I) {
    Error = std::max<double>(Error, std::abs(Found[I] - Right[I]));
    Scale = std::max<double>(Scale, std::abs(Right[I]));
  }
  EXPECT_GT(Scale, 0);
  EXPECT_LE(Error, Tolerance * Scale);
}

class ShardTest
    : public ::testing::TestWithParam<std::pair<uint32_t, const char *>> {};

TEST_P(ShardTest, RanksTrainAsOneProcessDoes) {
  auto [Count, Budget] = GetParam();
  Trained One = trainOn(1, "unlimited").front();
  ASSERT_EQ(One.Losses.size(), size_t(Steps));
  std::vector<Trained> All = trainOn(Count, Budget);
  for (const Trained &Own : All) {
    EXPECT_EQ(Own.Losses, All.front().Losses);
    expectNear(Own.Losses, One.Losses, 1e-6);
    expectNear({Own.Evaluated}, {One.Evaluated}, 1e-6);
    // A part takes less than the whole.
    EXPECT_LT(Own.PeakBytes, One.PeakBytes);
  }
  // Only rank 0 is given what is joined.
  expectNear(All.front().Table, One.Table, 1e-6);
  expectNear(All.front().Qkv, One.Qkv, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Ranks, ShardTest,
                         ::testing::Values(std::pair(2u, "unlimited"),
                                           std::pair(4u, "unlimited"),
                                           std::pair(2u, "smallest")));

} // namespace
