//===- Autocast.cpp - mixed precision, every cast explicit ----------------===//
//
// One walk forward. Each operation says in which precision it runs
// (PrecisionOpInterface): its operands are cast to that type and its results
// follow. One that says nothing reads the types that the user wrote, so that it
// stays as valid as it was. A value is cast once: later users share the cast.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/TypeUtilities.h"
#include "remat/Analysis/ValueNames.h"
#include "remat/IR/ElementTypes.h"
#include "remat/Transforms/GraphSignature.h"
#include "remat/Transforms/Passes.h"

using namespace mlir;

namespace remat {

#define GEN_PASS_DEF_AUTOCAST
#include "remat/Transforms/Passes.h.inc"

namespace {

class Autocasting {
public:
  Autocasting(func::FuncOp Graph, FloatType Low)
      : Graph(Graph), Low(Low), F32(Float32Type::get(Graph.getContext())),
        B(Graph.getContext()) {}

  LogicalResult run();

private:
  void castBlock(Block &Body, TypeRange Returned);
  void visit(Operation *Op);
  void setOperands(PrecisionOpInterface Op, Precision How);
  void setResults(PrecisionOpInterface Op, Precision How);
  void restore(OpOperand &Operand);
  void lowerResult(Value Result);
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
  return isComputedFloat(getElementTypeOrSelf(V.getType()));
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

/// A cast is called after what it casts, "w, as bf16": the name of the
/// operation that it stands before belongs to that operation.
static Location getCastLocation(Value V, Type Type, Location Loc) {
  std::string Name;
  if (auto Result = dyn_cast<OpResult>(V)) {
    Name = getLocationName(Result.getLoc());
    SmallVector<StringRef> Names;
    StringRef(Name).split(Names, ", ");
    if (Names.size() == Result.getOwner()->getNumResults())
      Name = Names[Result.getResultNumber()].str();
  } else {
    auto Argument = cast<BlockArgument>(V);
    if (auto Graph = dyn_cast<func::FuncOp>(Argument.getOwner()->getParentOp()))
      if (auto Given = Graph.getArgAttrOfType<StringAttr>(
              Argument.getArgNumber(), NameAttrName))
        Name = Given.str();
  }
  if (Name.empty())
    return Loc;
  llvm::raw_string_ostream(Name) << ", as " << Type;
  return NameLoc::get(StringAttr::get(V.getContext(), Name), Loc);
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
    Known = CastOp::create(B, getCastLocation(V, Type, Before->getLoc()),
                           cast<RankedTensorType>(V.getType()).clone(Type), V);
  return Known;
}

/// Gives an operand back the type that it had before the pass.
void Autocasting::restore(OpOperand &Operand) {
  Operand.set(
      castTo(Operand.get(), Written.at(Operand.get()), Operand.getOwner()));
}

void Autocasting::setOperands(PrecisionOpInterface Op, Precision How) {
  for (OpOperand &Operand : Op->getOpOperands()) {
    Precision Own = Op.getOperandPrecision(Operand.getOperandNumber());
    if (Own == Precision::any)
      continue;
    if (Own == Precision::written || How == Precision::written)
      restore(Operand);
    else
      Operand.set(
          castTo(Operand.get(), How == Precision::full ? F32 : Low, Op));
  }
}

/// What follows from the operands' types, for operations that infer theirs.
static void inferResultTypes(Operation *Op, unsigned Count) {
  SmallVector<Type> Types;
  if (auto Infer = dyn_cast<InferTypeOpInterface>(Op))
    if (succeeded(Infer.inferReturnTypes(
            Op->getContext(), Op->getLoc(), Op->getOperands(),
            Op->getRawDictionaryAttrs(), Op->getPropertiesStorage(),
            Op->getRegions(), Types)))
      for (unsigned I = 0; I < Count; ++I)
        Op->getResult(I).setType(Types[I]);
}

void Autocasting::setResults(PrecisionOpInterface Op, Precision How) {
  if (How == Precision::any)
    return inferResultTypes(Op, Op.getNumCastResults());
  if (How == Precision::written)
    return;
  FloatType Type = How == Precision::full ? F32 : Low;
  for (Value Result : Op->getResults().take_front(Op.getNumCastResults()))
    if (isFloat(Result))
      Result.setType(cast<RankedTensorType>(Result.getType()).clone(Type));
}

/// The result stays as written and its readers get it in the low type. So a
/// table of f32 has its gradient summed there, while the rows, of which there
/// are few, go on in the low type.
void Autocasting::lowerResult(Value Result) {
  if (!isFloat(Result) || isLow(Result))
    return;
  B.setInsertionPointAfterValue(Result);
  Type Before = Written.at(Result);
  auto Type = cast<RankedTensorType>(Result.getType()).clone(Low);
  Location Loc = getCastLocation(Result, Low, Result.getLoc());
  auto Cast = CastOp::create(B, Loc, Type, Result);
  Result.replaceAllUsesExcept(Cast.getResult(), Cast);
  Casts[{Result, Low}] = Cast;
  Written[Cast] = Before;
}

void Autocasting::visit(Operation *Op) {
  auto Interface = dyn_cast<PrecisionOpInterface>(Op);
  if (!Interface) {
    for (OpOperand &Operand : Op->getOpOperands())
      restore(Operand);
    // What goes into a body and comes out of it stays as it is written.
    if (auto Scan = dyn_cast<ScanOp>(Op))
      castBlock(Scan.getBlock(), llvm::to_vector(Scan.getYielded().getTypes()));
    return;
  }
  Precision How = Interface.getPrecision();
  bool LowersResults = How == Precision::low_result;
  if (How == Precision::follow)
    How = llvm::any_of(Op->getOperands(), [&](Value V) { return isLow(V); })
              ? Precision::low
              : Precision::written;
  if (LowersResults)
    How = Precision::written;
  setOperands(Interface, How);
  setResults(Interface, How);
  if (LowersResults)
    llvm::for_each(Op->getResults(), [&](Value V) { lowerResult(V); });
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
  // The signature stays as the user wrote it.
  castBlock(Graph.getBody().front(), Graph.getResultTypes());
  return success();
}

void Autocasting::castBlock(Block &Body, TypeRange Returned) {
  SmallVector<Operation *> Ops;
  for (BlockArgument Argument : Body.getArguments())
    Written[Argument] = getElementTypeOrSelf(Argument.getType());
  for (Operation &Op : Body.without_terminator()) {
    Ops.push_back(&Op);
    for (Value Result : Op.getResults())
      Written[Result] = getElementTypeOrSelf(Result.getType());
  }
  for (Operation *Op : Ops)
    visit(Op);
  Operation *Return = Body.getTerminator();
  for (auto [Operand, Type] :
       llvm::zip_equal(Return->getOpOperands(), Returned))
    if (auto Element = dyn_cast<FloatType>(getElementTypeOrSelf(Type)))
      Operand.set(castTo(Operand.get(), Element, Return));
  for (Operation *Op : Ops)
    removeLeftover(Op);
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
