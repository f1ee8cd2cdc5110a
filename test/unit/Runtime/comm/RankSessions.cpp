//===- RankSessions.cpp - sessions of several ranks -----------------------===//

#include "RankSessions.h"
#include <random>

using namespace remat;
using namespace remat::runtime;
using namespace remat::runtime::test;

Sharded test::makeSharded(unsigned Seed) {
  std::mt19937 Random(Seed);
  auto Draw = [&](int64_t From, int64_t To) {
    return std::uniform_int_distribution<int64_t>(From, To)(Random);
  };
  Sharded S;
  for (int64_t I = Draw(1, 3); I > 0; --I)
    S.Sizes.push_back(static_cast<uint32_t>(Draw(1, 3)));
  for (int64_t I = Draw(1, 3); I > 0; --I)
    S.Whole.push_back(Draw(1, 5));
  std::vector<size_t> Axes(S.Sizes.size());
  for (size_t I = 0; I < Axes.size(); ++I)
    Axes[I] = I;
  std::shuffle(Axes.begin(), Axes.end(), Random);
  bool IsFlat = false;
  for (size_t Axis : Axes) {
    if (Draw(0, 3) == 0)
      continue;
    Cut C;
    C.Group = groupOf(S.Sizes, {Axis}).Ints;
    if (!IsFlat && Draw(0, 2) > 0) {
      C.Dim = static_cast<int32_t>(Draw(0, int64_t(S.Whole.size()) - 1));
      C.Blocks = Draw(1, 3);
      S.Whole[C.Dim] *= S.Sizes[Axis] * C.Blocks;
    } else {
      IsFlat = true;
    }
    S.Cuts.push_back(C);
  }
  return S;
}

std::vector<int64_t> test::cutByCopies(const Sharded &S, uint32_t Rank) {
  std::vector<int64_t> Shape = S.Whole, Data(S.countElements());
  for (size_t I = 0; I < Data.size(); ++I)
    Data[I] = static_cast<int64_t>(I);
  for (const Cut &C : S.Cuts) {
    int64_t Ranks = C.Group[1], Place = Rank / C.Group[0] % Ranks;
    if (C.Dim == -1) {
      int64_t Each = (int64_t(Data.size()) + Ranks - 1) / Ranks;
      Data.resize(Each * Ranks, -1);
      Data = {Data.begin() + Place * Each, Data.begin() + (Place + 1) * Each};
      Shape = {Each};
      continue;
    }
    int64_t Inner = 1, Size = Shape[C.Dim];
    for (size_t I = C.Dim + 1; I < Shape.size(); ++I)
      Inner *= Shape[I];
    std::vector<int64_t> Kept;
    for (size_t I = 0; I < Data.size(); ++I)
      if (int64_t(I) / Inner % (Size / C.Blocks) / (Size / C.Blocks / Ranks) ==
          Place)
        Kept.push_back(Data[I]);
    Data = Kept;
    Shape[C.Dim] /= Ranks;
  }
  return Data;
}

std::vector<uint8_t> test::makeProgram(const Sharded *S,
                                       const std::vector<int64_t> &Whole,
                                       const std::vector<int64_t> &Input,
                                       bool InHalves) {
  ProgramMaker P;
  uint32_t X = P.argument("x", f32(Input));
  Array Own = f32(S ? S->getPartShape() : Whole);
  Own.InHalves = InHalves;
  P.argument("w", Own, program::Role::Parameter);
  program::ArgumentT &W = *P.Program.arguments.back();
  W.init_kind = "normal";
  W.init_value = 0.5;
  if (S) {
    setMesh(P, S->Sizes);
    if (!S->Cuts.empty())
      W.whole = Whole;
    for (const Cut &C : S->Cuts) {
      auto To = std::make_unique<program::CutT>();
      To->dim = C.Dim;
      To->blocks = C.Blocks;
      To->group = C.Group;
      W.cuts.push_back(std::move(To));
    }
  }
  uint32_t Y = P.tensor(f32(Input));
  P.step("copy", {X}, {Y});
  P.result("y", Y);
  return P.finish();
}

void test::onRanks(const Sharded &S, const std::function<void(OneRank &)> &F) {
  auto Program = makeProgram(&S, S.Whole, {2});
  auto All = createThreadRanks(S.countRanks());
  onThreads(S.countRanks(), [&](uint32_t Rank) {
    // One rank alone has nobody to talk to.
    OneRank Mine(Program, All.size() > 1 ? All[Rank] : nullptr);
    All[Rank].reset();
    F(Mine);
  });
}
