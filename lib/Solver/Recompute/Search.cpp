//===- Search.cpp - The default strategy ----------------------------------===//
#include "Cut.h"
#include "LocalSearch.h"
#include "Segments.h"

#include <algorithm>

using namespace remat::solver;

namespace {

/// Where a seed came from. Those of one family are much alike.
enum class Family : uint8_t {
  Kept,
  Cut,
  CalmCut,
  Sqrt,
  Greedy,
  Squeezed,
  Segments,
  CalmSegments
};

struct Seed {
  Plan S;
  Measure Of;
  Family From = Family::Kept;
};

class Searcher {
  /// Changes to a schedule: about a microsecond each.
  static constexpr int64_t WorkOfEffort = 400'000, WorkOfSqueeze = 1'200'000,
                           WorkOfCalm = 150'000;

public:
  Searcher(const Model &M, const SolveOptions &O, const Watch &D)
      : M(M), O(O), D(D), Best(M, O.Budget) {}

  SearchResult run() {
    makeSeeds();
    for (const Seed &X : Seeds)
      Best.offer(X.S);
    SearchResult R;
    if (O.FindMinBudget || Seeds[lowest()].Of.Peak > O.Budget)
      squeeze(R);
    else
      R.MinBudget = peakOf(Seeds[lowest()].S);
    if (Best.feasible() && O.Effort > 0 &&
        Best.measured().cost() > D.Bound + 1e-8 * M.BaseTime)
      improve();
    R.Best = Best.plan();
    return R;
  }

private:
  const Model &M;
  const SolveOptions &O;
  const Watch &D;
  Incumbent Best;
  std::vector<Seed> Seeds;
  /// Plans within the budget where no seed is.
  std::vector<Plan> Squeezed;

  void addSeed(Plan S, Family From) {
    dropUnread(M, S);
    Measure Of = measure(M, S);
    for (const Seed &X : Seeds)
      if (X.Of.Peak == Of.Peak && X.Of.Time == Of.Time && X.S == S)
        return;
    Seeds.push_back({std::move(S), Of, From});
  }

  int64_t peakOf(const Plan &S) const { return verify(M.P, S, INT64_MAX).Peak; }

  size_t lowest() const {
    size_t Low = 0;
    for (size_t I = 1; I < Seeds.size(); ++I)
      if (Seeds[I].Of.Peak < Seeds[Low].Of.Peak)
        Low = I;
    return Low;
  }

  std::vector<OpId> calmOrder(const std::vector<OpId> &Order) const {
    Schedule S(M, emitKept(M, Order), INT64_MAX / 4);
    LocalSearch L(S, O.Seed, D);
    L.WorkLimit = WorkOfCalm;
    L.calm();
    std::vector<OpId> Out;
    std::vector<bool> Ran(M.numOps(), false);
    for (const Step &X : S.plan().Sequence)
      if (!Ran[X.Op]) {
        Ran[X.Op] = true;
        Out.push_back(X.Op);
      }
    return Out;
  }

  /// Plans that do not depend on the budget.
  void makeSeeds() {
    std::vector<OpId> Base = baseOrder(M);
    std::vector<std::vector<OpId>> Orders = {Base, eagerOrder(M, Base),
                                             lazyOrder(M, Base)};
    Orders.push_back(eagerOrder(M, Orders[2]));
    Orders.push_back(leastOrder(M));
    Orders.push_back(calmOrder(Base));
    size_t Low = 0;
    int64_t LowPeak = INT64_MAX;
    for (size_t I = 0; I < Orders.size(); ++I) {
      Plan S = emitKept(M, Orders[I]);
      if (int64_t Peak = measure(M, S).Peak; Peak < LowPeak) {
        LowPeak = Peak;
        Low = I;
      }
      addSeed(std::move(S), Family::Kept);
    }
    if (M.Turn == None)
      return;
    addCuts(Orders[0], Family::Cut, Family::Segments);
    if (Orders[Low] != Orders[0])
      addCuts(Orders[Low], Family::CalmCut, Family::CalmSegments);
    sqrtPlans(M, addTo(Family::Sqrt));
    greedyPlans(M, addTo(Family::Greedy));
  }

  PlanSink addTo(Family From) {
    return [this, From](Plan S) {
      addSeed(std::move(S), From);
      return true;
    };
  }

  void addCuts(const std::vector<OpId> &Order, Family OfCut,
               Family OfSegments) {
    MomentCut Cut(M, M.Turn, MomentCut::sidesInOrder(M, M.Turn, Order));
    std::vector<MomentCut::Point> Hull = Cut.frontier(40, true);
    for (const MomentCut::Point &X : Hull)
      addSeed(emitDropped(M, Order, M.Turn, X.Dropped), OfCut);
    segmentPlans(M, Order, Hull, addTo(OfSegments));
  }

  /// The first of each family, then the others, as many as asked for.
  static void mixFamilies(std::vector<Seed> &All, size_t Count) {
    std::vector<Seed> Mixed, Others;
    uint32_t Seen = 0;
    for (Seed &X : All) {
      uint32_t Bit = 1u << int(X.From);
      (Seen & Bit ? Others : Mixed).push_back(std::move(X));
      Seen |= Bit;
    }
    for (Seed &X : Others)
      Mixed.push_back(std::move(X));
    Mixed.resize(std::min(Mixed.size(), Count));
    All = std::move(Mixed);
  }

  /// Lowers the peak of the lowest seeds, shortly, then of what came out
  /// lowest, at length. What it does depends on the budget only in when it
  /// stops, so that the lowest peak found is the same whatever budget is asked
  /// for, and every budget from there on is met.
  void squeeze(SearchResult &R) {
    constexpr size_t FromSegments = 5, FromOthers = 3, AtLength = 2;
    std::vector<const Seed *> Low;
    for (const Seed &X : Seeds)
      Low.push_back(&X);
    std::sort(Low.begin(), Low.end(), [](const Seed *A, const Seed *B) {
      return A->Of.Peak != B->Of.Peak ? A->Of.Peak < B->Of.Peak
                                      : A->Of.Time < B->Of.Time;
    });
    R.MinBudget = peakOf(Low[0]->S);
    std::vector<std::pair<int64_t, Plan>> Lower;
    size_t Left[] = {FromOthers, FromSegments};
    for (const Seed *X : Low)
      if (size_t &N = Left[X->From >= Family::Segments]; N > 0) {
        --N;
        Plan P = squeezed(X->S, 4, R);
        int64_t Peak = peakOf(P);
        Lower.push_back({Peak, std::move(P)});
      }
    auto Less = [](auto &A, auto &B) { return A.first < B.first; };
    for (size_t I = 0; I < AtLength; ++I) {
      auto X = std::min_element(Lower.begin(), Lower.end(), Less);
      if (X == Lower.end() || X->first <= (O.FindMinBudget ? 0 : O.Budget))
        break;
      squeezed(X->second, 1, R);
      Lower.erase(X);
    }
  }

  /// A part of the work on one plan. Returns what it is lowered to.
  Plan squeezed(const Plan &From, int Part, SearchResult &R) {
    int Tries = std::clamp(100'000 / (M.numOps() + 1), 20, 400)
                << std::min(std::max(O.Effort - 1, 0), 10);
    Schedule S(M, From, O.Budget);
    LocalSearch L(S, O.Seed, D);
    L.Price *= 10;
    L.SampleLimit = 1500;
    L.WorkLimit = WorkOfSqueeze / Part;
    Plan P;
    int64_t Peak = 0;
    L.squeeze(O.FindMinBudget ? 0 : O.Budget, Tries / Part, P, Peak);
    // What nobody reads goes from the plan in the end.
    dropUnread(M, P);
    Peak = peakOf(P);
    R.MinBudget = std::min(R.MinBudget, Peak);
    Best.offer(P);
    if (Peak <= O.Budget)
      Squeezed.push_back(P);
    return P;
  }

  /// The seeds that promise most: time and what their peak is over. So many of
  /// those from segments, and twice as many of the others.
  std::vector<const Seed *> promising(size_t Count) const {
    double Base = M.BaseTime, Low = double(Best.measured().Peak);
    double Most = double(Seeds[0].Of.Peak);
    double Slope =
        Most > Low ? (Best.measured().Time - Base) / (Most - Low) : 0;
    std::vector<std::pair<double, const Seed *>> Order;
    for (const Seed &X : Seeds)
      for (double Price : {1.5 * Slope, 5 * Slope}) {
        double Over = std::max(0.0, double(X.Of.Peak - O.Budget));
        Order.push_back({X.Of.Time + Price * Over, &X});
      }
    std::sort(Order.begin(), Order.end());
    std::vector<const Seed *> Out;
    size_t Left[] = {2 * Count, Count};
    for (auto &[Cost, X] : Order)
      if (size_t &N = Left[X->From >= Family::Segments];
          N > 0 && std::find(Out.begin(), Out.end(), X) == Out.end()) {
        Out.push_back(X);
        --N;
      }
    return Out;
  }

  /// Repairs a seed within a limit that is a little below the budget, then
  /// takes back what the budget does not ask for.
  void start(const Plan &P, double Margin, Family From,
             std::vector<Seed> &Starts) {
    Schedule S(M, P, int64_t(double(O.Budget) * (1 - Margin)));
    LocalSearch L(S, O.Seed, D);
    if (!L.repair(4 * M.numOps() + 100))
      return;
    S.setLimit(O.Budget);
    L.restore();
    Plan Repaired = S.plan();
    Measure Of = measure(M, Repaired);
    Best.offer(Repaired);
    for (const Seed &X : Starts)
      if (X.Of.Time == Of.Time && X.Of.Peak == Of.Peak)
        return;
    Starts.push_back({std::move(Repaired), Of, From});
  }

  double enough() const { return D.Bound + 1e-4 * M.BaseTime; }

  /// Returns the best plan that the local search finds from this one.
  Seed anneal(const Seed &From, int64_t Work, double Warmth, uint64_t Round) {
    Schedule S(M, From.S, O.Budget);
    LocalSearch L(S, O.Seed + Round, D);
    L.SampleLimit = 1500;
    L.WorkLimit = Work;
    L.Enough = enough();
    L.Warmth = Warmth;
    Plan P = From.S;
    double Cost = S.cost();
    L.improve(P, Cost);
    Best.offer(P);
    Measure Of = measure(M, P);
    return {std::move(P), Of, From.From};
  }

  /// Many starts, a short search from a few, a long one from the best.
  void improve() {
    std::vector<Seed> Starts;
    bool Large = M.numOps() >= 3000;
    start(Best.plan(), 0, Family::Squeezed, Starts);
    for (const Plan &P : Squeezed)
      start(P, 0, Family::Squeezed, Starts);
    for (const Seed *X : promising(Large ? 4 : 12))
      for (double Margin : {0.0, 0.01, 0.03})
        if (!D.passed() && (Margin == 0 || !Large))
          start(X->S, Margin, X->From, Starts);
    auto Cheaper = [](const Seed &A, const Seed &B) {
      return A.Of.cost() != B.Of.cost() ? A.Of.cost() < B.Of.cost()
                                        : A.Of.Peak < B.Of.Peak;
    };
    std::sort(Starts.begin(), Starts.end(), Cheaper);
    mixFamilies(Starts, 4);
    int64_t Work = WorkOfEffort << std::min(O.Effort, 30);
    for (Seed &X : Starts)
      if (Best.measured().cost() > enough())
        X = anneal(X, Work / 6, 0.1, 0);
    std::sort(Starts.begin(), Starts.end(), Cheaper);
    for (int Round = 1; Round <= 2 && !Starts.empty(); ++Round)
      if (Best.measured().cost() > enough())
        Starts[0] =
            anneal(Starts[0], Work / 4, Round == 1 ? 0.05 : 0.02, Round);
  }
};

} // namespace

SearchResult remat::solver::solveSearch(const Model &M, const SolveOptions &O,
                                        const Watch &D) {
  return Searcher(M, O, D).run();
}
