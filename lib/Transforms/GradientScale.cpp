//===- GradientScale.cpp - what gradients are multiplied by ---------------===//

#include "GradientScale.h"
#include "UpdateBuilder.h"
#include "llvm/ADT/MapVector.h"
#include <limits>

using namespace mlir;
using namespace remat;

static Value buildNorm(UpdateBuilder &B, ValueRange Gradients) {
  return GlobalNormOp::create(B, RankedTensorType::get({}, B.getF32Type()),
                              Gradients);
}

/// The norm of the norms: each gradient is read where it is made.
static Value buildNormOfNorms(UpdateBuilder &B, ArrayRef<Value> Gradients) {
  OpBuilder::InsertionGuard Guard(B);
  SmallVector<Value> Norms;
  for (Value Gradient : Gradients) {
    B.setInsertionPointAfterValue(Gradient);
    Norms.push_back(buildNorm(B, Gradient));
  }
  B.setInsertionPoint(B.getBlock()->getTerminator());
  return buildNorm(B, Norms);
}

/// The norm of parts that ranks along `Axes` hold, from that of their own.
static Value joinNorms(UpdateBuilder &B, Value Norm, ArrayAttr Axes) {
  Value Sum = AllReduceOp::create(B, Norm.getType(), Reduction::sum,
                                  B.mul(Norm, Norm), Axes)
                  .getResult(0);
  return B.sqrt(Sum);
}

/// The norm of all gradients: parts count once, wholes on one rank.
static Value buildNormOfAll(UpdateBuilder &B,
                            ArrayRef<ScaledGradient> Gradients,
                            bool WhereMade) {
  llvm::MapVector<Attribute, SmallVector<Value>> ByAxes;
  for (const ScaledGradient &G : Gradients)
    ByAxes[G.Axes].push_back(G.Gradient);
  SmallVector<Value> Norms;
  for (auto &[Axes, Values] : ByAxes) {
    Value Norm = WhereMade ? buildNormOfNorms(B, Values) : buildNorm(B, Values);
    if (WhereMade)
      B.setInsertionPoint(B.getBlock()->getTerminator());
    Norms.push_back(Axes ? joinNorms(B, Norm, cast<ArrayAttr>(Axes)) : Norm);
  }
  return Norms.size() == 1 ? Norms.front() : buildNorm(B, Norms);
}

/// False for infinities and NaN, which no comparison calls less.
static Value isFinite(UpdateBuilder &B, Value Number) {
  return CompareOp::create(B, Predicate::lt, AbsOp::create(B, Number),
                           B.number(std::numeric_limits<double>::infinity()));
}

GradientScale remat::buildGradientScale(OpBuilder &Builder, Location Loc,
                                        ArrayRef<ScaledGradient> Gradients,
                                        Value Loss,
                                        const GradientScaleOptions &O) {
  UpdateBuilder B(Loc, Builder);
  GradientScale Made;
  if (O.LossScale)
    Made.Factor = ReciprocalOp::create(B, O.LossScale);
  if (O.needsAll() || O.ReportsNorm) {
    OpBuilder::InsertionGuard Guard(B);
    Made.Norm = buildNormOfAll(B, Gradients, !O.needsAll());
  }
  if (O.Skips) {
    Made.Finite = isFinite(B, Made.Norm);
    if (Loss) // both are
      Made.Finite = B.select(Made.Finite, isFinite(B, Loss), Made.Finite);
  }
  if (Made.Norm && Made.Factor) {
    if (!O.needsAll())
      B.setInsertionPointAfterValue(Made.Norm);
    Made.Norm = B.mul(Made.Norm, Made.Factor);
  }
  if (O.ClipNorm != 0) {
    // As torch.nn.utils.clip_grad_norm_ does, for gradients that are all zero.
    Value Above = B.add(Made.Norm, B.number(1e-6));
    Value Ratio = B.div(B.number(O.ClipNorm), Above);
    Value Clip = B.min(B.number(1.0), Ratio);
    Made.Factor = Made.Factor ? B.mul(Clip, Made.Factor) : Clip;
  }
  return Made;
}

std::pair<Value, Value> remat::buildNextLossScale(OpBuilder &Builder,
                                                  Location Loc, Value Scale,
                                                  Value Count, Value Finite,
                                                  int64_t Interval) {
  UpdateBuilder B(Loc, Builder);
  Value More = B.add(Count, B.count(1));
  Value Grows = CompareOp::create(B, Predicate::ge, More, B.count(Interval));
  Value Grown = B.mul(Scale, 2.0);
  // A scale that would be infinite stays, as PyTorch's does.
  Grown = B.select(isFinite(B, Grown), Grown, Scale);
  Value NewScale =
      B.select(Finite, B.select(Grows, Grown, Scale), B.mul(Scale, 0.5));
  Value Zero = B.count(0);
  Value NewCount = B.select(Finite, B.select(Grows, Zero, More), Zero);
  return {NewScale, NewCount};
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

LogicalResult remat::findLossScale(func::FuncOp Graph, BlockArgument &Found) {
  for (unsigned Index : getArgsOfRole(Graph, Role::state))
    if (getArgName(Graph, Index) == LossScaleName) {
      Found = Graph.getArgument(Index);
      return success();
    }
  InFlightDiagnostic Diag = Graph.emitError()
                            << "the graph has no state '" << LossScaleName
                            << "', which a dynamic loss scale is";
  Diag.attachNote() << "run remat-differentiate with the same loss-scale";
  return Diag;
}

BlockArgument remat::appendCount(func::FuncOp Graph, SignatureEditor &Signature,
                                 StringRef Name) {
  MLIRContext *Context = Graph.getContext();
  auto Type = RankedTensorType::get({}, IntegerType::get(Context, 64));
  BlockArgument Count =
      Signature.appendArgument(Type, Role::state, Name, Graph.getLoc());
  Signature.setArgAttr(Count.getArgNumber(), InitAttrName,
                       InitAttr::get(Context, InitKind::constant, 0.0));
  return Count;
}

Value remat::buildAverage(OpBuilder &Builder, Value Average, Value Parameter,
                          Value Updates, double Decay, Value Finite) {
  UpdateBuilder B(Average.getLoc(), Builder);
  Value New = B.to(B.getF32Type(), Parameter);
  Value IsFirst = CompareOp::create(B, Predicate::eq, Updates, B.count(0));
  Value Made = B.select(IsFirst, New, B.average(Average, New, Decay));
  return Finite ? B.select(Finite, Made, Average) : Made;
}

void remat::keepStates(func::FuncOp Graph, SignatureEditor &Signature,
                       Value Finite) {
  // They remain states of the model: the optimizer's phase would make them its.
  PhaseMarker Marker(Graph.getContext(), Phase::backward);
  OpBuilder B(Graph.getContext(), &Marker);
  B.setInsertionPoint(getReturn(Graph));
  for (unsigned Index : getArgsOfRole(Graph, Role::state)) {
    auto Result = Graph.getArgAttrOfType<IntegerAttr>(Index, DonatedAttrName);
    if (!Result)
      continue;
    Value New = getReturn(Graph).getOperand(Result.getInt());
    Signature.setResult(Result.getInt(),
                        SelectOp::create(B, Graph.getLoc(), Finite, New,
                                         Graph.getArgument(Index)));
  }
}
