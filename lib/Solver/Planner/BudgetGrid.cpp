//===- BudgetGrid.cpp - Searches at budgets that all calls share ----------===//
#include "Planner/BudgetGrid.h"

#include "Search/Attempt.h"

#include <algorithm>

using namespace remat::solver;

/// One call.
class BudgetGrid::Call {
public:
  Call(BudgetGrid &G, const SolveOptions &O, const Watch &D)
      : G(G), M(G.M), O(O), D(D), Found(G.Known[{O.Effort, O.Seed}]),
        Start(M, O, D, G.Memory), Best(M, O.Budget),
        Fitted(M, O.Seed, D, O.Budget, D.Bound),
        Work(Tuned.Work.OfEffort << std::min(O.Effort, 30)) {}

  SearchResult run() {
    offerSeeds();
    if (O.FindMinBudget || !Best.feasible()) {
      Start.lower();
      offerSeeds();
    }
    if (O.Effort > 0 && !closes() && Start.leastPeak() <= O.Budget) {
      if (M.numOps() <= Tuned.Size.Few)
        searchGrid();
      else
        searchHere();
    }
    SearchResult R;
    R.MinBudget = Start.lowest().Peak;
    // `measure` counts more than `verify` for some outputs in a resident's
    // place: where it finds no plan that fits, the lowest one may.
    R.Best = Best.feasible() ? Best.plan() : Start.lowest().S;
    return R;
  }

  void fill() {
    Start.lower();
    climb(Start.leastPeak(), nullptr, [&](const Point &) { return false; });
  }

private:
  BudgetGrid &G;
  const Model &M;
  const SolveOptions &O;
  const Watch &D;
  Searched &Found;
  Starts Start;
  Incumbent Best;
  /// Plans of the grid, fitted to the budget of the call.
  Attempt Fitted;
  std::vector<Seed> Seen;
  const int64_t Work;
  static constexpr const auto &Of = Tuned.Grid;

  void offerSeeds() {
    for (const Seed &X : Start.seeds())
      Best.offer(X.S);
  }

  bool closes() const {
    return Best.cost() <= D.Bound + Tuned.Near.Open * M.BaseTime;
  }

  int64_t unit() const {
    return std::max<int64_t>(1, Start.seeds()[0].Of.Peak / Of.OfPeak);
  }

  /// What the base order needs is enough for every plan.
  int64_t highest() const {
    return std::min(O.Budget, Start.seeds()[0].Of.Peak);
  }

  /// Returns whether the call may end.
  bool look(const Point &X) {
    for (const Seed &Y : X.Ends)
      if (!isAmong(Seen, Y))
        Fitted.fromPlan(Y.S, 0, Y.From);
    Seen = X.Ends;
    if (Fitted.best().feasible())
      Best.offer(Fitted.best().plan());
    return closes() || D.passed();
  }

  void searchGrid() {
    auto Look = [this](const Point &X) { return look(X); };
    int64_t Step = Of.Coarse * unit();
    for (int64_t At = highest() / Step * Step; At >= Start.leastSeedPeak();
         At -= Step) {
      PointPtr X = coarse(At);
      if (look(*X))
        return;
      if (X->IsClosed)
        return climb(At, X, Look);
    }
    Start.lower();
    climb(Start.leastPeak(), nullptr, Look);
  }

  /// Within the budget itself. On large problems few plans are tried and none
  /// crossed: to build a schedule takes long there.
  void searchHere() {
    bool Few = M.numOps() >= Tuned.Size.Many;
    Attempt A(M, O.Seed, D, O.Budget, D.Bound);
    A.fromSeeds(Start.seeds(), Few,
                Few ? Work : Work * Tuned.Attempt.SeedEighths / 8);
    if (!Few) {
      A.fromPairs(Work * Tuned.Attempt.PairEighths / 8);
      A.fromBest(Work * Tuned.Attempt.BestEighths / 8);
    }
    tell(A);
    if (A.best().feasible())
      Best.offer(A.best().plan());
  }

  /// From the seeds. Squeezed plans are left out: whether there are any depends
  /// on the budget of the call. Where even the repaired seeds leave much open,
  /// nothing would come as close to the bound as is asked for.
  PointPtr coarse(int64_t At) {
    if (auto It = Found.Coarse.find(At); It != Found.Coarse.end())
      return It->second;
    double Bound = M.BaseTime + G.Memory.bounds(At, D, /*Exact=*/true).Extra;
    Attempt A(M, O.Seed, D, At, Bound);
    int64_t Part = Work / Of.CoarsePart;
    A.fromSeeds(Start.unsqueezed(), /*Few=*/true, Part);
    if (A.best().cost() <= Bound + Tuned.Near.Promising * M.BaseTime) {
      A.fromPairs(Part);
      A.fromBest(Part);
    }
    bool IsClosed = A.best().cost() <= Bound + Tuned.Near.Open * M.BaseTime;
    PointPtr X = pointOf(A, IsClosed);
    if (!D.passed())
      Found.Coarse[At] = X;
    return X;
  }

  /// Goes up from a budget, a unit at first, then by a part of the height, and
  /// shows every point until `Look` says that it is enough.
  template <typename LookFn>
  void climb(int64_t Low, PointPtr Below, LookFn Look) {
    std::vector<PointPtr> &Fine = Found.Fine[Low];
    auto Next = [&](int64_t At) {
      return At + std::max(unit(), (At - Low) / Of.OfHeight);
    };
    int64_t At = Below ? Next(Low) : Low;
    for (size_t I = 0; At <= highest(); ++I, At = Next(At)) {
      PointPtr X = I < Fine.size() ? Fine[I] : fine(I, At, Below.get());
      bool IsEnough = Look(*X);
      if (D.passed())
        return;
      if (I == Fine.size())
        Fine.push_back(X);
      if (IsEnough)
        return;
      Below = std::move(X);
    }
  }

  /// From the plans of the fine budget below, and now and then from the seeds.
  PointPtr fine(size_t I, int64_t At, const Point *Below) {
    Attempt A(M, O.Seed + 1000 * uint64_t(I), D, At, M.BaseTime);
    int64_t Part = Work / Of.FinePart;
    if (I % (I < size_t(Of.OfHeight) ? Of.SeedsEvery : Of.SeedsEveryAbove) == 0)
      A.fromSeeds(Start.seeds(), /*Few=*/true, Part);
    if (Below)
      for (const Seed &X : Below->Ends)
        A.fromPlan(X.S, 0, X.From);
    A.fromPairs(Part);
    A.fromBest(Part);
    return pointOf(A, /*IsClosed=*/false);
  }

  PointPtr pointOf(const Attempt &A, bool IsClosed) const {
    tell(A);
    return std::make_shared<const Point>(Point{A.ends(), IsClosed});
  }

  void tell(const Attempt &A) const {
    if (G.OnPlan)
      for (const Seed &X : A.ends())
        G.OnPlan(X.S);
  }
};

SearchResult BudgetGrid::search(const SolveOptions &O, const Watch &D) {
  return Call(*this, O, D).run();
}

void BudgetGrid::fill(const SolveOptions &O, const Watch &D) {
  Call(*this, O, D).fill();
}
