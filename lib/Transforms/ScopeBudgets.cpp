//===- ScopeBudgets.cpp - what a scope may keep ---------------------------===//

#include "ScopeBudgets.h"
#include "remat/Analysis/ValueNames.h"
#include "remat/IR/RematDialect.h"
#include "remat/Support/Budget.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace remat;
using solver::None;
using solver::ValueId;

/// Values that a message names.
static constexpr size_t MaxNamed = 3;

std::optional<ScopeBudget> ScopeBudget::parse(StringRef Text) {
  auto [Scope, Bytes] = Text.rsplit('=');
  std::optional<NamePattern> Pattern = NamePattern::parse(Scope);
  std::optional<Budget> Parsed = Budget::parse(Bytes);
  if (!Pattern || !Parsed || Parsed->Kind != Budget::Kind::Bytes)
    return std::nullopt;
  return ScopeBudget{std::move(*Pattern), Parsed->Bytes, Text.str()};
}

namespace {

class ScopeLimiter {
public:
  ScopeLimiter(func::FuncOp Func, ArrayRef<std::string> Keep,
               PlanningProblem &Made)
      : Func(Func), Keep(Keep), P(Made.Problem), Names(Func), Of(Func, Made) {
    findClasses();
    findKeepers();
  }

  LogicalResult apply(const ScopeBudget &Budget);

private:
  /// A value of the scope with bytes of its own.
  struct Candidate {
    ValueId Value;
    bool IsRead;    ///< after the turn, in the base order
    bool MustStay;  ///< it cannot be `Never`
    double Density; ///< microseconds for a byte to make it again
  };

  Operation *getOp(ValueId V) const { return Of.getResult(V).getOwner(); }
  StringRef getName(ValueId V) const { return Names.get(Of.getResult(V)); }
  void findClasses();
  void findKeepers();
  SmallVector<Candidate> getCandidates(const ScopeBudget &Budget) const;
  void drop(ValueId V);
  std::string whyStays(ValueId V) const;
  LogicalResult emitNoMatch(const ScopeBudget &Budget);
  LogicalResult emitTooLittle(const ScopeBudget &Budget,
                              ArrayRef<Candidate> Staying);

  func::FuncOp Func;
  ArrayRef<std::string> Keep;
  solver::Problem &P;
  ValueNames Names;
  PlannedValues Of;
  /// Per value: the value whose bytes it shows; per such a value all that do,
  /// and whether one of them is read after the turn.
  std::vector<ValueId> Class;
  std::vector<SmallVector<ValueId, 2>> Members;
  std::vector<bool> IsRead;
  /// Per class: it is there at the end in any case.
  std::vector<bool> IsResult;
  /// Per class: it cannot be `Never`.
  std::vector<bool> MustStay;
  solver::OpId Turn = None;
};

} // namespace

void ScopeLimiter::findClasses() {
  Turn = solver::turnOf(P);
  Class.resize(P.Values.size());
  Members.resize(P.Values.size());
  IsRead.resize(P.Values.size());
  for (ValueId V = 0; V < ValueId(P.Values.size()); ++V) {
    // What is shown stands before what shows it.
    ValueId Shown = P.Values[V].Alias;
    Class[V] = Shown == None ? V : Class[Shown];
    Members[Class[V]].push_back(V);
  }
  for (solver::OpId O = Turn + 1; O < solver::OpId(P.Ops.size()); ++O)
    for (ValueId V : P.Ops[O].Inputs)
      IsRead[Class[V]] = true;
  IsResult.resize(P.Values.size());
  for (ValueId V : P.Results)
    IsResult[Class[V]] = true;
}

/// What `check` refuses as `Never`, and what is to be kept.
void ScopeLimiter::findKeepers() {
  MustStay.resize(P.Values.size());
  solver::Problem Asked = P;
  for (solver::Value &V : Asked.Values)
    if (V.Producer != None && V.Policy != solver::Keep::Must)
      V.Policy = solver::Keep::Never;
  for (const solver::WrongNever &Wrong : solver::findWrongNever(Asked))
    MustStay[Class[Wrong.Value]] = true;
  for (ValueId V = 0; V < ValueId(P.Values.size()); ++V)
    if (P.Values[V].Policy == solver::Keep::Must)
      MustStay[Class[V]] = true;
}

SmallVector<ScopeLimiter::Candidate>
ScopeLimiter::getCandidates(const ScopeBudget &Budget) const {
  SmallVector<Candidate> Found;
  for (ValueId V = 0; V < ValueId(P.Values.size()); ++V) {
    solver::OpId Maker = P.Values[V].Producer;
    if (Maker == None || Class[V] != V || P.Values[V].Bytes == 0 ||
        IsResult[V] || getOp(V)->hasAttr(PhaseAttrName) ||
        !Budget.Scope.matches(getName(V)))
      continue;
    double Time = P.timeOf(Maker, P.fastestChoice(Maker));
    Found.push_back({V, IsRead[V], MustStay[V],
                     Time / static_cast<double>(P.Values[V].Bytes)});
  }
  return Found;
}

void ScopeLimiter::drop(ValueId V) {
  for (ValueId Member : Members[V])
    P.Values[Member].Policy = solver::Keep::Never;
}

LogicalResult ScopeLimiter::emitNoMatch(const ScopeBudget &Budget) {
  SmallVector<std::string> Known;
  for (ValueId V = 0; V < ValueId(P.Values.size()); ++V)
    if (P.Values[V].Producer != None && !getOp(V)->hasAttr(PhaseAttrName))
      Known.push_back(getName(V).str());
  return emitError(Func.getLoc(), Budget.str())
         << " names no value of the forward"
         << describeNearNames(Budget.Scope, Known);
}

std::string ScopeLimiter::whyStays(ValueId V) const {
  if (P.Values[V].Policy != solver::Keep::Must)
    return "it cannot be computed again";
  for (StringRef Text : Keep)
    if (NamePattern::parse(Text)->matches(getName(V)))
      return ("--keep '" + Text + "' says keep").str();
  return "its remat.keep says must";
}

LogicalResult ScopeLimiter::emitTooLittle(const ScopeBudget &Budget,
                                          ArrayRef<Candidate> Staying) {
  int64_t Needed = 0;
  for (const Candidate &C : Staying)
    Needed += P.Values[C.Value].Bytes;
  InFlightDiagnostic Diag = emitError(Func.getLoc(), Budget.str());
  Diag << ": the scope has to keep " << Needed << " bytes";
  SmallVector<Candidate> Largest(Staying);
  llvm::sort(Largest, [&](const Candidate &L, const Candidate &R) {
    return std::pair(-P.Values[L.Value].Bytes, L.Value) <
           std::pair(-P.Values[R.Value].Bytes, R.Value);
  });
  Largest.truncate(std::min(Largest.size(), MaxNamed));
  for (const Candidate &C : Largest)
    Diag.attachNote(getOp(C.Value)->getLoc())
        << "'" << getName(C.Value) << "' holds " << P.Values[C.Value].Bytes
        << " bytes, and " << whyStays(C.Value);
  return failure();
}

LogicalResult ScopeLimiter::apply(const ScopeBudget &Budget) {
  SmallVector<Candidate> All = getCandidates(Budget);
  if (All.empty())
    return emitNoMatch(Budget);
  // A plan might keep what the backward does not read, to make something else
  // from it: it counts as well, unless it is dropped, which costs nothing.
  SmallVector<Candidate> Staying, Free;
  int64_t Kept = 0;
  for (const Candidate &C : All) {
    if (!C.MustStay && !C.IsRead) {
      drop(C.Value);
      continue;
    }
    if (P.Values[C.Value].Policy == solver::Keep::Never)
      continue;
    (C.MustStay ? Staying : Free).push_back(C);
    Kept += P.Values[C.Value].Bytes;
  }
  llvm::sort(Free, [](const Candidate &L, const Candidate &R) {
    return std::pair(L.Density, L.Value) < std::pair(R.Density, R.Value);
  });
  for (const Candidate &C : Free) {
    if (Kept <= Budget.Bytes)
      return success();
    drop(C.Value);
    Kept -= P.Values[C.Value].Bytes;
  }
  return Kept <= Budget.Bytes ? success() : emitTooLittle(Budget, Staying);
}

LogicalResult remat::applyScopeBudgets(func::FuncOp Func,
                                       ArrayRef<ScopeBudget> Budgets,
                                       ArrayRef<std::string> Keep,
                                       PlanningProblem &Problem) {
  if (Budgets.empty())
    return success();
  ScopeLimiter Limiter(Func, Keep, Problem);
  for (const ScopeBudget &Budget : Budgets)
    if (failed(Limiter.apply(Budget)))
      return failure();
  return success();
}
