//===- PlanProblem.cpp - a graph as the planner sees it -------------------===//

#include "PlanProblem.h"
#include "remat/Analysis/MemoryProfile.h"
#include "remat/IR/RematOps.h"
#include "remat/Transforms/Plan.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace remat;

namespace {

class ProblemBuilder {
public:
  ProblemBuilder(func::FuncOp Func, const Target &Where, bool Relaxed)
      : Func(Func), Where(Where), Relaxed(Relaxed), Written(Func),
        Readers(Func.getBody().front(), Places) {}

  FailureOr<PlanningProblem> run();

  /// Of a relaxed problem: ops with an output that may take over one of several
  /// inputs. The rules of a plan name one, memory assignment may take another.
  std::vector<solver::OpId> Ambiguous;

private:
  LogicalResult addResident(Value V, StringRef Name);
  LogicalResult addArguments();
  void addOrder();
  LogicalResult addOperation(Operation *Op, unsigned Position);
  LogicalResult addOutput(OpResult Result, solver::OpId Id);
  std::vector<solver::ValueId> getInputs(Operation *Op);
  LogicalResult setTimes(Operation *Op, solver::OpId Id);
  SmallVector<Value> getReusable(OpResult Result);
  solver::ValueId chooseReuse(OpResult Result, solver::OpId Id);
  void addNever();
  std::string getUniqueName(std::string Name);

  func::FuncOp Func;
  const Target &Where;
  const bool Relaxed;
  const Overwrites Written;
  PlanningProblem Made;
  DenseMap<Value, solver::ValueId> Ids;
  Storages Places;
  const LastReaders Readers;
  llvm::StringSet<> Names;
  DenseMap<Operation *, solver::OpId> OpIds;
  /// What the graph asks never to keep; the problem says so last.
  SmallVector<solver::ValueId> Never;
};

} // namespace

std::string ProblemBuilder::getUniqueName(std::string Name) {
  while (!Names.insert(Name).second)
    Name += '\'';
  return Name;
}

static std::optional<int64_t> getAlignedBytes(Value V) {
  std::optional<int64_t> Bytes = getByteSize(V.getType());
  return Bytes ? alignBytes(*Bytes) : std::nullopt;
}

LogicalResult ProblemBuilder::addResident(Value V, StringRef Name) {
  std::optional<int64_t> Bytes = getAlignedBytes(V);
  if (!Bytes)
    return emitError(V.getLoc())
           << "size of " << V.getType() << " does not fit 64 bits";
  Ids[V] = Made.Problem.addResident(getUniqueName(Name.str()), *Bytes);
  return success();
}

LogicalResult ProblemBuilder::addArguments() {
  for (BlockArgument Argument : Func.getArguments()) {
    auto Name = Func.getArgAttrOfType<StringAttr>(Argument.getArgNumber(),
                                                  NameAttrName);
    std::string Text =
        Name ? Name.str() : "arg" + std::to_string(Argument.getArgNumber());
    if (failed(addResident(Argument, Text)))
      return failure();
  }
  return success();
}

/// Who overwrites an argument runs after all others that read it.
void ProblemBuilder::addOrder() {
  Written.forEachOtherRead([&](Operation *Writer, OpOperand &Read) {
    if (auto Reader = OpIds.find(Read.getOwner()); Reader != OpIds.end())
      Made.Problem.addAfter(OpIds.at(Writer), Reader->second);
  });
}

static solver::Keep getPolicy(Operation *Op) {
  auto Attr = Op->getAttrOfType<KeepAttr>(KeepAttrName);
  if (!Attr)
    return solver::Keep::Free;
  switch (Attr.getValue()) {
  case Keep::must:
    return solver::Keep::Must;
  case Keep::never:
    return solver::Keep::Never;
  case Keep::prefer:
    return solver::Keep::Prefer;
  }
  llvm_unreachable("all policies are listed");
}

/// The operands whose memory `Result` takes over if they die there, one for
/// each storage.
SmallVector<Value> ProblemBuilder::getReusable(OpResult Result) {
  Operation *Op = Result.getOwner();
  auto InPlace = dyn_cast<InPlaceOpInterface>(Op);
  if (!InPlace)
    return {};
  SmallVector<Value> Found;
  llvm::SmallPtrSet<Value, 4> Roots;
  for (unsigned I : InPlace.getReusableOperands(Result.getResultNumber())) {
    Value Operand = Op->getOperand(I), Root = Places.get(Operand).Root;
    solver::ValueId Id = Ids.at(Operand);
    bool IsTaken = llvm::any_of(Op->getResults(), [&](OpResult Other) {
      auto It = Ids.find(Other);
      return It != Ids.end() && Made.Problem.Values[It->second].Reuses == Id;
    });
    bool IsResident =
        isa<BlockArgument>(Root) || Written.getArgument(Root) ||
        Made.Problem.Values[Ids.at(Root)].Producer == solver::None;
    if (!IsTaken && !IsResident && mayOverwrite(Result, Root, Places) &&
        Roots.insert(Root).second)
      Found.push_back(Operand);
  }
  return Found;
}

/// The operand that the problem lets `Result` take over: one that dies there in
/// block order if possible, since the order mostly stays.
solver::ValueId ProblemBuilder::chooseReuse(OpResult Result, solver::OpId Id) {
  SmallVector<Value> Reusable = getReusable(Result);
  if (Reusable.empty())
    return solver::None;
  if (Reusable.size() > 1)
    Ambiguous.push_back(Id);
  auto Dying = llvm::find_if(Reusable, [&](Value Operand) {
    return Readers.get(Places.get(Operand).Root) == Result.getOwner();
  });
  return Ids.at(Dying == Reusable.end() ? Reusable.front() : *Dying);
}

LogicalResult ProblemBuilder::addOutput(OpResult Result, solver::OpId Id) {
  Operation *Op = Result.getOwner();
  std::optional<int64_t> Bytes = getAlignedBytes(Result);
  if (!Bytes)
    return Op->emitOpError("size of ")
           << Result.getType() << " does not fit 64 bits";
  solver::Problem &P = Made.Problem;
  std::string Name = getUniqueName(P.Ops[Id].Name + "#" +
                                   std::to_string(Result.getResultNumber()));
  // What overwrites an argument lies in the argument's bytes.
  BlockArgument Overwritten = Written.getArgument(Result);
  bool View = isView(Op);
  bool OwnsNone = View || Overwritten;
  solver::ValueId Reuse = OwnsNone ? solver::None : chooseReuse(Result, Id);
  solver::ValueId Value =
      P.addOutput(Id, std::move(Name), OwnsNone ? 0 : *Bytes);
  P.Values[Value].Reuses = Reuse;
  solver::Keep Policy = getPolicy(Op);
  if (Policy == solver::Keep::Never)
    Never.push_back(Value);
  else if (!Relaxed || Policy == solver::Keep::Must)
    P.Values[Value].Policy = Policy;
  if (View)
    P.Values[Value].Alias = Ids.at(Op->getOperand(0));
  if (Overwritten)
    P.Ops[Id].Once = true;
  Ids[Result] = Value;
  return success();
}

LogicalResult ProblemBuilder::setTimes(Operation *Op, solver::OpId Id) {
  SmallVector<KernelAttr> Kernels = Where.getImplementations(Op);
  if (Kernels.empty())
    return Where.emitNoImplementation(Op);
  auto GetBytes = [](KernelAttr Kernel) {
    int64_t Bytes = Kernel.getWorkspace();
    return Bytes > 0 ? alignBytes(Bytes).value_or(Bytes) : 0;
  };
  solver::Op &Planned = Made.Problem.Ops[Id];
  Planned.Time = Kernels.front().getMicroseconds();
  Planned.Workspace = GetBytes(Kernels.front());
  if (Kernels.size() == 1)
    return success();
  for (KernelAttr Kernel : Kernels)
    Planned.Choices.push_back(
        {Kernel.getName(), Kernel.getMicroseconds(), GetBytes(Kernel)});
  Made.Kernels[Id] = std::move(Kernels);
  return success();
}

std::vector<solver::ValueId> ProblemBuilder::getInputs(Operation *Op) {
  llvm::SetVector<solver::ValueId, std::vector<solver::ValueId>,
                  llvm::DenseSet<solver::ValueId>, 16>
      Distinct;
  for (Value Operand : Op->getOperands())
    Distinct.insert(Ids.at(Operand));
  return Distinct.takeVector();
}

LogicalResult ProblemBuilder::addOperation(Operation *Op, unsigned Position) {
  std::string Name = getUniqueName(
      (Op->getName().stripDialect() + "." + std::to_string(Position)).str());
  if (isResidentConstant(Op))
    return addResident(Op->getResult(0), Name);
  solver::OpId Id = Made.Problem.addOp(std::move(Name), 0, getInputs(Op));
  Made.Positions.push_back(Position);
  OpIds[Op] = Id;
  if (failed(setTimes(Op, Id)))
    return failure();
  Made.Problem.Ops[Id].Once = Op->hasTrait<RunsOnce>();
  for (OpResult Result : Op->getResults())
    if (failed(addOutput(Result, Id)))
      return failure();
  return success();
}

/// "never" speaks of what is kept for the backward. A result of the graph is
/// there at the end in any case, and what cannot be computed again is kept,
/// also what reads an argument that is overwritten before the backward begins.
/// Where that is, only a problem that is right in all else can say; it need not
/// be the same in a relaxed one.
void ProblemBuilder::addNever() {
  if (Relaxed)
    return;
  solver::Problem &P = Made.Problem;
  for (solver::ValueId V : Never)
    P.Values[V].Policy = solver::Keep::Never;
  for (const solver::WrongNever &Wrong : solver::findWrongNever(P))
    P.Values[Wrong.Value].Policy = solver::Keep::Free;
}

FailureOr<PlanningProblem> ProblemBuilder::run() {
  if (failed(addArguments()))
    return failure();
  Block &Body = Func.getBody().front();
  for (auto [Position, Op] : llvm::enumerate(Body.without_terminator()))
    if (failed(addOperation(&Op, Position)))
      return failure();
  DenseSet<solver::ValueId> Listed;
  for (Value Returned : Body.getTerminator()->getOperands()) {
    solver::ValueId Id = Ids.at(Returned);
    bool Resident = Made.Problem.Values[Id].Producer == solver::None;
    if (!Resident && Listed.insert(Id).second)
      Made.Problem.Results.push_back(Id);
  }
  if (!Relaxed)
    addOrder();
  if (std::optional<std::string> Bad = solver::check(Made.Problem))
    return emitError(Func.getLoc(), "cannot be planned: ") << *Bad;
  addNever();
  return std::move(Made);
}

PlannedValues::PlannedValues(func::FuncOp Func, const PlanningProblem &Made)
    : Made(Made) {
  for (Operation &Op : Func.getBody().front().without_terminator())
    Ops.push_back(&Op);
}

/// The outputs of an op of the problem are its results, in order.
OpResult PlannedValues::getResult(solver::ValueId V) const {
  solver::OpId Maker = Made.Problem.Values[V].Producer;
  const std::vector<solver::ValueId> &Outputs = Made.Problem.Ops[Maker].Outputs;
  return getOp(Maker)->getResult(llvm::find(Outputs, V) - Outputs.begin());
}

FailureOr<PlanningProblem> remat::buildProblem(func::FuncOp Func,
                                               const Target &Where) {
  return ProblemBuilder(Func, Where, /*Relaxed=*/false).run();
}

FailureOr<PlanningProblem>
remat::buildRelaxedProblem(func::FuncOp Func, const Target &Where,
                           std::vector<solver::OpId> &Ambiguous) {
  ProblemBuilder Builder(Func, Where, /*Relaxed=*/true);
  FailureOr<PlanningProblem> Built = Builder.run();
  Ambiguous = std::move(Builder.Ambiguous);
  return Built;
}
