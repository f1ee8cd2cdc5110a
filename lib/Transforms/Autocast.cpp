//===- Autocast.cpp - mixed precision, every cast explicit ----------------===//
//
// One walk forward. Each operation falls into one class, which says in which
// type it runs; its operands are cast to that type and its results follow. An
// operation that no class moves reads the types that the user wrote, so that
// it stays as valid as it was. A value is cast once: later users share the
// cast.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/TypeUtilities.h"
#include "remat/Transforms/GraphSignature.h"
#include "remat/Transforms/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace remat {

#define GEN_PASS_DEF_AUTOCAST
#include "remat/Transforms/Passes.h.inc"

namespace {

/// In which type an operation runs. The first three are for operations whose
/// float operands and results may all be of any one type.
enum class Policy {
  Low,    ///< always in the low type: its time is products or their memory
  Follow, ///< in the low type as soon as one operand is low, else as written
  Full,   ///< in f32: small results that lose too much in the low type
  Any,    ///< reads floats of any type; the result's type does not depend on it
  Written ///< as written: its types depend on each other in ways of its own
};

class Autocasting {
public:
  Autocasting(func::FuncOp Graph, FloatType Low)
      : Graph(Graph), Low(Low), F32(Float32Type::get(Graph.getContext())),
        B(Graph.getContext()) {}

  LogicalResult run();

private:
  Policy getPolicy(Operation *Op);
  void visit(Operation *Op);
  void runIn(Operation *Op, MutableArrayRef<OpOperand> Operands,
             ValueRange Results, FloatType Type);
  void restore(MutableArrayRef<OpOperand> Operands);
  void lowerEmbedding(EmbeddingOp Op);
  Value castTo(Value V, Type Element, Operation *Before);
  bool isLow(Value V) { return getElementTypeOrSelf(V.getType()) == Low; }

  func::FuncOp Graph;
  FloatType Low, F32;
  OpBuilder B;
  DenseMap<std::pair<Value, Type>, Value> Casts;
  DenseMap<Value, Type> Written; ///< element types before the pass
};

} // namespace

static bool isFloat(Value V) {
  return isa<FloatType>(getElementTypeOrSelf(V.getType()));
}

Policy Autocasting::getPolicy(Operation *Op) {
  return TypeSwitch<Operation *, Policy>(Op)
      .Case<MatmulOp>([](auto) { return Policy::Low; })
      .Case<ExpOp, LogOp, PowOp, RsqrtOp, ReciprocalOp, MseOp>(
          [](auto) { return Policy::Full; })
      .Case<ReduceOp>([](ReduceOp Reduce) {
        bool ToOne = Reduce.getResult().getType().getNumElements() == 1;
        return ToOne && Reduce.getKind() != Reduction::max ? Policy::Full
                                                           : Policy::Follow;
      })
      .Case<CastOp, CrossEntropyOp, GlobalNormOp>(
          [](auto) { return Policy::Any; })
      .Case<ScalarOpInterface, DropoutOp, ReshapeOp, TransposeOp, SliceOp,
            PadOp, ConcatOp, BroadcastOp, SoftmaxOp, SoftmaxBackwardOp>(
          [](auto) { return Policy::Follow; })
      .Default([](auto) { return Policy::Written; });
}

/// The constant `V` rounded to another float type, or null if it is none.
static Value remakeConstant(OpBuilder &B, Value V, FloatType Type) {
  auto Constant = V.getDefiningOp<ConstantOp>();
  if (!Constant)
    return Value();
  auto Elements = dyn_cast<DenseFPElementsAttr>(Constant.getValue());
  if (!Elements)
    return Value();
  auto Rounded = Elements.mapValues(Type, [&](const APFloat &Element) {
    APFloat Value = Element;
    bool LosesInfo;
    Value.convert(Type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                  &LosesInfo);
    return Value.bitcastToAPInt();
  });
  return ConstantOp::create(B, Constant.getLoc(), Rounded);
}

/// `V` in another float type; integers and i1 pass.
Value Autocasting::castTo(Value V, Type Element, Operation *Before) {
  auto Type = dyn_cast<FloatType>(Element);
  if (!Type || !isFloat(V) || getElementTypeOrSelf(V.getType()) == Type)
    return V;
  // The cast of a low value is the value that the cast was made of.
  if (auto Cast = V.getDefiningOp<CastOp>())
    if (Casts.lookup({Cast.getOperand(), getElementTypeOrSelf(V.getType())}) ==
            V &&
        getElementTypeOrSelf(Cast.getOperand().getType()) == Type)
      return Cast.getOperand();
  Value &Known = Casts[{V, Type}];
  if (Known)
    return Known;
  B.setInsertionPoint(Before);
  Known = remakeConstant(B, V, Type);
  if (!Known)
    Known = CastOp::create(B, Before->getLoc(),
                           cast<RankedTensorType>(V.getType()).clone(Type), V);
  return Known;
}

void Autocasting::runIn(Operation *Op, MutableArrayRef<OpOperand> Operands,
                        ValueRange Results, FloatType Type) {
  for (OpOperand &Operand : Operands)
    Operand.set(castTo(Operand.get(), Type, Op));
  for (Value Result : Results)
    if (isFloat(Result))
      Result.setType(cast<RankedTensorType>(Result.getType()).clone(Type));
}

/// Gives operands back the types that they had before the pass.
void Autocasting::restore(MutableArrayRef<OpOperand> Operands) {
  for (OpOperand &Operand : Operands)
    Operand.set(
        castTo(Operand.get(), Written.at(Operand.get()), Operand.getOwner()));
}

/// The table stays as written, f32 as a rule, so that its gradient is summed
/// there; the rows, of which there are few, go on in the low type.
void Autocasting::lowerEmbedding(EmbeddingOp Op) {
  restore(Op->getOpOperands());
  if (isLow(Op.getResult()))
    return;
  B.setInsertionPointAfter(Op);
  Type Before = Written.at(Op.getResult());
  auto Cast = CastOp::create(
      B, Op.getLoc(), Op.getResult().getType().clone(Low), Op.getResult());
  Op.getResult().replaceAllUsesExcept(Cast.getResult(), Cast);
  Casts[{Op.getResult(), Low}] = Cast;
  Written[Cast] = Before;
}

void Autocasting::visit(Operation *Op) {
  MutableArrayRef<OpOperand> Operands = Op->getOpOperands();
  if (auto Embedding = dyn_cast<EmbeddingOp>(Op))
    return lowerEmbedding(Embedding);
  // Statistics, scale and bias of a norm keep their types.
  if (auto Norm = dyn_cast<LayerNormOp>(Op)) {
    restore(Operands.drop_front());
    Norm.getResult().setType(Norm.getOperand().getType());
    return;
  }
  // The log-sum-exp stays f32, a mask is of any type.
  if (auto Attention = dyn_cast<AttentionOp>(Op))
    return runIn(Op, Operands.take_front(Attention.getQkv().size()),
                 Attention.getResult(), Low);
  switch (getPolicy(Op)) {
  case Policy::Low:
    return runIn(Op, Operands, Op->getResults(), Low);
  case Policy::Follow:
    if (llvm::any_of(Op->getOperands(), [&](Value V) { return isLow(V); }))
      return runIn(Op, Operands, Op->getResults(), Low);
    return restore(Operands);
  case Policy::Full:
    return runIn(Op, Operands, Op->getResults(), F32);
  case Policy::Any:
    return;
  case Policy::Written:
    return restore(Operands);
  }
}

/// A cast that the user wrote to the type that its operand has by now, and a
/// constant that was remade for all its readers.
static void removeLeftover(Operation *Op) {
  if (auto Cast = dyn_cast<CastOp>(Op))
    if (Cast.getOperand().getType() == Cast.getResult().getType())
      Cast.getResult().replaceAllUsesWith(Cast.getOperand());
  if (isa<CastOp, ConstantOp>(Op) && Op->use_empty())
    Op->erase();
}

LogicalResult Autocasting::run() {
  if (!getResultsOfRole(Graph, Role::gradient).empty()) {
    InFlightDiagnostic Diag = Graph.emitError()
                              << "the graph has gradients already";
    Diag.attachNote() << "run remat-autocast before remat-differentiate";
    return Diag;
  }
  SmallVector<Operation *> Ops;
  for (BlockArgument Argument : Graph.getArguments())
    Written[Argument] = getElementTypeOrSelf(Argument.getType());
  for (Operation &Op : Graph.getBody().front().without_terminator()) {
    Ops.push_back(&Op);
    for (Value Result : Op.getResults())
      Written[Result] = getElementTypeOrSelf(Result.getType());
  }
  for (Operation *Op : Ops)
    visit(Op);
  // The signature stays as the user wrote it.
  func::ReturnOp Return = getReturn(Graph);
  for (auto [Operand, Type] :
       llvm::zip_equal(Return->getOpOperands(), Graph.getResultTypes()))
    if (auto Element = dyn_cast<FloatType>(getElementTypeOrSelf(Type)))
      Operand.set(castTo(Operand.get(), Element, Return));
  for (Operation *Op : Ops)
    removeLeftover(Op);
  return success();
}

namespace {
class Autocast : public impl::AutocastBase<Autocast> {
public:
  using AutocastBase::AutocastBase;

private:
  void runOnGraph() override {
    func::FuncOp Graph = getOperation();
    FloatType Low;
    if (type == "bf16")
      Low = BFloat16Type::get(&getContext());
    else if (type == "f16")
      Low = Float16Type::get(&getContext());
    if (!Low) {
      InFlightDiagnostic Diag = Graph.emitError() << "unknown autocast type '"
                                                  << type.getValue() << "'";
      Diag.attachNote() << "known are bf16 and f16";
      return signalPassFailure();
    }
    if (failed(Autocasting(Graph, Low).run()))
      signalPassFailure();
  }
};
} // namespace

} // namespace remat
