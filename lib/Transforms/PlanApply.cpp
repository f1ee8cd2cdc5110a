//===- PlanApply.cpp - a plan becomes block order and clones --------------===//

#include "mlir/IR/Remarks.h"
#include "remat/Analysis/Uses.h"
#include "remat/IR/RematOps.h"
#include "remat/Transforms/GraphPass.h"
#include "remat/Transforms/Plan.h"

using namespace mlir;
using namespace remat;

namespace {

class PlanApplier {
public:
  PlanApplier(func::FuncOp Func, const PlanningProblem &Problem,
              bool EmitRemarks)
      : Func(Func), Problem(Problem), EmitRemarks(EmitRemarks),
        Return(Func.getBody().front().getTerminator()) {}

  void run(const solver::Plan &Plan);
  PlanSummary Summary;

private:
  void place(const solver::Step &Step);
  Operation *makeClone(Operation *Original, const solver::Step &Step);
  void setChoice(Operation *Op, const solver::Step &Step);

  func::FuncOp Func;
  const PlanningProblem &Problem;
  bool EmitRemarks;
  Operation *Return;
  SmallVector<Operation *> Originals; ///< by position before the rewrite
  BitVector Placed;
  DenseMap<Value, Value> Newest; ///< of an original's result
  int64_t NextId = 0;
};

} // namespace

/// Emits a remark of the planner about `Op`.
static remark::detail::InFlightRemark remarkOn(Operation *Op, StringRef Name) {
  return remark::passed(Op->getLoc(),
                        remark::RemarkOpts::name(Name).category("remat-plan"));
}

void PlanApplier::setChoice(Operation *Op, const solver::Step &Step) {
  const solver::Op &Planned = Problem.Problem.Ops[Step.Op];
  if (Planned.Choices.empty())
    return;
  const solver::Choice &Choice = Planned.Choices[Step.Choice];
  Op->setAttr(ChoiceAttrName, Problem.Kernels.at(Step.Op)[Step.Choice]);
  if (EmitRemarks && Step.Choice != Problem.Problem.fastestChoice(Step.Op))
    remarkOn(Op, "choose") << "slower kernel with less workspace"
                           << remark::metric("Choice", StringRef(Choice.Name))
                           << remark::metric("Workspace", Choice.Workspace);
}

Operation *PlanApplier::makeClone(Operation *Original,
                                  const solver::Step &Step) {
  OpBuilder B(Return);
  auto Id = Original->getAttrOfType<IntegerAttr>(IdAttrName);
  if (!Id) {
    Id = B.getI64IntegerAttr(NextId++);
    Original->setAttr(IdAttrName, Id);
  }
  Operation *Clone = B.clone(*Original);
  Clone->removeAttr(IdAttrName);
  Clone->setAttr(OriginAttrName, Id);
  if (isView(Original)) // costs nothing: no decision
    return Clone;
  double Time = Problem.Problem.timeOf(Step.Op, Step.Choice);
  ++Summary.RecomputedOps;
  Summary.RecomputedMicroseconds += Time;
  if (EmitRemarks) {
    int64_t Bytes = 0;
    for (solver::ValueId V : Problem.Problem.Ops[Step.Op].Outputs)
      Bytes += Problem.Problem.Values[V].Bytes;
    remarkOn(Original, "recompute")
        << "computed again, not kept"
        << remark::metric("Op", Original->getName().stripDialect())
        << remark::metric("Id", Id.getInt()) << remark::metric("Bytes", Bytes)
        << remark::metric("Microseconds", Time);
  }
  return Clone;
}

void PlanApplier::place(const solver::Step &Step) {
  unsigned Position = Problem.Positions[Step.Op];
  Operation *Original = Originals[Position];
  Operation *Op = Original;
  // The first instance is the operation itself; its operands still name the
  // originals, and so do a clone's.
  if (Placed.test(Position))
    Op = makeClone(Original, Step);
  else
    Original->moveBefore(Return);
  Placed.set(Position);
  setChoice(Op, Step);
}

void PlanApplier::run(const solver::Plan &Plan) {
  for (Operation &Op : Func.getBody().front().without_terminator())
    Originals.push_back(&Op);
  Placed.resize(Originals.size());
  // Clones are made with the original's operands, so operands are bound to
  // instances afterwards, in one walk over the new order.
  SmallVector<Operation *> Sources;
  for (const solver::Step &Step : Plan.Sequence) {
    place(Step);
    Sources.push_back(Originals[Problem.Positions[Step.Op]]);
  }
  auto GetNewest = [&](Value V) {
    Value Found = Newest.lookup(V);
    return Found ? Found : V;
  };
  Operation *Op = Originals.empty() ? nullptr : &Return->getBlock()->front();
  for (Operation *Source : Sources) {
    while (isResidentConstant(Op))
      Op = Op->getNextNode();
    for (OpOperand &Operand : Op->getOpOperands())
      Operand.set(GetNewest(Operand.get()));
    for (auto [Old, New] :
         llvm::zip_equal(Source->getResults(), Op->getResults()))
      Newest[Old] = New;
    Op = Op->getNextNode();
  }
  for (OpOperand &Operand : Return->getOpOperands())
    Operand.set(GetNewest(Operand.get()));
}

FailureOr<PlanSummary> remat::applyPlan(func::FuncOp Func,
                                        const PlanningProblem &Problem,
                                        const solver::Plan &Plan,
                                        bool EmitRemarks) {
  solver::VerifyResult Checked =
      solver::verify(Problem.Problem, Plan, solver::MaxTotalBytes);
  if (!Checked.Ok)
    return emitError(Func.getLoc(), "the planner's plan is wrong: ")
           << Checked.Error;
  ValueNumbering Numbering;
  SmallVector<unsigned> Before = Numbering.run(Func);

  // The first run of the op at the turn stays in a plan even where nobody reads
  // it, as a mark for the planner's rules. The block needs none.
  solver::Plan Steps = Plan;
  solver::dropUnread(Problem.Problem, Steps);
  PlanApplier Applier(Func, Problem, EmitRemarks);
  Applier.run(Steps);
  if (Numbering.run(Func) != Before)
    return emitError(Func.getLoc(),
                     "the planned block does not compute what the graph "
                     "says");
  setStage(Func, Stage::planned);
  return Applier.Summary;
}
