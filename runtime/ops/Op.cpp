//===- Op.cpp - the registry of ops and helpers of their checks -----------===//

#include "ops/Op.h"
#include <map>

using namespace remat::runtime;

Value Value::of(const Tensor &T) {
  return {true, T.Type, T.Shape, T.NumElements, nullptr, T.InHalves};
}

Value Value::missing() {
  Value V;
  V.Present = false;
  return V;
}

OpCall remat::runtime::makeCall(const Program &P, const Step &S) {
  OpCall Call;
  Call.Name = S.Op;
  Call.Attributes = &S.Attributes;
  Call.TheStep = &S;
  for (uint32_t Tensor : S.Operands)
    Call.Operands.push_back(Tensor == NoTensor ? Value::missing()
                                               : Value::of(P.Tensors[Tensor]));
  for (uint32_t Tensor : S.Results)
    Call.Results.push_back(Value::of(P.Tensors[Tensor]));
  return Call;
}

//===----------------------------------------------------------------------===//
// Registry
//===----------------------------------------------------------------------===//

static const std::map<std::string_view, const OpSignature *> &getRegistry() {
  static const auto Registry = [] {
    std::map<std::string_view, const OpSignature *> Map;
    for (auto Table :
         {getElementwiseOps(), getRandomOps(), getShapeOps(), getReductionOps(),
          getMatmulOps(), getMomentOps(), getNormOps(), getAttentionOps(),
          getEmbeddingOps(), getIndexOps(), getLossOps(), getOptimizerOps(),
          getWindowOps(), getGroupOps(), getLoopOps(), getCollectiveOps()})
      for (const OpSignature &Signature : Table)
        Map.emplace(Signature.Name, &Signature);
    return Map;
  }();
  return Registry;
}

const OpSignature *remat::runtime::findOp(std::string_view Name) {
  auto It = getRegistry().find(Name);
  return It == getRegistry().end() ? nullptr : It->second;
}

std::vector<const OpSignature *> remat::runtime::getAllOps() {
  std::vector<const OpSignature *> All;
  for (auto &[Name, Signature] : getRegistry())
    All.push_back(Signature);
  return All;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

Status remat::runtime::checkOptionalCounts(const OpCall &Op, size_t Required,
                                           size_t Operands, size_t Results) {
  REMAT_REQUIRE(Op.Operands.size() == Operands,
                "has " + std::to_string(Op.Operands.size()) +
                    " operands; its kernel reads " + std::to_string(Operands));
  REMAT_REQUIRE(Op.Results.size() == Results,
                "has " + std::to_string(Op.Results.size()) +
                    " results; its kernel writes " + std::to_string(Results));
  for (size_t I = 0; I < Required; ++I)
    REMAT_REQUIRE(Op.Operands[I].Present,
                  "operand " + std::to_string(I) + " is missing");
  return {};
}

Status remat::runtime::checkCounts(const OpCall &Op, size_t Operands,
                                   size_t Results) {
  return checkOptionalCounts(Op, Operands, Operands, Results);
}

Status remat::runtime::checkFloat(const Value &V) {
  REMAT_REQUIRE(isFloat(V.Type), "has a tensor of " +
                                     std::string(getName(V.Type)) +
                                     " where a float type is needed");
  return {};
}

Status remat::runtime::checkInteger(const Value &V) {
  REMAT_REQUIRE(isInteger(V.Type), "has a tensor of " +
                                       std::string(getName(V.Type)) +
                                       " where i32 or i64 is needed");
  return {};
}

Status remat::runtime::checkType(const Value &V, DType Type) {
  REMAT_REQUIRE(V.Type == Type, "has a tensor of " +
                                    std::string(getName(V.Type)) + " where " +
                                    std::string(getName(Type)) + " is needed");
  return {};
}

Status remat::runtime::checkShape(const Value &V,
                                  std::span<const int64_t> Shape) {
  REMAT_REQUIRE(
      std::equal(V.Shape.begin(), V.Shape.end(), Shape.begin(), Shape.end()),
      "has a tensor of shape " + formatShape(V.Shape) + " where " +
          formatShape(Shape) + " is needed");
  return {};
}

Status remat::runtime::checkSameType(const Value &A, const Value &B) {
  REMAT_TRY(checkType(A, B.Type));
  return checkShape(A, B.Shape);
}

Status remat::runtime::checkScalar(const Value &V, DType Type) {
  REMAT_TRY(checkType(V, Type));
  return checkShape(V, {});
}

std::string remat::runtime::formatShape(std::span<const int64_t> Shape) {
  std::string Text = "[";
  for (int64_t Dim : Shape)
    Text += (Text.size() == 1 ? "" : ", ") + std::to_string(Dim);
  return Text + "]";
}

int64_t remat::runtime::countElements(std::span<const int64_t> Shape) {
  int64_t Count = 1;
  for (int64_t Dim : Shape)
    Count *= Dim;
  return Count;
}

bool remat::runtime::broadcastsTo(std::span<const int64_t> From,
                                  std::span<const int64_t> To) {
  if (From.size() > To.size())
    return false;
  size_t Shift = To.size() - From.size();
  for (size_t I = 0; I < From.size(); ++I)
    if (From[I] != 1 && From[I] != To[I + Shift])
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// In-place rules
//===----------------------------------------------------------------------===//

bool remat::runtime::reusesNothing(const OpCall &, size_t, size_t) {
  return false;
}

bool remat::runtime::reusesElementwise(const OpCall &Op, size_t Result,
                                       size_t Operand) {
  const Value &From = Op.Operands[Operand], &To = Op.Results[Result];
  return From.Shape == To.Shape &&
         getByteWidth(From.Type) == getByteWidth(To.Type);
}
