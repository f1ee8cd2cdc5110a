//===- Loop.cpp - where a loop's body finds its bytes ---------------------===//

#include "remat/runtime/Loop.h"
#include <algorithm>

using namespace remat::runtime;

LoopFrame::LoopFrame(const Step &S, const std::vector<char *> &Operands,
                     const std::vector<char *> &Results, char *Workspace)
    : TheLoop(*S.TheLoop), Workspace(Workspace),
      NumSteps(S.Attributes.getInt("steps", 1)) {
  bool Reverse = S.Attributes.getFlag("reverse");
  for (const LoopSlot &Of : TheLoop.Slots) {
    char *Base = Of.IsResult ? Results[Of.Number] : Operands[Of.Number];
    auto Bytes = static_cast<int64_t>(Of.Bytes);
    Slot New = {Of, Base, Base, Of.IsRow ? Bytes : 0};
    if (Of.IsRow && Reverse) {
      New.First += (NumSteps - 1) * Bytes;
      New.Stride = -Bytes;
    }
    (Of.IsCopied ? Copied : Bound).push_back(New);
  }
  std::ranges::sort(Bound, {},
                    [](const Slot &Of) -> uint64_t { return Of.Of.Offset; });
  for (uint32_t I = 0; I < TheLoop.Carries; ++I)
    if (Results[I] != Operands[I])
      Begin.push_back({Results[I], Operands[I], TheLoop.Slots[I].Bytes});
  enter(0);
}

void LoopFrame::enter(int64_t Step) {
  for (std::vector<Slot> *All : {&Bound, &Copied})
    for (Slot &Of : *All)
      Of.Address = Of.First + Step * Of.Stride;
}

char *LoopFrame::at(uint64_t Offset) const {
  if (Offset >= TheLoop.BoundBytes)
    return Workspace + (Offset - TheLoop.BoundBytes);
  // The verifier has seen to it that a slot holds the byte.
  auto It = std::ranges::upper_bound(
      Bound, Offset, {},
      [](const Slot &Of) -> uint64_t { return Of.Of.Offset; });
  const Slot &Of = *std::prev(It);
  return Of.Address + (Offset - Of.Of.Offset);
}

std::vector<LoopFrame::Copy> LoopFrame::getRows(bool Out) const {
  std::vector<Copy> Rows;
  for (const Slot &Of : Copied) {
    if (Of.Of.IsResult != Out)
      continue;
    char *Inside = at(Of.Of.Offset);
    Rows.push_back(Out ? Copy{Of.Address, Inside, Of.Of.Bytes}
                       : Copy{Inside, Of.Address, Of.Of.Bytes});
  }
  return Rows;
}
