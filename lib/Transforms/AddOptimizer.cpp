//===- AddOptimizer.cpp - gradients become updates ------------------------===//
//
// Each update stands as early as it may: behind the completed gradient, which
// is then free, and behind the last reader of the parameter, whose memory the
// update overwrites.
//
//===----------------------------------------------------------------------===//

#include "GradientScale.h"
#include "Parts.h"
#include "Trained.h"
#include "UpdateBuilder.h"
#include "remat/Analysis/Uses.h"
#include "remat/Transforms/GraphSignature.h"
#include "remat/Transforms/Passes.h"
#include "remat/Transforms/Schedule.h"
#include <cmath>

using namespace mlir;

namespace remat {

#define GEN_PASS_DEF_ADDOPTIMIZER
#include "remat/Transforms/Passes.h.inc"

namespace {

class AddOptimizer : public impl::AddOptimizerBase<AddOptimizer> {
public:
  using AddOptimizerBase::AddOptimizerBase;

private:
  void runOnGraph() override;
  LogicalResult checkOptions();
  void addArguments(func::FuncOp Graph, SignatureEditor &Signature);
  void addScale(func::FuncOp Graph, OpBuilder &B);
  void donate(SignatureEditor &Signature, Value Argument, Value Result,
              Role Role, StringRef Name);
  void addCounts(UpdateBuilder &B, SignatureEditor &Signature);
  void addMetrics(UpdateBuilder &B, SignatureEditor &Signature);
  void addUpdate(func::FuncOp Graph, OpBuilder &B, Trained &T);
  void addResults(func::FuncOp Graph, OpBuilder &B, SignatureEditor &Signature);
  LogicalResult refuse(StringRef Option, double Is, StringRef Must);
  UpdateSettings getSettings(func::FuncOp Graph, unsigned Argument) const;
  /// Whether a step whose gradients are not finite changes nothing.
  bool skips() const { return skipNonfinite || dynamicLossScale; }
  Schedule getSchedule() const {
    return {schedule, warmupSteps, holdSteps, decaySteps, decayFactor};
  }
  void addRates(func::FuncOp Graph, OpBuilder &B);

  UpdateKind Kind = UpdateKind::adamw;
  SmallVector<Trained> Parameters;
  Value Rate, Step;
  GradientScale Scale;
  std::string StepName;
  BlockArgument LossScale;             ///< dynamic, or null
  BlockArgument Updates, FiniteInARow; ///< counts of steps, or null
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
    Diag.attachNote() << "known are " << llvm::join(getUpdateKindNames(), ", ")
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
  if (failed(Check("loss-scale", lossScale, false)) ||
      failed(Check("ema", ema, true)))
    return failure();
  if (lossScaleInterval < 1)
    return refuse("loss-scale-interval", lossScaleInterval, "at least 1");
  return verifySchedule(getOperation().getLoc(), getSchedule());
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

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
    for (const UpdateState &State : T.Rule->GetStates(
             getUpdatedType(Graph, T), getSettings(Graph, T.Argument))) {
      std::string Name = T.Name + State.Suffix;
      BlockArgument Argument =
          Signature.appendArgument(RankedTensorType::get(State.Shape, F32),
                                   Role::state, Name, Parameter.getLoc());
      SetInit(Argument, 0.0);
      if (T.Part)
        Signature.setArgAttr(Argument.getArgNumber(), PartAttrName, T.Part);
      T.States.push_back({Argument, Name});
    }
    if (ema == 0.0)
      continue;
    auto Type = cast<RankedTensorType>(Parameter.getType()).clone(F32);
    T.Average = Signature.appendArgument(Type, Role::state, T.Name + ".ema",
                                         Parameter.getLoc());
    SetInit(T.Average, 0.0);
    if (Attribute Part = Graph.getArgAttr(T.Argument, PartAttrName))
      Signature.setArgAttr(T.Average.getArgNumber(), PartAttrName, Part);
  }
  Updates = FiniteInARow = BlockArgument();
  if (skips())
    Updates = appendCount(Graph, Signature, "updates");
  if (LossScale)
    FiniteInARow = appendCount(Graph, Signature, "loss_scale_growth");
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

/// The step's rate and those of parameters that scale it, at the start of the
/// block.
void AddOptimizer::addRates(func::FuncOp Graph, OpBuilder &B) {
  B.setInsertionPointToStart(&Graph.getBody().front());
  if (!getSchedule().isFlat())
    Rate = buildSchedule(B, Graph.getLoc(), Rate, Step, getSchedule());
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

/// The factor of all gradients, their norm and whether they are finite.
void AddOptimizer::addScale(func::FuncOp Graph, OpBuilder &B) {
  SmallVector<ScaledGradient> Gradients;
  for (Trained &T : Parameters)
    Gradients.push_back({T.Gradient, getPartAxes(T.Part, getMesh(Graph))});
  GradientScaleOptions Options;
  Options.ClipNorm = clipNorm;
  Options.ReportsNorm = gradientNorm;
  Options.Skips = skips();
  // Updates that do not wait for all gradients find the factor before them.
  if (Options.needsAll())
    B.setInsertionPoint(getReturn(Graph));
  else
    B.setInsertionPointToStart(&Graph.getBody().front());
  if (LossScale)
    Options.LossScale = LossScale;
  else if (lossScale != 0.0)
    Options.LossScale = createNumber(B, Graph.getLoc(), lossScale);
  SmallVector<unsigned> Losses = getResultsOfRole(Graph, Role::loss);
  Value Loss =
      Losses.empty() ? Value() : getReturn(Graph).getOperand(Losses.front());
  Scale = buildGradientScale(B, Graph.getLoc(), Gradients, Loss, Options);
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
  if (clipNorm != 0.0 || skips())
    B.setInsertionPoint(getReturn(Graph));
  else if (Operation *Last = findLast(T.Gradient, Parameter))
    B.setInsertionPointAfter(Last);
  else
    B.setInsertionPointAfterValue(T.Rate);

  Location Loc = Parameter.getLoc();
  Value Updated = Parameter;
  if (T.UpdateAxes)
    Updated = takePart(B, Loc, Parameter, T.UpdateAxes);
  UpdateInputs Inputs = {
      Updated,      T.Gradient,  {}, T.Rate, Updates ? Updates : Step,
      Scale.Factor, Scale.Finite};
  for (auto &[State, Name] : T.States)
    Inputs.States.push_back(State);
  UpdateResults Results =
      buildUpdate(*T.Rule, B, Loc, Inputs, getSettings(Graph, T.Argument));
  T.NewParameter = Results.NewParameter;
  if (T.UpdateAxes)
    T.NewParameter =
        joinParts(B, Loc, T.NewParameter, T.UpdateAxes,
                  cast<RankedTensorType>(Parameter.getType()).getShape());
  T.NewStates = std::move(Results.NewStates);
  if (T.Average)
    T.NewAverage = buildAverage(B, T.Average, T.NewParameter, Inputs.Step, ema,
                                Scale.Finite);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Returns a value that takes over an argument's memory.
void AddOptimizer::donate(SignatureEditor &Signature, Value Argument,
                          Value Result, Role Role, StringRef Name) {
  unsigned Index = Signature.appendResult(Result, Role, Name);
  Signature.setArgAttr(
      cast<BlockArgument>(Argument).getArgNumber(), DonatedAttrName,
      IntegerAttr::get(IntegerType::get(&getContext(), 64), Index));
}

/// Parameters, states, the step: each takes over its argument's memory.
void AddOptimizer::addResults(func::FuncOp Graph, OpBuilder &B,
                              SignatureEditor &Signature) {
  for (Trained &T : Parameters)
    donate(Signature, Graph.getArgument(T.Argument), T.NewParameter,
           Role::parameter, T.Name);
  for (Trained &T : Parameters)
    for (auto [State, NewState] : llvm::zip_equal(T.States, T.NewStates))
      donate(Signature, State.first, NewState, Role::state, State.second);
  for (Trained &T : Parameters)
    if (T.Average)
      donate(Signature, T.Average, T.NewAverage, Role::state, T.Name + ".ema");

  B.setInsertionPoint(getReturn(Graph));
  UpdateBuilder U(Graph.getLoc(), B);
  donate(Signature, Step, U.add(Step, U.count(1)), Role::step, StepName);
  addCounts(U, Signature);
  addMetrics(U, Signature);
}

/// How many updates were made, and the loss scale of the next step.
void AddOptimizer::addCounts(UpdateBuilder &B, SignatureEditor &Signature) {
  if (Updates)
    donate(Signature, Updates,
           B.select(Scale.Finite, B.add(Updates, B.count(1)), Updates),
           Role::state, "updates");
  if (!LossScale)
    return;
  auto [NewScale, Count] = buildNextLossScale(
      B, B.getLoc(), LossScale, FiniteInARow, Scale.Finite, lossScaleInterval);
  donate(Signature, LossScale, NewScale, Role::state, LossScaleName);
  donate(Signature, FiniteInARow, Count, Role::state, "loss_scale_growth");
}

/// What a step reports beside its loss.
void AddOptimizer::addMetrics(UpdateBuilder &B, SignatureEditor &Signature) {
  if (!getSchedule().isFlat())
    Signature.appendResult(Rate, Role::output, "rate");
  if (gradientNorm || clipNorm != 0.0)
    Signature.appendResult(Scale.Norm, Role::output, "gradient_norm");
  if (LossScale)
    Signature.appendResult(CopyOp::create(B, LossScale), Role::output, "scale");
  if (Scale.Finite)
    Signature.appendResult(B.select(Scale.Finite, B.number(0.0), B.number(1.0)),
                           Role::output, "skipped");
}

void AddOptimizer::runOnGraph() {
  func::FuncOp Graph = getOperation();
  if (failed(checkOptions()) || failed(collectTrained(Graph, Kind, Parameters)))
    return signalPassFailure();
  if (Parameters.empty())
    return;
  LossScale = BlockArgument();
  if (dynamicLossScale && failed(findLossScale(Graph, LossScale)))
    return signalPassFailure();

  SignatureEditor Signature(Graph);
  Signature.eraseResultsOfRole(Role::gradient);
  for (Trained &T : Parameters)
    T.Gradient = stripCast(T.Gradient);
  addArguments(Graph, Signature);
  PhaseMarker Marker(&getContext(), Phase::optimizer);
  OpBuilder B(&getContext(), &Marker);
  addRates(Graph, B);
  addScale(Graph, B);
  if (Scale.Finite)
    keepStates(Graph, Signature, Scale.Finite);
  for (Trained &T : Parameters)
    addUpdate(Graph, B, T);
  addResults(Graph, B, Signature);
  Signature.write();
  setStage(Graph, Stage::optimized);
}

} // namespace remat
