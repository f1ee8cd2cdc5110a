//===- BudgetLoop.cpp - plan, fuse and assign until it fits ---------------===//

#include "BudgetLoop.h"
#include "ExplainPlan.h"
#include "mlir/Pass/PassManager.h"
#include "remat/Analysis/Cost.h"
#include "remat/Analysis/MemoryProfile.h"
#include "remat/Transforms/Memory.h"
#include "remat/Transforms/Passes.h"
#include <tuple>

using namespace mlir;
using namespace remat;

/// Plans for one budget, the first included.
static constexpr int MaxPlans = 6;
/// On problems of more operations one attempt finds the smallest budget: there
/// each takes seconds.
static constexpr size_t MaxOpsOfSeries = 5'000;
/// Nodes of the exact offset search in one attempt.
static constexpr int64_t MaxPackNodes = 10'000;

/// The second fusion. What it makes of an operation that overwrites an argument
/// may have to write elsewhere, so results are made legal again.
LogicalResult BudgetLoop::fuse(func::FuncOp Copy) {
  Stopwatch Time;
  PassManager PM(Copy.getContext(), func::FuncOp::getOperationName());
  PM.addPass(createFuse({"after-plan"}));
  if (failed(PM.run(Copy)) || failed(legalizeResults(Copy)))
    return failure();
  Report.addSeconds("fuse", Time.getSeconds());
  return success();
}

/// Applies the plan to `Copy`, fuses and assigns memory; fills in what came
/// out.
LogicalResult BudgetLoop::carryOut(func::FuncOp Copy, Attempt &A,
                                   bool EmitRemarks) {
  // What a planner found that was interrupted is not what it would have found.
  if (isInterrupted() && !takesBest())
    return emitError(Func.getLoc()) << "interrupted while planning";
  Stopwatch PlanTime;
  FailureOr<PlanSummary> Summary =
      applyPlan(Copy, Problem, A.Plan, EmitRemarks);
  if (failed(Summary))
    return failure();
  A.Summary = *Summary;
  Report.addSeconds("plan", PlanTime.getSeconds());

  if (Options.Fuse && failed(fuse(Copy)))
    return failure();

  Stopwatch AssignTime;
  FailureOr<Assignment> Assigned =
      assignMemory(Copy, Where, MaxPackNodes, A.PackTarget);
  if (failed(Assigned))
    return failure();
  Report.addSeconds("assign", AssignTime.getSeconds());
  A.ArenaBytes = Assigned->ArenaBytes;
  A.Microseconds = 0;
  for (Operation &Op : Copy.getBody().front().without_terminator())
    A.Microseconds += getKernel(Where, &Op).getMicroseconds();
  return success();
}

/// Carries the plan out on a copy, unless that was done already in a way that
/// serves. Returns the arena's bytes.
FailureOr<int64_t> BudgetLoop::attempt(solver::Plan Plan,
                                       std::optional<int64_t> PackTarget) {
  for (const Attempt &A : Attempts)
    if (A.Plan == Plan && (!PackTarget || A.PackTarget == PackTarget ||
                           A.ArenaBytes <= *PackTarget))
      return A.ArenaBytes;
  Attempt A;
  A.Plan = std::move(Plan);
  A.PackTarget = PackTarget;
  OwningOpRef<func::FuncOp> Copy(Func.clone());
  if (failed(carryOut(*Copy, A, /*EmitRemarks=*/false)))
    return failure();
  Attempts.push_back(std::move(A));
  // While the planner works it tells itself.
  if (!Fitted && Options.Watcher && Options.Watcher->OnProgress)
    tell({});
  return Attempts.back().ArenaBytes;
}

void BudgetLoop::watch(solver::SolveOptions &Request) {
  Request.Interrupt = Options.Interrupt;
  if (Options.Watcher && Options.Watcher->OnProgress)
    Request.OnProgress = [this](const solver::Progress &P) { tell(P); };
}

/// Called while the planner works: no attempt is added meanwhile. The times are
/// those of its problem, and so are both parts of what they are set against.
void BudgetLoop::tell(const solver::Progress &Planned) const {
  if (IsRecording)
    return;
  PlanProgress Now;
  Now.Seconds = Total.getSeconds();
  if (!Attempts.empty())
    Now.SmallestBytes = getSmallest().ArenaBytes;
  Now.BudgetBytes = Fitted;
  double Base = Problem.Problem.baseTime();
  if (Fitted && Base > 0) {
    if (Planned.Incumbent >= 0)
      Now.Overhead = Planned.Incumbent / Base - 1;
    Now.LeastOverhead = std::max(Planned.Bound / Base - 1, 0.0);
  }
  Options.Watcher->OnProgress(Now);
}

solver::SolveResult BudgetLoop::solve(solver::Strategy Method, int32_t Effort,
                                      int64_t Target, bool FindMinBudget,
                                      uint64_t MoreSeed) {
  Stopwatch Time;
  solver::SolveOptions Request;
  Request.Method = Method;
  Request.Budget = Target;
  Request.Effort = Effort;
  Request.Seed = Options.Seed + MoreSeed;
  Request.FindMinBudget = FindMinBudget;
  // Only plans are asked for: `findBounds` and `fit` ask for bounds.
  Request.Prove = false;
  watch(Request);
  solver::SolveResult Solved = Planner->solve(Request);
  Report.addSeconds("plan", Time.getSeconds());
  return Solved;
}

/// Every operation once, but for what the user never keeps.
LogicalResult BudgetLoop::findUnplanned() {
  solver::SolveResult Solved =
      solve(solver::Strategy::None, 0, solver::MaxTotalBytes,
            /*FindMinBudget=*/false);
  if (!Solved.Feasible)
    return emitError(Func.getLoc()) << Solved.Reason.Message;
  return failure(failed(attempt(std::move(Solved.Best), std::nullopt)));
}

/// Whether a plan might need less than all so far. From the first on none does
/// where an optimizer updates parameters whose gradients a loop has made.
bool BudgetLoop::mayNeedLess() const {
  return Options.Method != solver::Strategy::None &&
         getSmallest().ArenaBytes > Floor;
}

bool BudgetLoop::isLarge() const {
  return Problem.Problem.Ops.size() > MaxOpsOfSeries;
}

/// Attempts with the lowest peak that a strategy finds. Where packing needs
/// clearly more than that peak, other plans may pack better, for that budget
/// and slightly larger ones. What they take matters little here, so they are
/// made with less effort; without effort the first attempt is all.
LogicalResult BudgetLoop::findSmallest(solver::Strategy Method,
                                       int32_t Effort) {
  solver::SolveResult Least =
      solve(Method, Effort, Floor, /*FindMinBudget=*/true);
  FailureOr<int64_t> Arena = attempt(std::move(Least.Best), std::nullopt);
  if (failed(Arena))
    return failure();
  bool IsQuick = Method == solver::Strategy::Search && Effort == 0;
  int64_t MinBudget = Least.Proof.MinBudget;
  int64_t Smallest = std::min(*Arena, Attempts.front().ArenaBytes);
  for (int64_t PerMille : {0, 10, 30}) {
    int64_t Target = MinBudget + MinBudget / 1000 * PerMille;
    if (Smallest <= Target + MinBudget / 1000 || IsQuick || isLarge() ||
        isInterrupted())
      break;
    int32_t Less = std::max(Effort - 1, 0);
    Arena = attempt(solve(Method, Less, Target, /*FindMinBudget=*/false).Best,
                    std::nullopt);
    if (failed(Arena))
      return failure();
    Smallest = std::min(Smallest, *Arena);
  }
  return success();
}

/// The series of attempts from which the smallest budget comes: see the class.
/// It ends where no plan needs less.
LogicalResult BudgetLoop::findSmallest() {
  using solver::Strategy;
  auto [Method, Effort] = std::pair(Options.Method, Options.Effort);
  if (!mayNeedLess())
    return success();
  if (Method != Strategy::Search || isLarge())
    return findSmallest(Method, std::min(Effort, 1));
  for (Strategy Other : {Strategy::Sqrt, Strategy::MinCut})
    if (!isInterrupted() && failed(findSmallest(Other, 0)))
      return failure();
  for (int32_t Less = 0; Less <= Effort && mayNeedLess(); ++Less)
    if (!isInterrupted() && failed(findSmallest(Method, Less)))
      return failure();
  return success();
}

/// Where effort decides which attempts there are, not only how many, a budget
/// is refused only after those without effort.
LogicalResult BudgetLoop::tryWithoutEffort(std::optional<int64_t> Budget) {
  using solver::Strategy;
  bool IsSeries = Options.Method == Strategy::Search && !isLarge();
  if (!Budget || *Budget >= getSmallest().ArenaBytes || IsSeries ||
      !mayNeedLess() || Options.Effort == 0 || isInterrupted())
    return success();
  return findSmallest(Options.Method, 0);
}

const BudgetLoop::Attempt &BudgetLoop::getSmallest() const {
  return *llvm::min_element(Attempts, [](const Attempt &L, const Attempt &R) {
    return L.ArenaBytes < R.ArenaBytes;
  });
}

/// The fastest attempt within the budget, the first of equally fast ones. There
/// is one from the smallest budget found on.
const BudgetLoop::Attempt &
BudgetLoop::getFastest(std::optional<int64_t> Budget) const {
  const Attempt *Best = nullptr;
  for (const Attempt &A : Attempts)
    if ((!Budget || A.ArenaBytes <= *Budget) &&
        (!Best || A.Microseconds < Best->Microseconds))
      Best = &A;
  return *Best;
}

int64_t remat::getPart(int64_t Bytes, double Percent) {
  // The product first: whole percentages are then rounded down exactly.
  double Part = static_cast<double>(Bytes) * Percent / 100.0;
  return Part < 9.2e18 ? static_cast<int64_t>(Part) : solver::MaxTotalBytes;
}

int64_t BudgetLoop::getUnplannedBytes() const {
  return std::max(Attempts.front().ArenaBytes,
                  Options.Around.UnplannedPeakBytes);
}

int64_t BudgetLoop::getSmallestBytes() const {
  return std::max(getSmallest().ArenaBytes,
                  Options.Around.SmallestFeasibleBytes);
}

std::optional<int64_t> BudgetLoop::getBudgetBytes() const {
  switch (Options.Budget.Kind) {
  case Budget::Kind::Unlimited:
  case Budget::Kind::Max: // refused before
    return std::nullopt;
  case Budget::Kind::Bytes:
    return Options.Budget.Bytes;
  case Budget::Kind::Smallest:
    return getSmallestBytes();
  case Budget::Kind::PercentOfUnplanned:
    return getPart(getUnplannedBytes(), Options.Budget.Percent);
  }
  return std::nullopt;
}

int64_t remat::getNextTarget(int64_t Budget, int64_t Target, int64_t Over,
                             int Tried) {
  int64_t More = Tried < 2 ? 0 : Budget / 1000 * (int64_t(1) << (Tried - 2));
  return Target - std::max(Over, More);
}

/// Plans for a budget that is between the smallest found and the peak without
/// recomputation.
LogicalResult BudgetLoop::fit(int64_t Budget) {
  int64_t Target = Budget;
  Fitted = Budget;
  for (int I = 0; I < MaxPlans && !isInterrupted(); ++I) {
    Stopwatch Time;
    solver::SolveResult Solved = Planner->at(Target);
    Report.addSeconds("plan", Time.getSeconds());
    // What is proven for a tighter target says nothing about the budget, nor is
    // what is found for it the best for the budget.
    if (Target == Budget)
      PlannerBound = Solved.Proof.LowerBound;
    Fitted.reset();
    if (!Solved.Feasible)
      return success();
    FailureOr<int64_t> Arena = attempt(std::move(Solved.Best), Budget);
    if (failed(Arena))
      return failure();
    if (*Arena <= Budget || isInterrupted())
      return success();
    Target = getNextTarget(Budget, Target, *Arena - Budget, I + 1);
  }
  return success();
}

/// Near the smallest budget, where few plans fit, a search may end with one
/// that takes far more than what is proven. There other seeds search as well,
/// which finds more in the time than more effort does.
LogicalResult BudgetLoop::fitAgain(int64_t Budget) {
  constexpr double Far = 1.2;
  constexpr int32_t LeastSeeds = 3;
  if (Options.Method != solver::Strategy::Search || Options.Effort == 0)
    return success();
  for (int32_t I = 1; I <= std::max(LeastSeeds, Options.Effort); ++I) {
    if (isInterrupted() ||
        getFastest(Budget).Microseconds <= Far * PlannerBound)
      return success();
    solver::SolveResult Solved = solve(Options.Method, /*Effort=*/1, Budget,
                                       /*FindMinBudget=*/false, /*MoreSeed=*/I);
    if (Solved.Feasible && failed(attempt(std::move(Solved.Best), Budget)))
      return failure();
  }
  return success();
}

/// The fastest plan made before that fits, if it is faster than all made here.
/// A plan that cannot be read is passed over, and so is one that is not a plan
/// of this problem: what lies on a disk is not trusted.
LogicalResult BudgetLoop::trySeeds(std::optional<int64_t> Budget) {
  if (!Options.Seeds)
    return success();
  SmallVector<const PlanSeed *> Order;
  for (const PlanSeed &Seed : *Options.Seeds)
    if (!Budget || Seed.ArenaBytes <= *Budget)
      Order.push_back(&Seed);
  // Of equally fast ones the first stays the first.
  llvm::sort(Order, [](const PlanSeed *L, const PlanSeed *R) {
    return std::tie(L->Microseconds, L) < std::tie(R->Microseconds, R);
  });
  for (const PlanSeed *Seed : Order) {
    if (isInterrupted() ||
        getFastest(Budget).Microseconds <= Seed->Microseconds)
      return success();
    std::optional<FittedPlan> Made = Seed->Read();
    if (Made && solver::verify(Problem.Problem, Made->Plan, INT64_MAX).Ok &&
        failed(attempt(std::move(Made->Plan), Made->PackTarget)))
      return failure();
  }
  return success();
}

LogicalResult BudgetLoop::run() {
  TargetAttr Attr = Where.getAttr();
  Report.Device = stringifyDeviceKind(Attr.getDevice()).str();
  Report.Arch = Attr.getArch().str();
  if (failed(verifyExplained(Func, Options.Explain)))
    return failure();
  FailureOr<PlanningProblem> Built = buildProblem(Func, Where);
  if (failed(Built))
    return failure();
  Problem = std::move(*Built);
  if (failed(
          applyScopeBudgets(Func, Options.ScopeBudgets, Options.Keep, Problem)))
    return failure();
  solver::SolveOptions Request;
  Request.Method = Options.Method;
  Request.Effort = Options.Effort;
  Request.Seed = Options.Seed;
  watch(Request);
  Planner.emplace(Problem.Problem, Request);
  Floor = solver::floorOf(Problem.Problem).Bytes;
  if (failed(findUnplanned()) || failed(findSmallest()))
    return failure();
  std::optional<int64_t> Budget = getBudgetBytes();
  if (failed(tryWithoutEffort(Budget)))
    return failure();
  int64_t Smallest = getSmallestBytes();
  Report.BudgetBytes = Budget;
  Report.UnplannedPeakBytes = getUnplannedBytes();
  Report.SmallestFeasibleBytes = Smallest;
  if (failed(findBounds(Budget)))
    return failure();
  bool Refused = Budget && *Budget < Smallest;
  // What was found until then is not what there is.
  if (Refused && isInterrupted())
    return emitError(Func.getLoc())
           << "interrupted while planning: no plan of " << *Budget
           << " bytes was found yet, the smallest found needs " << Smallest;
  if (!Refused && Budget && *Budget < Attempts.front().ArenaBytes &&
      (failed(fit(*Budget)) || failed(fitAgain(*Budget))))
    return failure();
  if (!Refused && failed(trySeeds(Budget)))
    return failure();
  if (Options.Record && failed(record()))
    return failure();
  return Refused ? refuse(*Budget) : finish(getFastest(Budget), Budget);
}
