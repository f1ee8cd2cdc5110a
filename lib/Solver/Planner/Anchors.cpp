//===- Anchors.cpp - Searches within budgets that neighbours share --------===//
#include "Planner/Anchors.h"

#include <algorithm>
#include <bit>
#include <cmath>

using namespace remat::solver;

static constexpr const auto &Of = Tuned.Anchors;

/// Units: such a part of the largest power of two up to the height.
static int64_t partOfHeight(int64_t Height, int64_t Part) {
  return std::max<int64_t>(1, int64_t(std::bit_floor(uint64_t(Height))) / Part);
}

/// The largest budget up to one that is so many units above the lowest peak, or
/// twice as many, and so on.
int64_t Anchors::roundDown(int64_t At, int64_t Units) const {
  return Low + heightOf(At) / Units * Units * Unit;
}

/// The largest anchor up to a budget, which is not below the lowest peak.
int64_t Anchors::anchorBelow(int64_t At) const {
  return roundDown(At, isFar(At) ? partOfHeight(heightOf(At), Of.AnchorPart)
                                 : Of.Units);
}

/// The next budget of a chain.
int64_t Anchors::above(int64_t At) const {
  int64_t Step = partOfHeight(heightOf(At), Of.StepPart);
  return roundDown(At, Step) + Step * Unit;
}

/// Where the stage of a budget begins.
int64_t Anchors::stageOf(int64_t At) const {
  return roundDown(At, isFar(At) ? partOfHeight(heightOf(At), Of.StagePart)
                                 : Of.StageUnits);
}

void Anchors::findChains() {
  auto From = [&](int64_t Begin, int64_t End) {
    Chain Out;
    for (int64_t At = Begin; At < End; At = above(At))
      Out.push_back(At);
    return Out;
  };
  auto Before = [&](int64_t Begin) {
    return Begin > Low ? stageOf(Begin - 1) : Low;
  };
  int64_t Base = stageOf(Budget), First = Before(Base), Second = Before(First);
  Chains.push_back(From(First, Budget + 1));
  if (Second < First)
    Chains.push_back(From(Second, Base));
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

static int64_t nearestBelow(int64_t Budget, int64_t Unit) {
  return Budget / (Of.NearestUnits * Unit) * (Of.NearestUnits * Unit);
}

bool Anchors::isNearestKnown(int64_t Within) const {
  return Start.isLowered() ||
         nearestBelow(Within, Unit) >= Start.leastSeedPeak();
}

bool Anchors::begin(int64_t Within) {
  Budget = Within;
  if (!isNearestKnown(Budget))
    Start.lower();
  if (Start.isLowered() && Budget < Start.lowestPeak())
    return false;
  NearestAt = nearestBelow(Budget, Unit);
  if (NearestAt < Start.leastSeedPeak())
    NearestAt = std::max(NearestAt, Start.lowestPeak());
  if (auto It = Known.Nearest.find(NearestAt); It != Known.Nearest.end())
    Nearest = It->second;
  else
    Repaired.emplace(D, [this](const Watch &Here) {
      return repaired({NearestAt, 0}, Here);
    });
  // Two threads have enough to do with what is needed in any case.
  if (D.workers().count() > 2)
    Start.lowerLater();
  return true;
}

static Anchors::Ends endsOf(const Attempt &A) {
  return std::make_shared<const std::vector<Seed>>(A.ends());
}

Anchors::Ends Anchors::nearest(double Bound) {
  auto Promises = [&](double Cost) {
    return Cost <= Bound + Tuned.Near.Promising * M.BaseTime;
  };
  if (!Nearest.second) {
    std::unique_ptr<Attempt> A = Repaired->get();
    double Cost = A->best().cost();
    A->watch(D);
    A->prove(Bound);
    Begun = Promises(Cost) ? searched(*A, work()) : endsOf(*A);
    if (Promises(Cost))
      Nearest = {Cost, Begun};
  }
  return Promises(Nearest.first) ? Nearest.second : nullptr;
}

void Anchors::findAll() {
  Start.lower();
  Low = Start.lowestPeak();
  findChains();
  findAnchors();
}

int64_t Anchors::partOf(int64_t Work) const {
  double Part = std::sqrt(double(Of.FullWork) / M.numOps());
  return int64_t(Part * double(Work));
}

int64_t Anchors::work() const {
  return partOf(Tuned.Work.OfEffort << std::min(O.Effort, 30));
}

void Anchors::limit(Attempt &A, int64_t OfExchange) const {
  A.MostOfFit = Of.OfFitPerOp * M.numOps();
  A.ScoredInFull = Of.ScoredInFull;
  A.WithMargins = Of.WithMargins;
  A.LeastOfExchange = partOf(OfExchange);
}

Anchors::Ends Anchors::known(Anchor X) const {
  auto It = Known.Searched.find(X);
  return It == Known.Searched.end() ? nullptr : It->second;
}

std::unique_ptr<Attempt> Anchors::repaired(Anchor X, const Watch &Here) const {
  auto [At, Again] = X;
  auto A = std::make_unique<Attempt>(M, O.Seed + uint64_t(Again), Here, At,
                                     M.BaseTime);
  limit(*A, Of.OfExchange);
  A->repairSeeds(At < Start.leastSeedPeak() ? Start.squeezedTo(At)
                                            : Start.unsqueezed(),
                 /*Few=*/false);
  return A;
}

Anchors::Ends Anchors::searched(Attempt &A, int64_t Work) const {
  A.annealSeeds(Work * Tuned.Attempt.SeedEighths / 8);
  A.fromPairsAndBest(Work);
  return endsOf(A);
}

/// Of all anchors, as they are found.
std::vector<Anchors::Ends> Anchors::allSearched() {
  for (Anchor X : Found)
    Searches.emplace_back(
        D,
        [this, X, Kept = known(X)](const Watch &Here) {
          return Kept ? Kept
                      : searched(*repaired(X, Here),
                                 work() / (isFar(X.first) ? Of.FarPart : 1));
        },
        Asked::Later);
  std::vector<Ends> Out;
  for (Ahead<Ends> &X : Searches)
    Out.push_back(X.get());
  if (D.passed())
    return Out;
  for (size_t I = 0; I < Out.size(); ++I)
    Known.Searched[Found[I]] = Out[I];
  if (Nearest.second)
    Known.Nearest[NearestAt] = Nearest;
  return Out;
}

/// The cheapest plans, at most `Most` each, of every few budgets of a chain,
/// its last one left out.
static std::vector<Seed> earlier(const std::vector<Anchors::Ends> &Ended,
                                 size_t Most) {
  std::vector<Seed> Out;
  for (size_t I = 0; I + 1 < Ended.size(); I += Of.EarlierEvery) {
    std::vector<size_t> Order = cheapestFirst(*Ended[I]);
    Order.resize(std::min(Order.size(), Most));
    for (size_t J : Order)
      Out.push_back((*Ended[I])[J]);
  }
  return Out;
}

/// Fits what a chain ended with so far to its next budget: the plans of the one
/// below, and at every few budgets plans of earlier ones.
void Anchors::fitEnded(Attempt &A, const std::vector<Ends> &Ended,
                       const Step &How) const {
  A.Orders = How.Orders;
  A.fromPlans(*Ended.back(), How.Repaired);
  if (Ended.size() % Of.EarlierEvery != 0)
    return;
  A.fromPlans(earlier(Ended, Of.EarlierInChain));
  A.Orders = Of.Orders;
  A.fromPlans(*Ended[Ended.size() - std::min(Ended.size(), Of.FarBelow)],
              Of.OfFarBelow);
}

/// The plans that a chain ended with so far, and of anchors that these did not
/// have.
Anchors::Ends Anchors::cross(int64_t At, const std::vector<Ends> &Ended,
                             const std::vector<Ends> &More,
                             const Watch &Here) const {
  Attempt A(M, O.Seed + uint64_t(At), Here, At, M.BaseTime);
  A.TakeAlong = true;
  const Step &How = isFar(At) ? Of.Beyond : Of.Near;
  const bool IsFirst = Ended.empty();
  limit(A, How.OfExchange);
  if (!IsFirst)
    fitEnded(A, Ended, How);
  A.Orders = How.Orders;
  for (const Ends &X : More)
    A.fromPlans(*X);
  A.fromPairs(work() / (IsFirst ? Of.FirstPairPart : How.PairPart));
  A.exchangeEnds(How.Exchanged);
  A.fromBest(work() / (IsFirst ? Of.FirstBestPart : How.BestPart));
  return endsOf(A);
}

/// What each budget of a chain ends with. Writes nothing that others read.
std::vector<Anchors::Ends> Anchors::climb(const Chain &X,
                                          const std::vector<Ends> &Within,
                                          const Watch &Here) const {
  std::vector<Ends> Out;
  for (int64_t At : X) {
    if (auto It = Known.Crossed.find({X[0], At}); It != Known.Crossed.end()) {
      Out.push_back(It->second);
      continue;
    }
    std::vector<Ends> More;
    for (size_t I = 0; I < Found.size(); ++I) {
      int64_t Anchor = Found[I].first;
      bool IsNew =
          Out.empty() ? More.size() < Of.Count : Anchor > X[Out.size() - 1];
      if (Anchor <= At && IsNew)
        More.push_back(Within[I]);
    }
    Out.push_back(cross(At, Out, More, Here));
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
  if (D.passed()) {
    if (Begun)
      Out.push_back(Begun);
    Out.insert(Out.end(), Within.begin(), Within.end());
    for (const std::vector<Ends> &X : Climbed)
      Out.insert(Out.end(), X.begin(), X.end());
    return Out;
  }
  for (size_t I = 0; I < Climbed.size(); ++I) {
    for (size_t J = 0; J < Climbed[I].size(); ++J)
      Known.Crossed[{Chains[I][0], Chains[I][J]}] = Climbed[I][J];
    Out.push_back(Climbed[I].back());
    std::vector<Seed> Earlier = earlier(Climbed[I], Of.EarlierInCall);
    Before.insert(Before.end(), Earlier.begin(), Earlier.end());
  }
  return Out;
}
