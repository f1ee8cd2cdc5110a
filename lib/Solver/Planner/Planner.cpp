//===- Planner.cpp - One problem, plans for many budgets ------------------===//
#include "remat/Solver/Planner.h"

#include "Exact/Optimal.h"
#include "Model/Ahead.h"
#include "Planner/BudgetGrid.h"
#include "Planner/Certify.h"
#include "Planner/Pool.h"
#include "Search/Attempt.h"
#include "Seeds/Baselines.h"

#include <algorithm>
#include <map>

using namespace remat::solver;

/// Exists only for a problem that `check`s.
class Planner::Impl {
public:
  /// `Once`: for a single call, which keeps nothing.
  Impl(const Problem &P, const SolveOptions &Options, bool Once)
      : Options(Options), Malformed(check(P)),
        Threads(threadsFor(P, Options.Threads)) {
    if (!Malformed)
      Facts = std::make_unique<Shared>(P, Once);
  }

  SolveResult solve(const SolveOptions &O);
  SolveResult at(int64_t Budget);
  std::vector<SolveResult> frontier(const std::vector<int64_t> &Budgets);

private:
  struct Shared {
    Shared(const Problem &P, bool Once)
        : M(P), Memory(M, !Once && M.sizeFactor() == 1), Grid(M, Memory),
          Plans(M) {
      if (!Once)
        Grid.OnPlan = [this](const Plan &S) { Plans.add(S); };
    }
    Model M;
    SearchMemory Memory;
    BudgetGrid Grid;
    Pool Plans;
    /// Per budget: the time that some call proved of every plan within it.
    std::map<int64_t, double> Proven;
    /// Of the extra time, each within every budget.
    std::vector<PricedBound> Priced;
    /// No plan has a lower peak.
    int64_t LeastBudget = 0;
  };
  SolveOptions Options;
  std::optional<std::string> Malformed;
  Workers Threads;
  std::unique_ptr<Shared> Facts;

  /// On a few ops a call takes milliseconds.
  static unsigned threadsFor(const Problem &P, unsigned Asked) {
    return Asked || P.Ops.size() >= Tuned.Size.Tiny ? Asked : 1;
  }

  SolveOptions withBudget(int64_t Budget) const {
    SolveOptions O = Options;
    O.Budget = Budget;
    return O;
  }
  SolveResult malformed() const {
    SolveResult R;
    R.Reason.Message = "the problem is malformed: " + *Malformed;
    return R;
  }
  /// What leaves at most so much of the base time above the bound.
  double costWithin(double Part, double Bound) const {
    return Bound + Part * Facts->M.BaseTime;
  }
  /// The plan of the pool for the budget.
  Incumbent pooled(int64_t Budget) const {
    Incumbent Best(Facts->M, Budget);
    Facts->Plans.offerTo(Best, Budget);
    return Best;
  }
  Bounds boundsOf(const SolveOptions &O, const Watch &D) const {
    return Facts->Memory.bounds(O.Budget, D, O.Method >= Strategy::Optimal);
  }
  double boundAt(int64_t Budget) const;
  /// Could a plan for the budget be cheaper than that of the pool by more than
  /// such a part of the base time, by what is proven so far?
  bool isOpen(int64_t Budget, double Part = Tuned.Near.OfBound) const {
    return pooled(Budget).cost() > costWithin(Part, boundAt(Budget));
  }
  void prove(const Bounds &B, Watch &D);
  void recall(const SolveOptions &O, Watch &D) const;
  SearchResult run(const SolveOptions &O, const Watch &D,
                   const std::function<bool()> &Prove);
  void fillPool(const std::vector<int64_t> &Sorted, const Watch &D);
  void fitPool(int64_t Budget, int64_t Work, double Bound, const Watch &D);
  void searchOpen(const std::vector<int64_t> &Sorted, const Watch &D);
  void proveAll(const std::vector<int64_t> &Sorted, const Watch &D);
  void proveAt(int64_t Budget);
  void proveBetween(const int64_t *First, const int64_t *Last, const Watch &D);
};

/// What was proven so far of plans within the budget: what holds for a budget
/// holds for every smaller one.
double Planner::Impl::boundAt(int64_t Budget) const {
  double Bound = Facts->M.BaseTime;
  for (auto It = Facts->Proven.lower_bound(Budget); It != Facts->Proven.end();
       ++It)
    Bound = std::max(Bound, It->second);
  for (const PricedBound &B : Facts->Priced)
    Bound = std::max(Bound, Facts->M.BaseTime + B.at(Budget));
  return Bound;
}

void Planner::Impl::prove(const Bounds &B, Watch &D) {
  D.prove(Facts->M.BaseTime + B.Extra, B.LeastBudget);
  if (B.Priced.Extra > 0)
    Facts->Priced.push_back(B.Priced);
}

/// By what was proven so far. If no plan meets a budget, none meets a smaller
/// one.
void Planner::Impl::recall(const SolveOptions &O, Watch &D) const {
  D.Bound = std::max(D.Bound, boundAt(O.Budget));
  D.LeastBudget = std::max(D.LeastBudget, Facts->LeastBudget);
}

/// Calls `Prove` before it reads the bound of `D`, and gives nothing where that
/// says that nothing is asked for any more.
SearchResult Planner::Impl::run(const SolveOptions &O, const Watch &D,
                                const std::function<bool()> &Prove) {
  const Model &M = Facts->M;
  SearchResult R;
  bool Goes = true;
  auto Ask = [&] { return Goes = Prove(); };
  if (O.Method < Strategy::Optimal && O.Prove && !Ask())
    return R;
  switch (O.Method) {
  case Strategy::None:
    R.Best = solveNone(M, O.Budget);
    break;
  case Strategy::Sqrt:
    R.Best = solveSqrt(M, O.Budget);
    break;
  case Strategy::Greedy:
    R.Best = solveGreedy(M, O.Budget);
    break;
  case Strategy::MinCut:
    R.Best = solveMinCut(M, O.Budget);
    break;
  case Strategy::Optimal:
    R = Facts->Grid.search(O, D, Ask);
    if (Goes)
      closeOptimal(M, O, D, R);
    return R;
  case Strategy::Search:
    R = Facts->Grid.search(O, D, Ask);
    // Few states, for a problem of a dozen ops or two: milliseconds.
    if (Goes)
      closeSmall(M, O, D, Tuned.Exact.SearchStates, R);
    return R;
  }
  R.MinBudget = measure(M, R.Best).Peak;
  return R;
}

SolveResult Planner::Impl::solve(const SolveOptions &O) {
  if (Malformed)
    return malformed();
  Watch D(O, &Threads);
  std::optional<Ahead<Bounds>> Proof;
  if (O.Prove)
    Proof.emplace(D, [&](const Watch &Here) { return boundsOf(O, Here); });
  auto Prove = [&] {
    prove(Proof ? Proof->get() : boundsOf(O, D), D);
    return true;
  };
  SearchResult Found = run(O, D, Prove);
  SolveResult R = certify(Facts->M, O, D, std::move(Found));
  if (R.Feasible)
    Facts->Plans.add(R.Best);
  return R;
}

SolveResult Planner::Impl::at(int64_t Budget) {
  if (Malformed)
    return malformed();
  SolveOptions O = withBudget(Budget);
  Watch D(O, &Threads);
  Ahead<Bounds> Proof(D, [&](const Watch &Here) { return boundsOf(O, Here); });
  bool Searches = true;
  auto Prove = [&] {
    prove(Proof.get(), D);
    recall(O, D);
    Searches = pooled(Budget).cost() >= costWithin(Tuned.Near.OfBound, D.Bound);
    return Searches;
  };
  SearchResult Found = run(O, D, Prove);
  if (Searches)
    Facts->Plans.add(Found.Best);
  Incumbent Best = pooled(Budget);
  // The pool counts as `verify` does, `Incumbent` may count more.
  if (Best.feasible())
    Found.Best = Best.plan();
  int64_t Least = Facts->Plans.leastPeak();
  Found.MinBudget = Found.MinBudget ? std::min(Found.MinBudget, Least) : Least;
  SolveResult R = certify(Facts->M, O, D, std::move(Found));
  if (R.Proof.ProvenOver == Space::AnyOrder)
    Facts->Proven[Budget] = R.Proof.LowerBound;
  Facts->LeastBudget = std::max(Facts->LeastBudget, R.Proof.MinBudgetBound);
  return R;
}

/// Up to `Tuned.Size.Few` ops by the whole grid, else by calls at a few
/// budgets.
void Planner::Impl::fillPool(const std::vector<int64_t> &Sorted,
                             const Watch &D) {
  for (Seed &X : Facts->Memory.seeds(Options.Seed, D))
    Facts->Plans.add(std::move(X.S));
  auto Open = [&](int64_t Budget) { return isOpen(Budget); };
  if (std::none_of(Sorted.begin(), Sorted.end(), Open))
    return;
  if (Options.Effort > 0 && Facts->M.numOps() <= Tuned.Size.Few) {
    Facts->Grid.fill(withBudget(Sorted.back()), D);
    return;
  }
  const size_t Calls = Tuned.Frontier.Calls;
  for (size_t I = 0; I < Calls && !D.passed(); ++I)
    at(Sorted[(Sorted.size() - 1) * I / Calls]);
}

/// Repairs the nearest plans of the pool for a budget, and searches on from
/// them.
void Planner::Impl::fitPool(int64_t Budget, int64_t Work, double Bound,
                            const Watch &D) {
  Attempt A(Facts->M, Options.Seed, D, Budget, Bound);
  std::vector<Plan> Near = Facts->Plans.near(Budget, Tuned.Frontier.Fitted);
  std::vector<Attempt::Start> Starts;
  for (const Plan &S : Near)
    if (!D.passed())
      Starts.push_back({&S, 0, Family::Crossed});
  A.fromPlans(Starts);
  if (Work > 0 && A.best().feasible()) {
    A.fromPairs(Work);
    A.fromBest(Work);
  }
  for (const Seed &X : A.ends())
    Facts->Plans.add(X.S);
}

/// Searches on where much is open.
void Planner::Impl::searchOpen(const std::vector<int64_t> &Sorted,
                               const Watch &D) {
  int64_t Work = (Tuned.Work.OfEffort << std::min(Options.Effort, 30)) /
                 Tuned.Grid.FinePart;
  for (int64_t Budget : Sorted)
    if (Options.Effort > 0 && !D.passed() && isOpen(Budget, Tuned.Near.Open))
      fitPool(Budget, Work, boundAt(Budget), D);
}

/// Where there are plans, between the least budget and the largest; below, down
/// to where it is proven that there is none.
void Planner::Impl::proveAll(const std::vector<int64_t> &Sorted,
                             const Watch &D) {
  const int64_t *Last = &Sorted.back(), *Least = Last;
  while (Least > &Sorted.front() && pooled(Least[-1]).feasible())
    --Least;
  for (const int64_t *I : {Last, Least})
    if (!D.passed())
      proveAt(*I);
  proveBetween(Least, Last, D);
  for (const int64_t *I = Least; I > &Sorted.front() && !D.passed();) {
    --I;
    if (Facts->LeastBudget > *I)
      break;
    proveAt(*I);
  }
}

void Planner::Impl::proveAt(int64_t Budget) {
  SolveOptions O = withBudget(Budget);
  Watch Here(O, &Threads);
  recall(O, Here);
  prove(boundsOf(O, Here), Here);
  Facts->Proven[Budget] = Here.Bound;
  Facts->LeastBudget = std::max(Facts->LeastBudget, Here.LeastBudget);
}

/// Between two budgets with bounds. As priced bounds are straight lines, the
/// best at every budget is a convex function of it: it lies below the chord,
/// and a proof is worth its time where that is far above what is known (the
/// sandwich algorithm: Rote, 1992).
void Planner::Impl::proveBetween(const int64_t *First, const int64_t *Last,
                                 const Watch &D) {
  double Of = boundAt(*First), To = boundAt(*Last);
  const double BaseTime = Facts->M.BaseTime;
  const int64_t *Widest = nullptr;
  double Most = Tuned.Frontier.WorthProof * BaseTime;
  for (const int64_t *I = First + 1; I < Last; ++I) {
    double Part = double(*I - *First) / double(*Last - *First);
    double Known = boundAt(*I), Chord = Of + Part * (To - Of);
    if (Chord - Known > Most && isOpen(*I)) {
      Most = Chord - Known;
      Widest = I;
    }
  }
  if (!Widest || D.passed())
    return;
  proveAt(*Widest);
  proveBetween(First, Widest, D);
  proveBetween(Widest, Last, D);
}

std::vector<SolveResult>
Planner::Impl::frontier(const std::vector<int64_t> &Budgets) {
  std::vector<SolveResult> Out(Budgets.size());
  if (Malformed || Budgets.empty()) {
    std::fill(Out.begin(), Out.end(), Malformed ? malformed() : SolveResult());
    return Out;
  }
  Watch D(Options, &Threads);
  std::vector<int64_t> Sorted = Budgets;
  std::sort(Sorted.begin(), Sorted.end());
  if (Options.Method == Strategy::Search) {
    fillPool(Sorted, D);
    for (int64_t Budget : Sorted)
      if (isOpen(Budget))
        fitPool(Budget, 0, Facts->M.BaseTime, D);
    proveAll(Sorted, D);
    searchOpen(Sorted, D);
  } else {
    for (int64_t Budget : Sorted)
      at(Budget);
  }
  for (size_t I = 0; I < Budgets.size(); ++I) {
    SolveOptions O = withBudget(Budgets[I]);
    Watch Here(O, &Threads);
    recall(O, Here);
    SearchResult Found;
    Incumbent Best = pooled(O.Budget);
    Found.Best = Best.feasible() ? Best.plan() : Facts->Plans.lowest();
    Found.MinBudget = Facts->Plans.leastPeak();
    Out[I] = certify(Facts->M, O, Here, std::move(Found));
  }
  return Out;
}

SolveResult remat::solver::solve(const Problem &P,
                                 const SolveOptions &Options) {
  return Planner::Impl(P, Options, /*Once=*/true).solve(Options);
}

Planner::Planner(const Problem &P, const SolveOptions &Options)
    : Of(std::make_unique<Impl>(P, Options, /*Once=*/false)) {}
Planner::~Planner() = default;
Planner::Planner(Planner &&) noexcept = default;
Planner &Planner::operator=(Planner &&) noexcept = default;

SolveResult Planner::solve(const SolveOptions &Request) {
  return Of->solve(Request);
}
SolveResult Planner::at(int64_t Budget) { return Of->at(Budget); }
std::vector<SolveResult>
Planner::frontier(const std::vector<int64_t> &Budgets) {
  return Of->frontier(Budgets);
}
