//===- LoopTest.cpp - the bodies of loops ---------------------------------===//

#include "TestProgram.h"
#include <cmath>
#include <cstring>
#include <functional>

using namespace remat;
using namespace remat::runtime;
using namespace remat::runtime::test;

namespace {

/// s = h * x is stacked, h + exp(s) carried on: h at 0, x at 256 and s at 512
/// stand for bytes outside, the exponential is in the workspace.
ProgramMaker makeBody() {
  ProgramMaker B;
  Array Row = f32({64});
  uint32_t H = B.argument("h", Row, program::Role::State, 0);
  uint32_t X = B.argument("x", Row, program::Role::State);
  uint32_t S = B.argument("s", Row, program::Role::State, 1);
  uint32_t NextS = B.tensor(Row, int64_t(offsetOf(B, S)));
  uint32_t T = B.tensor(Row, 768);
  uint32_t NextH = B.tensor(Row, int64_t(offsetOf(B, H)));
  B.step("mul", {H, X}, {NextS});
  B.step("exp", {NextS}, {T});
  B.step("add", {H, T}, {NextH});
  B.result("h", NextH, program::Role::State);
  B.result("s", NextS, program::Role::State);
  B.Program.arena_bytes = 1024;
  return B;
}

/// Three steps over the rows of x.
ProgramMaker makeProgram(ProgramMaker Body, bool Reverse = false) {
  ProgramMaker P;
  uint32_t H = P.argument("h", f32({64}));
  uint32_t X = P.argument("x", f32({3, 64}));
  uint32_t Last = P.tensor(f32({64}));
  uint32_t Stack = P.tensor(f32({3, 64}));
  uint32_t Space = P.tensor(f32({64}));
  Attrs List = {ints("steps", {3})};
  if (Reverse)
    List.push_back(flag("reverse"));
  program::StepT &S = P.step("scan", {H, X}, {Last, Stack}, List);
  S.workspace_offset = offsetOf(P, Space);
  S.workspace_bytes = 256;
  S.loop = std::make_unique<program::LoopT>();
  S.loop->body = std::make_unique<program::ProgramT>(std::move(Body.Program));
  S.loop->carries = 1;
  S.loop->slices = 1;
  S.loop->bound_bytes = 768;
  P.result("last", Last);
  P.result("stack", Stack);
  return P;
}

/// What the first element of each row of the stack and of the last carry is,
/// for h = 0.5 and x of 1, 2 and 3.
std::vector<float> run(bool Reverse) {
  auto P = Program::load(makeProgram(makeBody(), Reverse).finish());
  EXPECT_TRUE(P) << messageOf(P);
  auto D = createDevice("host", {});
  auto E = (*D)->prepare(*P);
  auto Arena = (*D)->allocate((*P)->ArenaBytes);
  auto *Base = static_cast<char *>(*Arena);
  auto At = [&](uint32_t Tensor, int Row) -> float & {
    return reinterpret_cast<float *>(Base +
                                     (*P)->Tensors[Tensor].Offset)[Row * 64];
  };
  std::fill_n(&At(0, 0), 64, 0.5f);
  for (int Row = 0; Row < 3; ++Row)
    std::fill_n(&At(1, Row), 64, float(Row + 1));
  RunOptions Poison;
  Poison.Poison = true;
  EXPECT_TRUE((*E)->run(Base, Poison));
  std::vector<float> Found = {At(3, 0), At(3, 1), At(3, 2), At(2, 0)};
  (*D)->deallocate(*Arena, (*P)->ArenaBytes);
  return Found;
}

TEST(Loop, Runs) {
  for (bool Reverse : {false, true}) {
    float H = 0.5f, Stack[3];
    for (int I : {0, 1, 2}) {
      int Row = Reverse ? 2 - I : I;
      Stack[Row] = H * float(Row + 1);
      H += std::exp(Stack[Row]);
    }
    std::vector<float> Found = run(Reverse);
    for (int I : {0, 1, 2})
      EXPECT_FLOAT_EQ(Found[I], Stack[I]);
    EXPECT_FLOAT_EQ(Found[3], H);
  }
}

/// Changes a valid program; `Says` is part of the message.
struct Break {
  const char *Says;
  std::function<void(program::StepT &S, program::ProgramT &Body)> Change;
};

void expectRefused(const std::vector<Break> &All) {
  for (const Break &B : All) {
    ProgramMaker P = makeProgram(makeBody());
    program::StepT &S = *P.Program.steps[0];
    B.Change(S, *S.loop->body);
    std::string Message = messageOf(Program::load(P.finish()));
    EXPECT_NE(Message.find(B.Says), std::string::npos)
        << "expected: " << B.Says << "\nsaid: " << Message;
    EXPECT_NE(Message.find("step 0"), std::string::npos) << Message;
  }
}

TEST(Loop, FitsItsStep) {
  expectRefused({
      {"has no loop", [](auto &S, auto &) { S.loop.reset(); }},
      {"has a loop and is no scan", [](auto &S, auto &) { S.op = "copy"; }},
      {"has a loop without a body",
       [](auto &S, auto &) { S.loop->body.reset(); }},
      {"runs its body 0 times",
       [](auto &S, auto &) { S.attributes[0]->ints = {0}; }},
      {"stands for a row of a tensor of shape [3, 64]",
       [](auto &S, auto &) { S.attributes[0]->ints = {4}; }},
      {"has 3 carries and 1 slices",
       [](auto &S, auto &) { S.loop->carries = 3; }},
      {"stands for all of a tensor of shape [3, 64]",
       [](auto &S, auto &) { S.loop->slices = 0; }},
      {"has a body for another device",
       [](auto &, auto &Body) { Body.device = "cuda"; }},
      {"has a body of 2 arguments",
       [](auto &, auto &Body) { Body.arguments.pop_back(); }},
      {"has a workspace of 256 bytes for a body of 1280",
       [](auto &, auto &Body) { Body.arena_bytes = 1280; }},
      {"of which 1280 are bound",
       [](auto &S, auto &) { S.loop->bound_bytes = 1280; }},
      // A carry that stays as it is, but is no carry.
      {"is donated to result -1, not to 0",
       [](auto &, auto &Body) {
         Body.arguments[0]->donated_result = -1;
         Body.results[0]->tensor = 0;
         Body.tensors[5]->offset = 768;
       }},
      {"may be overwritten",
       [](auto &, auto &Body) {
         Body.arguments[1]->role = program::Role::Input;
       }},
  });
}

TEST(Loop, ReachesNothingElse) {
  expectRefused({
      // The row of the stack would be left as it is.
      {"which differs in offset",
       [](auto &, auto &Body) { Body.tensors[3]->offset = 768; }},
      {"was overwritten but is not donated",
       [](auto &, auto &Body) { Body.tensors[4]->offset = 256; }},
      {"is not bound",
       [](auto &S, auto &Body) {
         S.loop->bound_bytes = 512;
         std::swap(Body.tensors[0]->offset, Body.tensors[2]->offset);
         std::swap(Body.tensors[5]->offset, Body.tensors[3]->offset);
         S.workspace_offset = 0;
         S.workspace_bytes = 512;
       }},
      {"outside an arena of 1024 bytes",
       [](auto &, auto &Body) { Body.tensors[4]->offset = 1024; }},
  });
}

/// Between two rows that are bound lies what stands for nothing.
TEST(Loop, ReachesNoGap) {
  ProgramMaker B = makeBody();
  B.Program.arena_bytes = 1280;
  B.Program.tensors[4]->offset = 768;
  ProgramMaker P = makeProgram(std::move(B));
  P.Program.steps[0]->loop->bound_bytes = 1024;
  std::string Message = messageOf(Program::load(P.finish()));
  EXPECT_NE(Message.find("which stand for nothing"), std::string::npos)
      << Message;
}

TEST(Loop, LiesInAtMostThreeOthers) {
  // Each loop is the only step of the body around it, and carries one value.
  auto Wrap = [](ProgramMaker Body) {
    ProgramMaker P;
    uint32_t H = P.argument("h", f32({64}), program::Role::State, 0);
    uint32_t Next = P.tensor(f32({64}), 0);
    program::StepT &S = P.step("scan", {H}, {Next}, {ints("steps", {2})});
    S.loop = std::make_unique<program::LoopT>();
    S.loop->body = std::make_unique<program::ProgramT>(std::move(Body.Program));
    S.loop->carries = 1;
    S.loop->bound_bytes = 256;
    P.result("h", Next, program::Role::State);
    return P;
  };
  ProgramMaker P;
  uint32_t H = P.argument("h", f32({64}), program::Role::State, 0);
  P.step("exp", {H}, {P.tensor(f32({64}), 0)});
  P.result("h", 1, program::Role::State);
  for (int Depth = 1; Depth <= 5; ++Depth) {
    P = Wrap(std::move(P));
    std::string Message = messageOf(Program::load(P.finish()));
    if (Depth <= 4)
      EXPECT_EQ(Message, "") << Depth;
    else
      EXPECT_NE(Message.find("is a loop in 4 others"), std::string::npos)
          << Message;
  }
}

} // namespace
