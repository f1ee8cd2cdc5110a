//===- Scan.cpp - the adjoint of a loop -----------------------------------===//
//
// A scan that runs the other way. Its step t makes step t of the forward again,
// from the carries as that step found them, and goes back through it:
//
//   carries   the gradients of the carries, and sums of those of what is read
//   slices    the stacked carries, the forward's slices, the gradients of what
//             it stacked
//   reads     what the forward reads
//   stacks    the gradients of the slices
//
//===----------------------------------------------------------------------===//

#include "AdjointBuilder.h"
#include "mlir/IR/IRMapping.h"
#include "remat/IR/ReverseWalk.h"

using namespace mlir;
using namespace remat;

/// The result that stacks a carry as each step finds it; null if none does.
static Value findStack(ScanOp Scan, unsigned Carry) {
  BlockArgument Argument = Scan.getBlock().getArgument(Carry);
  for (unsigned I = Scan.getNumCarries(); I < Scan->getNumResults(); ++I)
    if (Scan.getYielded()[I] == Argument)
      return Scan.getResult(I);
  return Value();
}

ScanOp remat::stackCarries(ScanOp Scan) {
  SmallVector<Value> Stacked;
  for (unsigned I = 0; I < Scan.getNumCarries(); ++I)
    if (!findStack(Scan, I))
      Stacked.push_back(Scan.getBlock().getArgument(I));
  if (Stacked.empty())
    return Scan;
  Operation *Yield = Scan.getBlock().getTerminator();
  Yield->insertOperands(Yield->getNumOperands(), Stacked);
  SmallVector<Type> Types(Scan->getResultTypes());
  for (Value V : Stacked)
    Types.push_back(Scan.getStackType(V.getType()));
  OpBuilder Builder(Scan);
  auto New =
      ScanOp::create(Builder, Scan.getLoc(), Types, Scan.getInits(),
                     Scan.getSlices(), Scan.getReads(), Scan.getStepsAttr(),
                     Scan.getReverseAttr(), IntegerAttr());
  New->setDiscardableAttrs(Scan->getDiscardableAttrDictionary());
  New.getBody().takeBody(Scan.getBody());
  Scan->replaceAllUsesWith(New->getResults().take_front(Scan->getNumResults()));
  Scan.erase();
  return New;
}

static Value makeZeros(OpBuilder &Builder, Location Loc,
                       RankedTensorType Type) {
  return ConstantOp::create(
      Builder, Loc,
      DenseElementsAttr::get(Type, Builder.getZeroAttr(Type.getElementType())));
}

/// Sums over steps are made in f32: there may be thousands of terms.
static RankedTensorType getSumType(Value Of) {
  auto Type = cast<RankedTensorType>(Of.getType());
  return Type.clone(Float32Type::get(Type.getContext()));
}

namespace {

class ScanAdjoint {
public:
  ScanAdjoint(ScanOp Forward, OpBuilder &Builder, ValueRange ResultGrads,
              ArrayRef<bool> Needed)
      : Forward(Forward), Builder(Builder), ResultGrads(ResultGrads),
        Needed(Needed), Carries(Forward.getNumCarries()),
        Slices(Forward.getSlices().size()) {}

  LogicalResult build(MutableArrayRef<Value> OperandGrads);

private:
  void findActive();
  LogicalResult collectOperands();
  LogicalResult buildBody(Block &Body);
  void addArguments(Block &Body);
  void cloneForward(OpBuilder &Inner);
  void seed(ReverseWalk &Walk);
  void yield(OpBuilder &Inner, ReverseWalk &Walk);
  BlockArgument getArgument(unsigned Index) const {
    return Forward.getBlock().getArgument(Index);
  }
  bool isRead(unsigned Operand) const { return Operand >= Carries + Slices; }

  mutable ScanOp Forward;
  OpBuilder &Builder;
  ValueRange ResultGrads;
  ArrayRef<bool> Needed;
  unsigned Carries, Slices;
  llvm::DenseSet<Value> Active; ///< of the forward's body
  SmallVector<Value> Inits, Sliced;
  SmallVector<unsigned> Carried;    ///< carries with a gradient
  SmallVector<unsigned> Summed;     ///< reads with one, by operand
  SmallVector<unsigned> Back;       ///< slices with one, by operand
  SmallVector<unsigned> FromStacks; ///< results that are stacks with one
  SmallVector<BlockArgument> CarryGrads, Sums, StackGrads;
  IRMapping Again; ///< from the forward's body to where it is made again
  SmallVector<Operation *> Cloned;
  SmallVector<Type> Types;
};

} // namespace

/// A carry is active as soon as it is in any step.
void ScanAdjoint::findActive() {
  for (unsigned I = 0; I < Needed.size(); ++I)
    if (Needed[I])
      Active.insert(getArgument(I));
  bool Grew = true;
  while (Grew) {
    Grew = false;
    markActive(Forward.getBlock(), Active);
    for (unsigned I = 0; I < Carries; ++I)
      if (Active.contains(Forward.getYielded()[I]))
        Grew |= Active.insert(getArgument(I)).second;
  }
}

LogicalResult ScanAdjoint::collectOperands() {
  Location Loc = Forward.getLoc();
  for (unsigned I = 0; I < Carries; ++I) {
    if (!Active.contains(getArgument(I)))
      continue;
    Carried.push_back(I);
    auto Type = cast<RankedTensorType>(getArgument(I).getType());
    Inits.push_back(ResultGrads[I] ? ResultGrads[I]
                                   : makeZeros(Builder, Loc, Type));
  }
  for (unsigned I = Carries; I < Needed.size(); ++I) {
    if (!Needed[I])
      continue;
    (isRead(I) ? Summed : Back).push_back(I);
    if (isRead(I))
      Inits.push_back(makeZeros(Builder, Loc, getSumType(getArgument(I))));
  }
  for (unsigned I = 0; I < Carries; ++I) {
    Value Stack = findStack(Forward, I);
    if (!Stack)
      return Forward.emitOpError("does not stack its carry #") << I;
    Sliced.push_back(Stack);
  }
  llvm::append_range(Sliced, Forward.getSlices());
  for (unsigned I = Carries; I < ResultGrads.size(); ++I)
    if (ResultGrads[I] && Active.contains(Forward.getYielded()[I])) {
      FromStacks.push_back(I);
      Sliced.push_back(ResultGrads[I]);
    }
  for (Value Init : Inits)
    Types.push_back(Init.getType());
  for (unsigned I : Back)
    Types.push_back(Forward->getOperand(I).getType());
  return success();
}

/// The arguments in the order of the operands, each with what it stands for.
void ScanAdjoint::addArguments(Block &Body) {
  Location Loc = Forward.getLoc();
  auto Add = [&](Type Of) { return Body.addArgument(Of, Loc); };
  for (unsigned I : Carried)
    CarryGrads.push_back(Add(getArgument(I).getType()));
  for (unsigned I : Summed)
    Sums.push_back(Add(getSumType(getArgument(I))));
  for (unsigned I = 0; I < Carries + Slices; ++I)
    Again.map(getArgument(I), Add(getArgument(I).getType()));
  for (unsigned I : FromStacks)
    StackGrads.push_back(Add(Forward.getYielded()[I].getType()));
  for (BlockArgument Read : Forward.getReadArguments())
    Again.map(Read, Add(Read.getType()));
}

void ScanAdjoint::cloneForward(OpBuilder &Inner) {
  for (Operation &Op : Forward.getBlock().without_terminator()) {
    Operation *Clone = Inner.clone(Op, Again);
    if (auto Nested = dyn_cast<ScanOp>(Clone)) {
      ScanOp Stacking = stackCarries(Nested);
      for (OpResult Result : Op.getResults())
        Again.map(Result, Stacking.getResult(Result.getResultNumber()));
      Clone = Stacking;
    }
    Cloned.push_back(Clone);
  }
}

void ScanAdjoint::seed(ReverseWalk &Walk) {
  auto Add = [&](unsigned Yielded, Value Gradient) {
    Value Of = Forward.getYielded()[Yielded];
    if (Active.contains(Of))
      Walk.accumulate(Again.lookup(Of), Gradient, Forward.getLoc());
  };
  for (auto [Carry, Gradient] : llvm::zip_equal(Carried, CarryGrads))
    Add(Carry, Gradient);
  for (auto [Result, Gradient] : llvm::zip_equal(FromStacks, StackGrads))
    Add(Result, Gradient);
}

void ScanAdjoint::yield(OpBuilder &Inner, ReverseWalk &Walk) {
  AdjointBuilder B(Inner, Forward);
  auto Get = [&](unsigned Operand) {
    Value Gradient = Walk.getGradient(Again.lookup(getArgument(Operand)));
    auto Type = cast<RankedTensorType>(getArgument(Operand).getType());
    return Gradient ? Gradient : makeZeros(Inner, Forward.getLoc(), Type);
  };
  SmallVector<Value> Yielded = llvm::map_to_vector(Carried, Get);
  for (auto [Operand, Sum] : llvm::zip_equal(Summed, Sums)) {
    Value Gradient = Walk.getGradient(Again.lookup(getArgument(Operand)));
    Yielded.push_back(Gradient ? B.add(Sum, B.cast(Gradient, B.getF32Type()))
                               : Value(Sum));
  }
  llvm::append_range(Yielded, llvm::map_range(Back, Get));
  YieldOp::create(Inner, Forward.getLoc(), Yielded);
}

LogicalResult ScanAdjoint::buildBody(Block &Body) {
  OpBuilder Inner(Builder);
  Inner.setInsertionPointToEnd(&Body);
  addArguments(Body);
  cloneForward(Inner);
  llvm::DenseSet<Value> ActiveAgain;
  for (Value V : Active)
    ActiveAgain.insert(Again.lookup(V));
  ReverseWalk Walk(Inner, ActiveAgain);
  seed(Walk);
  if (failed(Walk.run(Cloned)))
    return failure();
  yield(Inner, Walk);
  return success();
}

LogicalResult ScanAdjoint::build(MutableArrayRef<Value> OperandGrads) {
  findActive();
  if (failed(collectOperands()))
    return failure();
  AdjointBuilder B(Builder, Forward);
  auto Backward = ScanOp::create(
      Builder, Forward.getLoc(), Types, Inits, Sliced, Forward.getReads(),
      Forward.getStepsAttr(),
      Forward.getReverse() ? UnitAttr() : Builder.getUnitAttr(), IntegerAttr());
  if (failed(buildBody(Backward.getBody().emplaceBlock())))
    return failure();
  unsigned Next = 0;
  for (unsigned I : Carried) {
    if (Needed[I])
      OperandGrads[I] = Backward.getResult(Next);
    ++Next;
  }
  for (unsigned I : Summed) {
    auto Type = cast<RankedTensorType>(getArgument(I).getType());
    OperandGrads[I] = B.cast(Backward.getResult(Next++), Type.getElementType());
  }
  for (unsigned I : Back)
    OperandGrads[I] = Backward.getResult(Next++);
  return success();
}

LogicalResult ScanOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                                   ArrayRef<bool> Needed,
                                   MutableArrayRef<Value> OperandGrads) {
  return ScanAdjoint(*this, Builder, ResultGrads, Needed).build(OperandGrads);
}
