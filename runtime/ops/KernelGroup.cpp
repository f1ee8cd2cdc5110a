//===- KernelGroup.cpp - signature of kernel groups -----------------------===//

#include "ops/Group.h"
#include <algorithm>

using namespace remat::runtime;

static Status check(const OpCall &Op) {
  Result<GroupPlan> Plan = planGroup(Op);
  return Plan ? Status() : Status(Plan.getError());
}

static bool rolls(const GroupPlan &Plan, size_t Operand) {
  return std::ranges::any_of(Plan.Nodes, [&](const GroupNode &N) {
    return N.TheKind == GroupNode::Kind::Roll && N.Input == Operand;
  });
}

/// Whoever writes an element of a full result has read that element of its full
/// operands, on every device; a row operation may read a row again, and a roll
/// reads elements of other places.
static bool mayReuse(const OpCall &Op, size_t Result, size_t Operand) {
  auto Plan = planGroup(Op);
  return Plan && !Plan->HasRows && !rolls(*Plan, Operand) &&
         Op.Results[Result].NumElements == Plan->NumElements &&
         reusesElementwise(Op, Result, Operand);
}

std::span<const OpSignature> remat::runtime::getGroupOps() {
  static const OpSignature Signatures[] = {
      {"kernel", check, mayReuse},
  };
  return Signatures;
}
