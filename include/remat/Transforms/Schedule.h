//===- Schedule.h - the learning rate by the step ---------------*- C++ -*-===//

#ifndef REMAT_TRANSFORMS_SCHEDULE_H
#define REMAT_TRANSFORMS_SCHEDULE_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <string>

namespace remat {

/// How the learning rate depends on the number of finished steps t, as the
/// options of remat-add-optimizer say it. In the warm-up it rises from
/// rate / warmup-steps by equal parts, so that the last step of the warm-up has
/// all of it; it stays for hold-steps and then decays.
struct Schedule {
  std::string Kind = "constant";
  int64_t WarmupSteps = 0, HoldSteps = 0, DecaySteps = 0;
  double DecayFactor = 0.1;

  /// Whether the rate is the same at each step.
  bool isFlat() const { return Kind == "constant" && WarmupSteps == 0; }
};

/// All that `Schedule::Kind` may be.
llvm::ArrayRef<llvm::StringRef> getScheduleKinds();

/// Says what is wrong with the numbers of a schedule, or succeeds.
mlir::LogicalResult verifySchedule(mlir::Location Loc, const Schedule &S);

/// The rate of a step: an f32 number made of the learning rate, an f32 number,
/// and the finished steps, an i64 number. It differs from what the same
/// arithmetic gives in double precision by about one part in ten million of the
/// learning rate.
mlir::Value buildSchedule(mlir::OpBuilder &B, mlir::Location Loc,
                          mlir::Value Rate, mlir::Value Step,
                          const Schedule &S);

} // namespace remat

#endif // REMAT_TRANSFORMS_SCHEDULE_H
