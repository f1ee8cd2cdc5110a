//===- ProgramMesh.cpp - ranks, and groups of them ------------------------===//

#include "lib/ProgramChecks.h"
#include "ops/Collective.h"
#include <algorithm>

using namespace remat::runtime;

uint32_t Program::getNumRanks() const {
  uint32_t Ranks = 1;
  for (const MeshAxis &Axis : Mesh)
    Ranks *= Axis.Size;
  return Ranks;
}

static Status verifyAxes(const Program &P) {
  uint64_t Ranks = 1;
  for (const MeshAxis &Axis : P.Mesh) {
    Ranks *= Axis.Size;
    REMAT_REQUIRE(Ranks >= 1 && Ranks <= MaxRanks,
                  "the mesh has the axis " + quoteText(Axis.Name) + " of " +
                      std::to_string(Axis.Size) + " ranks; all its ranks are " +
                      "from 1 to " + std::to_string(MaxRanks));
  }
  return {};
}

/// Each pair of a group is an axis of the mesh, in their order.
static Status verifyGroup(const Program &P, std::span<const int64_t> Group) {
  REMAT_REQUIRE(!Group.empty() && Group.size() % 2 == 0,
                "has a group of " + std::to_string(Group.size()) + " numbers");
  size_t Next = 0;
  int64_t Stride = P.getNumRanks();
  for (const MeshAxis &Axis : P.Mesh) {
    Stride /= Axis.Size;
    if (Next < Group.size() && Group[Next] == Stride &&
        Group[Next + 1] == Axis.Size)
      Next += 2;
  }
  REMAT_REQUIRE(Next == Group.size(),
                "has a group that is of no axes of the mesh");
  return {};
}

/// A rank's part is as large as the cuts of the whole make it.
static Status verifyCuts(const Program &P, const Argument &A) {
  std::vector<int64_t> Shape = A.Whole;
  REMAT_REQUIRE(Shape.size() <= MaxRank, "is a part of a tensor of rank " +
                                             std::to_string(Shape.size()));
  int64_t Elements = 1;
  for (int64_t Size : Shape)
    REMAT_REQUIRE(Size >= 1 &&
                      !__builtin_mul_overflow(Elements, Size, &Elements),
                  "is a part of a tensor of shape " + formatShape(A.Whole));
  std::vector<int64_t> Used; // distances along axes
  for (const Cut &C : A.Cuts) {
    REMAT_TRY(verifyGroup(P, C.Group));
    for (size_t I = 0; I < C.Group.size(); I += 2)
      if (C.Group[I + 1] > 1) {
        REMAT_REQUIRE(std::ranges::count(Used, C.Group[I]) == 0,
                      "is cut twice along one axis of the mesh");
        Used.push_back(C.Group[I]);
      }
    int64_t Ranks = countRanks(C.Group);
    REMAT_REQUIRE(C.Blocks >= 1 && (C.Dim != -1 || C.Blocks == 1),
                  "cuts " + std::to_string(C.Blocks) + " blocks of dimension " +
                      std::to_string(C.Dim));
    if (C.Dim == -1) {
      int64_t Count = countElements(Shape);
      Shape = {(Count - 1) / Ranks + 1};
      continue;
    }
    REMAT_REQUIRE(C.Dim >= 0 && C.Dim < static_cast<int64_t>(Shape.size()) &&
                      Shape[C.Dim] % C.Blocks == 0 &&
                      Shape[C.Dim] / C.Blocks % Ranks == 0,
                  "cuts dimension " + std::to_string(C.Dim) + " of " +
                      formatShape(Shape) + " in " + std::to_string(C.Blocks) +
                      " blocks into " + std::to_string(Ranks));
    Shape[C.Dim] /= Ranks;
  }
  const std::vector<int64_t> &Own = P.Tensors[A.Tensor].Shape;
  REMAT_REQUIRE(Shape == Own, "is of shape " + formatShape(Own) +
                                  ", its part of the whole is of " +
                                  formatShape(Shape));
  return {};
}

Status remat::runtime::verifyMesh(const Program &P) {
  REMAT_TRY(verifyAxes(P));
  for (const Argument &A : P.Arguments)
    if (!A.Cuts.empty())
      if (Status S = verifyCuts(P, A); !S)
        return S.getError().within("argument " + quoteText(A.Name));
  for (size_t I = 0; I < P.Steps.size(); ++I) {
    const Step &S = P.Steps[I];
    bool IsCollective =
        std::ranges::any_of(getCollectiveOps(), [&](const OpSignature &Op) {
          return Op.Name == S.Op;
        });
    if (!IsCollective)
      continue;
    if (Status Bad = verifyGroup(P, S.Attributes.getInts("group")); !Bad)
      return Bad.getError().within(describeStep(P, I));
  }
  return {};
}
