//===- StepOrder.cpp - which steps must wait for which --------------------===//

#include "cuda/StepOrder.h"
#include <algorithm>
#include <map>

using namespace remat::runtime;
using namespace remat::runtime::cuda;

//===----------------------------------------------------------------------===//
// What steps touch
//===----------------------------------------------------------------------===//

std::vector<TouchedRange> cuda::getTouched(const Program &P, const Step &S) {
  std::vector<TouchedRange> Touched;
  auto Add = [&](uint32_t Number, bool IsWritten) {
    if (Number == NoTensor)
      return;
    const Tensor &T = P.Tensors[Number];
    Touched.push_back({{T.Offset, T.Bytes}, IsWritten});
  };
  for (uint32_t Operand : S.Operands)
    Add(Operand, false);
  for (uint32_t Result : S.Results)
    Add(Result, true);
  if (S.Workspace.Bytes)
    Touched.push_back({S.Workspace, true});
  return Touched;
}

/// A GPU moves so many bytes in less time than a launch takes. Measured on an
/// H200: with 4 MiB and more, small steps slow down those that they run beside.
static constexpr uint64_t MostSmallBytes = 262144; // 256 KiB

std::vector<StepWork> cuda::getWork(const Program &P) {
  std::vector<StepWork> Work;
  for (const Step &S : P.Steps) {
    StepWork &W = Work.emplace_back(getTouched(P, S));
    uint64_t Bytes = 0;
    for (const TouchedRange &T : W.Touches)
      Bytes += T.Range.Bytes;
    W.IsSmall =
        S.Kernel == KernelKind::Own && !S.TheLoop && Bytes <= MostSmallBytes;
  }
  return Work;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

namespace {

/// Who touched which bytes last.
class Memory {
public:
  /// Adds to `Before` the steps that must be done before `Step` touches these
  /// bytes.
  void touch(uint32_t Step, const TouchedRange &T,
             std::vector<uint32_t> &Before);

private:
  /// Bytes with one history.
  struct Piece {
    std::vector<uint32_t> Writer;  ///< one or none
    std::vector<uint32_t> Readers; ///< since then
  };
  void split(uint64_t At);

  /// By their begin; each ends where the next one begins.
  std::map<uint64_t, Piece> Pieces;
};

} // namespace

/// A piece begins at `At` afterwards.
void Memory::split(uint64_t At) {
  auto After = Pieces.upper_bound(At);
  Piece Same = After == Pieces.begin() ? Piece() : std::prev(After)->second;
  Pieces.try_emplace(At, std::move(Same));
}

void Memory::touch(uint32_t Step, const TouchedRange &T,
                   std::vector<uint32_t> &Before) {
  uint64_t Begin = T.Range.Offset, End = Begin + T.Range.Bytes;
  split(Begin);
  split(End);
  auto Add = [&](const std::vector<uint32_t> &All) {
    std::ranges::copy_if(All, std::back_inserter(Before),
                         [&](uint32_t Other) { return Other != Step; });
  };
  for (auto It = Pieces.find(Begin); It != Pieces.end() && It->first < End;
       ++It) {
    Piece &P = It->second;
    Add(P.Writer);
    if (!T.IsWritten) {
      P.Readers.push_back(Step);
      continue;
    }
    Add(P.Readers);
    P.Writer = {Step};
    P.Readers.clear();
  }
}

/// The steps that must be done before each one, by the bytes alone.
static std::vector<std::vector<uint32_t>>
findConflicts(const std::vector<StepWork> &Steps) {
  Memory All;
  std::vector<std::vector<uint32_t>> Before(Steps.size());
  for (uint32_t I = 0; I < Steps.size(); ++I) {
    for (const TouchedRange &T : Steps[I].Touches)
      All.touch(I, T, Before[I]);
    std::ranges::sort(Before[I]);
    auto Same = std::ranges::unique(Before[I]);
    Before[I].erase(Same.begin(), Same.end());
  }
  return Before;
}

/// Which steps run beside the chain. A small one has room there unless it lies
/// between two large ones that follow each other.
static std::vector<bool>
findBeside(const std::vector<StepWork> &Steps,
           const std::vector<std::vector<uint32_t>> &Before) {
  // Of a small step: the last large one that it waits for, over small ones too,
  // and the first one that waits for it; counted among the large ones.
  size_t Count = Steps.size();
  std::vector<size_t> Number(Count), Earliest(Count), Latest(Count);
  size_t NumLarge = 0;
  for (size_t I = 0; I < Count; ++I) {
    Number[I] = NumLarge + 1; // of the next large one, from 1
    NumLarge += !Steps[I].IsSmall;
    for (uint32_t B : Before[I])
      Earliest[I] =
          std::max(Earliest[I], Steps[B].IsSmall ? Earliest[B] : Number[B]);
  }
  std::ranges::fill(Latest, NumLarge + 1);
  std::vector<bool> IsBeside(Count);
  for (size_t I = Count; I-- > 0;) {
    for (uint32_t B : Before[I])
      Latest[B] = std::min(Latest[B], Steps[I].IsSmall ? Latest[I] : Number[I]);
    IsBeside[I] = Steps[I].IsSmall && Latest[I] > Earliest[I] + 1;
  }
  return IsBeside;
}

namespace {

/// Puts steps in their places, in order.
class Places {
public:
  explicit Places(size_t Count) : All(Count), JoinedBy(Count, Nobody) {}

  void place(uint32_t Step, const std::vector<uint32_t> &Conflicts,
             bool IsBeside);
  std::vector<StepPlace> take() { return std::move(All); }

private:
  void join(uint32_t By);

  static constexpr uint32_t Nobody = UINT32_MAX;
  std::vector<StepPlace> All;
  std::vector<uint32_t> JoinedBy; ///< the step of the chain that waits for one
  std::optional<uint32_t> Last;   ///< of the chain
};

} // namespace

/// Notes for which steps beside the chain `By`, a step of it, waits: for those
/// before others, too.
void Places::join(uint32_t By) {
  std::vector<uint32_t> Next = {By};
  while (!Next.empty()) {
    uint32_t Step = Next.back();
    Next.pop_back();
    for (uint32_t B : All[Step].Before)
      if (All[B].IsBeside && JoinedBy[B] == Nobody) {
        JoinedBy[B] = By;
        Next.push_back(B);
      }
  }
}

void Places::place(uint32_t Step, const std::vector<uint32_t> &Conflicts,
                   bool IsBeside) {
  StepPlace &P = All[Step];
  P.IsBeside = IsBeside;
  std::optional<uint32_t> OfChain = IsBeside ? std::nullopt : Last;
  for (uint32_t C : Conflicts)
    if (!All[C].IsBeside)
      OfChain = std::max(OfChain.value_or(C), C);
  for (uint32_t C : Conflicts)
    if (All[C].IsBeside && (!OfChain || JoinedBy[C] > *OfChain))
      P.Before.push_back(C);
  if (OfChain)
    P.Before.insert(std::ranges::upper_bound(P.Before, *OfChain), *OfChain);
  if (IsBeside)
    return;
  Last = Step;
  join(Step);
}

std::vector<StepPlace> cuda::orderSteps(const std::vector<StepWork> &Steps) {
  std::vector<std::vector<uint32_t>> Conflicts = findConflicts(Steps);
  std::vector<bool> IsBeside = findBeside(Steps, Conflicts);
  Places Made(Steps.size());
  for (uint32_t I = 0; I < Steps.size(); ++I)
    Made.place(I, Conflicts[I], IsBeside[I]);
  return Made.take();
}
