//===- Fuse.cpp - groups of elementwise operations ------------------------===//
//
// A group reads each input once and writes each output once; what lies between
// stays in registers. Inside it every value is rounded to its element type as
// if it had been stored, so that grouping changes no bit of any value.
//
//===----------------------------------------------------------------------===//

#include "FuseModel.h"
#include "FuseRows.h"
#include "mlir/IR/IRMapping.h"
#include "remat/Target/Targets.h"
#include "remat/Transforms/Passes.h"

namespace remat {
#define GEN_PASS_DEF_FUSE
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {

/// Chooses groups: from each operation back to what it reads, in block order.
class Grouping {
public:
  Grouping(FuseModel &Model, const Target &Where, bool BeforePlan)
      : Model(Model), Where(Where), BeforePlan(BeforePlan) {
    Rules.SeveralOutputs = !BeforePlan;
    Rules.UseHeadroom = !BeforePlan;
    Rules.UpdatesMove = BeforePlan;
  }

  void run() {
    absorbAll();
    if (BeforePlan)
      return;
    // What is read once less saves less than what is not written.
    Rules.Siblings = true;
    absorbAll();
  }

private:
  void absorbAll() {
    for (unsigned I = 0; I < Model.getSteps().getNumPositions(); ++I)
      while (absorbOne(I))
        ;
  }

  /// Whether `Consumer` is a sum that the kernel of `Producer` makes too, which
  /// stores what is summed since others read it.
  bool isSumOf(Operation *Consumer, Operation *Producer) const {
    if (!BeforePlan || !isColumnSum(Consumer) ||
        Consumer->getOperand(0).getDefiningOp() != Producer ||
        Consumer->getOperand(0).hasOneUse())
      return false;
    std::optional<ArrayRef<int64_t>> Shape = getPointwiseShape(Producer);
    auto Type = cast<RankedTensorType>(Consumer->getOperand(0).getType());
    return Shape && Shape == Type.getShape() && Where.sumsInKernels(Consumer);
  }

  /// What a kernel sums it stores: it is not made part of another one that
  /// might not.
  bool sums(Operation *Producer) const {
    const StepLiveness &Steps = Model.getSteps();
    return llvm::any_of(
        Steps.getOutputs(Steps.getStep(Steps.getPosition(Producer))), isSum);
  }

  bool mayMeet(Operation *Producer, Operation *Consumer) const {
    if ((!mayShareKernel(Producer, Consumer) && !isSumOf(Consumer, Producer)) ||
        sums(Producer))
      return false;
    return !BeforePlan || leavesPlanFree(Producer, Consumer);
  }

  /// Merges one producer of a step into it, the latest one that may be.
  bool absorbOne(unsigned Consumer) {
    const StepLiveness &Steps = Model.getSteps();
    const Step &S = Steps.getStep(Consumer);
    // What nobody reads would make a kernel without results.
    if (S.Ops.empty() || Steps.getOutputs(S).empty())
      return false;
    SmallVector<unsigned> Producers;
    auto Add = [&](Operation *Op) {
      if (Op && !isView(Op) && mayMeet(Op, S.Ops.back()))
        Producers.push_back(Steps.getPosition(Op));
    };
    for (Value Input : Steps.getInputs(S)) {
      Add(Input.getDefiningOp());
      if (!Rules.Siblings || !readsInFull(S.Ops.back(), Input))
        continue;
      for (Operation *Other : Input.getUsers())
        if (Other->getBlock() == S.Ops.back()->getBlock() &&
            Steps.getPosition(Other) < Consumer)
          Add(Other);
    }
    llvm::sort(Producers, std::greater<>());
    Producers.erase(llvm::unique(Producers), Producers.end());
    FuseModel::MergeRules These = Rules;
    These.SeveralOutputs |= isColumnSum(S.Ops.back());
    for (unsigned Producer : Producers)
      if (Model.tryMerge(Producer, Consumer, These))
        return true;
    return false;
  }

  FuseModel &Model;
  const Target &Where;
  bool BeforePlan;
  FuseModel::MergeRules Rules;
};

/// Writes one step as a `remat.kernel`.
class KernelBuilder {
public:
  KernelBuilder(const StepLiveness &Steps, const Step &Group)
      : Group(Group), Inputs(Steps.getInputs(Group)),
        Outputs(Steps.getOutputs(Group)) {}

  /// The kernel takes the place of the group's last operation; the operations
  /// are erased.
  void build() {
    Operation *Last = Group.Ops.back();
    OpBuilder Builder(Last);
    auto Kernel = KernelOp::create(Builder, getLocation(),
                                   ValueRange(Outputs).getTypes(), Inputs);
    Block &Body = Kernel.getBody().emplaceBlock();
    for (Value Input : Inputs)
      Mapping.map(Input, Body.addArgument(Input.getType(), Input.getLoc()));
    OpBuilder Inner = OpBuilder::atBlockEnd(&Body);
    for (Operation *Op : Group.Ops)
      addOp(Inner, Op);
    SmallVector<Value> Yields;
    for (Value Output : Outputs)
      Yields.push_back(Mapping.lookup(Output));
    YieldOp::create(Inner, Last->getLoc(), Yields);
    setAttributes(Kernel);
    for (auto [Old, New] : llvm::zip(Outputs, Kernel.getResults()))
      Old.replaceAllUsesWith(New);
    for (Operation *Op : llvm::reverse(Group.Ops))
      Op->erase();
  }

private:
  void addOp(OpBuilder &Inner, Operation *Op) {
    for (Value Operand : Op->getOperands())
      if (!Mapping.contains(Operand)) // a splat constant: made anew
        Inner.clone(*Operand.getDefiningOp(), Mapping)
            ->removeAttr(PhaseAttrName);
    if (auto Nested = dyn_cast<KernelOp>(Op)) {
      addNested(Inner, Nested);
      return;
    }
    Operation *Clone = Inner.clone(*Op, Mapping);
    Clone->removeAttr(PhaseAttrName);
    Clone->removeAttr(KeepAttrName);
  }

  /// A kernel of an earlier run is taken apart; its last operation then speaks
  /// for it where others name it as their origin.
  void addNested(OpBuilder &Inner, KernelOp Nested) {
    Block &Body = Nested.getBody().front();
    for (auto [Argument, Operand] :
         llvm::zip(Body.getArguments(), Nested.getInputs()))
      Mapping.map(Argument, Mapping.lookup(Operand));
    Operation *Clone = nullptr;
    for (Operation &Op : Body.without_terminator())
      Clone = Inner.clone(Op, Mapping);
    for (StringRef Name : {IdAttrName, OriginAttrName})
      if (Attribute Attr = Nested->getAttr(Name); Attr && Clone)
        Clone->setAttr(Name, Attr);
    for (auto [Result, Yielded] :
         llvm::zip(Nested.getResults(), Body.getTerminator()->getOperands()))
      Mapping.map(Result, Mapping.lookup(Yielded));
  }

  /// The last operation's location comes first: it is the one to show.
  Location getLocation() const {
    SmallVector<Location> Locations;
    for (Operation *Op : llvm::reverse(Group.Ops))
      Locations.push_back(Op->getLoc());
    return FusedLoc::get(Group.Ops.back()->getContext(), Locations);
  }

  void setAttributes(KernelOp Kernel) const {
    Operation *Last = Group.Ops.back();
    for (StringRef Name : {PhaseAttrName, KeepAttrName})
      if (Attribute Attr = Last->getAttr(Name))
        Kernel->setAttr(Name, Attr);
    // A group recomputes when all of it does. What others recompute keeps its
    // id inside the group, so that an id stands once.
    if (llvm::all_of(Group.Ops,
                     [](Operation *Op) { return Op->hasAttr(OriginAttrName); }))
      Kernel->setAttr(OriginAttrName, Last->getAttr(OriginAttrName));
  }

  const Step &Group;
  SmallVector<Value> Inputs, Outputs;
  IRMapping Mapping;
};

struct FusePass : ::remat::impl::FuseBase<FusePass> {
  using FuseBase::FuseBase;

  void runOnGraph() override {
    func::FuncOp Func = getOperation();
    if (Mode != "before-plan" && Mode != "after-plan") {
      Func.emitError("no such mode of remat-fuse: '")
          << Mode.getValue() << "'; 'before-plan' and 'after-plan' are known";
      return signalPassFailure();
    }
    if (Mode == "after-plan")
      cloneCheapOperations(Func);
    else
      fuseRowOperations(Func);
    std::unique_ptr<Target> Where = createTarget(Func);
    group(Func, *Where);
    // A chain moves as the group that it is by now.
    if (Mode == "before-plan" && hoistReaders(Func))
      group(Func, *Where);
    eraseDeadConstants(Func);
  }

private:
  void group(func::FuncOp Func, const Target &Where) {
    FuseModel Model(Func);
    Grouping(Model, Where, Mode == "before-plan").run();
    // Producers come first, so that a group reads kernels already built.
    const StepLiveness &Steps = Model.getSteps();
    for (unsigned I = 0; I < Steps.getNumPositions(); ++I)
      if (isKernel(Steps.getStep(I)))
        KernelBuilder(Steps, Steps.getStep(I)).build();
  }

  /// Several operations, or one that is read and reads a constant which it can
  /// make.
  static bool isKernel(const Step &S) {
    if (S.Ops.empty())
      return false;
    Operation *Op = S.Ops.front();
    return S.isGroup() || (!Op->use_empty() && getPointwiseShape(Op) &&
                           readsSplatConstant(Op));
  }

  static void eraseDeadConstants(func::FuncOp Func) {
    for (Operation &Op :
         llvm::make_early_inc_range(Func.getBody().front().getOperations()))
      if (isa<ConstantOp>(Op) && Op.use_empty())
        Op.erase();
  }
};

} // namespace
