//===- Planner.cpp - One problem, plans for many budgets ------------------===//
#include "remat/Solver/Planner.h"

#include "Exact/Optimal.h"
#include "Planner/Pool.h"
#include "Search/Attempt.h"
#include "Seeds/Baselines.h"

#include <algorithm>
#include <map>
#include <numeric>

using namespace remat::solver;

/// `Space::BaseOrder` is about such plans.
static bool inStages(const Problem &P, const Plan &S) {
  OpId Stage = 0, Before = None;
  for (auto [O, C] : S.Sequence) {
    if (O > Stage || O <= Before)
      return false;
    Before = O == Stage ? None : O;
    Stage += O == Stage;
  }
  return Stage == OpId(P.Ops.size());
}

static SearchResult runStrategy(const Model &M, const SolveOptions &O,
                                const Watch &D, SearchMemory &Memory) {
  SearchResult R;
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
    return solveOptimal(M, O, D, Memory);
  case Strategy::Search:
    // Few states, for a problem of a dozen ops or two: milliseconds.
    R = solveSearch(M, O, D, Memory);
    closeSmall(M, O, D, Tuned.Exact.SearchStates, R);
    return R;
  }
  R.MinBudget = measure(M, R.Best).Peak;
  return R;
}

static void refuse(const Model &M, const SolveOptions &O, SolveResult &R) {
  Floor F = floorOf(M.P);
  VerifyResult V = verify(M.P, R.Best, INT64_MAX);
  R.Reason.Proven = F.Bytes > O.Budget;
  std::string Budget = std::to_string(O.Budget);
  if (R.Reason.Proven) {
    R.Reason.At = F.At;
    R.Reason.Values = F.Values;
    R.Reason.Needed = F.Bytes;
    std::string At = F.At == None ? "" : " at op '" + M.P.Ops[F.At].Name + "'";
    R.Reason.Message = "no plan fits: " + std::to_string(F.Bytes) +
                       " bytes stand together" + At + ", the budget is " +
                       Budget;
    return;
  }
  R.Reason.At = V.PeakStep == None ? None : R.Best.Sequence[V.PeakStep].Op;
  R.Reason.Values = V.LiveAtPeak;
  R.Reason.Needed = V.Peak;
  std::string At =
      R.Reason.At == None ? "" : " at op '" + M.P.Ops[R.Reason.At].Name + "'";
  bool Proven = R.Proof.MinBudgetBound > O.Budget;
  R.Reason.Proven = Proven;
  R.Reason.Message = (Proven ? "no plan fits: " : "no plan was found: ") +
                     ("the lowest peak found is " + std::to_string(V.Peak)) +
                     " bytes" + At + ", the budget is " + Budget;
}

//===----------------------------------------------------------------------===//
// Planner
//===----------------------------------------------------------------------===//

/// Exists only for a problem that `check`s.
class Planner::Impl {
public:
  /// `Once`: for a single call, which keeps nothing.
  Impl(const Problem &P, const SolveOptions &Options, bool Once)
      : Options(Options), Malformed(check(P)) {
    if (!Malformed)
      Facts = std::make_unique<Shared>(P, Once);
  }

  SolveResult solve(const SolveOptions &O);
  SolveResult at(int64_t Budget);
  std::vector<SolveResult> frontier(const std::vector<int64_t> &Budgets);

private:
  struct Shared {
    Shared(const Problem &P, bool Once)
        : M(P), Memory(M, !Once && M.sizeFactor() == 1), Plans(M) {
      if (!Once)
        Memory.OnPlan = [this](const Plan &S) { Plans.add(S); };
    }
    Model M;
    SearchMemory Memory;
    Pool Plans;
    /// Per budget: the time that some call proved of every plan within it.
    std::map<int64_t, double> Proven;
    /// No plan has a lower peak.
    int64_t LeastBudget = 0;
  };
  SolveOptions Options;
  std::optional<std::string> Malformed;
  std::unique_ptr<Shared> Facts;

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
  void findBounds(const SolveOptions &O, Watch &D);
  SolveResult certify(const SolveOptions &O, const Watch &D,
                      SearchResult Found);
  std::optional<Plan> fromPool(int64_t Budget, double LessThan) const;
  void fitPool(int64_t Budget, int64_t Work, const Watch &D);
  double costAt(int64_t Budget) const;
  void proveDown(const std::vector<int64_t> &Sorted, const Watch &D);
  Watch watchAt(const SolveOptions &O) const;
  void fillPool(const std::vector<int64_t> &Budgets, const Watch &D);
};

void Planner::Impl::findBounds(const SolveOptions &O, Watch &D) {
  Bounds B = Facts->Memory.bounds(O.Budget, D, O.Method >= Strategy::Optimal);
  D.Bound = Facts->M.BaseTime + B.Extra;
  D.LeastBudget = B.LeastBudget;
}

/// The result of a search, verified, with what is proven of it.
SolveResult Planner::Impl::certify(const SolveOptions &O, const Watch &D,
                                   SearchResult Found) {
  const Model &M = Facts->M;
  SolveResult R;
  R.Best = std::move(Found.Best);
  dropUnread(M, R.Best);
  VerifyResult V = verify(M.P, R.Best, O.Budget);
  R.Feasible = V.Ok;
  Certificate &C = R.Proof;
  C.Time = V.Time;
  C.Peak = V.Peak;
  C.BaseTime = M.BaseTime;
  C.Overhead = M.BaseTime > 0 ? C.Time / M.BaseTime - 1 : 0;
  C.MinBudget =
      R.Feasible ? std::min(Found.MinBudget, V.Peak) : Found.MinBudget;
  C.MinBudgetBound = std::max(D.LeastBudget, Found.LeastBudget);
  C.LowerBound = std::max(D.Bound, Found.Bound);
  // A proof over the base order counts where it is complete and the other not.
  double Margin = 1e-6 * M.BaseTime;
  if (C.Time > C.LowerBound + Margin && C.Time <= Found.OrderBound + Margin &&
      inStages(M.P, R.Best)) {
    C.ProvenOver = Space::BaseOrder;
    C.LowerBound = C.Time;
  }
  R.Notice = Found.Notice;
  C.Gap = M.BaseTime > 0 ? (C.Time - C.LowerBound) / M.BaseTime : 0;
  C.Seed = O.Seed;
  C.Seconds = D.seconds();
  if (!R.Feasible)
    refuse(M, O, R);
  return R;
}

SolveResult Planner::Impl::solve(const SolveOptions &O) {
  if (Malformed)
    return malformed();
  Watch D(O);
  findBounds(O, D);
  SolveResult R = certify(O, D, runStrategy(Facts->M, O, D, Facts->Memory));
  if (R.Feasible)
    Facts->Plans.add(R.Best);
  return R;
}

/// The plan of the pool that fits, if its cost is less.
std::optional<Plan> Planner::Impl::fromPool(int64_t Budget,
                                            double LessThan) const {
  Incumbent Best(Facts->M, Budget);
  Facts->Plans.offerTo(Best, Budget);
  if (!Best.feasible() || Best.measured().cost() >= LessThan)
    return std::nullopt;
  return Best.plan();
}

SolveResult Planner::Impl::at(int64_t Budget) {
  if (Malformed)
    return malformed();
  const Model &M = Facts->M;
  SolveOptions O = withBudget(Budget);
  Watch D(O);
  findBounds(O, D);
  Watch Known = watchAt(O);
  D.Bound = std::max(D.Bound, Known.Bound);
  D.LeastBudget = std::max(D.LeastBudget, Known.LeastBudget);
  double Enough = D.Bound + Tuned.Near.OfBound * M.BaseTime;
  SearchResult Found;
  if (std::optional<Plan> Known = fromPool(Budget, Enough)) {
    Found.Best = std::move(*Known);
  } else {
    Found = runStrategy(M, O, D, Facts->Memory);
    VerifyResult V = verify(M.P, Found.Best, Budget);
    double Cost = V.Ok ? measure(M, Found.Best).cost() : MaxTotalTime * 4;
    if (std::optional<Plan> Better = fromPool(Budget, Cost))
      Found.Best = std::move(*Better);
    Facts->Plans.add(Found.Best);
  }
  int64_t Least = Facts->Plans.leastPeak();
  Found.MinBudget = Found.MinBudget ? std::min(Found.MinBudget, Least) : Least;
  SolveResult R = certify(O, D, std::move(Found));
  if (R.Proof.ProvenOver == Space::AnyOrder)
    Facts->Proven[Budget] = R.Proof.LowerBound;
  Facts->LeastBudget = std::max(Facts->LeastBudget, R.Proof.MinBudgetBound);
  return R;
}

/// Repairs the nearest plans of the pool for a budget, and searches on from
/// them.
void Planner::Impl::fitPool(int64_t Budget, int64_t Work, const Watch &D) {
  Attempt A(Facts->M, Options.Seed, D, Budget);
  for (Plan &S : Facts->Plans.near(Budget, Tuned.Frontier.Fitted))
    if (!D.passed())
      A.fromPlan(std::move(S), 0, Family::Crossed);
  if (Work > 0 && A.best().feasible()) {
    A.fromPairs(Work);
    A.fromBest(Work);
  }
  for (const Seed &X : A.ends())
    Facts->Plans.add(X.S);
}

double Planner::Impl::costAt(int64_t Budget) const {
  Incumbent Best(Facts->M, Budget);
  Facts->Plans.offerTo(Best, Budget);
  return Best.feasible() ? Best.measured().cost() : MaxTotalTime * 4;
}

/// Up to `Tuned.Size.Few` ops one climb, else calls at a few budgets.
void Planner::Impl::fillPool(const std::vector<int64_t> &Budgets,
                             const Watch &D) {
  for (Seed &X : Facts->Memory.seeds(Options.Seed, D))
    Facts->Plans.add(std::move(X.S));
  if (Options.Effort > 0 && Facts->M.numOps() <= Tuned.Size.Few) {
    climbRungs(Facts->M, withBudget(Budgets.back()), D, Facts->Memory);
    return;
  }
  const size_t Calls = Tuned.Frontier.Calls;
  for (size_t I = 0; I < Calls && !D.passed(); ++I)
    at(Budgets[(Budgets.size() - 1) * I / Calls]);
}

/// With what was proven so far: what holds for a budget holds for every smaller
/// one, and if none meets a budget, none meets a smaller one.
Watch Planner::Impl::watchAt(const SolveOptions &O) const {
  Watch D(O);
  D.Bound = Facts->M.BaseTime;
  for (auto It = Facts->Proven.lower_bound(O.Budget); It != Facts->Proven.end();
       ++It)
    D.Bound = std::max(D.Bound, It->second);
  D.LeastBudget = Facts->LeastBudget;
  return D;
}

/// Bounds from the largest budget down, where those of larger ones leave much
/// open.
void Planner::Impl::proveDown(const std::vector<int64_t> &Sorted,
                              const Watch &D) {
  for (auto Budget = Sorted.rbegin(); Budget != Sorted.rend(); ++Budget) {
    SolveOptions O = withBudget(*Budget);
    Watch Here = watchAt(O);
    double Enough = Here.Bound + Tuned.Near.OfBound * Facts->M.BaseTime;
    if (D.passed() || costAt(*Budget) <= Enough)
      continue;
    findBounds(O, Here);
    Facts->Proven[*Budget] = Here.Bound;
    Facts->LeastBudget = std::max(Facts->LeastBudget, Here.LeastBudget);
  }
}

std::vector<SolveResult>
Planner::Impl::frontier(const std::vector<int64_t> &Budgets) {
  std::vector<SolveResult> Out(Budgets.size());
  if (Malformed || Budgets.empty()) {
    std::fill(Out.begin(), Out.end(), Malformed ? malformed() : SolveResult());
    return Out;
  }
  Watch D(Options);
  std::vector<int64_t> Sorted = Budgets;
  std::sort(Sorted.begin(), Sorted.end());
  if (Options.Method == Strategy::Search) {
    fillPool(Sorted, D);
    for (int64_t Budget : Sorted)
      fitPool(Budget, 0, D);
    proveDown(Sorted, D);
    int64_t Work = (Tuned.Work.OfEffort << std::min(Options.Effort, 30)) /
                   Tuned.Rungs.RungPart;
    for (int64_t Budget : Sorted) {
      SolveOptions O = withBudget(Budget);
      Watch Here = watchAt(O);
      double Open = costAt(Budget) - Here.Bound;
      if (Options.Effort > 0 && !D.passed() &&
          Open > Tuned.Near.Open * Facts->M.BaseTime)
        fitPool(Budget, Work, Here);
    }
  } else {
    for (int64_t Budget : Sorted)
      at(Budget);
  }
  for (size_t I = 0; I < Budgets.size(); ++I) {
    SolveOptions O = withBudget(Budgets[I]);
    SearchResult Found;
    std::optional<Plan> Best = fromPool(O.Budget, MaxTotalTime * 4);
    Found.Best = Best ? std::move(*Best) : Facts->Plans.lowest();
    Found.MinBudget = Facts->Plans.leastPeak();
    Out[I] = certify(O, watchAt(O), std::move(Found));
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
