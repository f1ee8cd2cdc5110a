//===- Segments.cpp - tensors that ranks exchange piece by piece ----------===//

#include "host/Segments.h"
#include "host/Context.h"
#include <algorithm>
#include <cstring>

using namespace remat::runtime;

//===----------------------------------------------------------------------===//
// Strips
//===----------------------------------------------------------------------===//

Strip Strip::of(const Value &Whole, int64_t Dim, int64_t Parts, int64_t Part) {
  PartLayout L = getPartLayout(Whole, Dim, Parts);
  return {Whole.Data + Part * L.Inner, L.Outer, L.Inner, Parts * L.Inner};
}

/// Calls F(address, bytes) for the runs that bytes [First, Last) lie in.
template <typename Function>
void Strip::forRuns(int64_t First, int64_t Last, Function F) const {
  while (First < Last) {
    int64_t Within = First % RunBytes;
    int64_t Bytes = std::min(Last - First, RunBytes - Within);
    F(Data + First / RunBytes * Distance + Within, Bytes);
    First += Bytes;
  }
}

void Strip::copyOut(int64_t First, int64_t Last, char *To) const {
  forRuns(First, Last, [&](const char *From, int64_t Bytes) {
    std::memcpy(To, From, Bytes);
    To += Bytes;
  });
}

void Strip::copyIn(int64_t First, int64_t Last, const char *From) const {
  forRuns(First, Last, [&](char *To, int64_t Bytes) {
    std::memcpy(To, From, Bytes);
    From += Bytes;
  });
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

/// Scratch for the segments of one member, and of all of them, each way.
static constexpr int64_t MemberBytes = 1 << 20, GroupBytes = 16 << 20;

/// Items begin at multiples of this in a slot, so that elements are aligned.
static constexpr int64_t Alignment = 64;

static int64_t align(int64_t Bytes) {
  return (Bytes + Alignment - 1) / Alignment * Alignment;
}

Segments::Segments(const OpCall &Op, Context &C) : C(C) {
  std::span<const int64_t> Group = Op.Attributes->getInts("group");
  int64_t Own = C.getRanks() ? C.getRanks()->getRank() : 0;
  Members = getMembers(Group, Own);
  Position = runtime::getPosition(Group, Own);
  // Equal for all members, who cut their strips alike.
  SlotBytes = std::clamp(GroupBytes / getCount() / Alignment * Alignment,
                         Alignment, MemberBytes);
}

Segments::~Segments() = default;

std::vector<Segments::Round> Segments::makeRounds() const {
  std::vector<Round> Rounds;
  int64_t Used = SlotBytes;
  for (const Item &Of : Items)
    for (int64_t First = 0; First < Of.Largest;) {
      if (Used == SlotBytes) {
        Rounds.emplace_back();
        Used = 0;
      }
      int64_t Last = std::min(Of.Largest, First + SlotBytes - Used);
      Rounds.back().push_back({&Of, First, Last, Used});
      Used = std::min(SlotBytes, align(Used + Last - First));
      First = Last;
    }
  return Rounds;
}

char *Segments::getSlot(const std::unique_ptr<ScratchArray<char>> &Of,
                        int64_t Place) {
  return Of->data() + Place * SlotBytes;
}

void Segments::addSends(const Round &Now, int64_t Place) {
  for (const Segment &S : Now) {
    const Strip &Out = S.Of->Out[Place];
    int64_t Last = std::min(S.Last, Out.getBytes());
    if (S.First >= Last)
      continue;
    char *From = Out.Data + S.First;
    if (!Out.isContiguous())
      Out.copyOut(S.First, Last, From = getSlot(OutSlots, Place) + S.At);
    Sends.push_back({uint32_t(Members[Place]), From, uint64_t(Last - S.First)});
  }
}

void Segments::addReceives(const Round &Now, int64_t Place) {
  for (const Segment &S : Now) {
    const Strip &In = S.Of->In[Place];
    int64_t Last = std::min(S.Last, In.getBytes());
    if (S.First >= Last)
      continue;
    bool IsDirect = !S.Of->Reduce && In.isContiguous();
    char *To = IsDirect ? In.Data + S.First : getSlot(InSlots, Place) + S.At;
    Receives.push_back(
        {uint32_t(Members[Place]), To, uint64_t(Last - S.First)});
  }
}

/// Puts what came into slots where it belongs.
void Segments::finish(const Round &Now) {
  for (const Segment &S : Now) {
    const Item &Of = *S.Of;
    if (Of.Reduce) {
      const Strip &Own = Of.Out[Position];
      int64_t Last = std::min(S.Last, Own.getBytes());
      if (S.First >= Last)
        continue;
      std::vector<const char *> From;
      for (int64_t Place = 0; Place < getCount(); ++Place)
        From.push_back(getSlot(InSlots, Place) + S.At);
      if (Own.isContiguous())
        From[Position] = Own.Data + S.First;
      else
        Own.copyOut(S.First, Last, getSlot(InSlots, Position) + S.At);
      Of.Reduce(From, S.First, Last);
      continue;
    }
    for (int64_t Place = 0; Place < getCount(); ++Place) {
      const Strip &In = Of.In[Place];
      int64_t Last = std::min(S.Last, In.getBytes());
      if (Place != Position && S.First < Last && !In.isContiguous())
        In.copyIn(S.First, Last, getSlot(InSlots, Place) + S.At);
    }
  }
}

Status Segments::runRound(const Round &Now) {
  Sends.clear();
  Receives.clear();
  for (int64_t Place = 0; Place < getCount(); ++Place)
    if (Place != Position) {
      addSends(Now, Place);
      addReceives(Now, Place);
    }
  if (!Sends.empty() || !Receives.empty())
    REMAT_TRY(C.getRanks()->exchange(Sends, Receives));
  finish(Now);
  return {};
}

Status Segments::run() {
  int64_t Longest = 0;
  bool NeedsOut = false, NeedsIn = false;
  for (const Item &Of : Items) {
    auto IsSpread = [](const Strip &S) { return !S.isContiguous(); };
    Longest += align(Of.Largest);
    NeedsOut |= std::ranges::any_of(Of.Out, IsSpread);
    NeedsIn |= Of.Reduce || std::ranges::any_of(Of.In, IsSpread);
  }
  std::vector<Round> Rounds = makeRounds();
  SlotBytes = std::min(SlotBytes, Longest);
  if (NeedsOut)
    OutSlots = std::make_unique<ScratchArray<char>>(C, getCount() * SlotBytes);
  if (NeedsIn)
    InSlots = std::make_unique<ScratchArray<char>>(C, getCount() * SlotBytes);
  for (const Round &Now : Rounds)
    REMAT_TRY(runRound(Now));
  OutSlots.reset();
  InSlots.reset();
  return {};
}
