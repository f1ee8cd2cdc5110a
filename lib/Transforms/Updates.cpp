//===- Updates.cpp - updates of parameters made of operations -------------===//

#include "Updates.h"
#include "UpdateBuilder.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;
using namespace remat;

namespace {

/// What every rule begins with.
struct Opened {
  Value Parameter, Gradient;
};

} // namespace

/// Parameter and gradient as f32; the gradient is scaled.
static Opened open(UpdateBuilder &B, const UpdateInputs &In) {
  Value Gradient = B.to(B.getF32Type(), In.Gradient);
  if (In.Scale)
    Gradient = B.mul(Gradient, In.Scale);
  return {B.to(B.getF32Type(), In.Parameter), Gradient};
}

/// Gradient + Decay * Parameter, the gradient of the squared norm besides.
static Value addDecay(UpdateBuilder &B, const Opened &O, double Decay) {
  return Decay == 0.0 ? O.Gradient
                      : B.add(O.Gradient, B.mul(O.Parameter, Decay));
}

/// Parameter * (1 - Rate * Decay).
static Value shrink(UpdateBuilder &B, const Opened &O, Value Rate,
                    double Decay) {
  if (Decay == 0.0)
    return O.Parameter;
  return B.mul(O.Parameter, B.sub(B.number(1.0), B.mul(Rate, Decay)));
}

static Value close(UpdateBuilder &B, Value NewParameter,
                   const UpdateInputs &In) {
  return B.to(cast<RankedTensorType>(In.Parameter.getType()).getElementType(),
              NewParameter);
}

static SmallVector<int64_t> copyShape(RankedTensorType Type) {
  return SmallVector<int64_t>(Type.getShape());
}

//===----------------------------------------------------------------------===//
// adamw, adam, sgd: by their operations
//===----------------------------------------------------------------------===//

static SmallVector<UpdateState> getMoments(RankedTensorType Parameter,
                                           const UpdateSettings &) {
  return {{".exp_avg", copyShape(Parameter)},
          {".exp_avg_sq", copyShape(Parameter)}};
}

static UpdateResults makeAdamW(OpBuilder &B, Location Loc,
                               const UpdateInputs &In, const UpdateSettings &S,
                               double WeightDecay) {
  auto Update = AdamWOp::create(
      B, Loc, In.Parameter, In.Gradient, In.States[0], In.States[1], In.Rate,
      In.Step, In.Scale, B.getF64FloatAttr(S.Beta1), B.getF64FloatAttr(S.Beta2),
      B.getF64FloatAttr(S.Epsilon), B.getF64FloatAttr(WeightDecay),
      /*in_halves=*/UnitAttr(), /*as_halves=*/UnitAttr());
  return {Update.getNewParameter(),
          {Update.getNewMoment1(), Update.getNewMoment2()}};
}

static UpdateResults buildAdamW(OpBuilder &B, Location Loc,
                                const UpdateInputs &In,
                                const UpdateSettings &S) {
  return makeAdamW(B, Loc, In, S, S.WeightDecay);
}

/// Kingma and Ba, 2015: the decay is part of the gradient.
static UpdateResults buildAdam(OpBuilder &Builder, Location Loc,
                               const UpdateInputs &In,
                               const UpdateSettings &S) {
  if (S.WeightDecay == 0.0)
    return makeAdamW(Builder, Loc, In, S, 0.0);
  UpdateBuilder B(Loc, Builder);
  UpdateInputs Decayed = In;
  Decayed.Gradient = addDecay(B, open(B, In), S.WeightDecay);
  Decayed.Scale = Value();
  return makeAdamW(Builder, Loc, Decayed, S, 0.0);
}

static SmallVector<UpdateState> getMomentum(RankedTensorType Parameter,
                                            const UpdateSettings &S) {
  if (S.Momentum == 0.0)
    return {};
  return {{".momentum", copyShape(Parameter)}};
}

static UpdateResults buildSgd(OpBuilder &B, Location Loc,
                              const UpdateInputs &In, const UpdateSettings &S) {
  Value Buffer = In.States.empty() ? Value() : In.States[0];
  auto Update = SgdOp::create(
      B, Loc, In.Parameter.getType(), Buffer ? Buffer.getType() : Type(),
      In.Parameter, In.Gradient, Buffer, In.Rate, In.Scale,
      B.getF64FloatAttr(S.Momentum), B.getF64FloatAttr(S.WeightDecay));
  UpdateResults Results = {Update.getNewParameter(), {}};
  if (Buffer)
    Results.NewStates = {Update.getNewBuffer()};
  return Results;
}

//===----------------------------------------------------------------------===//
// lion, rmsprop, adafactor
//===----------------------------------------------------------------------===//

static SmallVector<UpdateState> getAverage(RankedTensorType Parameter,
                                           const UpdateSettings &) {
  return {{".exp_avg", copyShape(Parameter)}};
}

/// Chen et al., 2023: the sign of an average is the direction.
static UpdateResults buildLion(OpBuilder &Builder, Location Loc,
                               const UpdateInputs &In,
                               const UpdateSettings &S) {
  UpdateBuilder B(Loc, Builder);
  Opened O = open(B, In);
  Value Average = In.States[0];
  Value Direction = SignOp::create(B, B.average(Average, O.Gradient, S.Beta1));
  Value New =
      B.sub(shrink(B, O, In.Rate, S.WeightDecay), B.mul(Direction, In.Rate));
  return {close(B, New, In), {B.average(Average, O.Gradient, S.Beta2)}};
}

static SmallVector<UpdateState> getSquares(RankedTensorType Parameter,
                                           const UpdateSettings &S) {
  SmallVector<UpdateState> States = {{".square_avg", copyShape(Parameter)}};
  States.append(getMomentum(Parameter, S));
  return States;
}

/// Hinton, 2012, as in PyTorch; beta2 is what it calls alpha.
static UpdateResults buildRmsprop(OpBuilder &Builder, Location Loc,
                                  const UpdateInputs &In,
                                  const UpdateSettings &S) {
  UpdateBuilder B(Loc, Builder);
  Opened O = open(B, In);
  Value Gradient = addDecay(B, O, S.WeightDecay);
  Value Squares = B.average(In.States[0], B.mul(Gradient, Gradient), S.Beta2);
  Value Step = B.div(Gradient, B.add(B.sqrt(Squares), B.number(S.Epsilon)));
  UpdateResults Results = {Value(), {Squares}};
  if (S.Momentum != 0.0) {
    Step = B.add(B.mul(In.States[1], S.Momentum), Step);
    Results.NewStates.push_back(Step);
  }
  Results.NewParameter = close(B, B.sub(O.Parameter, B.mul(Step, In.Rate)), In);
  return Results;
}

static SmallVector<UpdateState> getFactors(RankedTensorType Parameter,
                                           const UpdateSettings &) {
  int64_t Rank = Parameter.getRank();
  if (Rank < 2)
    return {{".variance", copyShape(Parameter)}};
  SmallVector<int64_t> Rows = copyShape(Parameter), Columns = Rows;
  Rows[Rank - 1] = 1;
  Columns[Rank - 2] = 1;
  return {{".row_var", Rows}, {".col_var", Columns}};
}

/// Shazeer and Stern, 2018, with PyTorch's numbers: the second moment of a
/// matrix is kept as one number a row and a column. The rate is the largest
/// relative step; epsilon bounds the parameter's size in it from below.
static UpdateResults buildAdafactor(OpBuilder &Builder, Location Loc,
                                    const UpdateInputs &In,
                                    const UpdateSettings &S) {
  constexpr double Least = 1.1920928955078125e-07; // of f32's spacing at 1
  UpdateBuilder B(Loc, Builder);
  Opened O = open(B, In);
  int64_t Rank = cast<RankedTensorType>(O.Parameter.getType()).getRank();
  Value Count = B.add(B.to(B.getF32Type(), In.Step), B.number(1.0));
  Value Share = PowOp::create(B, Count, B.number(-0.8));
  Value Size = B.mul(B.max(B.rootMeanSquare(O.Parameter), S.Epsilon),
                     B.min(In.Rate, B.rsqrt(Count)));
  Value Squares = B.mul(O.Gradient, O.Gradient), Variance;
  UpdateResults Results;
  if (Rank < 2) {
    Variance = B.approach(In.States[0], Squares, Share);
    Results.NewStates = {Variance};
  } else {
    Value Rows =
        B.approach(In.States[0], B.mean(Squares, {Rank - 1}, true), Share);
    Value Columns =
        B.approach(In.States[1], B.mean(Squares, {Rank - 2}, true), Share);
    Variance = B.div(B.mul(Rows, Columns),
                     B.max(B.mean(Rows, {Rank - 2}, true), Least));
    Results.NewStates = {Rows, Columns};
  }
  Value Update = B.mul(B.rsqrt(B.max(Variance, Least * Least)), O.Gradient);
  Value Clipped = B.max(B.rootMeanSquare(Update), 1.0);
  Value New = B.sub(shrink(B, O, In.Rate, S.WeightDecay),
                    B.mul(Update, B.div(Size, Clipped)));
  Results.NewParameter = close(B, New, In);
  return Results;
}

//===----------------------------------------------------------------------===//
// muon
//===----------------------------------------------------------------------===//

/// An iteration of Newton and Schulz that moves all singular values of X
/// towards 1: a X + (b G + c G G) X, G being X X^T, or the same from the right
/// where that is smaller. Products are of bf16, sums of f32.
static Value orthogonalize(UpdateBuilder &B, Value X, bool FromRight) {
  constexpr double Once = 3.4445, Third = -4.7750,
                   Fifth = 2.0315; // Jordan et al.
  Value Narrow = B.to(B.getBF16Type(), X);
  Value Gram = B.product(Narrow, Narrow, FromRight, !FromRight);
  Value NarrowGram = B.to(B.getBF16Type(), Gram);
  Value Polynomial = B.to(
      B.getBF16Type(), B.add(B.mul(Gram, Third),
                             B.mul(B.product(NarrowGram, NarrowGram), Fifth)));
  Value Moved = FromRight ? B.product(Narrow, Polynomial, false, true)
                          : B.product(Polynomial, Narrow);
  return B.add(B.mul(X, Once), Moved);
}

/// Jordan et al., 2024, with PyTorch's numbers: the direction is the momentum,
/// one step ahead (Nesterov), with all its singular values near 1. The rate
/// grows with the root of rows by columns where there are more rows.
static UpdateResults buildMuon(OpBuilder &Builder, Location Loc,
                               const UpdateInputs &In,
                               const UpdateSettings &S) {
  constexpr double Least = 1e-7; // of the norm that divides
  UpdateBuilder B(Loc, Builder);
  Opened O = open(B, In);
  auto Type = cast<RankedTensorType>(O.Parameter.getType());
  int64_t Rows = Type.getDimSize(0), Columns = Type.getDimSize(1);
  UpdateResults Results;
  Value Direction = O.Gradient;
  if (S.Momentum != 0.0) {
    Value Average = B.average(In.States[0], O.Gradient, S.Momentum);
    Direction = B.average(Average, O.Gradient, S.Momentum);
    Results.NewStates = {Average};
  }
  Value Norm = GlobalNormOp::create(
      B, RankedTensorType::get({}, B.getF32Type()), Direction);
  Direction = B.div(Direction, B.max(Norm, Least));
  for (int Time = 0; Time < 5; ++Time)
    Direction = orthogonalize(B, Direction, Rows > Columns);
  double Stretch = std::sqrt(std::max(1.0, double(Rows) / double(Columns)));
  Value New = B.sub(shrink(B, O, In.Rate, S.WeightDecay),
                    B.mul(Direction, B.mul(In.Rate, Stretch)));
  Results.NewParameter = close(B, New, In);
  return Results;
}

//===----------------------------------------------------------------------===//
// All rules
//===----------------------------------------------------------------------===//

static constexpr UpdateRule Rules[] = {
    {UpdateKind::adamw, getMoments, buildAdamW, true},
    {UpdateKind::adam, getMoments, buildAdam, true},
    {UpdateKind::sgd, getMomentum, buildSgd, true},
    {UpdateKind::lion, getAverage, buildLion, true},
    {UpdateKind::rmsprop, getSquares, buildRmsprop, true},
    {UpdateKind::adafactor, getFactors, buildAdafactor, false},
    {UpdateKind::muon, getMomentum, buildMuon, false},
};
static_assert(std::size(Rules) == getMaxEnumValForUpdateKind() + 1);

UpdateResults remat::buildUpdate(const UpdateRule &Rule, OpBuilder &B,
                                 Location Loc, const UpdateInputs &In,
                                 const UpdateSettings &S) {
  UpdateResults Made = Rule.Build(B, Loc, In, S);
  if (!In.Finite)
    return Made;
  auto Choose = [&](Value &New, Value Old) {
    New = SelectOp::create(B, Loc, In.Finite, New, Old);
  };
  Choose(Made.NewParameter, In.Parameter);
  for (auto [New, Old] : llvm::zip_equal(Made.NewStates, In.States))
    Choose(New, Old);
  return Made;
}

const UpdateRule &remat::getUpdateRule(UpdateKind Kind,
                                       RankedTensorType Parameter) {
  if (Kind == UpdateKind::muon && Parameter.getRank() != 2)
    Kind = UpdateKind::adamw;
  return *llvm::find_if(
      Rules, [&](const UpdateRule &Rule) { return Rule.Kind == Kind; });
}
