//===- Anchors.cpp - Searches within budgets that neighbours share --------===//
#include "Planner/Anchors.h"

#include <algorithm>
#include <cmath>

using namespace remat::solver;

static constexpr const auto &Of = Tuned.Anchors;

/// The largest anchor up to a budget, which is not below the lowest peak.
int64_t Anchors::anchorBelow(int64_t Budget) const {
  int64_t Step = Unit * (Budget - Low < Of.Far * Unit ? Of.Step : Of.StepFar);
  return std::max(Budget / Step * Step, Low);
}

/// The next budget of a chain.
int64_t Anchors::above(int64_t At) const {
  int64_t Step = Unit;
  if (At - Low >= Of.Far * Unit)
    Step *= Of.ChainStepFar;
  else if (At - Low < Of.Near * Unit)
    Step = std::max<int64_t>(1, Unit / 2);
  return (At / Step + 1) * Step;
}

/// Where the lowest peak is below the seeds does not matter if all budgets
/// looked at are where steps are largest.
bool Anchors::areKnown(int64_t Budget) const {
  int64_t Units =
      Of.Far + 3 * Of.StageUnits + (int64_t(Of.Count) + 1) * Of.StepFar;
  return Start.isLowered() || Budget - Start.leastSeedPeak() >= Units * Unit;
}

void Anchors::findChains(int64_t Budget) {
  int64_t Stage = Of.StageUnits * Unit, Base = Budget / Stage * Stage;
  auto From = [&](int64_t Begin, int64_t End) {
    Chain Out;
    for (int64_t At = std::max(Begin, Low); At < End; At = above(At))
      Out.push_back(At);
    return Out;
  };
  Chains.push_back(From(Base - Stage, Budget + 1));
  if (Chain Below = From(Base - 2 * Stage, Base);
      !Below.empty() && Below[0] < Chains[0][0])
    Chains.push_back(std::move(Below));
}

/// Those within the chains, and as many as each begins with.
void Anchors::findAnchors() {
  size_t Under = 0;
  for (int64_t At = Chains[0].back(); At >= Low && Under < Of.Count; --At) {
    At = anchorBelow(At);
    Found.push_back({At, 0});
    Under += At <= Chains.back()[0];
  }
  for (int Again = 1; Under < Of.Count; ++Again, ++Under)
    Found.push_back({Low, Again});
}

bool Anchors::begin(int64_t Budget) {
  if (!areKnown(Budget))
    Start.lower();
  Low = Start.isLowered() ? Start.lowestPeak() : Start.leastSeedPeak();
  if (Budget < Low)
    return false;
  findChains(Budget);
  findAnchors();
  First = known(Found[0]);
  if (!First)
    Repaired.emplace(
        D, [this](const Watch &Here) { return repaired(Found[0], Here); });
  // Two threads have enough to do with what is needed in any case.
  if (D.workers().count() > 2)
    beginOthers();
  return true;
}

int64_t Anchors::partOf(int64_t Work) const {
  double Part = std::sqrt(std::min(1.0, double(Of.FullWork) / M.numOps()));
  return int64_t(Part * double(Work));
}

int64_t Anchors::work() const {
  return partOf(Tuned.Work.OfEffort << std::min(O.Effort, 30));
}

void Anchors::limit(Attempt &A) const {
  A.MostOfFit = Of.OfFitPerOp * M.numOps();
  A.LeastOfExchange = partOf(Tuned.Work.OfExchange);
}

Anchors::Ends Anchors::known(Anchor X) const {
  auto It = Known.Searched.find(X);
  return It == Known.Searched.end() ? nullptr : It->second;
}

void Anchors::beginOthers() {
  if (!Others.empty())
    return;
  for (size_t I = 1; I < Found.size(); ++I)
    Others.emplace_back(
        D,
        [this, X = Found[I], Kept = known(Found[I])](const Watch &Here) {
          return Kept ? Kept : searched(*repaired(X, Here));
        },
        Asked::Later);
}

std::unique_ptr<Attempt> Anchors::repaired(Anchor X, const Watch &Here) const {
  auto [At, Again] = X;
  auto A = std::make_unique<Attempt>(M, O.Seed + uint64_t(Again), Here, At,
                                     M.BaseTime);
  limit(*A);
  A->repairSeeds(At < Start.leastSeedPeak() ? Start.squeezedTo(At)
                                            : Start.unsqueezed(),
                 /*Few=*/false);
  return A;
}

Anchors::Ends Anchors::searched(Attempt &A) const {
  A.annealSeeds(work() * Tuned.Attempt.SeedEighths / 8);
  A.fromPairsAndBest(work());
  return std::make_shared<const std::vector<Seed>>(A.ends());
}

Anchors::Ends Anchors::first(double Bound) {
  if (First)
    return First;
  std::unique_ptr<Attempt> A = Repaired->get();
  A->watch(D);
  A->prove(Bound);
  // A second thread has nothing else to do from here on.
  beginOthers();
  return First = searched(*A);
}

/// Of all anchors, as they are found.
std::vector<Anchors::Ends> Anchors::allSearched() {
  beginOthers();
  std::vector<Ends> Out = {First};
  for (Ahead<Ends> &X : Others)
    Out.push_back(X.get());
  if (!D.passed())
    for (size_t I = 0; I < Out.size(); ++I)
      Known.Searched[Found[I]] = Out[I];
  return Out;
}

/// The plans of the budget below, and of anchors that it did not have.
Anchors::Ends Anchors::cross(int64_t At, const Ends &Below,
                             const std::vector<Ends> &More,
                             const Watch &Here) const {
  Attempt A(M, O.Seed + uint64_t(At), Here, At, M.BaseTime);
  A.TakeAlong = true;
  limit(A);
  if (Below)
    A.fromPlans(*Below, Of.Repaired);
  for (const Ends &X : More)
    A.fromPlans(*X);
  A.fromPairs(work() / (Below ? Of.PairPart : Of.FirstPairPart));
  A.exchangeEnds(Of.Exchanged);
  A.fromBest(work() / (Below ? Of.BestPart : Of.FirstBestPart));
  return std::make_shared<const std::vector<Seed>>(A.ends());
}

/// What each budget of a chain ends with. Writes nothing that others read.
std::vector<Anchors::Ends> Anchors::climb(const Chain &X,
                                          const std::vector<Ends> &Within,
                                          const Watch &Here) const {
  std::vector<Ends> Out;
  for (int64_t At : X) {
    Ends Below = Out.empty() ? nullptr : Out.back();
    if (auto It = Known.Crossed.find({X[0], At}); It != Known.Crossed.end()) {
      Out.push_back(It->second);
      continue;
    }
    std::vector<Ends> More;
    for (size_t I = 0; I < Found.size(); ++I) {
      int64_t Anchor = Found[I].first;
      bool IsNew = Below ? Anchor > X[Out.size() - 1] : More.size() < Of.Count;
      if (Anchor <= At && IsNew)
        More.push_back(Within[I]);
    }
    Out.push_back(cross(At, Below, More, Here));
    if (Here.passed())
      break;
  }
  return Out;
}

std::vector<Anchors::Ends> Anchors::crossed() {
  std::vector<Ends> Within = allSearched();
  auto Make = [&](size_t I, const Watch &Here) {
    return climb(Chains[I], Within, Here);
  };
  std::vector<std::vector<Ends>> Climbed;
  auto Take = [&](size_t, std::vector<Ends> X) {
    Climbed.push_back(std::move(X));
    return true;
  };
  inOrder(D, Chains.size(), Lead::Certain, Make, Take);
  std::vector<Ends> Out;
  for (size_t I = 0; I < Climbed.size(); ++I) {
    if (!D.passed())
      for (size_t J = 0; J < Climbed[I].size(); ++J)
        Known.Crossed[{Chains[I][0], Chains[I][J]}] = Climbed[I][J];
    Out.push_back(Climbed[I].back());
  }
  return Out;
}
