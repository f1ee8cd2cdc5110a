//===- ShardApply.cpp - a graph becomes one rank's step -------------------===//
//
// Operations stay where they are and are cut in place; where a value is read
// otherwise than it is made, what changes it stands before its first reader.
//
//===----------------------------------------------------------------------===//

#include "ShardPlan.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "remat/Transforms/GraphSignature.h"

using namespace mlir;
using namespace remat;

static RankedTensorType getTensorType(Value V) {
  return cast<RankedTensorType>(V.getType());
}

static bool isFloat(Type Of) {
  return isa<FloatType>(cast<RankedTensorType>(Of).getElementType());
}

namespace {

class ShardWriter {
public:
  ShardWriter(func::FuncOp Graph, const ShardPlan &Plan, StringRef Axis)
      : Graph(Graph), Plan(Plan), Count(Plan.getCount()),
        B(Graph.getLoc(), OpBuilder(Graph.getContext(), &Marker)),
        Axes(B.getStrArrayAttr({Axis})) {}

  void run();

private:
  void recordTypes();
  RankedTensorType getPartType(RankedTensorType Whole, Layout L) const;
  Value get(Value V, Layout Read);
  Value convert(Value V, Layout Made, Layout Read);
  Value getMade(Value V);
  Value cast(Value V, Type Element);
  Value reshape(Value V, RankedTensorType To);
  Value makePart(Value Whole, Layout L);
  Value gather(Value Part, Layout L, RankedTensorType Whole);
  Value reduceScatter(Value Sum, Layout L);
  Value reduce(Value Sum, RankedTensorType Whole);
  Value exchange(Value Part, Layout From, Layout To);
  Value addOnce(Value Whole);
  Value makeShare(Operation *Op, const Loop &Along);
  void write(Operation *Op);
  void writeNested(Operation *Op);
  void writeSlice(Operation *Op, const Way &W,
                  SmallVectorImpl<Value> &Operands);
  void writePlaced(Operation *Op, const Way &W, ValueRange Operands);
  void writeLinear(Operation *Op, const Way &W,
                   SmallVectorImpl<Value> &Operands);
  void keepSum(Value Result, Value Sum);

  func::FuncOp Graph;
  const ShardPlan &Plan;
  int64_t Count;
  PhaseOfSource Marker;
  ImplicitLocOpBuilder B;
  ArrayAttr Axes;
  DenseMap<Value, RankedTensorType> Whole; ///< types as they were
  /// What there is of each value, beside the value itself.
  DenseMap<Value, SmallVector<std::pair<Layout, Value>>> Known;
  SmallVector<Operation *> Replaced;
};

} // namespace

RankedTensorType ShardWriter::getPartType(RankedTensorType Of, Layout L) const {
  if (L.Is != Layout::Cut)
    return Of;
  SmallVector<int64_t> Shape(Of.getShape());
  Shape[L.Dim] /= Count;
  return Of.clone(Shape);
}

//===----------------------------------------------------------------------===//
// From one layout to another
//===----------------------------------------------------------------------===//

/// How a value looks where its blocks are a dimension of their own: what lies
/// before a block, the block, what lies behind.
static RankedTensorType getBlockView(RankedTensorType Of, Layout L) {
  if (L.Blocks == 1)
    return Of;
  int64_t Before = L.Blocks, Behind = 1;
  for (int64_t Dim = 0; Dim < L.Dim; ++Dim)
    Before *= Of.getDimSize(Dim);
  for (int64_t Dim = L.Dim + 1; Dim < Of.getRank(); ++Dim)
    Behind *= Of.getDimSize(Dim);
  return Of.clone({Before, Of.getDimSize(L.Dim) / L.Blocks, Behind});
}

/// The dimension that is cut in that view.
static int64_t getBlockDim(Layout L) { return L.Blocks == 1 ? L.Dim : 1; }

Value ShardWriter::cast(Value V, Type Element) {
  if (getTensorType(V).getElementType() == Element)
    return V;
  return CastOp::create(B, getTensorType(V).clone(Element), V);
}

Value ShardWriter::reshape(Value V, RankedTensorType To) {
  return V.getType() == To ? V : ReshapeOp::create(B, To, V).getResult();
}

Value ShardWriter::makePart(Value V, Layout L) {
  RankedTensorType Part = getPartType(getTensorType(V), L);
  Value Viewed = reshape(V, getBlockView(getTensorType(V), L));
  Value Own = RankPartOp::create(B, getBlockView(Part, L), Viewed, Axes,
                                 getBlockDim(L));
  return reshape(Own, Part);
}

Value ShardWriter::gather(Value Part, Layout L, RankedTensorType To) {
  Value Viewed = reshape(Part, getBlockView(getTensorType(Part), L));
  Value All =
      AllGatherOp::create(B, getBlockView(To, L), Viewed, Axes, getBlockDim(L))
          .getResult(0);
  return reshape(All, To);
}

Value ShardWriter::reduceScatter(Value Sum, Layout L) {
  RankedTensorType Part = getPartType(getTensorType(Sum), L);
  Value Viewed = reshape(Sum, getBlockView(getTensorType(Sum), L));
  Value Own = ReduceScatterOp::create(B, getBlockView(Part, L), Reduction::sum,
                                      Viewed, Axes, getBlockDim(L))
                  .getResult(0);
  return reshape(Own, Part);
}

/// A sum is rounded once.
Value ShardWriter::reduce(Value Sum, RankedTensorType To) {
  Value All = AllReduceOp::create(B, Sum.getType(), Reduction::sum, Sum, Axes)
                  .getResult(0);
  return cast(All, To.getElementType());
}

Value ShardWriter::exchange(Value Part, Layout From, Layout To) {
  SmallVector<int64_t> Shape(getTensorType(Part).getShape());
  Shape[From.Dim] *= Count;
  Shape[To.Dim] /= Count;
  return AllToAllOp::create(B, getTensorType(Part).clone(Shape), Part, Axes,
                            To.Dim, From.Dim);
}

/// The summands whose sum is a value that each rank has: the first rank has it,
/// the others zeros.
Value ShardWriter::addOnce(Value V) {
  if (isFloat(V.getType()))
    V = cast(V, B.getF32Type());
  auto Number = RankedTensorType::get({}, B.getI64Type());
  auto Scalar = RankedTensorType::get({}, getTensorType(V).getElementType());
  Value Index = RankIndexOp::create(B, Number, Axes);
  Value First = ConstantOp::create(
      B, DenseElementsAttr::get(Number, B.getI64IntegerAttr(0)));
  Value Zero = ConstantOp::create(
      B,
      DenseElementsAttr::get(Scalar, B.getZeroAttr(Scalar.getElementType())));
  Value IsFirst = CompareOp::create(B, Predicate::eq, Index, First);
  return SelectOp::create(B, IsFirst, V, Zero);
}

Value ShardWriter::getMade(Value V) {
  Layout Made = Plan.getLayout(V);
  for (auto [L, Form] : Known[V])
    if (L == Made)
      return Form;
  return V;
}

Value ShardWriter::convert(Value V, Layout Made, Layout Read) {
  if (Read.Is == Layout::Sum)
    return addOnce(get(V, {}));
  if (Read.Is == Layout::Whole)
    return Made.Is == Layout::Sum ? reduce(getMade(V), Whole.at(V))
                                  : gather(getMade(V), Made, Whole.at(V));
  if (Made.Is == Layout::Whole || Plan.getReads(V).size() > 1)
    return makePart(get(V, {}), Read);
  if (Made.Is == Layout::Sum)
    return cast(reduceScatter(getMade(V), Read), Whole.at(V).getElementType());
  if (Made.Blocks == 1 && Read.Blocks == 1)
    return exchange(getMade(V), Made, Read);
  return makePart(get(V, {}), Read);
}

/// `V` as a rank reads it.
Value ShardWriter::get(Value V, Layout Read) {
  for (auto [L, Form] : Known[V])
    if (L == Read)
      return Form;
  Layout Made = Plan.getLayout(V);
  if (Read == Made)
    return V;
  Value Form = convert(V, Made, Read);
  Known[V].push_back({Read, Form});
  return Form;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void ShardWriter::recordTypes() {
  for (BlockArgument Argument : Graph.getArguments())
    Whole[Argument] = getTensorType(Argument);
  for (Operation &Op : Graph.getBody().front())
    for (Value Result : Op.getResults())
      Whole[Result] = getTensorType(Result);
}

/// `Sum` is what the rank has of `Result`.
void ShardWriter::keepSum(Value Result, Value Sum) {
  if (isFloat(Sum.getType()))
    Sum = cast(Sum, B.getF32Type());
  if (Sum != Result)
    Known[Result].push_back({Layout{Layout::Sum}, Sum});
}

/// What the rank's slice contributes to a mean.
Value ShardWriter::makeShare(Operation *Op, const Loop &Along) {
  // Asked of the whole; what is not read of it goes away.
  Operation *Asked = B.clone(*Op);
  for (OpOperand &Operand : Asked->getOpOperands())
    Operand.set(get(Operand.get(), {}));
  Value Shares =
      llvm::cast<LoopOpInterface>(Asked).buildShares(B, Along, Count);
  Asked->erase();
  auto Scalar = RankedTensorType::get({}, B.getF32Type());
  if (!Shares)
    return ConstantOp::create(
        B,
        DenseElementsAttr::get(Scalar, B.getF32FloatAttr(1.0 / double(Count))));
  return reshape(makePart(Shares, Layout::cut(0)), Scalar);
}

void ShardWriter::writeSlice(Operation *Op, const Way &W,
                             SmallVectorImpl<Value> &Operands) {
  Value Share = W.Along.IsMean ? makeShare(Op, W.Along) : Value();
  if (W.Along.Shared) {
    Value &Mean = Operands[*W.Along.Shared];
    Mean = MulOp::create(B, Mean, Share);
  }
  Op->setOperands(Operands);
  llvm::cast<LoopOpInterface>(Op).becomeSlice(W.Along, Count);
  B.setInsertionPointAfter(Op);
  for (auto [Result, Made] : llvm::zip_equal(Op->getResults(), W.Results)) {
    if (Made.Is != Layout::Sum)
      continue;
    Value Sum = Result;
    if (Share)
      Sum = MulOp::create(B, cast(Sum, B.getF32Type()), Share);
    keepSum(Result, Sum);
  }
}

void ShardWriter::writePlaced(Operation *Op, const Way &W,
                              ValueRange Operands) {
  SmallVector<Value> Parts =
      llvm::cast<PlacedLoopOpInterface>(Op).buildPlacedSlice(
          B, W.Along, Operands, Axes, Count);
  for (auto [Result, Part, Made] :
       llvm::zip_equal(Op->getResults(), Parts, W.Results)) {
    if (Made.Is == Layout::Sum)
      keepSum(Result, Part);
    else
      Known[Result].push_back({Made, Part});
  }
  Replaced.push_back(Op);
}

/// On summands, which are f32, and in f32.
void ShardWriter::writeLinear(Operation *Op, const Way &W,
                              SmallVectorImpl<Value> &Operands) {
  Value Result = Op->getResult(0);
  bool InF32 = isFloat(Result.getType());
  for (Value &Operand : Operands)
    if (InF32 && isFloat(Operand.getType()))
      Operand = cast(Operand, B.getF32Type());
  Op->setOperands(Operands);
  if (InF32)
    Result.setType(getTensorType(Result).clone(B.getF32Type()));
}

/// Bodies read what stands outside as it was.
void ShardWriter::writeNested(Operation *Op) {
  for (Region &Inside : Op->getRegions())
    Inside.walk([&](Operation *Inner) {
      for (OpOperand &Operand : Inner->getOpOperands())
        if (Whole.contains(Operand.get()))
          Operand.set(get(Operand.get(), {}));
    });
}

void ShardWriter::write(Operation *Op) {
  Marker.Phase = Op->getAttr(PhaseAttrName);
  B.setLoc(Op->getLoc());
  B.setInsertionPoint(Op);
  writeNested(Op);
  const Way &W = Plan.getWay(Op);
  SmallVector<Value> Operands;
  for (auto [Operand, Read] : llvm::zip_equal(Op->getOperands(), W.Operands))
    Operands.push_back(get(Operand, Read));
  switch (W.Is) {
  case Way::Whole:
    Op->setOperands(Operands);
    return;
  case Way::Slice:
    return writeSlice(Op, W, Operands);
  case Way::Placed:
    return writePlaced(Op, W, Operands);
  case Way::Linear:
    return writeLinear(Op, W, Operands);
  case Way::Regroup:
    Op->setOperands(Operands);
    becomeRegrouped(Op, W, Count);
    return;
  }
}

void ShardWriter::run() {
  recordTypes();
  SignatureEditor Signature(Graph);
  for (BlockArgument Argument : Graph.getArguments())
    Signature.setArgumentType(
        Argument.getArgNumber(),
        getPartType(getTensorType(Argument), Plan.getLayout(Argument)));
  SmallVector<Operation *> Ops;
  for (Operation &Op : Graph.getBody().front().without_terminator())
    Ops.push_back(&Op);
  llvm::for_each(Ops, [&](Operation *Op) { write(Op); });

  func::ReturnOp Return = getReturn(Graph);
  B.setInsertionPoint(Return);
  for (auto [Index, Read] : llvm::enumerate(Plan.getBoundary().Returned)) {
    Value V = Return.getOperand(Index);
    Operation *Producer = V.getDefiningOp();
    Marker.Phase = Producer ? Producer->getAttr(PhaseAttrName) : Attribute();
    B.setLoc(V.getLoc());
    Signature.setResult(Index, get(V, Read));
  }
  for (Operation *Op : llvm::reverse(Replaced))
    Op->erase();
  Signature.write();
}

void remat::applyShardPlan(func::FuncOp Graph, const ShardPlan &Plan,
                           StringRef Axis) {
  ShardWriter(Graph, Plan, Axis).run();
}
