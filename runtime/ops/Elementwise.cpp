//===- Elementwise.cpp - signatures of elementwise ops --------------------===//

#include "ops/Op.h"
#include "ops/Scalar.h"

using namespace remat::runtime;

ScalarFunction remat::runtime::resolveScalar(const OpCall &Op) {
  std::vector<DType> Types;
  for (const Value &Operand : Op.Operands)
    Types.push_back(Operand.Type);
  return resolveScalar(Op.Name, Types, Op.Results[0].Type, *Op.Attributes);
}

static Status check(const OpCall &Op) {
  REMAT_TRY(checkCounts(Op, *getScalarArity(Op.Name), 1));
  for (const Value &Operand : Op.Operands)
    REMAT_REQUIRE(broadcastsTo(Operand.Shape, Op.Results[0].Shape),
                  "has an operand of shape " + formatShape(Operand.Shape) +
                      " that does not broadcast to " +
                      formatShape(Op.Results[0].Shape));
  REMAT_REQUIRE(bool(resolveScalar(Op)),
                "does not exist for these element types and attributes");
  return {};
}

std::span<const OpSignature> remat::runtime::getElementwiseOps() {
  static const auto Signatures = [] {
    std::vector<OpSignature> All;
    for (std::string_view Name : getScalarNames())
      All.push_back({Name, check, reusesElementwise});
    return All;
  }();
  return Signatures;
}
