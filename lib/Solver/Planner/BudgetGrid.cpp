//===- BudgetGrid.cpp - Searches at budgets that all calls share ----------===//
#include "Planner/BudgetGrid.h"

#include "Model/Ahead.h"
#include "Search/Attempt.h"

#include <algorithm>

using namespace remat::solver;

/// One call.
class BudgetGrid::Call {
public:
  Call(BudgetGrid &G, const SolveOptions &O, const Watch &D)
      : G(G), M(G.M), O(O), D(D), Found(G.Known[{O.Effort, O.Seed}]),
        Start(M, O, D, G.Memory), Best(M, O.Budget),
        // Ends nothing: the call looks at the bound itself.
        Fitted(M, O.Seed, D, O.Budget, M.BaseTime),
        Shared(M, O, D, Start, unit(), Found.Anchored),
        Work(Tuned.Work.OfEffort << std::min(O.Effort, 30)) {}

  SearchResult run(const std::function<bool()> &Prove) {
    offerSeeds();
    if (O.FindMinBudget || !Best.feasible()) {
      Start.lower();
      offerSeeds();
    }
    bool MaySearch = O.Effort > 0 && Start.leastPeak() <= O.Budget;
    std::optional<Begun> Parts;
    auto Within = Found.Within.find({O.Budget, Start.isLowered()});
    bool IsKnown = Within != Found.Within.end();
    if (MaySearch && isLarge() && !IsKnown &&
        (!Start.hasAnchors() || Shared.isNearestKnown(highest())))
      begin(Parts);
    if ((MaySearch || O.Prove) && !Prove())
      return {};
    if (MaySearch && !closes()) {
      if (!isLarge())
        searchGrid();
      else if (IsKnown && Within->second.first == D.Bound)
        Best.offer(Within->second.second);
      else
        searchWithin(Parts);
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
    climb(Start.leastPeak(), nullptr, [](const Point &) { return false; });
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
  Anchors Shared;
  const int64_t Work;
  /// A way up: where it begins, with which plans, and at which budgets.
  struct Stages {
    int64_t Low;
    std::vector<Seed> Seeds;
    std::vector<int64_t> Budgets;
    /// What was searched there before.
    std::vector<PointPtr> Known;
  };
  /// What it found: all that counts from now on, what of it is new, the last.
  struct Climb {
    int64_t Low;
    std::vector<PointPtr> Points, New;
    PointPtr Last;
  };
  /// Parts of a search within a budget that do not depend on what is proven.
  struct Begun {
    std::optional<Ahead<std::unique_ptr<Attempt>>> Repaired;
    std::optional<Ahead<Climb>> Climbed;
    bool FromAnchors = false;
  };
  static constexpr const auto &Of = Tuned.Grid;

  bool isLarge() const { return M.numOps() > Tuned.Size.Few; }
  /// Few plans are tried and none crossed: to build a schedule takes long.
  bool isVeryLarge() const { return M.numOps() >= Tuned.Size.Many; }

  void offerSeeds() {
    for (const Seed &X : Start.seeds())
      Best.offer(X.S);
  }

  /// A plan that costs no more is as good as proven.
  double openCost() const { return D.Bound + Tuned.Near.Open * M.BaseTime; }
  bool closes() const { return Best.cost() <= openCost(); }

  int64_t unit() const {
    return std::max<int64_t>(1, Start.seeds()[0].Of.Peak / Of.OfPeak);
  }

  /// What the base order needs is enough for every plan.
  int64_t highest() const {
    return std::min(O.Budget, Start.seeds()[0].Of.Peak);
  }

  /// Returns whether the call may end.
  bool look(const Point &X) {
    std::vector<Attempt::Start> New;
    for (const Seed &Y : X.Ends)
      if (!isAmong(Seen, Y))
        New.push_back({&Y.S, 0, Y.From});
    Fitted.fromPlans(New);
    Seen = X.Ends;
    offer(Fitted);
    return closes() || D.passed();
  }

  void searchGrid() {
    // Where the walk ends without a point to climb from, this is needed.
    Start.lowerLater();
    auto Look = [this](const Point &X) { return look(X); };
    int64_t Step = Of.Coarse * unit(), First = highest() / Step * Step;
    int64_t Count =
        std::max<int64_t>(0, (First - Start.leastSeedPeak() + Step) / Step);
    PointPtr Closed;
    int64_t ClosedAt = 0;
    bool MayEnd = false;
    auto Begin = [&](size_t I) {
      int64_t At = First - int64_t(I) * Step;
      auto It = Found.Coarse.find(At);
      PointPtr Known = It == Found.Coarse.end() ? nullptr : It->second;
      return [this, At, Known](const Watch &Here) {
        return Known ? Known : coarse(At, Here);
      };
    };
    auto Take = [&](size_t I, PointPtr X) {
      int64_t At = First - int64_t(I) * Step;
      if (!Found.Coarse.contains(At)) {
        tell(X->Ends);
        if (!D.passed())
          Found.Coarse[At] = X;
      }
      MayEnd = look(*X);
      if (X->IsClosed && !MayEnd) {
        Closed = std::move(X);
        ClosedAt = At;
      }
      return !MayEnd && !Closed;
    };
    inOrderFrom(D, size_t(Count), Lead::Aside, Begin, Take);
    if (MayEnd)
      return;
    if (Closed)
      return climb(ClosedAt, Closed, Look);
    Start.lower();
    climb(Start.leastPeak(), nullptr, Look);
  }

  /// What a search within the budget itself begins with. The bound may not be
  /// known yet.
  std::unique_ptr<Attempt> repaired(const Watch &Here) const {
    auto A = std::make_unique<Attempt>(M, O.Seed, Here, O.Budget, M.BaseTime);
    A->repairSeeds(Start.seeds(), /*Few=*/isVeryLarge());
    return A;
  }

  /// What other threads may make while the bound is sought. Of the way up, only
  /// where it begins is made here, and only if that is known.
  void begin(std::optional<Begun> &Parts) {
    Parts.emplace().FromAnchors = Start.hasAnchors() && Shared.begin(highest());
    if (Parts->FromAnchors)
      return;
    Parts->Repaired.emplace(
        D, [this](const Watch &Here) { return repaired(Here); });
    // Two threads have enough to do with what is needed in any case.
    if (D.workers().count() <= 2 || !(Start.isLowered() || fitsStages()))
      return;
    auto Of = std::make_shared<const Stages>(stages());
    Parts->Climbed.emplace(
        D, [this, Of](const Watch &Here) { return climbStages(*Of, Here); },
        Asked::Later);
  }

  void searchWithin(std::optional<Begun> &Parts) {
    bool IsLowered = Start.isLowered();
    if (!Parts)
      begin(Parts);
    if (Parts->FromAnchors)
      searchAnchors();
    else
      searchHere(*Parts);
    if (Best.feasible() && !D.passed())
      Found.Within[{O.Budget, IsLowered}] = {D.Bound, Best.plan()};
  }

  /// Within the budget itself; where that leaves something open, from the plans
  /// of the grid below it too.
  void searchHere(Begun &Parts) {
    std::unique_ptr<Attempt> From = Parts.Repaired->get();
    Attempt &A = *From;
    A.watch(D);
    A.prove(D.Bound);
    A.annealSeeds(isVeryLarge() ? Work : Work * Tuned.Attempt.SeedEighths / 8);
    searchFromBest(A);
    A.TakeAlong = true;
    A.exchangeEnds(Tuned.Attempt.Crossed);
    tell(A.ends());
    offer(A);
    if (closes() || D.passed())
      return;
    Climb Up = climbStages(Parts.Climbed);
    if (!Up.Last)
      return;
    A.fromPlans(Up.Last->Ends);
    A.exchangeEnds(Of.Exchanged);
    searchFromBest(A);
    A.exchangeEnds(Of.Exchanged);
    offer(A);
    tell(A.ends());
  }

  /// From what the search within the nearest anchor ended with, where little is
  /// open, then from what all of them did.
  void searchAnchors() {
    Anchors::Ends Nearest = Shared.nearest(D.Bound);
    if (Nearest)
      tell(*Nearest);
    if (!(Nearest && closesFrom(*Nearest)) && !D.passed())
      crossAnchors();
  }

  /// What the nearest anchor ended with, and what is searched for within the
  /// call's budget, counts only where that ends the call: its neighbours have
  /// something else there.
  bool closesFrom(const std::vector<Seed> &Plans) {
    Attempt A(M, O.Seed, D, O.Budget, D.Bound);
    A.fromPlans(Plans);
    double Promising = D.Bound + Tuned.Near.Promising * M.BaseTime;
    double Fitted = A.best().cost();
    if (Fitted > openCost() && Fitted <= Promising) {
      searchFromBest(A);
      A.TakeAlong = true;
      A.exchangeEnds(Tuned.Attempt.Crossed);
      tell(A.ends());
    }
    if (A.best().cost() <= openCost())
      offer(A);
    return closes();
  }

  /// Fits what the chains ended with to the budget. Exchanges there would find
  /// what the neighbours do not have: one made a plan 1 % cheaper.
  void crossAnchors() {
    Attempt A(M, O.Seed, D, O.Budget, D.Bound);
    A.Orders = Tuned.Anchors.Orders;
    Shared.findAll();
    for (const Anchors::Ends &X : Shared.crossed()) {
      tell(*X);
      A.fromPlans(*X);
    }
    A.fromPlans(Shared.earlierPlans());
    offer(A);
    tell(A.ends());
  }

  void searchFromBest(Attempt &A) const {
    if (!isVeryLarge())
      A.fromPairsAndBest(Work);
  }

  void offer(const Attempt &A) {
    if (A.best().feasible())
      Best.offer(A.best().plan());
  }

  /// From the seeds. Squeezed plans are left out: whether there are any depends
  /// on the budget of the call. Where even the repaired seeds leave much open,
  /// nothing would come as close to the bound as is asked for.
  PointPtr coarse(int64_t At, const Watch &Here) const {
    double Bound = M.BaseTime + G.Memory.bounds(At, Here, /*Exact=*/true).Extra;
    Attempt A(M, O.Seed, Here, At, Bound);
    int64_t Part = Work / Of.CoarsePart;
    A.fromSeeds(Start.unsqueezed(), /*Few=*/true, Part);
    if (A.best().cost() <= Bound + Tuned.Near.Promising * M.BaseTime) {
      A.fromPairs(Part);
      A.fromBest(Part);
    }
    bool IsClosed = A.best().cost() <= Bound + Tuned.Near.Open * M.BaseTime;
    return pointOf(A, IsClosed);
  }

  /// Goes up from a budget, a unit at first, then by a part of the height, and
  /// shows every point until `Look` says that it is enough.
  template <typename LookFn>
  void climb(int64_t Low, PointPtr Below, LookFn Look) {
    std::vector<int64_t> Budgets;
    auto Next = [&](int64_t At) {
      return At + std::max(unit(), (At - Low) / Of.OfHeight);
    };
    for (int64_t At = Below ? Next(Low) : Low; At <= highest(); At = Next(At))
      Budgets.push_back(At);
    auto Tell = [&](const PointPtr &X, bool IsNew) {
      if (IsNew)
        tell(X->Ends);
      return Look(*X);
    };
    climbBy(D, Found.Fine[Low], Budgets, Start.seeds(), std::move(Below), Tell);
  }

  /// One stage below that of the budget.
  int64_t beginOfStages() const {
    int64_t Stage = unit() * Of.OfStage * Of.StageUnits;
    return std::max<int64_t>(0, highest() / Stage - 1) * Stage;
  }
  bool fitsStages() const { return beginOfStages() >= Start.leastSeedPeak(); }

  /// From where the stage before that of the budget begins, or from the lowest
  /// peak known.
  Stages stages() {
    int64_t Step = Of.StageUnits * unit(), Low = beginOfStages();
    // None of these depends on the budget of the call.
    std::vector<Seed> Seeds = Start.unsqueezed();
    bool IsLowest = false;
    if (!fitsStages()) {
      Start.lower();
      addSeed(M, Seeds, Start.lowest().S, Family::Squeezed);
      IsLowest = Low < Start.leastPeak();
      Low = std::max(Low, Start.leastPeak());
    }
    // Low down, a little more room saves much.
    auto Next = [&](int64_t At) {
      int64_t Near = At + std::max(unit(), (At - Low) / Of.OfStage);
      return IsLowest ? std::min(Near, (At / Step + 1) * Step)
                      : (At / Step + 1) * Step;
    };
    std::vector<int64_t> Budgets;
    for (int64_t At = Low; At <= highest(); At = Next(At))
      Budgets.push_back(At);
    return {Low, std::move(Seeds), std::move(Budgets), Found.Fine[Low]};
  }

  /// Writes nothing that others read: it may run beside a search.
  Climb climbStages(const Stages &Of, const Watch &Here) const {
    Climb R{Of.Low, Of.Known, {}, nullptr};
    auto Look = [&](const PointPtr &X, bool IsNew) {
      if (IsNew)
        R.New.push_back(X);
      R.Last = X;
      return false;
    };
    climbBy(Here, R.Points, Of.Budgets, Of.Seeds, nullptr, Look);
    return R;
  }

  /// What was begun ahead, else now.
  Climb climbStages(std::optional<Ahead<Climb>> &Begun) {
    Climb R = Begun ? Begun->get() : climbStages(stages(), D);
    for (const PointPtr &X : R.New)
      tell(X->Ends);
    Found.Fine[R.Low] = std::move(R.Points);
    return R;
  }

  /// `Look` is given each point, and whether it is new.
  template <typename LookFn>
  void climbBy(const Watch &Here, std::vector<PointPtr> &Fine,
               const std::vector<int64_t> &Budgets,
               const std::vector<Seed> &Seeds, PointPtr Below,
               LookFn Look) const {
    size_t Known = Fine.size();
    auto Make = [&](size_t I, const Watch &Beside) {
      return I < Known ? nullptr : fine(I, Budgets[I], Seeds, Beside);
    };
    auto Take = [&](size_t I, std::unique_ptr<Attempt> A) {
      bool IsNew = I == Fine.size();
      PointPtr X = IsNew ? fineFrom(std::move(A), Below.get(), Here) : Fine[I];
      bool IsEnough = Look(X, IsNew);
      if (Here.passed())
        return false;
      if (IsNew)
        Fine.push_back(X);
      Below = std::move(X);
      return !IsEnough;
    };
    inOrder(Here, Budgets.size(), Lead::Aside, Make, Take);
  }

  /// The part of a fine budget that does not depend on the one below: now and
  /// then a search from the seeds.
  std::unique_ptr<Attempt> fine(size_t I, int64_t At,
                                const std::vector<Seed> &Seeds,
                                const Watch &Here) const {
    auto A = std::make_unique<Attempt>(M, O.Seed + 1000 * uint64_t(I), Here, At,
                                       M.BaseTime);
    A->TakeAlong = isLarge();
    size_t Every = isLarge()                 ? Of.SeedsEveryStages
                   : I < size_t(Of.OfHeight) ? Of.SeedsEvery
                                             : Of.SeedsEveryAbove;
    if (I % Every == 0)
      A->fromSeeds(Seeds, /*Few=*/true,
                   Work / (isLarge() ? Of.StagePart : Of.FinePart));
    return A;
  }

  /// From the plans of the fine budget below.
  PointPtr fineFrom(std::unique_ptr<Attempt> A, const Point *Below,
                    const Watch &Here) const {
    A->watch(Here);
    int64_t Part = Work / Of.FinePart;
    if (Below)
      A->fromPlans(Below->Ends);
    A->fromPairs(isVeryLarge() ? 0 : Part);
    if (isLarge())
      A->exchangeEnds(Of.Exchanged);
    A->fromBest(Part);
    return pointOf(*A, /*IsClosed=*/false);
  }

  static PointPtr pointOf(const Attempt &A, bool IsClosed) {
    return std::make_shared<const Point>(Point{A.ends(), IsClosed});
  }

  void tell(const std::vector<Seed> &Ends) const {
    if (G.OnPlan)
      for (const Seed &X : Ends)
        G.OnPlan(X.S);
  }
};

SearchResult BudgetGrid::search(const SolveOptions &O, const Watch &D,
                                const std::function<bool()> &Prove) {
  return Call(*this, O, D).run(Prove);
}

void BudgetGrid::fill(const SolveOptions &O, const Watch &D) {
  Call(*this, O, D).fill();
}
