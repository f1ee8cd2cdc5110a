//===- AddOptimizer.cpp - gradients become updates ------------------------===//
//
// Each update stands as early as it may: behind the completed gradient, which
// is then free, and behind the last reader of the parameter, whose memory the
// update overwrites.
//
//===----------------------------------------------------------------------===//

#include "Updates.h"
#include "remat/Analysis/Uses.h"
#include "remat/Transforms/GraphSignature.h"
#include "remat/Transforms/Passes.h"
#include <cmath>

using namespace mlir;

namespace remat {

#define GEN_PASS_DEF_ADDOPTIMIZER
#include "remat/Transforms/Passes.h.inc"

namespace {

/// A trained parameter and what its update makes of it.
struct Trained {
  unsigned Argument;
  std::string Name;
  const UpdateRule *Rule;
  Value Gradient, Rate;
  SmallVector<std::pair<BlockArgument, std::string>> States;
  Value NewParameter;
  SmallVector<Value> NewStates;
};

class AddOptimizer : public impl::AddOptimizerBase<AddOptimizer> {
public:
  using AddOptimizerBase::AddOptimizerBase;

private:
  void runOnGraph() override;
  LogicalResult checkOptions();
  LogicalResult collect(func::FuncOp Graph);
  void addArguments(func::FuncOp Graph, SignatureEditor &Signature);
  void addClipping(func::FuncOp Graph, OpBuilder &B);
  void addUpdate(func::FuncOp Graph, OpBuilder &B, Trained &T);
  void addResults(func::FuncOp Graph, OpBuilder &B, SignatureEditor &Signature);
  LogicalResult refuse(StringRef Option, double Is, StringRef Must);
  UpdateSettings getSettings(func::FuncOp Graph, unsigned Argument) const;
  void addRates(func::FuncOp Graph, OpBuilder &B);

  UpdateKind Kind = UpdateKind::adamw;
  SmallVector<Trained> Parameters;
  Value Rate, Step, Scale;
  std::string StepName;
};

} // namespace

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

LogicalResult AddOptimizer::refuse(StringRef Option, double Is,
                                   StringRef Must) {
  return emitError(getOperation().getLoc())
         << "optimizer option " << Option << " is " << Is << "; it must be "
         << Must;
}

LogicalResult AddOptimizer::checkOptions() {
  std::optional<UpdateKind> Known = symbolizeUpdateKind(kind);
  if (!Known) {
    InFlightDiagnostic Diag = emitError(getOperation().getLoc())
                              << "unknown optimizer '" << kind.getValue()
                              << "'";
    Diag.attachNote() << "known are " << listUpdateKinds()
                      << "; leave the pass out to keep gradients as results";
    return Diag;
  }
  Kind = *Known;
  auto Check = [&](StringRef Name, double Value, bool BelowOne) {
    bool Fits =
        std::isfinite(Value) && Value >= 0.0 && (!BelowOne || Value < 1.0);
    return Fits ? success()
                : refuse(Name, Value,
                         BelowOne ? "in [0, 1)" : "finite and not negative");
  };
  if (failed(Check("rate", rate, false)) ||
      failed(Check("beta1", beta1, true)) ||
      failed(Check("beta2", beta2, true)) ||
      failed(Check("epsilon", epsilon, false)) ||
      failed(Check("weight-decay", weightDecay, false)) ||
      failed(Check("momentum", momentum, true)) ||
      failed(Check("clip-norm", clipNorm, false)))
    return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// Gradients by the names that remat-differentiate gave them.
static llvm::StringMap<Value> findGradients(func::FuncOp Graph) {
  llvm::StringMap<Value> Gradients;
  for (unsigned Index : getResultsOfRole(Graph, Role::gradient))
    if (auto Of = Graph.getResultAttrOfType<StringAttr>(Index, NameAttrName))
      Gradients.try_emplace(Of.getValue(), getReturn(Graph).getOperand(Index));
  return Gradients;
}

LogicalResult AddOptimizer::collect(func::FuncOp Graph) {
  Parameters.clear();
  // A graph that is not trained stays as it is.
  if (getResultsOfRole(Graph, Role::loss).empty() &&
      getResultsOfRole(Graph, Role::gradient).empty())
    return success();
  llvm::StringMap<Value> Gradients = findGradients(Graph);
  for (unsigned Index : getArgsOfRole(Graph, Role::parameter)) {
    BlockArgument Parameter = Graph.getArgument(Index);
    std::string Name = getArgName(Graph, Index);
    Value Gradient = Gradients.lookup("grad." + Name);
    if (!Gradient || cast<ShapedType>(Gradient.getType()).getShape() !=
                         cast<ShapedType>(Parameter.getType()).getShape()) {
      InFlightDiagnostic Diag = emitError(Parameter.getLoc())
                                << "parameter '" << Name
                                << "' has no gradient of its shape";
      Diag.attachNote() << "run remat-differentiate before "
                           "remat-add-optimizer, each once";
      return Diag;
    }
    auto Own = Graph.getArgAttrOfType<UpdateKindAttr>(Index, UpdateAttrName);
    const UpdateRule &Rule =
        getUpdateRule(Own ? Own.getValue() : Kind,
                      cast<RankedTensorType>(Parameter.getType()));
    Parameters.push_back({Index, Name, &Rule, Gradient, {}, {}, {}, {}});
  }
  return success();
}

void AddOptimizer::addArguments(func::FuncOp Graph,
                                SignatureEditor &Signature) {
  Type F32 = Float32Type::get(&getContext());
  auto SetInit = [&](BlockArgument Argument, double Value) {
    Signature.setArgAttr(
        Argument.getArgNumber(), InitAttrName,
        InitAttr::get(&getContext(), InitKind::constant, Value));
  };
  for (Trained &T : Parameters) {
    BlockArgument Parameter = Graph.getArgument(T.Argument);
    for (const UpdateState &State :
         T.Rule->GetStates(cast<RankedTensorType>(Parameter.getType()),
                           getSettings(Graph, T.Argument))) {
      std::string Name = T.Name + State.Suffix;
      BlockArgument Argument =
          Signature.appendArgument(RankedTensorType::get(State.Shape, F32),
                                   Role::state, Name, Parameter.getLoc());
      SetInit(Argument, 0.0);
      T.States.push_back({Argument, Name});
    }
  }
  BlockArgument RateArgument = Signature.appendArgument(
      RankedTensorType::get({}, F32), Role::learning_rate, "learning_rate",
      Graph.getLoc());
  SetInit(RateArgument, rate);
  Rate = RateArgument;
  SmallVector<unsigned> Steps = getArgsOfRole(Graph, Role::step);
  if (!Steps.empty()) {
    Step = Graph.getArgument(Steps.front());
    StepName = getArgName(Graph, Steps.front());
    return;
  }
  StepName = "step";
  auto Type = RankedTensorType::get({}, IntegerType::get(&getContext(), 64));
  Step = Signature.appendArgument(Type, Role::step, StepName, Graph.getLoc());
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

/// The optimizer's numbers, but for what the parameter says of itself.
UpdateSettings AddOptimizer::getSettings(func::FuncOp Graph,
                                         unsigned Argument) const {
  UpdateSettings Settings = {beta1, beta2, epsilon, weightDecay, momentum};
  if (auto Own = Graph.getArgAttrOfType<FloatAttr>(Argument, DecayAttrName))
    Settings.WeightDecay = Own.getValueAsDouble();
  return Settings;
}

static Value createNumber(OpBuilder &B, Location Loc, double Number) {
  auto Type = RankedTensorType::get({}, B.getF32Type());
  return ConstantOp::create(
      B, Loc, DenseElementsAttr::get(Type, B.getF32FloatAttr(Number)));
}

/// The rates of parameters that scale it, at the start of the block.
void AddOptimizer::addRates(func::FuncOp Graph, OpBuilder &B) {
  B.setInsertionPointToStart(&Graph.getBody().front());
  llvm::DenseMap<Attribute, Value> Scaled;
  for (Trained &T : Parameters) {
    T.Rate = Rate;
    auto Part =
        Graph.getArgAttrOfType<FloatAttr>(T.Argument, RateScaleAttrName);
    if (!Part || Part.getValueAsDouble() == 1.0)
      continue;
    Value &Known = Scaled[Part];
    if (!Known)
      Known = MulOp::create(
          B, Graph.getLoc(), Rate,
          createNumber(B, Graph.getLoc(), Part.getValueAsDouble()));
    T.Rate = Known;
  }
}

/// The factor min(1, clip-norm / (norm + 1e-6)) of all gradients, which must
/// all be there by then: it goes to the end of the block.
void AddOptimizer::addClipping(func::FuncOp Graph, OpBuilder &B) {
  Scale = Value();
  if (clipNorm == 0.0)
    return;
  Location Loc = Graph.getLoc();
  SmallVector<Value> Gradients;
  for (Trained &T : Parameters)
    Gradients.push_back(T.Gradient);
  B.setInsertionPoint(getReturn(Graph));
  Value Norm = GlobalNormOp::create(
      B, Loc, RankedTensorType::get({}, B.getF32Type()), Gradients);
  Value Above = AddOp::create(B, Loc, Norm, createNumber(B, Loc, 1e-6));
  Value Ratio = DivOp::create(B, Loc, createNumber(B, Loc, clipNorm), Above);
  Scale = MinOp::create(B, Loc, createNumber(B, Loc, 1.0), Ratio);
}

/// The last operation of the block that must come before the update: of those
/// that make the gradient or read the parameter. Readers of its casts and views
/// count too: a plan may want to make those again, which the update ends.
static Operation *findLast(Value Gradient, Value Parameter) {
  Operation *Last = Gradient.getDefiningOp();
  auto Copies = [](Operation *Op) { return Op->hasTrait<CopiesOperand>(); };
  anyUse(Parameter, Copies, [&](OpOperand &Use) {
    Operation *Reader = Use.getOwner();
    if (!isa<func::ReturnOp>(Reader) &&
        (!Last || Last->isBeforeInBlock(Reader)))
      Last = Reader;
    return false;
  });
  return Last;
}

/// An update reads gradients of any float type: a cast that only serves it is
/// dropped.
static Value stripCast(Value Gradient) {
  auto Cast = Gradient.getDefiningOp<CastOp>();
  if (!Cast || !isa<FloatType>(Cast.getOperand().getType().getElementType()) ||
      !Cast.getResult().use_empty())
    return Gradient;
  Value Operand = Cast.getOperand();
  Cast.erase();
  return Operand;
}

void AddOptimizer::addUpdate(func::FuncOp Graph, OpBuilder &B, Trained &T) {
  BlockArgument Parameter = Graph.getArgument(T.Argument);
  if (Scale)
    B.setInsertionPoint(getReturn(Graph));
  else if (Operation *Last = findLast(T.Gradient, Parameter))
    B.setInsertionPointAfter(Last);
  else
    B.setInsertionPointAfterValue(T.Rate);

  UpdateInputs Inputs = {Parameter, T.Gradient, {}, T.Rate, Step, Scale};
  for (auto &[State, Name] : T.States)
    Inputs.States.push_back(State);
  UpdateResults Results = T.Rule->Build(B, Parameter.getLoc(), Inputs,
                                        getSettings(Graph, T.Argument));
  T.NewParameter = Results.NewParameter;
  T.NewStates = std::move(Results.NewStates);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Parameters, states, the step: each takes over its argument's memory.
void AddOptimizer::addResults(func::FuncOp Graph, OpBuilder &B,
                              SignatureEditor &Signature) {
  auto Donate = [&](Value Argument, Value Result, Role Role, StringRef Name) {
    unsigned Index = Signature.appendResult(Result, Role, Name);
    Signature.setArgAttr(cast<BlockArgument>(Argument).getArgNumber(),
                         DonatedAttrName, B.getI64IntegerAttr(Index));
  };
  for (Trained &T : Parameters)
    Donate(Graph.getArgument(T.Argument), T.NewParameter, Role::parameter,
           T.Name);
  for (Trained &T : Parameters)
    for (auto [State, NewState] : llvm::zip_equal(T.States, T.NewStates))
      Donate(State.first, NewState, Role::state, State.second);

  B.setInsertionPoint(getReturn(Graph));
  auto Type = RankedTensorType::get({}, B.getI64Type());
  Value One = ConstantOp::create(
      B, Graph.getLoc(), DenseElementsAttr::get(Type, B.getI64IntegerAttr(1)));
  Value NewStep = AddOp::create(B, Graph.getLoc(), Step, One);
  Donate(Step, NewStep, Role::step, StepName);
}

void AddOptimizer::runOnGraph() {
  func::FuncOp Graph = getOperation();
  if (failed(checkOptions()) || failed(collect(Graph)))
    return signalPassFailure();
  if (Parameters.empty())
    return;

  SignatureEditor Signature(Graph);
  Signature.eraseResultsOfRole(Role::gradient);
  for (Trained &T : Parameters)
    T.Gradient = stripCast(T.Gradient);
  addArguments(Graph, Signature);
  PhaseMarker Marker(&getContext(), Phase::optimizer);
  OpBuilder B(&getContext(), &Marker);
  addRates(Graph, B);
  addClipping(Graph, B);
  for (Trained &T : Parameters)
    addUpdate(Graph, B, T);
  addResults(Graph, B, Signature);
  Signature.write();
  setStage(Graph, Stage::optimized);
}

} // namespace remat
