//===- ProgramLoops.cpp - the bodies of loops -----------------------------===//
//
// A body is verified as a program first: so its arguments lie apart, and hold
// at the end of a step what the next one is to find. What is left is that it
// fits its step: each argument is as large as what it stands for, and no byte
// is reached that stands for nothing.
//
//===----------------------------------------------------------------------===//

#include "lib/ProgramChecks.h"
#include "ops/Op.h"
#include <algorithm>

using namespace remat::runtime;

static constexpr uint64_t BufferAlignment = 256;

namespace {

class LoopVerifier {
public:
  LoopVerifier(const Program &P, const Step &S)
      : P(P), S(S), L(*S.TheLoop), Body(*L.Body),
        NumSteps(S.Attributes.getInt("steps", 0)) {}
  Status run();

private:
  Status verifyCounts() const;
  Status addSlot(uint32_t Index);
  LoopSlot getSlot(uint32_t Index) const;
  Status verifyArgument(uint32_t Index, const LoopSlot &Slot) const;
  Status verifyShape(const Tensor &Inner, const Tensor &Outer,
                     bool IsRow) const;
  Status verifyReach(const ByteRange &R) const;
  Status verifyBytes() const;
  static void clip(std::vector<ByteRange> &Ranges, uint64_t From);

  const Program &P;
  const Step &S;
  Loop &L;
  Program &Body;
  int64_t NumSteps;
};

} // namespace

Status LoopVerifier::verifyCounts() const {
  REMAT_REQUIRE(NumSteps >= 1,
                "runs its body " + std::to_string(NumSteps) + " times");
  REMAT_REQUIRE(Body.Device == P.Device && Body.Arch == P.Arch,
                "has a body for another device");
  REMAT_REQUIRE(Body.Mesh == P.Mesh, "has a body for other ranks");
  REMAT_REQUIRE(Body.Constants.empty(), "has a body with constants");
  size_t Operands = S.Operands.size(), Results = S.Results.size();
  for (uint32_t Operand : S.Operands)
    REMAT_REQUIRE(Operand != NoTensor, "lacks an operand");
  REMAT_REQUIRE(uint64_t(L.Carries) + L.Slices <= Operands &&
                    L.Carries <= Results && Results > 0,
                "has " + std::to_string(L.Carries) + " carries and " +
                    std::to_string(L.Slices) + " slices, but " +
                    std::to_string(Operands) + " operands and " +
                    std::to_string(Results) + " results");
  REMAT_REQUIRE(Body.Arguments.size() == Operands + Results - L.Carries &&
                    Body.Results.size() == Results,
                "has a body of " + std::to_string(Body.Arguments.size()) +
                    " arguments and " + std::to_string(Body.Results.size()) +
                    " results");
  uint64_t Workspace = Body.ArenaBytes - L.BoundBytes;
  REMAT_REQUIRE(
      L.BoundBytes <= Body.ArenaBytes && L.BoundBytes % BufferAlignment == 0 &&
          Workspace <= S.Workspace.Bytes,
      "has a workspace of " + std::to_string(S.Workspace.Bytes) +
          " bytes for a body of " + std::to_string(Body.ArenaBytes) +
          ", of which " + std::to_string(L.BoundBytes) + " are bound");
  return {};
}

/// What argument number `Index` stands for.
LoopSlot LoopVerifier::getSlot(uint32_t Index) const {
  auto Operands = static_cast<uint32_t>(S.Operands.size());
  const Tensor &Inner = Body.Tensors[Body.Arguments[Index].Tensor];
  LoopSlot Slot;
  Slot.Offset = Inner.Offset;
  Slot.Bytes = Inner.Bytes;
  Slot.IsResult = Index < L.Carries || Index >= Operands;
  Slot.Number = Index < Operands ? Index : Index - Operands + L.Carries;
  Slot.IsRow =
      Index >= L.Carries && (Index < L.Carries + L.Slices || Slot.IsResult);
  Slot.IsCopied = Inner.Offset >= L.BoundBytes;
  return Slot;
}

Status LoopVerifier::verifyShape(const Tensor &Inner, const Tensor &Outer,
                                 bool IsRow) const {
  std::vector<int64_t> Expected = Inner.Shape;
  if (IsRow)
    Expected.insert(Expected.begin(), NumSteps);
  REMAT_REQUIRE(Inner.Type == Outer.Type && Expected == Outer.Shape,
                "of shape " + formatShape(Inner.Shape) + " stands for " +
                    (IsRow ? "a row" : "all") + " of a tensor of shape " +
                    formatShape(Outer.Shape) + ", or of another type");
  return {};
}

Status LoopVerifier::verifyArgument(uint32_t Index,
                                    const LoopSlot &Slot) const {
  const Argument &A = Body.Arguments[Index];
  const Tensor &Inner = Body.Tensors[A.Tensor];
  uint32_t Outer =
      Slot.IsResult ? S.Results[Slot.Number] : S.Operands[Slot.Number];
  REMAT_TRY(verifyShape(Inner, P.Tensors[Outer], Slot.IsRow));
  if (Slot.IsResult && !Slot.IsRow)
    REMAT_TRY(verifyShape(Inner, P.Tensors[S.Operands[Index]], false));
  int64_t Donated = Slot.IsResult ? int64_t(Slot.Number) : -1;
  REMAT_REQUIRE(A.DonatedResult == Donated,
                "is donated to result " + std::to_string(A.DonatedResult) +
                    ", not to " + std::to_string(Donated));
  REMAT_REQUIRE(A.Role != Role::Input, "may be overwritten");
  REMAT_REQUIRE(Slot.IsRow || !Slot.IsCopied, "is not bound");
  REMAT_REQUIRE(!Slot.IsRow || Slot.IsCopied ||
                    Slot.Bytes % BufferAlignment == 0,
                "is a row of " + std::to_string(Slot.Bytes) +
                    " bytes, which are not aligned");
  REMAT_REQUIRE(Slot.IsCopied || Slot.Offset + Slot.Bytes <= L.BoundBytes,
                "is bound in part");
  return {};
}

Status LoopVerifier::addSlot(uint32_t Index) {
  LoopSlot Slot = getSlot(Index);
  if (Status Checked = verifyArgument(Index, Slot); !Checked)
    return Checked.getError().within("argument " +
                                     quoteText(Body.Arguments[Index].Name));
  L.Slots.push_back(Slot);
  return {};
}

/// Bytes lie in the workspace, or in what one argument stands for.
Status LoopVerifier::verifyReach(const ByteRange &R) const {
  auto Holds = [&](const LoopSlot &Slot) {
    return Slot.Offset <= R.Offset &&
           R.Offset + R.Bytes <= Slot.Offset + Slot.Bytes;
  };
  REMAT_REQUIRE(R.Bytes == 0 || R.Offset >= L.BoundBytes ||
                    std::ranges::any_of(L.Slots, Holds),
                "reaches " + std::to_string(R.Bytes) + " bytes at offset " +
                    std::to_string(R.Offset) + ", which stand for nothing");
  return {};
}

Status LoopVerifier::verifyBytes() const {
  for (uint32_t I = 0; I < Body.Tensors.size(); ++I) {
    const Tensor &T = Body.Tensors[I];
    if (Status Checked = verifyReach({T.Offset, T.Bytes}); !Checked)
      return Checked.getError().within(describeTensor(Body, I));
  }
  for (size_t I = 0; I < Body.Steps.size(); ++I)
    if (Status Checked = verifyReach(Body.Steps[I].Workspace); !Checked)
      return Checked.getError().within(describeStep(Body, I));
  return {};
}

/// What is bound is not the body's to poison.
void LoopVerifier::clip(std::vector<ByteRange> &Ranges, uint64_t From) {
  for (ByteRange &R : Ranges) {
    uint64_t End = std::max(R.Offset + R.Bytes, From);
    R.Offset = std::max(R.Offset, From);
    R.Bytes = End - R.Offset;
  }
  std::erase_if(Ranges, [](const ByteRange &R) { return R.Bytes == 0; });
}

Status LoopVerifier::run() {
  REMAT_TRY(verifyCounts());
  for (uint32_t I = 0; I < Body.Arguments.size(); ++I)
    REMAT_TRY(addSlot(I));
  REMAT_TRY(verifyBytes());
  clip(Body.UnusedAtStart, L.BoundBytes);
  for (Step &Inner : Body.Steps)
    clip(Inner.Freed, L.BoundBytes);
  return {};
}

Status remat::runtime::verifyLoops(Program &P, unsigned Depth) {
  constexpr unsigned MaxDepth = 4;
  for (size_t I = 0; I < P.Steps.size(); ++I) {
    const Step &S = P.Steps[I];
    if (!S.TheLoop)
      continue;
    Status Checked;
    if (!S.TheLoop->Body)
      Checked = Error(ErrorCode::InvalidProgram, "has a loop without a body");
    else if (Depth == MaxDepth)
      Checked = Error(ErrorCode::InvalidProgram,
                      "is a loop in " + std::to_string(MaxDepth) + " others");
    else
      Checked = verifyProgram(*S.TheLoop->Body, Depth + 1);
    if (Checked)
      Checked = LoopVerifier(P, S).run();
    if (!Checked)
      return Checked.getError().within(describeStep(P, I));
  }
  return {};
}
