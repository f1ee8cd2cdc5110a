//===- Search.cpp - The default strategy ----------------------------------===//
#include "Search/Search.h"

#include "Problem/Peak.h"
#include "Search/Attempt.h"

#include <algorithm>

using namespace remat::solver;

namespace {

class Searcher {
public:
  Searcher(const Model &M, const SolveOptions &O, const Watch &D,
           SearchMemory &Memory)
      : M(M), O(O), D(D), Memory(Memory), Best(M, O.Budget) {}

  SearchResult run() {
    Seeds = Memory.seeds(O.Seed, D);
    for (const Seed &X : Seeds)
      Best.offer(X.S);
    SearchResult R;
    if (M.numOps() <= Tuned.Size.Few && O.Effort > 0)
      CloseCost = costToClose();
    lower(O.FindMinBudget ? 0 : hasRungs() ? highestRung() : O.Budget, R);
    if (opensRungs())
      searchRungs(R);
    else if (Best.feasible() && O.Effort > 0 &&
             Best.measured().cost() >
                 D.Bound + 10 * Tuned.Near.Rounding * M.BaseTime)
      attempt(M.numOps() >= Tuned.Size.Many);
    // `measure` counts more than `verify` for some outputs in a resident's
    // place: where it finds no plan that fits, the lowest one may.
    if (Best.feasible())
      R.Best = Best.plan();
    else
      R.Best = std::move(Lowest);
    return R;
  }

  /// Every rung up to the budget.
  void climbAll() {
    Seeds = Memory.seeds(O.Seed, D);
    CloseCost = 0;
    SearchResult R;
    lower(0, R);
    climb(work() / Tuned.Rungs.RungPart, /*WholeWay=*/true);
  }

private:
  const Model &M;
  const SolveOptions &O;
  const Watch &D;
  SearchMemory &Memory;
  Incumbent Best;
  /// The plan whose peak is the smallest budget known.
  Plan Lowest;
  std::vector<Seed> Seeds;
  /// Lowered plans within the budget; where there are rungs, all on the way to
  /// the lowest too.
  std::vector<Plan> Squeezed;
  /// What searches at the highest rung alone found.
  std::vector<Plan> Alone;
  /// See `costToClose`; negative where rungs are not searched.
  double CloseCost = -1;

  int64_t peakOf(const Plan &S) const { return remat::solver::peakOf(M.P, S); }

  void setLowest(const Plan &S, int64_t Peak, SearchResult &R) {
    Lowest = S;
    R.MinBudget = Peak;
  }

  size_t lowest() const {
    size_t Low = 0;
    for (size_t I = 1; I < Seeds.size(); ++I)
      if (Seeds[I].Of.Peak < Seeds[Low].Of.Peak)
        Low = I;
    return Low;
  }

  int64_t unit() const {
    return std::max<int64_t>(1, Seeds[0].Of.Peak / Tuned.Rungs.OfPeak);
  }

  int64_t highestRung() const { return O.Budget / unit() * unit(); }

  /// What leaves little open at the budget or at the highest rung.
  double costToClose() const {
    Bounds B = Memory.bounds(highestRung(), D, false);
    bool Fits = B.LeastBudget <= highestRung();
    double Bound = Fits ? std::max(D.Bound, M.BaseTime + B.Extra) : D.Bound;
    return Bound + Tuned.Near.Open * M.BaseTime;
  }

  /// Rungs are searched on small problems.
  bool hasRungs() const { return CloseCost >= 0; }

  /// There is a plan, and a much better one may be found. Lowered plans are
  /// seeds then, also where others fit.
  bool opensRungs() const {
    return hasRungs() && Best.feasible() && !closes(Best);
  }

  bool closes(const Incumbent &X) const {
    return X.feasible() && X.measured().cost() <= CloseCost;
  }

  /// Lowers the peak of the lowest seeds, shortly, then of what came out
  /// lowest, at length. What it does depends on the budget only in when it
  /// stops, so that the lowest peak found is the same whatever budget is asked
  /// for, and every budget from there on is met.
  void squeeze(int64_t Target, SearchResult &R) {
    std::vector<const Seed *> Low;
    for (const Seed &X : Seeds)
      Low.push_back(&X);
    std::sort(Low.begin(), Low.end(), [](const Seed *A, const Seed *B) {
      return A->Of.Peak != B->Of.Peak ? A->Of.Peak < B->Of.Peak
                                      : A->Of.Time < B->Of.Time;
    });
    setLowest(Low[0]->S, peakOf(Low[0]->S), R);
    std::vector<std::pair<int64_t, Plan>> Lower;
    size_t Left[] = {Tuned.Squeeze.FromOthers, Tuned.Squeeze.FromSegments};
    for (const Seed *X : Low)
      if (size_t &N = Left[X->From >= Family::Segments]; N > 0) {
        --N;
        Lower.push_back(squeezed(X->S, Target, Tuned.Squeeze.ShortPart, R));
      }
    auto Less = [](auto &A, auto &B) { return A.first < B.first; };
    for (size_t I = 0; I < Tuned.Squeeze.AtLength; ++I) {
      auto X = std::min_element(Lower.begin(), Lower.end(), Less);
      if (X == Lower.end() || X->first <= Target)
        break;
      squeezed(X->second, Target, 1, R);
      Lower.erase(X);
    }
    for (Plan &P : Squeezed)
      addSeed(M, Seeds, std::move(P), Family::Squeezed);
    Squeezed.clear();
  }

  /// Seeds within the target, where there are none.
  void lower(int64_t Target, SearchResult &R) {
    if (Seeds[lowest()].Of.Peak > Target)
      squeeze(Target, R);
    else
      setLowest(Seeds[lowest()].S, peakOf(Seeds[lowest()].S), R);
  }

  /// A part of the work on one plan. Returns what it is lowered to, with its
  /// peak.
  std::pair<int64_t, Plan> squeezed(const Plan &From, int64_t Target, int Part,
                                    SearchResult &R) {
    int Tries =
        std::clamp(Tuned.Squeeze.Tries / (M.numOps() + 1),
                   Tuned.Squeeze.LeastTries, Tuned.Squeeze.MostTries)
        << std::min(std::max(O.Effort - 1, 0), Tuned.Squeeze.MostDoublings);
    std::vector<Lowered> Passed =
        Memory.lower(From, Target, Tries / Part, Part, O.Seed, D);
    Plan P = Passed.back().S;
    // What nobody reads goes from the plan in the end.
    dropUnread(M, P);
    int64_t Peak = peakOf(P);
    if (Peak < R.MinBudget)
      setLowest(P, Peak, R);
    Best.offer(P);
    Memory.found(P);
    if (!hasRungs())
      Passed = {{P, Peak}};
    for (Lowered &X : Passed)
      if (peakOf(X.S) <= O.Budget)
        Squeezed.push_back(std::move(X.S));
    return {Peak, std::move(P)};
  }

  int64_t work() const { return Tuned.Work.OfEffort << std::min(O.Effort, 30); }

  /// Searches within budgets a little below this one. Where that closes the gap
  /// at once, the way to the lowest peak is spared.
  void searchRungs(SearchResult &R) {
    if (closeAlone())
      return;
    if (!O.FindMinBudget) {
      // How far these were lowered depends on the budget.
      std::erase_if(Seeds,
                    [](const Seed &X) { return X.From == Family::Squeezed; });
      lower(0, R);
      if (closeAlone())
        return;
    }
    climb(work() / Tuned.Rungs.RungPart);
    // On its way up a climb may be cut short where nothing is good yet.
    if (D.passed())
      for (const Plan &P : Alone)
        Best.offer(P);
  }

  /// At the highest rung alone. What it finds counts only where that is enough:
  /// it may be luck that the next budget does not have.
  bool closeAlone() {
    int64_t Work = work() / Tuned.Rungs.AlonePart;
    Attempt A(M, O.Seed, D, highestRung());
    A.fromSeeds(Seeds, true, Work);
    A.fromPairs(Work);
    A.fromBest(Work);
    if (!A.best().feasible())
      return false;
    Alone.push_back(A.best().plan());
    Memory.found(A.best().plan());
    if (closes(A.best()))
      Best.offer(Alone.back());
    return closes(A.best());
  }

  /// From the lowest peak up to the budget, or to the peak of the base order:
  /// a unit apart at first, then by a part of their height.
  std::vector<int64_t> rungs() const {
    std::vector<int64_t> Out;
    int64_t Lowest = Seeds[lowest()].Of.Peak;
    int64_t Highest = std::min(O.Budget, Seeds[0].Of.Peak);
    for (int64_t Rung = Lowest; Rung <= Highest;
         Rung += std::max(unit(), (Rung - Lowest) / Tuned.Rungs.OfHeight))
      Out.push_back(Rung);
    return Out;
  }

  /// From rung to rung, each with the plans of the one below, so that what is
  /// found at one is not lost above it. All climbs start at the lowest peak and
  /// do the same up to the budget.
  /// On the whole way no budget is looked at: what is found at the rungs is for
  /// the pool.
  void climb(int64_t Work, bool WholeWay = false) {
    std::vector<int64_t> Rungs = rungs();
    Attempt All(M, O.Seed, D, O.Budget);
    std::vector<Seed> Below;
    for (int I = 0; I < int(Rungs.size()); ++I) {
      if (D.passed() || (!WholeWay && closes(Best)))
        break;
      Attempt A(M, O.Seed + 1000 * uint64_t(I), D, Rungs[I]);
      // Repairs from afar take long, and far up they find little.
      if (I % (I < Tuned.Rungs.OfHeight ? Tuned.Rungs.SeedsEvery
                                        : Tuned.Rungs.SeedsEveryAbove) ==
          0)
        A.fromSeeds(Seeds, true, Work);
      for (const Seed &X : Below)
        A.fromPlan(X.S, 0, X.From);
      A.fromPairs(Work);
      A.fromBest(Work);
      for (const Seed &X : A.ends())
        Memory.found(X.S);
      if (WholeWay) {
        Below = A.ends();
        continue;
      }
      // Those that the rung below ended in have been fitted to the budget.
      for (const Seed &X : A.ends())
        if (!isAmong(Below, X))
          All.fromPlan(X.S, 0, X.From);
      Below = A.ends();
      if (All.best().feasible())
        Best.offer(All.best().plan());
    }
  }

  /// Within the budget itself. On large problems few plans are tried and none
  /// crossed: to build a schedule takes long there.
  void attempt(bool Few) {
    int64_t Work = work();
    Attempt A(M, O.Seed, D, O.Budget);
    A.fromSeeds(Seeds, Few, Few ? Work : Work * Tuned.Attempt.SeedEighths / 8);
    if (!A.best().feasible())
      return;
    if (!Few) {
      A.fromPairs(Work * Tuned.Attempt.PairEighths / 8);
      A.fromBest(Work * Tuned.Attempt.BestEighths / 8);
    }
    Best.offer(A.best().plan());
    for (const Seed &X : A.ends())
      Memory.found(X.S);
  }
};

} // namespace

SearchResult remat::solver::solveSearch(const Model &M, const SolveOptions &O,
                                        const Watch &D, SearchMemory &Memory) {
  return Searcher(M, O, D, Memory).run();
}

void remat::solver::climbRungs(const Model &M, const SolveOptions &O,
                               const Watch &D, SearchMemory &Memory) {
  Searcher(M, O, D, Memory).climbAll();
}
