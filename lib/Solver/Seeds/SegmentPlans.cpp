//===- SegmentPlans.cpp - Dynamic programming over segments ---------------===//
#include "Seeds/Segments.h"

#include <algorithm>
#include <limits>

using namespace remat::solver;

namespace {

class Chooser {
  static constexpr int32_t Slots = Tuned.Seeds.KeptSlots;

public:
  Chooser(Segments &S) : S(S) { findWays(); }

  /// The cheapest groups such that the kept bytes of all segments before a
  /// group and its own peak stay within the limit. Empty when there are none.
  std::vector<Segments::Group> choose(int64_t Limit);

private:
  struct Way {
    Segments::Group Is;
    Segments::Cost Of;
  };
  struct Label {
    double Time = std::numeric_limits<double>::infinity();
    int64_t Kept = 0;
    int32_t FromSlot = None, FromState = None;
    const Way *By = nullptr;
  };
  Segments &S;
  /// Per segment: groups that end with it.
  std::vector<std::vector<Way>> Ways;
  int64_t MostKept = 0;
  std::vector<Label> At;

  void findWays();
};

void Chooser::findWays() {
  Ways.resize(S.count());
  for (int32_t First = 0; First < S.count(); ++First) {
    int64_t Stop = S.visited() + Tuned.Seeds.GroupVisits / S.count();
    for (int32_t Length = 1, More = 1;
         First + Length <= S.count() && S.visited() <= Stop;
         Length += More, More = std::max(1, Length / 3))
      for (int32_t K = 0; K < S.numPatterns(); ++K) {
        Segments::Group G = {First, First + Length - 1, K, true};
        Way Full = {G, S.costOf(G)};
        G.Full = false;
        Way Own = {G, S.costOf(G)};
        Ways[G.Last].push_back(Full);
        if (Own.Of.Kept < Full.Of.Kept || Own.Of.Peak < Full.Of.Peak)
          Ways[G.Last].push_back(Own);
      }
  }
  for (auto &List : Ways) {
    int64_t Most = 0;
    for (Way &W : List)
      if (W.Is.First == W.Is.Last)
        Most = std::max(Most, W.Of.Kept);
    MostKept += Most;
  }
}

std::vector<Segments::Group> Chooser::choose(int64_t Limit) {
  int64_t Range = std::max<int64_t>(1, std::min(MostKept, Limit));
  auto SlotOf = [&](int64_t Kept) {
    return int32_t(double(Kept) / double(Range) * (Slots - 1));
  };
  // After a group the next may have any pattern, or only the same.
  int32_t Any = S.numPatterns(), States = Any + 1;
  At.assign(size_t(S.count() + 1) * States * Slots, Label());
  auto LabelsAt = [&](int32_t Next, int32_t State) {
    return &At[(size_t(Next) * States + State) * Slots];
  };
  LabelsAt(0, Any)[0].Time = 0;
  for (int32_t Last = 0; Last < S.count(); ++Last)
    for (const Way &W : Ways[Last]) {
      if (W.Of.Peak > Limit)
        continue;
      Label *To = LabelsAt(Last + 1, W.Is.Full ? Any : W.Is.Pattern);
      for (int32_t State : {Any, W.Is.Pattern}) {
        const Label *From = LabelsAt(W.Is.First, State);
        for (int32_t I = 0; I < Slots; ++I) {
          int64_t Kept = From[I].Kept + W.Of.Kept;
          if (From[I].Time == std::numeric_limits<double>::infinity() ||
              From[I].Kept + W.Of.Peak > Limit || Kept > Range)
            continue;
          Label &X = To[SlotOf(Kept)];
          double Time = From[I].Time + W.Of.Time;
          if (Time < X.Time || (Time == X.Time && Kept < X.Kept))
            X = {Time, Kept, I, State, &W};
        }
      }
    }
  const Label *Best = nullptr;
  for (int32_t State = 0; State < States; ++State)
    for (int32_t I = 0; I < Slots; ++I)
      if (const Label &X = LabelsAt(S.count(), State)[I];
          X.By && (!Best || X.Time < Best->Time))
        Best = &X;
  std::vector<Segments::Group> Out;
  while (Best && Best->By) {
    Out.push_back(Best->By->Is);
    Best = LabelsAt(Best->By->Is.First, Best->FromState) + Best->FromSlot;
  }
  std::reverse(Out.begin(), Out.end());
  return Out;
}

} // namespace

void remat::solver::segmentPlans(const Model &M, const std::vector<OpId> &Order,
                                 const std::vector<MomentCut::Point> &Hull,
                                 const PlanSink &Sink) {
  std::vector<std::vector<bool>> Patterns;
  int64_t Most = Hull.front().Kept, Fewest = Hull.back().Kept, Next = Most;
  for (const MomentCut::Point &X : Hull)
    if (X.Kept <= Next) {
      Patterns.push_back(X.Dropped);
      Next = std::max(Fewest, X.Kept - (Most - Fewest) / Tuned.Seeds.Patterns);
      if (X.Kept == Fewest)
        break;
    }
  Segments S(M, Order, std::move(Patterns));
  if (S.count() < 3)
    return;
  Chooser C(S);
  int64_t High = S.plainPeak(), Low = M.Resident;
  for (int I = 0; I < Tuned.Seeds.Halvings; ++I) {
    int64_t Middle = Low + (High - Low) / 2;
    (C.choose(Middle).empty() ? Low : High) = Middle;
  }
  int64_t Least = High, Range = S.plainPeak() - Least;
  const int Levels = M.fewerOf(Tuned.Seeds.SegmentLevels);
  for (int I = 0; I < Levels; ++I) {
    double Part = double(I) / Levels;
    int64_t Limit = Least + int64_t(double(Range) * Part * Part);
    if (auto Groups = C.choose(Limit); !Groups.empty())
      if (!Sink(S.emit(Groups)))
        return;
  }
}
