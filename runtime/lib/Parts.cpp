//===- Parts.cpp - what of a tensor one rank holds ------------------------===//

#include "remat/runtime/Parts.h"
#include "ops/Collective.h"
#include "remat/Support/Mesh.h"
#include <cstring>

using namespace remat::runtime;

static int64_t multiply(std::span<const int64_t> Sizes) {
  int64_t Count = 1;
  for (int64_t Size : Sizes)
    Count *= Size;
  return Count;
}

Part::Part(std::span<const int64_t> Whole, std::span<const Cut> Cuts,
           uint32_t Rank)
    : NumWhole(multiply(Whole)) {
  std::vector<int64_t> Shape(Whole.begin(), Whole.end());
  // The rank that holds the same part and is 0 along all other axes.
  int64_t First = 0;
  for (const Cut &C : Cuts) {
    int64_t Ranks = countRanks(C.Group), Place = getPosition(C.Group, Rank);
    for (size_t I = 0; I < C.Group.size(); I += 2)
      First += Rank / C.Group[I] % C.Group[I + 1] * C.Group[I];
    if (C.Dim == -1)
      Shape = {(multiply(Shape) - 1) / Ranks + 1};
    else
      Shape[C.Dim] /= Ranks;
    size_t Dim = C.Dim == -1 ? 0 : static_cast<size_t>(C.Dim);
    Levels.push_back(
        {Ranks, Place, multiply(std::span(Shape).subspan(Dim)) / C.Blocks});
  }
  NumElements = multiply(Shape);
  IsFirst = Cuts.empty() ? Rank == 0 : First == Rank;
}

Part Part::of(const Program &P, const Argument &A, uint32_t Rank) {
  return Part(A.Cuts.empty() ? P.Tensors[A.Tensor].Shape : A.Whole, A.Cuts,
              Rank);
}

int64_t Part::countBefore(int64_t Whole) const {
  int64_t Count = Whole;
  for (const Level &L : Levels) {
    int64_t Row = L.Parts * L.Inner;
    Count = Count / Row * L.Inner +
            std::clamp<int64_t>(Count % Row - L.Place * L.Inner, 0, L.Inner);
  }
  return Count;
}

Part::Run Part::getRun(int64_t Own) const {
  Run Made{Own, Own, getNumFilled() - Own};
  for (size_t I = Levels.size(); I-- > 0;) {
    const Level &L = Levels[I];
    int64_t Behind = Made.Whole % L.Inner;
    Made.Count = std::min(Made.Count, L.Inner - Behind);
    Made.Whole = (Made.Whole / L.Inner * L.Parts + L.Place) * L.Inner + Behind;
  }
  return Made;
}

AllParts remat::runtime::listParts(const Program &P, const Argument &A) {
  AllParts Parts;
  for (uint32_t Rank = 0; Rank < P.getNumRanks(); ++Rank)
    if (Part Of = Part::of(P, A, Rank); Of.isFirst())
      Parts.emplace_back(Rank, std::move(Of));
  return Parts;
}

void remat::runtime::joinElements(const AllParts &Parts, int64_t At,
                                  int64_t End, uint64_t Width, const char *From,
                                  char *To) {
  for (const auto &[Rank, Of] : Parts) {
    int64_t First = Of.countBefore(At);
    Of.forRuns(First, Of.countBefore(End) - First, [&](const Part::Run &R) {
      std::memcpy(To + (R.Whole - At) * Width, From, R.Count * Width);
      From += R.Count * Width;
    });
  }
}

DataShare remat::runtime::getDataShare(const Program &P, uint32_t Rank) {
  DataShare Share;
  uint32_t Distance = P.getNumRanks();
  for (const MeshAxis &Axis : P.Mesh) {
    Distance /= Axis.Size;
    if (Axis.Name == TensorAxis)
      continue;
    Share.Number = Share.Number * Axis.Size + Rank / Distance % Axis.Size;
    Share.Count *= Axis.Size;
  }
  return Share;
}
