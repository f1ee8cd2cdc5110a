//===- Scan.cpp - the signature of loops ----------------------------------===//
//
// What a loop reads and writes is checked where its body is, before this:
// lib/ProgramLoops.cpp.
//
//===----------------------------------------------------------------------===//

#include "ops/Op.h"

using namespace remat::runtime;

static Status check(const OpCall &Op) {
  REMAT_REQUIRE(Op.TheStep && Op.TheStep->TheLoop, "has no loop");
  return {};
}

/// A carry begins as its operand.
static bool mayReuse(const OpCall &Op, size_t Result, size_t Operand) {
  return Result == Operand && Result < Op.TheStep->TheLoop->Carries;
}

std::span<const OpSignature> remat::runtime::getLoopOps() {
  static const OpSignature Signatures[] = {
      {"scan", check, mayReuse},
  };
  return Signatures;
}
