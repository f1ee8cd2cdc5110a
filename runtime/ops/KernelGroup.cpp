//===- KernelGroup.cpp - signature of kernel groups -----------------------===//

#include "ops/Group.h"

using namespace remat::runtime;

static Status check(const OpCall &Op) {
  Result<GroupPlan> Plan = planGroup(Op);
  return Plan ? Status() : Status(Plan.getError());
}

/// Whoever writes an element of a full result has read that element of its full
/// operands, on every device; a row operation may read a row again.
static bool mayReuse(const OpCall &Op, size_t Result, size_t Operand) {
  auto Plan = planGroup(Op);
  return Plan && !Plan->HasRows &&
         Op.Results[Result].NumElements == Plan->NumElements &&
         reusesElementwise(Op, Result, Operand);
}

std::span<const OpSignature> remat::runtime::getGroupOps() {
  static const OpSignature Signatures[] = {
      {"kernel", check, mayReuse},
  };
  return Signatures;
}
