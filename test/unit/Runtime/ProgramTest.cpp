//===- ProgramTest.cpp - what makes a program invalid ---------------------===//

#include "TestProgram.h"
#include "host/Kernel.h"
#include "ops/Op.h"
#include <cmath>
#include <functional>

using namespace remat;
using namespace remat::runtime;
using namespace remat::runtime::test;

namespace {

/// A linear layer with one SGD step: w is donated, x and the rate are read.
ProgramMaker makeTraining() {
  ProgramMaker P;
  uint32_t X = P.argument("x", f32({4, 2}));
  uint32_t W = P.argument("w", f32({2, 3}), program::Role::Parameter, 1);
  uint32_t Rate = P.argument("rate", f32({}), program::Role::LearningRate);
  uint32_t Y = P.tensor(f32({4, 3}));
  uint32_t Loss = P.tensor(f32({}));
  uint32_t G = P.tensor(f32({2, 3}));
  uint32_t New = P.tensor(f32({2, 3}), int64_t(offsetOf(P, W)));
  P.step("matmul", {X, W, NoTensor}, {Y});
  P.step("reduce", {Y}, {Loss}, {text("kind", "mean"), ints("dims", {0, 1})});
  P.step("matmul", {X, Y, NoTensor}, {G}, {flag("transpose_lhs")});
  P.step("sgd", {W, G, NoTensor, Rate, NoTensor}, {New});
  P.result("loss", Loss, program::Role::Loss);
  P.result("w", New, program::Role::Parameter);
  return P;
}

std::string loadMessage(const ProgramMaker &P) {
  return messageOf(Program::load(P.finish()));
}

TEST(Program, LifetimesAndPeak) {
  auto P = Program::load(makeTraining().finish());
  ASSERT_TRUE(P) << messageOf(P);
  const auto &T = (*P)->Tensors;
  auto Life = [&](size_t I) {
    return std::pair(T[I].FirstStep, T[I].LastStep);
  };
  EXPECT_EQ(Life(0), std::pair(int64_t(-1), int64_t(4))); // x stays
  EXPECT_EQ(Life(1), std::pair(int64_t(-1), int64_t(3))); // w until the update
  EXPECT_EQ(Life(3), std::pair(int64_t(0), int64_t(2)));  // y
  EXPECT_EQ(Life(4), std::pair(int64_t(1), int64_t(4)));  // loss
  EXPECT_EQ(Life(6), std::pair(int64_t(3), int64_t(4)));  // new w
  auto Peak = (*P)->getPeakProfile();
  EXPECT_EQ(Peak.Step, 2);
  EXPECT_EQ(Peak.LiveBytes, 32u + 24 + 4 + 48 + 4 + 24);
  // y is freed behind step 2, its gradient behind step 3.
  ASSERT_EQ((*P)->Steps[2].Freed.size(), 1u);
  EXPECT_EQ((*P)->Steps[2].Freed[0].Offset, T[3].Offset);
  EXPECT_EQ((*P)->Steps[2].Freed[0].Bytes, 48u);
  ASSERT_EQ((*P)->Steps[3].Freed.size(), 1u);
  EXPECT_EQ((*P)->Steps[3].Freed[0].Offset, T[5].Offset);
  EXPECT_EQ((*P)->findArgument("w"), 1u);
  EXPECT_EQ((*P)->findResult("x"), std::nullopt);
}

TEST(Ops, TheHostHasAKernelOfEach) {
  for (const OpSignature *Op : getAllOps())
    EXPECT_TRUE(findKernel(Op->Name)) << Op->Name;
  EXPECT_EQ(findKernel("no_such_op"), nullptr);
}

/// Changes a valid program; `Says` is part of the message.
struct Break {
  const char *Says;
  std::function<void(ProgramMaker &)> Change;
};

void expectRefused(const std::vector<Break> &All) {
  for (const Break &B : All) {
    ProgramMaker P = makeTraining();
    B.Change(P);
    std::string Message = loadMessage(P);
    EXPECT_NE(Message.find(B.Says), std::string::npos)
        << "expected '" << B.Says << "' in '" << Message << "'";
  }
}

TEST(Program, Structure) {
  expectRefused({
      {"version 2", [](ProgramMaker &P) { P.Program.version = 2; }},
      {"unknown device", [](ProgramMaker &P) { P.Program.device = "tpu"; }},
      {"outside an arena",
       [](ProgramMaker &P) { P.Program.arena_bytes -= 1024; }},
      {"outside an arena",
       [](ProgramMaker &P) {
         P.Program.tensors[3]->offset = UINT64_MAX - 255;
       }},
      {"64 bits",
       [](ProgramMaker &P) { P.Program.tensors[3]->shape = {1l << 62, 4}; }},
      {"64 bits",
       [](ProgramMaker &P) { P.Program.tensors[3]->shape = {1l << 62}; }},
      {"dimension of 0",
       [](ProgramMaker &P) { P.Program.tensors[3]->shape = {4, 0}; }},
      {"dimension of -3",
       [](ProgramMaker &P) { P.Program.tensors[3]->shape = {4, -3}; }},
      {"rank 65",
       [](ProgramMaker &P) { P.Program.tensors[3]->shape.assign(65, 1); }},
      {"element type",
       [](ProgramMaker &P) {
         P.Program.tensors[3]->dtype = static_cast<program::DType>(77);
       }},
      {"memory class",
       [](ProgramMaker &P) {
         P.Program.tensors[3]->memory_class =
             static_cast<program::MemoryClass>(-1);
       }},
      {"not aligned",
       [](ProgramMaker &P) { P.Program.tensors[3]->offset += 2; }},
      {"no multiple of 256",
       [](ProgramMaker &P) {
         P.Program.tensors[5]->offset += 4;
         P.Program.arena_bytes += 4096;
       }},
      {"of 7", [](ProgramMaker &P) { P.Program.steps[0]->operands[0] = 7; }},
      {"of 7", [](ProgramMaker &P) { P.Program.steps[0]->results[0] = 99; }},
      {"of 7", [](ProgramMaker &P) { P.Program.arguments[0]->tensor = 7; }},
      {"of 7", [](ProgramMaker &P) { P.Program.results[0]->tensor = 7; }},
      {"two arguments",
       [](ProgramMaker &P) { P.Program.arguments[0]->name = "w"; }},
      {"two results",
       [](ProgramMaker &P) { P.Program.results[0]->name = "w"; }},
      {"donated to result 2",
       [](ProgramMaker &P) { P.Program.arguments[1]->donated_result = 2; }},
      {"differs in offset",
       [](ProgramMaker &P) { P.Program.arguments[0]->donated_result = 0; }},
      {"initialisation",
       [](ProgramMaker &P) { P.Program.arguments[0]->init_kind = "magic"; }},
      {"bound", [](ProgramMaker &P) { P.Program.arguments[0]->bound = -1; }},
      {"seed",
       [](ProgramMaker &P) {
         P.Program.arguments[0]->role = program::Role::Seed;
       }},
      {"workspace",
       [](ProgramMaker &P) {
         P.Program.steps[0]->workspace_bytes = UINT64_MAX;
       }},
      {"recomputes",
       [](ProgramMaker &P) { P.Program.steps[0]->recomputes = 4; }},
      {"kernel 0 of 0",
       [](ProgramMaker &P) {
         P.Program.steps[0]->launches.push_back(
             std::make_unique<program::LaunchT>());
       }},
      {"kernel 'k' lies in cubin 1 of 1",
       [](ProgramMaker &P) {
         P.Program.kernels.push_back(std::make_unique<program::KernelT>());
         P.Program.kernels[0]->name = "k";
         P.Program.kernels[0]->module_ = 1;
         P.Program.modules.push_back(std::make_unique<program::ModuleT>());
         P.Program.modules[0]->cubin = {1};
       }},
      {"empty cubin",
       [](ProgramMaker &P) {
         P.Program.modules.push_back(std::make_unique<program::ModuleT>());
       }},
      {"unknown kind of kernel 9",
       [](ProgramMaker &P) {
         P.Program.steps[0]->kernel = static_cast<program::KernelKind>(9);
       }},
      {"run by a library and launches 1 kernels",
       [](ProgramMaker &P) {
         P.Program.steps[0]->kernel = program::KernelKind::CublasLt;
         P.Program.steps[0]->launches.push_back(
             std::make_unique<program::LaunchT>());
       }},
      {"run in 0 slices",
       [](ProgramMaker &P) {
         P.Program.steps[0]->kernel = program::KernelKind::Cudnn;
         P.Program.steps[0]->slices = 0;
       }},
      {"run in 2 slices",
       [](ProgramMaker &P) { P.Program.steps[0]->slices = 2; }},
      {"adds in any order, but is not run by cuDNN",
       [](ProgramMaker &P) { P.Program.steps[0]->deterministic = false; }},
      {"bytes of data",
       [](ProgramMaker &P) {
         auto C = std::make_unique<program::ConstantT>();
         C->tensor = 4;
         C->data.resize(3);
         P.Program.constants.push_back(std::move(C));
       }},
  });
}

/// Reports are JSON, which has no NaN: such a program is refused at its load.
TEST(Program, NumbersAreFinite) {
  ProgramMaker P = makeTraining();
  P.Program.plan = std::make_unique<program::PlanT>();
  EXPECT_EQ(loadMessage(P), "");
  for (double Bad : {double(NAN), double(INFINITY), -double(INFINITY)}) {
    P.Program.plan->predicted_ms = Bad;
    EXPECT_NE(loadMessage(P).find("the plan: has milliseconds"),
              std::string::npos);
    P.Program.plan->predicted_ms = 1;
    P.Program.plan->predicted_overhead = Bad;
    EXPECT_NE(loadMessage(P).find("the plan: has overheads"),
              std::string::npos);
    P.Program.plan->predicted_overhead = 0;
    P.Program.steps[1]->flops = Bad;
    EXPECT_NE(loadMessage(P).find("has flops"), std::string::npos);
    P.Program.steps[1]->flops = 0;
  }
}

TEST(Program, Ops) {
  expectRefused({
      {"no known op", [](ProgramMaker &P) { P.Program.steps[1]->op = "melt"; }},
      {"no known op", [](ProgramMaker &P) { P.Program.steps[1]->op = ""; }},
      {"step 0 (matmul)",
       [](ProgramMaker &P) { P.Program.steps[0]->operands.pop_back(); }},
      {"step 1 (reduce)",
       [](ProgramMaker &P) { P.Program.steps[1]->attributes.clear(); }},
      {"sums over",
       [](ProgramMaker &P) { P.Program.steps[2]->attributes.clear(); }},
      {"at 'm.mlir:1:2?'",
       [](ProgramMaker &P) {
         P.Program.steps[1]->location = "m.mlir:1:2\n";
         P.Program.steps[1]->attributes.clear();
       }},
  });
}

TEST(Program, Memory) {
  auto MoveTo = [](uint32_t Tensor, uint32_t Target) {
    return [=](ProgramMaker &P) {
      P.Program.tensors[Tensor]->offset = P.Program.tensors[Target]->offset;
    };
  };
  expectRefused({
      {"which was not written",
       [](ProgramMaker &P) {
         std::swap(P.Program.steps[0], P.Program.steps[1]);
       }},
      {"writes result 0 over operand 0", MoveTo(3, 0)},
      {"writes result 0 over operand 1", MoveTo(5, 3)},
      {"argument", MoveTo(2, 0)},
      // The gradient over x, which the next step needs again.
      {"writes result 0 over operand 0", MoveTo(5, 0)},
      // The loss over y, which the next step reads.
      {"over operand 0", MoveTo(4, 3)},
      // The loss over the rate, which is not donated.
      {"overwritten", MoveTo(4, 2)},
      {"a second time",
       [](ProgramMaker &P) {
         P.Program.steps[1]->op = "neg";
         P.Program.steps[1]->results[0] = 3; // its operand
       }},
      {"workspace",
       [](ProgramMaker &P) {
         P.Program.steps[0]->workspace_offset = P.Program.tensors[3]->offset;
         P.Program.steps[0]->workspace_bytes = 4;
       }},
      {"workspace",
       [](ProgramMaker &P) {
         P.Program.steps[0]->workspace_offset = P.Program.tensors[0]->offset;
         P.Program.steps[0]->workspace_bytes = 4;
       }},
      // A workspace over a live value that the step does not touch.
      {"overwritten",
       [](ProgramMaker &P) {
         P.Program.steps[1]->workspace_offset = P.Program.tensors[0]->offset;
         P.Program.steps[1]->workspace_bytes = 4;
       }},
  });
}

/// x (donated to nothing) -> y -> z with z at the given place.
TEST(Program, InputsThatAreOverwritten) {
  ProgramMaker P;
  uint32_t X = P.argument("x", f32({8}));
  uint32_t Y = P.tensor(f32({8}), int64_t(offsetOf(P, X)));
  P.step("neg", {X}, {Y});
  P.result("y", Y);
  auto Loaded = Program::load(P.finish());
  ASSERT_TRUE(Loaded) << messageOf(Loaded);
  EXPECT_FALSE((*Loaded)->Arguments[0].Survives);
  P.Program.arguments[0]->role = program::Role::Parameter;
  EXPECT_NE(loadMessage(P).find("not donated"), std::string::npos);
}

TEST(Program, Views) {
  ProgramMaker P;
  uint32_t X = P.argument("x", f32({2, 64}));
  uint32_t Y = P.tensor(f32({2, 64}));
  // The second row of y, and all of y in another shape.
  uint32_t Row = P.tensor(f32({64}), int64_t(offsetOf(P, Y)) + 256);
  uint32_t Flat = P.tensor(f32({128}), int64_t(offsetOf(P, Y)));
  uint32_t Z = P.tensor(f32({64})), Sum = P.tensor(f32({128}));
  P.step("neg", {X}, {Y});
  P.step("exp", {Row}, {Z});
  P.step("add", {Flat, Flat}, {Sum});
  P.result("z", Z);
  P.result("sum", Sum);
  auto Loaded = Program::load(P.finish());
  ASSERT_TRUE(Loaded) << messageOf(Loaded);
  EXPECT_TRUE((*Loaded)->Tensors[Row].IsView);
  EXPECT_EQ((*Loaded)->Tensors[Row].LastStep, 2);
  // In between y is overwritten: the first read of its view is fine, the
  // second is not.
  P.Program.tensors[Z]->offset = offsetOf(P, Y);
  EXPECT_NE(loadMessage(P), "");
  P.Program.tensors[Z]->offset = offsetOf(P, Sum);
  P.Program.tensors[Row]->dtype = program::DType::I32;
  EXPECT_NE(loadMessage(P), "");
}

/// z lies over the first or the last of the two rows of y, and all of y is
/// read after it: neither what is left of y nor z is y.
TEST(Program, ValuesThatAreOverwrittenInPart) {
  for (uint64_t Row : {0, 1}) {
    ProgramMaker P;
    uint32_t X = P.argument("x", f32({2, 64}));
    uint32_t W = P.argument("w", f32({64}));
    uint32_t Y = P.tensor(f32({2, 64}));
    uint32_t Z = P.tensor(f32({64}), int64_t(offsetOf(P, Y) + Row * 256));
    uint32_t Sum = P.tensor(f32({2, 64}));
    P.step("neg", {X}, {Y});
    P.step("neg", {W}, {Z});
    P.step("add", {Y, Y}, {Sum});
    P.result("sum", Sum);
    EXPECT_NE(loadMessage(P).find("which was overwritten"), std::string::npos)
        << Row;
  }
}

/// What nobody reads is free as soon as it is written, in the first step too.
/// Tensor 0 is in no step at all.
TEST(Program, ValuesThatNobodyReads) {
  ProgramMaker P;
  uint32_t Nothing = P.tensor(f32({2}));
  uint32_t X = P.argument("x", f32({8}));
  uint32_t Y = P.tensor(f32({8})), Z = P.tensor(f32({8}));
  P.step("neg", {X}, {Y});
  P.step("exp", {X}, {Z});
  P.result("z", Z);
  auto Loaded = Program::load(P.finish());
  ASSERT_TRUE(Loaded) << messageOf(Loaded);
  const Program &L = **Loaded;
  EXPECT_TRUE(L.Tensors[Nothing].IsView);
  EXPECT_EQ(L.Tensors[Nothing].LastStep, -1);
  ASSERT_EQ(L.Steps[0].Freed.size(), 1u);
  EXPECT_EQ(L.Steps[0].Freed[0].Offset, L.Tensors[Y].Offset);
  EXPECT_EQ(L.Steps[1].Freed.size(), 0u);
}

TEST(Program, ConstantsStay) {
  ProgramMaker P;
  uint32_t C = P.tensor(f32({2}));
  auto Data = std::make_unique<program::ConstantT>();
  Data->tensor = C;
  Data->data.resize(8);
  P.Program.constants.push_back(std::move(Data));
  uint32_t Y = P.tensor(f32({2}));
  P.step("neg", {C}, {Y});
  P.result("y", Y);
  EXPECT_EQ(loadMessage(P), "");
  P.Program.tensors[Y]->offset = offsetOf(P, C);
  EXPECT_NE(loadMessage(P).find("overwritten"), std::string::npos);
}

TEST(Program, BytesThatAreNoProgram) {
  EXPECT_FALSE(Program::load({}));
  std::vector<uint8_t> Zeros(64), Valid = makeTraining().finish();
  EXPECT_FALSE(Program::load(Zeros));
  // The last bytes may be padding.
  for (size_t Size = 0; Size + 8 < Valid.size(); Size += 3)
    EXPECT_FALSE(Program::load(std::span(Valid).first(Size))) << Size;
  // An unaligned copy is as good.
  std::vector<uint8_t> Shifted(Valid.size() + 1);
  std::copy(Valid.begin(), Valid.end(), Shifted.begin() + 1);
  EXPECT_TRUE(Program::load(std::span(Shifted).subspan(1)));
}

TEST(Program, EndlessDataInAFewBytes) {
  // Thousands of steps that all are one step with thousands of operands.
  flatbuffers::FlatBufferBuilder B;
  std::vector<uint32_t> Operands(20000, 0);
  auto List = B.CreateVector(Operands);
  auto Op = B.CreateString("neg");
  program::StepBuilder S(B);
  S.add_op(Op);
  S.add_operands(List);
  auto Step = S.Finish();
  std::vector<flatbuffers::Offset<program::Step>> Steps(20000, Step);
  auto All = B.CreateVector(Steps);
  auto Host = B.CreateString("host");
  program::ProgramBuilder P(B);
  P.add_device(Host);
  P.add_steps(All);
  program::FinishProgramBuffer(B, P.Finish());
  auto R = Program::load({B.GetBufferPointer(), B.GetSize()});
  ASSERT_FALSE(R);
  EXPECT_NE(messageOf(R).find("too often"), std::string::npos);
}

} // namespace
