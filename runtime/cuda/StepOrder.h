//===- StepOrder.h - which steps must wait for which ------------*- C++ -*-===//
//
// Steps stand in an order in which they may run one after the other. A GPU may
// run several at a time: small ones, which take hardly longer than a launch,
// run beside the large ones where the bytes that they touch allow it.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CUDA_STEPORDER_H
#define REMAT_RUNTIME_CUDA_STEPORDER_H

#include "remat/runtime/Program.h"

namespace remat::runtime::cuda {

/// A run of bytes of the arena that a step reads, or writes.
struct TouchedRange {
  ByteRange Range;
  bool IsWritten = false;
};

/// All that a step touches: its operands, results and workspace.
std::vector<TouchedRange> getTouched(const Program &P, const Step &S);

struct StepWork {
  std::vector<TouchedRange> Touches;
  /// It may run beside others.
  bool IsSmall = false;
};

/// What the order needs to know of the steps of a program.
std::vector<StepWork> getWork(const Program &P);

struct StepPlace {
  /// It runs beside the chain of the other steps, which run one after the other
  /// in their order.
  bool IsBeside = false;
  /// The steps that must be done before it starts; those before them are left
  /// out where the chain says so. In ascending order.
  std::vector<uint32_t> Before;
};

/// Two steps that touch the same bytes, one of which writes them, keep their
/// order. A small step that waits for the last step of the chain, and that the
/// next one waits for, is part of the chain: it gains nothing beside it.
std::vector<StepPlace> orderSteps(const std::vector<StepWork> &Steps);

} // namespace remat::runtime::cuda

#endif // REMAT_RUNTIME_CUDA_STEPORDER_H
