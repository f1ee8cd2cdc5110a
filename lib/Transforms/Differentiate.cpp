//===- Differentiate.cpp - reverse-mode differentiation -------------------===//
//
// One walk backward over the block (ReverseWalk.h). A value is active when it
// is a float tensor that depends on a parameter; gradients flow to active
// values only, so that nothing is computed for inputs. The verifier of
// `remat.role` has seen to it that the loss is a tensor<f32> and that
// parameters are float tensors.
//
//===----------------------------------------------------------------------===//

#include "GradientScale.h"
#include "remat/Analysis/ValueNames.h"
#include "remat/IR/ReverseWalk.h"
#include "remat/Transforms/GraphSignature.h"
#include "remat/Transforms/Passes.h"
#include "llvm/ADT/DenseSet.h"
#include <cmath>

using namespace mlir;

namespace remat {

#define GEN_PASS_DEF_DIFFERENTIATE
#include "remat/Transforms/Passes.h.inc"

namespace {

/// The state of one differentiation.
class Differentiation {
public:
  /// The gradients are those of the loss times `Scale`, which is the first
  /// value of a state if it is dynamic.
  Differentiation(func::FuncOp Graph, double Scale, bool IsDynamic)
      : Scale(Scale), IsDynamic(IsDynamic), Graph(Graph),
        Block(Graph.getBody().front()),
        Marker(Graph.getContext(), Phase::backward),
        Builder(Block.getTerminator()), Walk(Builder, Active) {
    Builder.setListener(&Marker);
  }

  LogicalResult run();

private:
  FailureOr<Value> findLoss();
  LogicalResult seed(Value Loss);
  LogicalResult appendGradients();
  void sinkWideningCasts();

  double Scale;
  bool IsDynamic;
  func::FuncOp Graph;
  Block &Block;
  PhaseMarker Marker;
  OpBuilder Builder;
  SmallVector<unsigned> Parameters;
  DenseSet<Value> Active;
  ReverseWalk Walk;
};

} // namespace

/// The value to differentiate; null for a graph without a loss.
FailureOr<Value> Differentiation::findLoss() {
  SmallVector<unsigned> Losses = getResultsOfRole(Graph, Role::loss);
  if (Losses.empty())
    return Value();
  if (Losses.size() > 1) {
    InFlightDiagnostic Diag = Graph.emitError()
                              << "there are " << Losses.size()
                              << " losses (results " << Losses[0] << " and "
                              << Losses[1] << "), but one is needed";
    Diag.attachNote() << "add them up with remat.add and return the single "
                         "losses with the role output";
    return Diag;
  }
  return getReturn(Graph).getOperand(Losses.front());
}

LogicalResult Differentiation::seed(Value Loss) {
  if (IsDynamic) {
    SignatureEditor Signature(Graph);
    BlockArgument State = Signature.appendArgument(
        Loss.getType(), Role::state, LossScaleName, Graph.getLoc());
    Signature.setArgAttr(
        State.getArgNumber(), InitAttrName,
        InitAttr::get(Graph.getContext(), InitKind::constant, Scale));
    Signature.write();
    // remat-add-optimizer finds it by its name.
    if (getArgName(Graph, State.getArgNumber()) == LossScaleName) {
      Walk.accumulate(Loss, State, Loss.getLoc());
      return success();
    }
    InFlightDiagnostic Diag =
        Graph.emitError() << "the dynamic loss scale is the state '"
                          << LossScaleName << "', which is an argument's name";
    Diag.attachNote() << "give that argument another name";
    return Diag;
  }
  auto Type = cast<RankedTensorType>(Loss.getType());
  auto One = ConstantOp::create(
      Builder, Loss.getLoc(),
      DenseElementsAttr::get(
          Type, Builder.getFloatAttr(Type.getElementType(), Scale)));
  Walk.accumulate(Loss, One, Loss.getLoc());
  return success();
}

LogicalResult Differentiation::appendGradients() {
  SignatureEditor Signature(Graph);
  for (unsigned Index : Parameters) {
    BlockArgument Parameter = Graph.getArgument(Index);
    std::string Name = getArgName(Graph, Index);
    Value Gradient = Walk.getGradient(Parameter);
    if (!Gradient) {
      InFlightDiagnostic Diag = emitError(Parameter.getLoc())
                                << "the loss does not depend on parameter '"
                                << Name << "'";
      Diag.attachNote() << "remove it or give it the role input";
      return Diag;
    }
    // Users and remat-add-optimizer find gradients by this name.
    if (Signature.hasResult("grad." + Name)) {
      InFlightDiagnostic Diag = emitError(Parameter.getLoc())
                                << "the gradient of parameter '" << Name
                                << "' is called 'grad." << Name
                                << "', which is a result's name";
      Diag.attachNote() << "give that result another name";
      return Diag;
    }
    Signature.appendResult(Gradient, Role::gradient, "grad." + Name);
  }
  Signature.write();
  return success();
}

/// A cast to a wider type goes to its only reader: until then the narrow value
/// lives, which is smaller. (The gradient of a bf16 output layer that is tied
/// to the embedding waits through the whole backward for its other half.)
void Differentiation::sinkWideningCasts() {
  // Collected first: a walk would meet again what it has moved forward.
  for (CastOp Cast : llvm::to_vector(Block.getOps<CastOp>())) {
    if (!Cast->hasAttr(PhaseAttrName) || !Cast->hasOneUse())
      continue;
    Operation *Reader = *Cast->user_begin();
    bool Widens = getElementBytes(Cast.getResult().getType().getElementType()) >
                  getElementBytes(Cast.getOperand().getType().getElementType());
    if (Widens && !isa<func::ReturnOp>(Reader))
      Cast->moveBefore(Reader);
  }
}

LogicalResult Differentiation::run() {
  if (!getResultsOfRole(Graph, Role::gradient).empty()) {
    InFlightDiagnostic Diag = Graph.emitError()
                              << "the graph has gradients already";
    Diag.attachNote() << "remat-differentiate runs once, on a forward graph";
    return Diag;
  }
  FailureOr<Value> Loss = findLoss();
  if (failed(Loss))
    return failure();
  Parameters = getArgsOfRole(Graph, Role::parameter);
  if (!*Loss || Parameters.empty())
    return success();
  for (ScanOp Scan : llvm::to_vector(Block.getOps<ScanOp>()))
    stackCarries(Scan);
  for (unsigned Index : Parameters)
    Active.insert(Graph.getArgument(Index));
  markActive(Block, Active);

  SmallVector<Operation *> Forward;
  for (Operation &Op : Block.without_terminator())
    Forward.push_back(&Op);
  if (Active.contains(*Loss) && failed(seed(*Loss)))
    return failure();
  if (failed(Walk.run(Forward)) || failed(appendGradients()))
    return failure();
  Graph.walk([](StopGradientOp Op) {
    Op.replaceAllUsesWith(Op.getOperand());
    Op.erase();
  });
  sinkWideningCasts();
  setStage(Graph, Stage::differentiated);
  return success();
}

namespace {
class Differentiate : public impl::DifferentiateBase<Differentiate> {
public:
  using DifferentiateBase::DifferentiateBase;

private:
  void runOnGraph() override {
    func::FuncOp Graph = getOperation();
    if (!std::isfinite(lossScale) || lossScale < 0 ||
        (dynamicLossScale && lossScale == 0)) {
      emitError(Graph.getLoc())
          << "option loss-scale is " << double(lossScale)
          << "; it must be finite and "
          << (dynamicLossScale ? "positive" : "not negative");
      return signalPassFailure();
    }
    double Scale = lossScale == 0 ? 1.0 : double(lossScale);
    // What the backward is of keeps the name that it has here.
    writeValueNames(Graph);
    if (failed(Differentiation(Graph, Scale, dynamicLossScale).run()))
      signalPassFailure();
  }
};
} // namespace

} // namespace remat
