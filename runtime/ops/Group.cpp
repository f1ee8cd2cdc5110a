//===- Group.cpp - the plan of a kernel group -----------------------------===//

#include "ops/Group.h"
#include "ops/Random.h"
#include <algorithm>
#include <map>

using namespace remat::runtime;

namespace {

/// A value of the group: an operand, or the result of a body op.
struct GroupValue {
  DType Type;
  const std::vector<int64_t> *Shape;
};

class Planner {
public:
  explicit Planner(const OpCall &Op)
      : Op(Op), Body(Op.TheStep->Body), NumInputs(Op.Operands.size()) {}

  Status run();
  GroupPlan Plan;

private:
  GroupValue getValue(uint32_t V) const {
    if (V < NumInputs)
      return {Op.Operands[V].Type, &Op.Operands[V].Shape};
    return {Body[V - NumInputs].Type, &Body[V - NumInputs].Shape};
  }
  Status checkValues();
  Status checkBodyType(const BodyOp &B) const;
  bool isSum(const BodyOp &B) const;
  bool isSum(uint32_t V) const {
    return V >= NumInputs && isSum(Body[V - NumInputs]);
  }
  Status findSums();
  Status findSpace();
  Status findRowDims(const BodyOp &B);
  void findDrops();
  Status demand(uint32_t V, uint32_t Drop);
  Status demandOperands(uint32_t V, uint32_t Drop);
  Status makeNodes();
  Status makeNode(uint32_t V, uint32_t Drop);
  Status fillNode(const BodyOp &B, GroupNode &N);
  Status checkRoll(const BodyOp &B) const;
  Status makeYield(size_t Result);
  std::vector<int64_t> align(uint32_t V, uint32_t Drop) const;

  const OpCall &Op;
  const std::vector<BodyOp> &Body;
  uint32_t NumInputs;
  uint32_t RowDims = 0;              ///< dimensions of a row
  std::vector<uint32_t> NaturalDrop; ///< of body ops
  std::vector<uint32_t> YieldDrops;
  /// Values that are needed, by number and Drop; then their nodes.
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> NodeOf;
};

bool isRowOp(std::string_view Name) {
  return Name == "reduce" || Name == "softmax" || Name == "softmax_backward";
}

//===----------------------------------------------------------------------===//
// The space
//===----------------------------------------------------------------------===//

Status Planner::checkBodyType(const BodyOp &B) const {
  REMAT_REQUIRE(isKnown(B.Type),
                "has a value of the unknown element type " +
                    std::to_string(static_cast<unsigned>(B.Type)));
  REMAT_REQUIRE(B.Shape.size() <= MaxRank,
                "has a value of rank " + std::to_string(B.Shape.size()));
  int64_t Count = 1;
  for (int64_t Dim : B.Shape)
    REMAT_REQUIRE(Dim >= 1 && !__builtin_mul_overflow(Count, Dim, &Count) &&
                      Count <= INT64_MAX / 16,
                  "has a value of shape " + formatShape(B.Shape));
  return {};
}

Status Planner::checkValues() {
  REMAT_REQUIRE(!Op.Results.empty(), "has no results");
  for (size_t I = 0; I < NumInputs; ++I)
    REMAT_REQUIRE(Op.Operands[I].Present,
                  "operand " + std::to_string(I) + " is missing");
  for (size_t I = 0; I < Body.size(); ++I) {
    REMAT_TRY(checkBodyType(Body[I]));
    for (uint32_t V : Body[I].Operands)
      REMAT_REQUIRE(V < NumInputs + I, "body op " + std::to_string(I) + " (" +
                                           Body[I].Name + ") reads value " +
                                           std::to_string(V) + " of " +
                                           std::to_string(NumInputs + I));
  }
  const std::vector<uint32_t> &Yields = Op.TheStep->Yields;
  REMAT_REQUIRE(Yields.size() == Op.Results.size(),
                "yields " + std::to_string(Yields.size()) + " values to " +
                    std::to_string(Op.Results.size()) + " results");
  for (size_t I = 0; I < Yields.size(); ++I) {
    REMAT_REQUIRE(Yields[I] < NumInputs + Body.size(),
                  "yields value " + std::to_string(Yields[I]) + " of " +
                      std::to_string(NumInputs + Body.size()));
    GroupValue V = getValue(Yields[I]);
    REMAT_TRY(checkType(Op.Results[I], V.Type));
    REMAT_TRY(checkShape(Op.Results[I], *V.Shape));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Sums of results
//===----------------------------------------------------------------------===//

/// Whether `B` sums over all dimensions but the last, of at least two.
bool Planner::isSum(const BodyOp &B) const {
  if (B.Name != "reduce" || B.Operands.size() != 1 ||
      B.Attributes.getText("kind") != "sum" ||
      B.Attributes.getFlag("keep_dims"))
    return false;
  auto Dims = B.Attributes.getInts("dims");
  if (Dims.empty() || Dims.size() + 1 != getValue(B.Operands[0]).Shape->size())
    return false;
  for (size_t I = 0; I < Dims.size(); ++I)
    if (Dims[I] != static_cast<int64_t>(I))
      return false;
  return true;
}

Status Planner::findSums() {
  const std::vector<uint32_t> &Yields = Op.TheStep->Yields;
  for (size_t I = 0; I < Yields.size(); ++I) {
    if (!isSum(Yields[I]))
      continue;
    const BodyOp &B = Body[Yields[I] - NumInputs];
    auto Summed = std::find(Yields.begin(), Yields.end(), B.Operands[0]);
    REMAT_REQUIRE(Summed != Yields.end(), "sums what it does not yield");
    GroupSum Sum = {static_cast<uint32_t>(I),
                    static_cast<uint32_t>(Summed - Yields.begin()),
                    &B.Attributes};
    REMAT_TRY(findOp("reduce")->Check(makeSumCall(Op, Sum)));
    Plan.Sums.push_back(Sum);
  }
  return {};
}

Status Planner::findRowDims(const BodyOp &B) {
  REMAT_REQUIRE(!B.Operands.empty(), B.Name + " has no operands");
  const std::vector<int64_t> &Shape = *getValue(B.Operands[0]).Shape;
  uint32_t Dims = 1;
  if (B.Name == "reduce") {
    auto List = B.Attributes.getInts("dims");
    Dims = List.size();
    REMAT_REQUIRE(Dims >= 1 && Dims <= Shape.size(),
                  "reduces " + std::to_string(Dims) + " of " +
                      std::to_string(Shape.size()) + " dimensions");
    for (uint32_t I = 0; I < Dims; ++I)
      REMAT_REQUIRE(List[I] == static_cast<int64_t>(Shape.size() - Dims + I),
                    "reduces other dimensions than the last ones in a group");
  }
  REMAT_REQUIRE(Shape.size() >= Dims, B.Name + " has no last dimension");
  REMAT_REQUIRE(RowDims == 0 || RowDims == Dims,
                "has rows of " + std::to_string(RowDims) + " and of " +
                    std::to_string(Dims) + " dimensions");
  RowDims = Dims;
  return {};
}

Status Planner::findSpace() {
  auto Consider = [&](uint32_t V) {
    const std::vector<int64_t> &Shape = *getValue(V).Shape;
    int64_t Count = countElements(Shape);
    if (std::pair(Count, Shape.size()) >
        std::pair(Plan.NumElements, Plan.Space.size())) {
      Plan.Space = Shape;
      Plan.NumElements = Count;
    }
  };
  for (uint32_t V : Op.TheStep->Yields)
    Consider(V);
  for (size_t I = 0; I < Body.size(); ++I) {
    Consider(NumInputs + I);
    for (uint32_t V : Body[I].Operands)
      Consider(V);
    if (isRowOp(Body[I].Name) && !isSum(Body[I]))
      REMAT_TRY(findRowDims(Body[I]));
  }
  REMAT_REQUIRE(Plan.Space.size() >= RowDims, "has rows beyond its space");
  Plan.HasRows = RowDims != 0;
  for (uint32_t I = 0; I < RowDims; ++I)
    Plan.RowLength *= Plan.Space[Plan.Space.size() - 1 - I];
  return {};
}

/// A value computed with one that lacks the row's dimensions lacks them too.
void Planner::findDrops() {
  for (const BodyOp &B : Body) {
    uint32_t Drop = 0;
    if (isSum(B))
      Drop = 0;
    else if (B.Name == "reduce")
      Drop = B.Attributes.getFlag("keep_dims") ? 0 : RowDims;
    else if (!isRowOp(B.Name))
      for (uint32_t V : B.Operands)
        if (V >= NumInputs && !getValue(V).Shape->empty())
          Drop = std::max(Drop, NaturalDrop[V - NumInputs]);
    NaturalDrop.push_back(Drop);
  }
}

std::vector<int64_t> Planner::align(uint32_t V, uint32_t Drop) const {
  std::vector<int64_t> Shape = *getValue(V).Shape;
  Shape.insert(Shape.end(), Drop, 1);
  return Shape;
}

//===----------------------------------------------------------------------===//
// Which values are needed
//===----------------------------------------------------------------------===//

Status Planner::demand(uint32_t V, uint32_t Drop) {
  REMAT_REQUIRE(!isSum(V), "reads a sum over its rows");
  std::vector<int64_t> Shape = align(V, Drop);
  REMAT_REQUIRE(broadcastsTo(Shape, Plan.Space),
                "has a value of shape " + formatShape(*getValue(V).Shape) +
                    " that does not broadcast to " + formatShape(Plan.Space));
  NodeOf.try_emplace({V, Drop}, 0);
  return {};
}

/// A roll reads elements of other places than its own: those of an operand are
/// there, what the group makes may not be.
Status Planner::checkRoll(const BodyOp &B) const {
  REMAT_REQUIRE(B.Operands.size() == 1 && B.Operands[0] < NumInputs,
                "rolls what the group makes");
  REMAT_REQUIRE(B.Shape == Plan.Space,
                "rolls a value of shape " + formatShape(B.Shape) +
                    " in a group over " + formatShape(Plan.Space));
  return {};
}

Status Planner::demandOperands(uint32_t V, uint32_t Drop) {
  const BodyOp &B = Body[V - NumInputs];
  if (B.Name == "roll")
    return checkRoll(B);
  if (!isRowOp(B.Name)) {
    for (uint32_t Operand : B.Operands)
      REMAT_TRY(demand(Operand, Drop));
    return {};
  }
  // A row's result belongs to its row only where the two are aligned.
  uint32_t Own = NaturalDrop[V - NumInputs];
  REMAT_REQUIRE(Drop == Own || countElements(B.Shape) == 1,
                B.Name + " is used across rows");
  for (uint32_t Operand : B.Operands) {
    REMAT_TRY(demand(Operand, 0));
    const std::vector<int64_t> &Shape = *getValue(Operand).Shape;
    REMAT_REQUIRE(Shape.size() >= RowDims &&
                      std::equal(Shape.end() - RowDims, Shape.end(),
                                 Plan.Space.end() - RowDims),
                  B.Name + " runs over rows of another length than " +
                      std::to_string(Plan.RowLength));
  }
  return {};
}

Status Planner::run() {
  REMAT_TRY(checkValues());
  REMAT_TRY(findSums());
  REMAT_TRY(findSpace());
  findDrops();
  for (uint32_t V : Op.TheStep->Yields) {
    if (isSum(V)) {
      YieldDrops.push_back(0);
      continue;
    }
    uint32_t Drop = V >= NumInputs ? NaturalDrop[V - NumInputs] : 0;
    if (Drop == 0 && !broadcastsTo(*getValue(V).Shape, Plan.Space))
      Drop = RowDims;
    YieldDrops.push_back(Drop);
    REMAT_TRY(demand(V, Drop));
  }
  // Operands come before their users, so one sweep backward finds all.
  for (uint32_t V = NumInputs + Body.size(); V-- > NumInputs;)
    for (uint32_t Drop : {0u, RowDims}) {
      if (NodeOf.count({V, Drop}))
        REMAT_TRY(demandOperands(V, Drop));
      if (RowDims == 0)
        break;
    }
  REMAT_TRY(makeNodes());
  for (size_t I = 0; I < Op.Results.size(); ++I)
    REMAT_TRY(makeYield(I));
  assignSlots(Plan);
  return {};
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

Status Planner::makeNodes() {
  for (auto &[Key, Node] : NodeOf) {
    Node = Plan.Nodes.size();
    auto [V, Drop] = Key;
    GroupNode N;
    N.Type = getValue(V).Type;
    N.W = Walk::broadcast(align(V, Drop), Plan.Space);
    if (V < NumInputs) {
      N.Input = V;
    } else {
      const BodyOp &B = Body[V - NumInputs];
      if (B.Name != "roll")
        for (uint32_t Operand : B.Operands)
          N.Operands.push_back(
              NodeOf.at({Operand, isRowOp(B.Name) ? 0 : Drop}));
      if (Status S = fillNode(B, N); !S)
        return S.getError().within("body op " + B.Name);
    }
    Plan.Nodes.push_back(std::move(N));
  }
  return {};
}

Status Planner::fillNode(const BodyOp &B, GroupNode &N) {
  OpCall Call;
  Call.Name = B.Name;
  Call.Attributes = &B.Attributes;
  Call.Results.push_back({true, B.Type, B.Shape, countElements(B.Shape)});
  for (uint32_t V : B.Operands) {
    GroupValue From = getValue(V);
    Call.Operands.push_back(
        {true, From.Type, *From.Shape, countElements(*From.Shape)});
  }
  bool Known = getScalarArity(B.Name) || isRowOp(B.Name) ||
               B.Name == "constant" || B.Name == "broadcast" ||
               B.Name == "random" || B.Name == "dropout" || B.Name == "roll";
  REMAT_REQUIRE(Known, "cannot be in a group");
  REMAT_TRY(findOp(B.Name)->Check(Call));
  if (getScalarArity(B.Name)) {
    std::vector<DType> Types;
    for (const Value &V : Call.Operands)
      Types.push_back(V.Type);
    N.TheKind = GroupNode::Kind::Scalar;
    N.Function = resolveScalar(B.Name, Types, B.Type, B.Attributes);
    return {};
  }
  N.Id = B.Attributes.getInt("id", 0);
  if (B.Name == "constant") {
    N.TheKind = GroupNode::Kind::Constant;
    N.ConstantFloat = B.Attributes.getFloat("value", 0);
    N.ConstantInt = B.Attributes.getInt("value", 0);
  } else if (B.Name == "broadcast") {
    N.TheKind = GroupNode::Kind::Copy;
  } else if (B.Name == "roll") {
    N.TheKind = GroupNode::Kind::Roll;
    N.Input = B.Operands[0];
    N.Rolled = Roll::of(Plan.Space, B.Attributes);
  } else if (B.Name == "random") {
    N.TheKind = GroupNode::Kind::Random;
    N.Normal = B.Attributes.getText("distribution") == "normal";
  } else if (B.Name == "dropout") {
    N.TheKind = GroupNode::Kind::Dropout;
    N.Probability = B.Attributes.getFloat("p", 0);
  } else if (B.Name == "reduce") {
    N.TheKind = GroupNode::Kind::Reduce;
    parseReduction(B.Attributes.getText("kind"), N.Reduce);
  } else {
    N.TheKind = B.Name == "softmax" ? GroupNode::Kind::Softmax
                                    : GroupNode::Kind::SoftmaxBackward;
  }
  return {};
}

Status Planner::makeYield(size_t Result) {
  uint32_t V = Op.TheStep->Yields[Result], Drop = YieldDrops[Result];
  GroupYield Y;
  if (isSum(V)) {
    Y.IsSum = true;
    Plan.Yields.push_back(std::move(Y));
    return {};
  }
  Y.Node = NodeOf.at({V, Drop});
  Y.Full = Op.Results[Result].NumElements == Plan.NumElements;
  std::vector<int64_t> Shape = align(V, Drop);
  Shape.insert(Shape.begin(), Plan.Space.size() - Shape.size(), 1);
  std::vector<int64_t> Strides(Shape.size());
  bool Trailing = true;
  for (size_t I = Shape.size(); I-- > 0;) {
    bool Repeats = Shape[I] == 1 && Plan.Space[I] != 1;
    Strides[I] = Repeats;
    Trailing = Trailing && Shape[I] == 1;
    if (Trailing)
      Y.Period *= Plan.Space[I];
  }
  // Strides of one neighbour would be merged into a walk that still counts: a
  // sum of coordinates is zero exactly where each of them is.
  Y.Repeats = Walk::strided(Plan.Space, Strides);
  Plan.Yields.push_back(std::move(Y));
  return {};
}

} // namespace

OpCall remat::runtime::makeSumCall(const OpCall &Op, const GroupSum &Sum) {
  OpCall Call;
  Call.Name = "reduce";
  Call.Operands = {Op.Results[Sum.Summed]};
  Call.Results = {Op.Results[Sum.Result]};
  Call.Attributes = Sum.Attributes;
  return Call;
}

Result<GroupPlan> remat::runtime::planGroup(const OpCall &Op) {
  if (!Op.TheStep)
    return Error(ErrorCode::InvalidProgram, "is inside another group");
  Planner P(Op);
  if (Status S = P.run(); !S)
    return S.getError();
  return std::move(P.Plan);
}
