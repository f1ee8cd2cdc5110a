//===- RankPrograms.cpp - programs that several ranks run -----------------===//

#include "RankPrograms.h"
#include <thread>

using namespace remat;
using namespace remat::runtime;
using namespace remat::runtime::test;

void test::setMesh(ProgramMaker &P, const Mesh &Sizes) {
  P.Program.mesh.clear();
  for (size_t Axis = 0; Axis < Sizes.size(); ++Axis) {
    P.Program.mesh.push_back(std::make_unique<program::MeshAxisT>());
    P.Program.mesh.back()->name = std::string(1, char('a' + Axis));
    P.Program.mesh.back()->size = Sizes[Axis];
  }
}

/// The product of the sizes behind an axis.
static uint32_t getDistance(const Mesh &Sizes, size_t Axis) {
  uint32_t Distance = 1;
  for (size_t Behind = Axis + 1; Behind < Sizes.size(); ++Behind)
    Distance *= Sizes[Behind];
  return Distance;
}

Attr test::groupOf(const Mesh &Sizes, const std::vector<size_t> &Axes) {
  std::vector<int64_t> Numbers;
  for (size_t Axis : Axes) {
    Numbers.push_back(getDistance(Sizes, Axis));
    Numbers.push_back(Sizes[Axis]);
  }
  return ints("group", Numbers);
}

std::vector<std::vector<uint32_t>>
test::findGroups(const Mesh &Sizes, const std::vector<size_t> &Axes) {
  uint32_t Count = 1;
  for (uint32_t Size : Sizes)
    Count *= Size;
  auto AreTogether = [&](uint32_t A, uint32_t B) {
    for (size_t Axis = 0; Axis < Sizes.size(); ++Axis) {
      uint32_t Distance = getDistance(Sizes, Axis);
      bool IsFree = std::find(Axes.begin(), Axes.end(), Axis) != Axes.end();
      if (!IsFree && A / Distance % Sizes[Axis] != B / Distance % Sizes[Axis])
        return false;
    }
    return true;
  };
  std::vector<std::vector<uint32_t>> Groups(Count);
  for (uint32_t A = 0; A < Count; ++A)
    for (uint32_t B = 0; B < Count; ++B)
      if (AreTogether(A, B))
        Groups[A].push_back(B);
  return Groups;
}

void test::onThreads(uint32_t Count, const std::function<void(uint32_t)> &F) {
  std::vector<std::thread> Threads;
  for (uint32_t Rank = 0; Rank < Count; ++Rank)
    Threads.emplace_back(F, Rank);
  for (std::thread &T : Threads)
    T.join();
}

static Status runOnce(const std::vector<uint8_t> &Bytes,
                      std::shared_ptr<Ranks> TheRanks,
                      const std::vector<Array> &Operands,
                      std::vector<Array> &Results) {
  DeviceOptions Options;
  Options.Threads = 2;
  Options.TheRanks = std::move(TheRanks);
  auto D = createDevice("host", Options);
  if (!D)
    return D.getError();
  SessionOptions WithPoison;
  WithPoison.Poison = true;
  auto S = Session::create(Bytes, **D, WithPoison);
  if (!S)
    return S.getError();
  for (size_t I = 0; I < Operands.size(); ++I) {
    std::vector<uint8_t> Data = Operands[I].encode();
    if (Status Done =
            (*S)->writeArgument(std::to_string(I), Data.data(), Data.size());
        !Done)
      return Done;
  }
  if (Status Ran = (*S)->runStep(); !Ran)
    return Ran;
  for (size_t I = 0; I < Results.size(); ++I) {
    std::vector<uint8_t> Data(Results[I].getNumElements() *
                              getByteWidth(Results[I].Type));
    if (Status Done =
            (*S)->readResult(std::to_string(I), Data.data(), Data.size());
        !Done)
      return Done;
    Results[I].decode(Data);
  }
  return {};
}

std::vector<Outcome>
test::runOnRanks(const ProgramMaker &P, uint32_t Count,
                 const std::vector<std::vector<Array>> &Operands,
                 const std::vector<Array> &Results) {
  std::vector<uint8_t> Bytes = P.finish();
  std::vector<std::shared_ptr<Ranks>> All = createThreadRanks(Count);
  std::vector<Outcome> Outcomes(Count);
  onThreads(Count, [&](uint32_t Rank) {
    Outcomes[Rank].Results = Results;
    Outcomes[Rank].Failed = messageOf(runOnce(
        Bytes, std::move(All[Rank]), Operands[Rank], Outcomes[Rank].Results));
  });
  return Outcomes;
}

ProgramMaker RankedOp::make() const {
  ProgramMaker P;
  setMesh(P, Sizes);
  std::vector<uint32_t> In, Out;
  for (size_t I = 0; I < Operands[0].size(); ++I)
    In.push_back(P.argument(std::to_string(I), Operands[0][I]));
  for (size_t I = 0; I < Results.size(); ++I) {
    int64_t Offset = InPlace ? int64_t(offsetOf(P, In[I])) : -1;
    Out.push_back(P.tensor(Results[I], Offset));
    P.result(std::to_string(I), Out.back());
  }
  P.step(Op, In, Out, List);
  return P;
}

std::vector<std::vector<Array>> RankedOp::run() const {
  std::vector<std::vector<Array>> All;
  auto Count = static_cast<uint32_t>(Operands.size());
  for (Outcome &Of : runOnRanks(make(), Count, Operands, Results)) {
    EXPECT_EQ(Of.Failed, "");
    All.push_back(std::move(Of.Results));
  }
  return All;
}
