//===- Anchors.cpp - Searches within budgets that neighbours share --------===//
#include "Planner/Anchors.h"

using namespace remat::solver;

static constexpr const auto &Of = Tuned.Anchors;

/// From this height above the lowest peak down to the next anchor.
int64_t Anchors::stepAt(int64_t Height) const {
  int64_t Step = Unit;
  while (Step < Of.MostUnits * Unit && Height >= 2 * Step * Of.OfHeight)
    Step *= 2;
  return Step;
}

/// Where the lowest peak is below the seeds does not matter if all anchors are
/// where steps are largest.
bool Anchors::areKnown(int64_t Budget) const {
  int64_t Step = Of.MostUnits * Unit;
  return Start.isLowered() || Budget - Start.leastSeedPeak() >=
                                  Step * (Of.OfHeight + int64_t(Of.Count));
}

bool Anchors::begin(int64_t Budget) {
  if (!areKnown(Budget))
    Start.lower();
  int64_t Low = Start.isLowered() ? Start.lowestPeak() : Start.leastSeedPeak();
  for (int64_t At = Budget; At >= Low && Budgets.size() < Of.Count; --At) {
    int64_t Step = stepAt(At - Low);
    At = std::max(At / Step * Step, Low);
    Budgets.push_back(At);
  }
  if (Budgets.empty())
    return false;
  First = known(Budgets[0]);
  if (!First)
    Repaired.emplace(
        D, [this](const Watch &Here) { return repaired(Budgets[0], Here); });
  // Two threads have enough to do with what is needed in any case.
  if (D.workers().count() > 2)
    beginOthers();
  return true;
}

Anchors::Ends Anchors::known(int64_t At) const {
  auto It = Known.find(At);
  return It == Known.end() ? nullptr : It->second;
}

void Anchors::beginOthers() {
  for (size_t I = 1; I < Budgets.size(); ++I)
    Others.emplace_back(
        D,
        [this, At = Budgets[I], Kept = known(Budgets[I])](const Watch &Here) {
          return Kept ? Kept : searched(*repaired(At, Here));
        },
        Asked::Later);
}

std::unique_ptr<Attempt> Anchors::repaired(int64_t At,
                                           const Watch &Here) const {
  auto A = std::make_unique<Attempt>(M, O.Seed, Here, At, M.BaseTime);
  A->repairSeeds(At < Start.leastSeedPeak() ? Start.squeezedTo(At)
                                            : Start.unsqueezed(),
                 /*Few=*/false);
  return A;
}

Anchors::Ends Anchors::searched(Attempt &A) const {
  int64_t Work = (Tuned.Work.OfEffort << std::min(O.Effort, 30)) / Of.Part;
  A.annealSeeds(Work * Tuned.Attempt.SeedEighths / 8);
  A.fromPairs(Work * Tuned.Attempt.PairEighths / 8);
  A.fromBest(Work * Tuned.Attempt.BestEighths / 8);
  return std::make_shared<const std::vector<Seed>>(A.ends());
}

Anchors::Ends Anchors::first(double Bound) {
  if (First)
    return First;
  std::unique_ptr<Attempt> A = Repaired->get();
  A->watch(D);
  A->prove(Bound);
  return First = searched(*A);
}

std::vector<Anchors::Ends> Anchors::others() {
  if (Others.empty())
    beginOthers();
  std::vector<Ends> Out;
  for (Ahead<Ends> &X : Others)
    Out.push_back(X.get());
  if (!D.passed()) {
    Known[Budgets[0]] = First;
    for (size_t I = 0; I < Out.size(); ++I)
      Known[Budgets[I + 1]] = Out[I];
  }
  return Out;
}
