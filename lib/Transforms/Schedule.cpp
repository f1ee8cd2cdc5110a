//===- Schedule.cpp - the learning rate by the step -----------------------===//
//
// Steps are counted in i64, which is exact; what is made of the counts is f32,
// and the least number of roundings decides how each formula is written.
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Schedule.h"
#include "UpdateBuilder.h"
#include "remat/Support/Numbers.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// What can be asked for
//===----------------------------------------------------------------------===//

static LogicalResult refuse(Location Loc, const Twine &What,
                            const Twine &Note) {
  InFlightDiagnostic Diag = emitError(Loc) << What;
  Diag.attachNote() << Note;
  return Diag;
}

ArrayRef<StringRef> remat::getScheduleKinds() {
  static constexpr StringRef Kinds[] = {"constant", "linear", "cosine", "step",
                                        "exponential"};
  return Kinds;
}

LogicalResult remat::verifySchedule(Location Loc, const Schedule &S) {
  if (!llvm::is_contained(getScheduleKinds(), S.Kind))
    return refuse(Loc, "unknown schedule '" + S.Kind + "'",
                  "known are " + llvm::join(getScheduleKinds(), ", "));
  const std::pair<StringRef, int64_t> Counts[] = {
      {"warmup-steps", S.WarmupSteps},
      {"hold-steps", S.HoldSteps},
      {"decay-steps", S.DecaySteps}};
  for (auto [Name, Count] : Counts)
    if (Count < 0 || Count > MaxSteps)
      return emitError(Loc) << "optimizer option " << Name << " is " << Count
                            << "; it must be from 0 to " << MaxSteps;
  bool Decays = S.Kind != "constant";
  if (Decays && S.DecaySteps == 0)
    return refuse(Loc, "schedule '" + S.Kind + "' has no decay-steps",
                  "say with decay-steps how many steps the decay takes");
  if (!Decays && (S.DecaySteps != 0 || S.HoldSteps != 0))
    return refuse(Loc,
                  "schedule 'constant' does not decay, but decay-steps is " +
                      Twine(S.DecaySteps) + " and hold-steps is " +
                      Twine(S.HoldSteps),
                  "choose schedule linear, cosine, step or exponential");
  bool Falls = S.Kind == "step" || S.Kind == "exponential";
  if (!(S.DecayFactor >= 0 && S.DecayFactor <= 1) ||
      (Falls && S.DecayFactor == 0))
    return emitError(Loc) << "optimizer option decay-factor is "
                          << S.DecayFactor << "; it must be in "
                          << (Falls ? "(0, 1]" : "[0, 1]");
  return success();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static Value toReal(UpdateBuilder &B, Value Count) {
  return B.to(B.getF32Type(), Count);
}

/// From 1 to the decay factor within the decay's steps. `Along` goes through
/// zero from 1 to -1, so that the errors of its angle count where its sine is
/// flat.
static Value buildFall(UpdateBuilder &B, Value Since, const Schedule &S) {
  Value Within = MinOp::create(B, Since, B.count(S.DecaySteps));
  Value Twice = MulOp::create(B, Within, B.count(2));
  Value Along = toReal(B, SubOp::create(B, B.count(S.DecaySteps), Twice));
  if (S.Kind == "linear")
    Along = B.div(Along, B.number(static_cast<double>(S.DecaySteps)));
  else
    Along =
        SinOp::create(B, B.mul(Along, std::numbers::pi / 2 /
                                          static_cast<double>(S.DecaySteps)));
  // Both as they are rounded, so that their sum is 1 and the rate begins whole.
  float Half = static_cast<float>((1 - S.DecayFactor) / 2);
  return B.add(B.mul(Along, Half), B.number(1.0F - Half));
}

/// decay-factor to the power of how often the decay's steps went by: as the
/// exponential of a product, whose errors do not grow with the power.
static Value buildPower(UpdateBuilder &B, Value Since, const Schedule &S) {
  Value Steps = B.count(S.DecaySteps);
  Value Times = S.Kind == "step" ? toReal(B, DivOp::create(B, Since, Steps))
                                 : B.div(toReal(B, Since), toReal(B, Steps));
  return ExpOp::create(B, B.mul(Times, std::log(S.DecayFactor)));
}

Value remat::buildSchedule(OpBuilder &Builder, Location Loc, Value Rate,
                           Value Step, const Schedule &S) {
  UpdateBuilder B(Loc, Builder);
  if (S.WarmupSteps > 0) {
    Value Done = AddOp::create(B, Step, B.count(1));
    Value Risen = toReal(B, MinOp::create(B, Done, B.count(S.WarmupSteps)));
    Rate =
        B.mul(Rate, B.div(Risen, B.number(static_cast<double>(S.WarmupSteps))));
  }
  if (S.Kind == "constant")
    return Rate;
  Value Begin = B.count(S.WarmupSteps + S.HoldSteps);
  Value Since = MaxOp::create(B, SubOp::create(B, Step, Begin), B.count(0));
  bool Falls = S.Kind == "linear" || S.Kind == "cosine";
  return B.mul(Rate, Falls ? buildFall(B, Since, S) : buildPower(B, Since, S));
}
