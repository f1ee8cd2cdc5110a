//===- CollectiveLoopTest.cpp - ops over ranks in loops -------------------===//

#include "RankPrograms.h"

using namespace remat;
using namespace remat::runtime;
using namespace remat::runtime::test;

namespace {

/// h = the sum of all ranks' h + x, over the rows of x.
ProgramMaker makeBody(const Mesh &Sizes) {
  Array Row = f32({64});
  ProgramMaker B;
  uint32_t H = B.argument("h", Row, program::Role::State, 0);
  uint32_t X = B.argument("x", Row, program::Role::State);
  uint32_t Added = B.tensor(Row);
  uint32_t Next = B.tensor(Row, int64_t(offsetOf(B, H)));
  B.step("add", {H, X}, {Added});
  B.step("all_reduce", {Added}, {Next},
         {groupOf(Sizes, {0}), text("kind", "sum")});
  B.result("h", Next, program::Role::State);
  setMesh(B, Sizes);
  return B;
}

ProgramMaker makeProgram(ProgramMaker Body, const Mesh &Sizes) {
  Array Row = f32({64});
  ProgramMaker P;
  uint32_t First = P.argument("0", Row), Rows = P.argument("1", f32({4, 64}));
  uint32_t Last = P.tensor(Row), Space = P.tensor(Row);
  program::StepT &Scan =
      P.step("scan", {First, Rows}, {Last}, {ints("steps", {4})});
  Scan.workspace_offset = offsetOf(P, Space);
  Scan.workspace_bytes = 256;
  Scan.loop = std::make_unique<program::LoopT>();
  Scan.loop->body =
      std::make_unique<program::ProgramT>(std::move(Body.Program));
  Scan.loop->carries = Scan.loop->slices = 1;
  Scan.loop->bound_bytes = 512;
  P.result("0", Last);
  setMesh(P, Sizes);
  return P;
}

TEST(CollectiveLoop, ReducesInEachStep) {
  for (uint32_t Count : {1, 2, 3}) {
    std::vector<std::vector<Array>> Operands;
    for (uint32_t Rank = 0; Rank < Count; ++Rank)
      Operands.push_back({f32({64}, std::vector<double>(64, 1)),
                          randomArray(DType::F32, {4, 64}, Rank + 1)});
    auto Outcomes = runOnRanks(makeProgram(makeBody({Count}), {Count}), Count,
                               Operands, {f32({64})});
    for (size_t At = 0; At < 64; ++At) {
      float H = 1;
      for (size_t Step = 0; Step < 4; ++Step) {
        float Sum = 0;
        for (uint32_t Rank = 0; Rank < Count; ++Rank) {
          float Next = H + float(Operands[Rank][1].Data[Step * 64 + At]);
          Sum = Rank ? Sum + Next : Next;
        }
        H = Sum;
      }
      for (const Outcome &Of : Outcomes) {
        ASSERT_EQ(Of.Failed, "");
        ASSERT_EQ(Of.Results[0].Data[At], H) << Count << " ranks, " << At;
      }
    }
  }
}

TEST(CollectiveLoop, BodyIsForTheSameRanks) {
  ProgramMaker P = makeProgram(makeBody({3}), {2});
  std::string Message = messageOf(Program::load(P.finish()));
  EXPECT_NE(Message.find("has a body for other ranks"), std::string::npos)
      << Message;
}

} // namespace
