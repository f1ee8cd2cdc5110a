//===- ExplainPlan.cpp - why values are dropped or kept -------------------===//

#include "ExplainPlan.h"
#include "remat/Analysis/NamePattern.h"
#include "remat/Analysis/ValueNames.h"
#include "remat/Solver/Explain.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace remat;

/// What stands for all values.
static constexpr StringLiteral All = "all";

static std::optional<NamePattern> parsePattern(StringRef Text) {
  return NamePattern::parse(Text == All ? "*" : Text);
}

static std::vector<std::string> listNames(func::FuncOp Func,
                                          const ValueNames &Names) {
  std::vector<std::string> List = Names.listResults(Func);
  for (BlockArgument Argument : Func.getArguments())
    List.push_back(Names.get(Argument).str());
  return List;
}

LogicalResult remat::verifyExplained(func::FuncOp Func,
                                     ArrayRef<std::string> Patterns) {
  if (Patterns.empty())
    return success();
  ValueNames Names(Func);
  std::vector<std::string> Known = listNames(Func, Names);
  for (StringRef Text : Patterns) {
    std::optional<NamePattern> Pattern = parsePattern(Text);
    if (!Pattern)
      return emitError(Func.getLoc(), "explain is '")
             << Text << "'; it must be " << NamePatternHelp << ", or all";
    if (llvm::none_of(Known,
                      [&](StringRef Name) { return Pattern->matches(Name); }))
      return emitError(Func.getLoc(), "explain is '")
             << Text << "', which is the name of no value"
             << describeNearNames(*Pattern, Known);
  }
  return success();
}

namespace {

class PlanExplainer {
public:
  PlanExplainer(func::FuncOp Func, const PlanningProblem &Made,
                const solver::Plan &Plan, ArrayRef<std::string> Patterns)
      : P(Made.Problem), Plan(Plan), Names(Func), Of(Func, Made) {
    for (StringRef Text : Patterns)
      Wanted.push_back(*parsePattern(Text));
  }

  PlanExplanation run();

private:
  StringRef getName(solver::ValueId V) const {
    return Names.get(Of.getResult(V));
  }
  bool isWanted(StringRef Name) const {
    return llvm::any_of(Wanted, [&](const NamePattern &Pattern) {
      return Pattern.matches(Name);
    });
  }
  bool isWanted(Operation *Op) const {
    return isWanted(Names.get(Op)) ||
           llvm::any_of(Op->getResults(), [&](Value Result) {
             return isWanted(Names.get(Result));
           });
  }

  ExplainedRun describe(int32_t Step) const;
  ExplainedRecomputation describe(const solver::Recomputation &R) const;
  ExplainedValue describe(const solver::KeptValue &K) const;
  void addUndecided(PlanExplanation &E) const;

  const solver::Problem &P;
  const solver::Plan &Plan;
  ValueNames Names;
  PlannedValues Of;
  SmallVector<NamePattern> Wanted;
};

} // namespace

ExplainedRun PlanExplainer::describe(int32_t Step) const {
  solver::OpId Id = Plan.Sequence[Step].Op;
  Operation *Op = Of.getOp(Id);
  bool Again =
      llvm::any_of(ArrayRef(Plan.Sequence).take_front(Step),
                   [&](const solver::Step &Before) { return Before.Op == Id; });
  std::string Name = Op->getNumResults() == 0
                         ? Op->getName().stripDialect().str()
                         : Names.get(Op).str();
  return {Again ? Name + ", recomputed" : Name,
          Op->getName().getStringRef().str(), getLocationText(Op->getLoc()),
          Step};
}

ExplainedRecomputation
PlanExplainer::describe(const solver::Recomputation &R) const {
  ExplainedRecomputation E;
  E.Run = describe(R.Step);
  E.Before = describe(R.Before);
  for (solver::ValueId V : P.Ops[R.Op].Outputs)
    if (P.Values[V].Alias == solver::None)
      E.Bytes += P.Values[V].Bytes;
  E.Ms = R.Time / 1000;
  if (R.Relieves != solver::None)
    E.Relieves = describe(R.Relieves);
  E.BytesThere = R.Bytes;
  E.SavedBytes = R.Saved;
  E.PeakWithout = R.PeakWithout;
  E.ChainOps = llvm::count_if(R.Chain, [&](int32_t Step) {
    return P.Ops[Plan.Sequence[Step].Op].Time > 0 ||
           !P.Ops[Plan.Sequence[Step].Op].Choices.empty();
  });
  E.ChainMs = R.ChainTime / 1000;
  for (int32_t Reader : R.Readers)
    E.Readers.push_back(describe(Reader));
  E.IsDemanded = R.IsDemanded;
  return E;
}

ExplainedValue PlanExplainer::describe(const solver::KeptValue &K) const {
  ExplainedValue E;
  E.Run = describe(K.From);
  E.Reader = describe(K.Until);
  E.Name = getName(K.Value).str();
  E.Bytes = P.Values[K.Value].Bytes;
  E.Reason = K.Reason;
  E.Ms = K.Time / 1000;
  E.FreedBytes = K.FreedAtPeak;
  E.PeakIfRepeated = K.PeakIfRepeated;
  return E;
}

/// A name that was asked for by itself is answered in any case.
void PlanExplainer::addUndecided(PlanExplanation &E) const {
  for (const NamePattern &Pattern : Wanted) {
    auto Answers = [&](const ExplainedRun &Run) {
      return Pattern.matches(StringRef(Run.Name).split(", recomputed").first);
    };
    bool Answered =
        llvm::any_of(E.Recomputations,
                     [&](const auto &R) { return Answers(R.Run); }) ||
        llvm::any_of(E.Kept, [&](const ExplainedValue &K) {
          return Answers(K.Run) || Pattern.matches(K.Name);
        });
    if (!Answered && Pattern.isPlain())
      E.Undecided.push_back(Pattern.getText().str());
  }
}

PlanExplanation PlanExplainer::run() {
  solver::Explanation Found = solver::explain(P, Plan);
  PlanExplanation E;
  E.PeakBytes = Found.Peak;
  if (Found.PeakStep != solver::None)
    E.Peak = describe(Found.PeakStep);
  for (const solver::Recomputation &R : Found.Recomputations)
    if (isWanted(Of.getOp(R.Op)))
      E.Recomputations.push_back(describe(R));
  for (const solver::KeptValue &K : Found.Kept) {
    // A plan may make values of the backward before the turn.
    Operation *Maker = Of.getOp(P.Values[K.Value].Producer);
    if (!Maker->hasAttr(PhaseAttrName) &&
        (isWanted(getName(K.Value)) || isWanted(Names.get(Maker))))
      E.Kept.push_back(describe(K));
  }
  addUndecided(E);
  return E;
}

PlanExplanation remat::explainPlan(func::FuncOp Func,
                                   const PlanningProblem &Problem,
                                   const solver::Plan &Plan,
                                   ArrayRef<std::string> Patterns) {
  return PlanExplainer(Func, Problem, Plan, Patterns).run();
}
