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
        Shared(M, O, D, Start, unit(), Found.Anchored), Search(M, O, G.Memory),
        Work(Search.work()) {}

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
    if (MaySearch && !Search.isSmall() && !IsKnown &&
        (!Start.hasAnchors() || Shared.isNearestKnown(highest())))
      begin(Parts);
    if ((MaySearch || O.Prove) && !Prove())
      return {};
    if (MaySearch && !closes()) {
      if (Search.isSmall())
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
    climb(Start.leastPeak(), nullptr, [](const GridPoint &) { return false; });
  }

private:
  BudgetGrid &G;
  const Model &M;
  const SolveOptions &O;
  const Watch &D;
  Searched &Found;
  Starts Start;
  Incumbent Best;
  Anchors Shared;
  const GridPoints Search;
  const int64_t Work;
  /// A way up: where it begins, with which plans, and at which budgets.
  struct Stages {
    int64_t Low;
    std::vector<Seed> Seeds;
    std::vector<int64_t> Budgets;
    /// What was searched there before.
    std::vector<PointPtr> Known;
  };
  /// Points of a way up, in order, and the budget of the last.
  struct Points {
    std::vector<PointPtr> All;
    int64_t Last;
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
  bool look(const GridPoint &X) {
    for (const Seed &Y : X.Ends)
      Best.offer(Y.S);
    return closes() || D.passed();
  }

  void searchGrid() {
    // Where the walk ends without a point to climb from, this is needed.
    Start.lowerLater();
    auto Look = [this](const GridPoint &X) { return look(X); };
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
      // Squeezed plans are left out: whether there are any depends on the
      // budget of the call.
      return [this, At, Known](const Watch &Here) {
        return Known ? Known : Search.coarse(At, Start.unsqueezed(), Here);
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
    if (!Closed) {
      Start.lower();
      ClosedAt = Start.leastPeak();
    }
    Points Up = climb(ClosedAt, Closed, Look);
    if (!closes() && !D.passed())
      climbOn(Up);
  }

  /// From the last budgets of the grid to that of the call, unit by unit. What
  /// fits is taken from plans that the neighbours have, at budgets that they
  /// have: were the plans of all points fitted to the very budget, some call
  /// would by luck find one that is cheaper than what the next ones find.
  void climbOn(const Points &Up) {
    std::vector<Seed> Kept;
    auto Fit = [&](int64_t At) {
      Attempt A(M, O.Seed, D, At, M.BaseTime);
      A.fromPlans(Kept);
      if (Kept.empty() || At < O.Budget)
        Search.fitFromBelow(A, Up.All);
      Kept = cheapest(A.ends(), Of.KeptOn);
      offer(A);
    };
    int64_t Next = (Up.Last / unit() + 1) * unit();
    for (; Next < O.Budget && Next <= highest() && !D.passed(); Next += unit())
      Fit(Next);
    Fit(O.Budget);
  }

  /// What a search within the budget itself begins with. The bound may not be
  /// known yet.
  std::unique_ptr<Attempt> repaired(const Watch &Here) const {
    auto A = std::make_unique<Attempt>(M, O.Seed, Here, O.Budget, M.BaseTime);
    A->repairSeeds(Start.seeds(), /*Few=*/Search.isVeryLarge());
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
    A.annealSeeds(Search.isVeryLarge() ? Work
                                       : Work * Tuned.Attempt.SeedEighths / 8);
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
    Shared.findAll();
    for (const Anchors::Ends &X : Shared.crossed()) {
      tell(*X);
      A.fromPlans(*X);
    }
    offer(A);
    tell(A.ends());
  }

  void searchFromBest(Attempt &A) const {
    if (!Search.isVeryLarge())
      A.fromPairsAndBest(Work);
  }

  void offer(const Attempt &A) {
    if (A.best().feasible())
      Best.offer(A.best().plan());
  }

  /// Goes up from a budget, a unit at first, then by a part of the height, and
  /// shows every point until `Look` says that it is enough.
  template <typename LookFn>
  Points climb(int64_t Low, const PointPtr &Below, LookFn Look) {
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
    std::vector<PointPtr> &Fine = Found.Fine[Low];
    climbBy(D, Fine, Budgets, Start.seeds(), Below, Tell);
    Points Up{{}, Budgets.empty() ? Low : Budgets.back()};
    if (Below)
      Up.All.push_back(Below);
    size_t Count = std::min(Fine.size(), Budgets.size());
    Up.All.insert(Up.All.end(), Fine.begin(), Fine.begin() + Count);
    return Up;
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
               const std::vector<Seed> &Seeds, const PointPtr &Below,
               LookFn Look) const {
    size_t Known = Fine.size();
    std::vector<PointPtr> Up;
    if (Below)
      Up.push_back(Below);
    auto Begin = [&](size_t I, const Watch &Beside) {
      return I < Known ? nullptr : Search.begin(I, Budgets[I], Seeds, Beside);
    };
    auto Take = [&](size_t I, std::unique_ptr<Attempt> A) {
      bool IsNew = I == Fine.size();
      PointPtr X = IsNew ? Search.end(std::move(A), Up, Here) : Fine[I];
      bool IsEnough = Look(X, IsNew);
      if (Here.passed())
        return false;
      if (IsNew)
        Fine.push_back(X);
      Up.push_back(std::move(X));
      return !IsEnough;
    };
    inOrder(Here, Budgets.size(), Lead::Aside, Begin, Take);
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
