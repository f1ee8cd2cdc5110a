//===- CUDADeviceTest.cpp - the CUDA device against the host --------------===//
//
// What needs no compiled kernel: matrix products, attention by cuDNN, memory,
// graphs and refusals. Skipped where there is no GPU.
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"
#include <cmath>
#include <memory>

using namespace remat::runtime;
using namespace remat::runtime::test;

namespace {

/// One op with random operands, to be run on both devices.
struct OneStep {
  std::string Op;
  std::vector<std::optional<Array>> Operands;
  std::vector<Array> Results;
  Attrs Attributes;
  remat::program::KernelKind Kernel = remat::program::KernelKind::Own;
  int32_t Slices = 1;
  bool IsDeterministic = true;
  uint64_t Workspace = 0;
  Role Kind = Role::Input;
};

ProgramMaker makeProgram(const OneStep &One, const std::string &Arch) {
  ProgramMaker Maker;
  Maker.Program.device = Arch.empty() ? "host" : "cuda";
  Maker.Program.arch = Arch;
  std::vector<uint32_t> Operands, Results;
  for (size_t I = 0; I < One.Operands.size(); ++I)
    Operands.push_back(One.Operands[I]
                           ? Maker.argument(std::to_string(I), *One.Operands[I])
                           : NoTensor);
  for (size_t I = 0; I < One.Results.size(); ++I) {
    Results.push_back(Maker.tensor(One.Results[I]));
    Maker.result("r" + std::to_string(I), Results.back());
  }
  remat::program::StepT &S =
      Maker.step(One.Op, Operands, Results, One.Attributes);
  S.slices = One.Slices;
  S.deterministic = One.IsDeterministic;
  S.kernel = One.Kernel;
  if (One.Workspace > 0) {
    S.workspace_offset = (Maker.Program.arena_bytes + 255) / 256 * 256;
    S.workspace_bytes = One.Workspace;
    Maker.Program.arena_bytes = S.workspace_offset + One.Workspace;
  }
  return Maker;
}

Status writeOperands(Session &S, const OneStep &One) {
  for (size_t I = 0; I < One.Operands.size(); ++I)
    if (One.Operands[I]) {
      std::vector<uint8_t> Bytes = One.Operands[I]->encode();
      if (Status W =
              S.writeArgument(std::to_string(I), Bytes.data(), Bytes.size());
          !W)
        return W;
    }
  return {};
}

/// The results' bytes after `Runs` steps.
Result<std::vector<std::vector<uint8_t>>> runOn(Device &D, const OneStep &One,
                                                int Runs, bool Poison) {
  SessionOptions Options;
  Options.Poison = Poison;
  auto S = Session::create(makeProgram(One, std::string(D.getArch())).finish(),
                           D, Options);
  if (!S)
    return S.getError();
  for (int Run = 0; Run < Runs; ++Run) {
    if (Status W = writeOperands(**S, One); !W)
      return W.getError();
    if (Status R = (*S)->runStep(); !R)
      return R.getError();
  }
  std::vector<std::vector<uint8_t>> Out;
  for (size_t I = 0; I < One.Results.size(); ++I) {
    Out.emplace_back(One.Results[I].getNumElements() *
                     getByteWidth(One.Results[I].Type));
    if (Status R = (*S)->readResult("r" + std::to_string(I), Out.back().data(),
                                    Out.back().size());
        !R)
      return R.getError();
  }
  return Out;
}

double getRelativeError(const Array &Actual, const Array &Expected) {
  double Difference = 0, Norm = 0;
  for (size_t I = 0; I < Expected.Data.size(); ++I) {
    Difference += std::pow(Actual.Data[I] - Expected.Data[I], 2);
    Norm += std::pow(Expected.Data[I], 2);
  }
  return std::sqrt(Difference / std::max(Norm, 1e-30));
}

class CUDADeviceTest : public testing::Test {
protected:
  void SetUp() override {
    auto Made = createDevice("cuda");
    if (!Made)
      GTEST_SKIP() << messageOf(Made);
    GPU = std::move(*Made);
    auto MadeHost = createDevice("host");
    ASSERT_EQ(messageOf(MadeHost), "");
    Host = std::move(*MadeHost);
  }

  /// The GPU gives the host's values, and the same bits with a graph, when the
  /// graph runs again and step by step with poison.
  void expectSame(const OneStep &One, double Tolerance) {
    auto Expected = runOn(*Host, One, 1, false);
    ASSERT_EQ(messageOf(Expected), "");
    auto Actual = runOn(*GPU, One, 1, false);
    ASSERT_EQ(messageOf(Actual), "");
    auto Again = runOn(*GPU, One, 3, false);
    ASSERT_EQ(messageOf(Again), "");
    auto Stepwise = runOn(*GPU, One, 1, true);
    ASSERT_EQ(messageOf(Stepwise), "");
    EXPECT_EQ(*Actual, *Again);
    EXPECT_EQ(*Actual, *Stepwise);
    for (size_t I = 0; I < One.Results.size(); ++I) {
      Array A = One.Results[I], E = One.Results[I];
      A.decode((*Actual)[I]);
      E.decode((*Expected)[I]);
      EXPECT_LE(getRelativeError(A, E), Tolerance) << "result " << I;
    }
  }

  std::unique_ptr<Device> GPU, Host;
};

struct MatmulCase {
  std::vector<int64_t> Lhs, Rhs, Result;
  bool TransposeLhs = false, TransposeRhs = false;
};

OneStep makeMatmul(const MatmulCase &Case, DType Type, DType ResultType,
                   bool WithBias, uint64_t Workspace) {
  OneStep One;
  One.Op = "matmul";
  One.Kernel = remat::program::KernelKind::CublasLt;
  One.Operands = {randomArray(Type, Case.Lhs, 1),
                  randomArray(Type, Case.Rhs, 2), std::nullopt};
  if (WithBias)
    One.Operands[2] = randomArray(Type, {Case.Result.back()}, 3);
  One.Results = {Array{ResultType, Case.Result, {}}};
  if (Case.TransposeLhs)
    One.Attributes.push_back(flag("transpose_lhs"));
  if (Case.TransposeRhs)
    One.Attributes.push_back(flag("transpose_rhs"));
  One.Workspace = Workspace;
  return One;
}

const std::vector<MatmulCase> &getMatmulCases() {
  static const std::vector<MatmulCase> Cases = {
      {{33, 65}, {65, 17}, {33, 17}},
      {{65, 33}, {65, 17}, {33, 17}, true, false},
      {{33, 65}, {17, 65}, {33, 17}, false, true},
      {{64, 32}, {16, 64}, {32, 16}, true, true},
      {{1, 8}, {8, 1}, {1, 1}},
      {{3, 16, 24}, {3, 24, 40}, {3, 16, 40}},
      {{2, 3, 24, 16}, {2, 3, 40, 24}, {2, 3, 16, 40}, true, true},
      {{4, 16, 24}, {24, 8}, {4, 16, 8}},
      {{4, 24, 16}, {24, 8}, {4, 16, 8}, true, false},
      {{16, 24}, {5, 24, 8}, {5, 16, 8}},
      {{512, 256}, {256, 384}, {512, 384}}};
  return Cases;
}

TEST_F(CUDADeviceTest, MatmulGivesTheHostsValues) {
  for (const MatmulCase &Case : getMatmulCases())
    for (DType Type : {DType::F32, DType::BF16, DType::F16})
      for (bool Bias : {false, true})
        for (uint64_t Workspace : {0, 1 << 20}) {
          SCOPED_TRACE(testing::Message()
                       << getName(Type) << " " << Case.Result.back() << " "
                       << Case.TransposeLhs << Case.TransposeRhs << Bias);
          // A sum in another order may round the other way: one unit in the
          // last place, in the case of one element.
          double Tolerance = Type == DType::F32   ? 2e-6
                             : Type == DType::F16 ? 0x1p-10
                                                  : 0x1p-7;
          expectSame(makeMatmul(Case, Type, Type, Bias, Workspace), Tolerance);
        }
}

TEST_F(CUDADeviceTest, MatmulOfNarrowTypesGivesFloat) {
  for (const MatmulCase &Case : getMatmulCases())
    for (DType Type : {DType::BF16, DType::F16})
      expectSame(makeMatmul(Case, Type, DType::F32, false, 0), 2e-6);
}

/// Packed where each head has keys of its own and `Packed` says so.
OneStep makeAttention(int64_t Batch, int64_t Length, int64_t Heads,
                      int64_t Width, bool Packed, bool Causal,
                      int64_t Group = 1) {
  OneStep One;
  One.Op = "attention";
  One.Kernel = remat::program::KernelKind::Cudnn;
  std::vector<int64_t> Shape = {Batch, Length, Heads, Width};
  std::vector<int64_t> KeyShape = {Batch, Length, Heads / Group, Width};
  if (Packed)
    One.Operands = {
        randomArray(DType::BF16, {Batch, Length, 3, Heads, Width}, 1)};
  else
    One.Operands = {randomArray(DType::BF16, Shape, 1),
                    randomArray(DType::BF16, KeyShape, 2),
                    randomArray(DType::BF16, KeyShape, 3)};
  One.Operands.insert(One.Operands.end(), 3, std::nullopt);
  One.Results = {Array{DType::BF16, Shape, {}},
                 Array{DType::F32, {Batch, Heads, Length}, {}}};
  One.Attributes = {number("dropout_p", 0), ints("id", {0}),
                    number("scale", 1 / std::sqrt(double(Width)))};
  if (Packed)
    One.Attributes.push_back(flag("packed"));
  if (Causal)
    One.Attributes.push_back(flag("causal"));
  One.Workspace = 1 << 20;
  return One;
}

/// The backward of what `Forward` gave on the host.
OneStep makeAttentionBackward(const OneStep &Forward,
                              const std::vector<std::vector<uint8_t>> &Made) {
  OneStep Backward = Forward;
  Backward.Op = "attention_backward";
  size_t Qkv = Forward.Operands.size() - 3;
  Backward.Operands.resize(Qkv);
  Array Output = Forward.Results[0], Lse = Forward.Results[1];
  Output.decode(Made[0]);
  Lse.decode(Made[1]);
  Backward.Operands.insert(Backward.Operands.begin(),
                           randomArray(DType::BF16, Output.Shape, 4));
  Backward.Operands.insert(Backward.Operands.end(), {Output, Lse});
  Backward.Operands.insert(Backward.Operands.end(), 3, std::nullopt);
  Backward.Results.clear();
  for (size_t I = 1; I <= Qkv; ++I)
    Backward.Results.push_back(
        Array{DType::BF16, Backward.Operands[I]->Shape, {}});
  Backward.Workspace = 16 << 20;
  return Backward;
}

class CUDAAttentionTest : public CUDADeviceTest {
protected:
  /// Values are the host's, and so many slices change no bit.
  void expectSameInSlices(const OneStep &Forward,
                          std::initializer_list<int32_t> AllSlices) {
    expectSame(Forward, 6e-3);
    auto Made = runOn(*Host, Forward, 1, false);
    ASSERT_EQ(messageOf(Made), "");
    OneStep Backward = makeAttentionBackward(Forward, *Made);
    expectSame(Backward, 1e-2);
    auto Whole = runOn(*GPU, Backward, 1, false);
    ASSERT_EQ(messageOf(Whole), "");
    for (int32_t Slices : AllSlices) {
      Backward.Slices = Slices;
      auto Sliced = runOn(*GPU, Backward, 1, false);
      ASSERT_EQ(messageOf(Sliced), "");
      EXPECT_EQ(*Whole, *Sliced) << Slices;
    }
  }
};

TEST_F(CUDAAttentionTest, GivesTheHostsValuesForAnyNumberOfSlices) {
  for (bool Packed : {true, false})
    for (bool Causal : {true, false})
      expectSameInSlices(makeAttention(4, 160, 3, 64, Packed, Causal),
                         {2, 4, 12});
}

/// Slices of whole groups, of the batch and of the heads of keys.
TEST_F(CUDAAttentionTest, GivesTheHostsValuesWhereHeadsShareKeys) {
  for (int64_t Group : {2, 8})
    expectSameInSlices(makeAttention(2, 320, 8, 64, false, true, Group),
                       {2, int32_t(2 * 8 / Group)});
}

TEST_F(CUDAAttentionTest, GivesTheHostsValuesWithAWindow) {
  // With a window of 1 the gradients of query and key are rounding alone.
  for (int64_t Window : {2, 100, 300}) {
    OneStep Forward = makeAttention(2, 320, 4, 64, false, true, 2);
    Forward.Attributes.push_back(ints("window", {Window}));
    expectSameInSlices(Forward, {2, 4});
  }
}

/// The gradient of query is added up in one tensor of f32, for which this
/// workspace is enough: 4 x 4 heads x (320 rows x 64 x 4 + 320 x 4) + 512.
TEST_F(CUDAAttentionTest, GivesTheHostsValuesInAnyOrder) {
  OneStep Forward = makeAttention(4, 320, 4, 64, true, true);
  auto Made = runOn(*Host, Forward, 1, false);
  ASSERT_EQ(messageOf(Made), "");
  OneStep Backward = makeAttentionBackward(Forward, *Made);
  Backward.IsDeterministic = false;
  Backward.Workspace = 4 * 4 * (320 * 64 * 4 + 320 * 4) + 512;
  expectSame(Backward, 1e-2);
}

TEST_F(CUDADeviceTest, TooLittleWorkspaceIsRefusedWithBothNumbers) {
  OneStep One = makeAttention(2, 128, 2, 64, true, true);
  One.Op = "attention_backward";
  One.Operands = {randomArray(DType::BF16, {2, 128, 2, 64}, 1),
                  One.Operands[0],
                  randomArray(DType::BF16, {2, 128, 2, 64}, 2),
                  randomArray(DType::F32, {2, 2, 128}, 3),
                  std::nullopt,
                  std::nullopt,
                  std::nullopt};
  One.Results = {Array{DType::BF16, {2, 128, 3, 2, 64}, {}}};
  One.Workspace = 256;
  std::string Message = messageOf(runOn(*GPU, One, 1, false));
  EXPECT_NE(Message.find("the program has 256"), std::string::npos) << Message;
  EXPECT_NE(Message.find("bytes of workspace"), std::string::npos) << Message;
}

TEST_F(CUDADeviceTest, OtherArchitecturesAndMissingKernelsAreRefused) {
  OneStep One =
      makeMatmul(getMatmulCases()[0], DType::F32, DType::F32, false, 0);
  auto Old = Session::create(makeProgram(One, "sm_50").finish(), *GPU);
  EXPECT_NE(messageOf(Old).find("sm_50"), std::string::npos) << messageOf(Old);
  OneStep Neg;
  Neg.Op = "neg";
  Neg.Operands = {randomArray(DType::F32, {8}, 1)};
  Neg.Results = {f32({8})};
  std::string Message = messageOf(runOn(*GPU, Neg, 1, false));
  EXPECT_NE(Message.find("no kernel for this step"), std::string::npos)
      << Message;
}

TEST_F(CUDADeviceTest, MemoryIsGivenBackAndRefusalsChangeNothing) {
  auto Before = GPU->getMemoryInfo();
  ASSERT_EQ(messageOf(Before), "");
  auto TooMuch = GPU->allocate(Before->TotalBytes * 2);
  ASSERT_FALSE(TooMuch);
  EXPECT_EQ(TooMuch.getError().getCode(), ErrorCode::OutOfMemory);
  auto Some = GPU->allocate(64 << 20);
  ASSERT_EQ(messageOf(Some), "");
  std::vector<uint8_t> Out(1000);
  EXPECT_EQ(messageOf(GPU->fill(*Some, 0x5a, 1000)), "");
  EXPECT_EQ(messageOf(GPU->copyOut(Out.data(), *Some, 1000)), "");
  EXPECT_EQ(Out, std::vector<uint8_t>(1000, 0x5a));
  GPU->deallocate(*Some, 64 << 20);
  auto After = GPU->getMemoryInfo();
  ASSERT_EQ(messageOf(After), "");
  // Less may be in use than before: libraries give memory back when they like.
  EXPECT_GE(After->FreeBytes, Before->FreeBytes);
}

} // namespace
