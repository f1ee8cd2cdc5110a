//===- PlacedLoops.cpp - slices that know their place -----------*- C++ -*-===//
//
// What each operation answers to PlacedLoopOpInterface: tables and logits cut
// along the vocabulary, and random numbers, which belong to an element's place
// in the whole, or to a head.
//
//===----------------------------------------------------------------------===//

#include "../Adjoints/AdjointBuilder.h"
#include "OpUtils.h"
#include "remat/Support/HeadSeeds.h"

using namespace mlir;
using namespace remat;

static Value makeScalar(AdjointBuilder &B, int64_t Number, Type Element) {
  auto Type = RankedTensorType::get({}, Element);
  return ConstantOp::create(
      B, DenseElementsAttr::get(Type, B.getIntegerAttr(Element, Number)));
}

/// The sum of all elements.
static Value sumAll(AdjointBuilder &B, Value V) {
  auto Dims = llvm::to_vector(llvm::seq<int64_t>(tensorType(V).getRank()));
  return ReduceOp::create(B, Reduction::sum, V, Dims);
}

namespace {

/// Indices into a dimension of which a rank has one slice.
class LocalIndices {
public:
  /// `Own` is the size of the slice.
  LocalIndices(AdjointBuilder &B, Value Indices, int64_t Own, ArrayAttr Axes) {
    Type Element = elementOf(Indices);
    Value Rank =
        RankIndexOp::create(B, RankedTensorType::get({}, B.getI64Type()), Axes);
    Value First = B.mul(B.cast(Rank, Element), makeScalar(B, Own, Element));
    Local = B.sub(Indices, First);
    Value Zero = makeScalar(B, 0, Element);
    Value IsBehind = B.compare(Predicate::ge, Local, Zero);
    Value IsBefore =
        B.compare(Predicate::lt, Local, makeScalar(B, Own, Element));
    IsHere = B.select(IsBehind, IsBefore, IsBehind);
    Clamped = B.select(IsHere, Local, Zero);
  }

  Value Local, IsHere;
  Value Clamped; ///< 0 for what another rank has
};

} // namespace

/// Rows [rows...] as [rows..., 1].
static Value addColumn(AdjointBuilder &B, Value Rows) {
  SmallVector<int64_t> Shape(shapeOf(Rows));
  Shape.push_back(1);
  return B.reshape(Rows, Shape);
}

//===----------------------------------------------------------------------===//
// Embedding
//===----------------------------------------------------------------------===//

SmallVector<Loop> EmbeddingOp::getPlacedLoops() {
  return {{{Loop::None, 0}, {Loop::None}}};
}

/// Rows that another rank has are zeros.
SmallVector<Value> EmbeddingOp::buildPlacedSlice(OpBuilder &Builder,
                                                 const Loop &,
                                                 ValueRange Operands,
                                                 ArrayAttr Axes, int64_t) {
  AdjointBuilder B(Builder, *this);
  Value Table = Operands[1];
  LocalIndices Ids(B, Operands[0], shapeOf(Table)[0], Axes);
  Value Rows = EmbeddingOp::create(B, Ids.Clamped, Table);
  return {B.select(addColumn(B, Ids.IsHere), Rows, B.scalarLike(0.0, Rows))};
}

SmallVector<Loop> EmbeddingBackwardOp::getPlacedLoops() {
  if (getAddend())
    return {{{Loop::None, Loop::None, 0}, {0}}};
  return {{{Loop::None, Loop::None}, {0}}};
}

SmallVector<Value> EmbeddingBackwardOp::buildPlacedSlice(OpBuilder &Builder,
                                                         const Loop &,
                                                         ValueRange Operands,
                                                         ArrayAttr Axes,
                                                         int64_t Count) {
  AdjointBuilder B(Builder, *this);
  SmallVector<int64_t> Shape(shapeOf(getTableGrad()));
  Shape[0] /= Count;
  LocalIndices Ids(B, Operands[0], Shape[0], Axes);
  Value Grad = B.select(addColumn(B, Ids.IsHere), Operands[1],
                        B.scalarLike(0.0, Operands[1]));
  Type Part = getTableGrad().getType().clone(Shape);
  return {EmbeddingBackwardOp::create(B, Part, Ids.Clamped, Grad,
                                      getAddend() ? Operands[2] : Value())};
}

//===----------------------------------------------------------------------===//
// Cross entropy
//===----------------------------------------------------------------------===//

/// 1 where a row counts, 0 where its target is `Ignored`; and the inverse of
/// their number, 1 where there is none.
static std::pair<Value, Value> countRows(AdjointBuilder &B, Value Targets,
                                         int64_t Ignored) {
  Value Mark = makeScalar(B, Ignored, elementOf(Targets));
  Value Counts = B.f32(B.compare(Predicate::ne, Targets, Mark));
  Value One = B.scalar(1.0, B.getF32Type());
  return {Counts, B.div(One, MaxOp::create(B, sumAll(B, Counts), One))};
}

SmallVector<Loop> CrossEntropyOp::getPlacedLoops() {
  Loop L = {{getLogits().getType().getRank() - 1, Loop::None},
            {Loop::None, Loop::None}};
  L.IsShared = true;
  return {L};
}

/// The log-sum-exp of a row is that of the ranks' own; the logit of its target
/// comes from the rank that has it, and only numbers of rows are sent.
SmallVector<Value> CrossEntropyOp::buildPlacedSlice(OpBuilder &Builder,
                                                    const Loop &,
                                                    ValueRange Operands,
                                                    ArrayAttr Axes, int64_t) {
  AdjointBuilder B(Builder, *this);
  Value Logits = Operands[0], Targets = Operands[1];
  LocalIndices Local(B, Targets, shapeOf(Logits).back(), Axes);
  // No row of it is ignored, so that each has its log-sum-exp.
  Value Own = CrossEntropyOp::create(B, Logits, Local.Clamped, -1).getLse();
  auto Reduce = [&](Reduction Kind, ValueRange Values) {
    return AllReduceOp::create(B, Values.getTypes(), Kind, Values, Axes)
        .getResults();
  };
  Value Largest = Reduce(Reduction::max, Own)[0];
  Value Column = GatherOp::create(B, Logits, addColumn(B, Local.Clamped),
                                  tensorType(Logits).getRank() - 1);
  Value Logit = B.reshape(B.f32(Column), shapeOf(Targets));
  Logit = B.select(Local.IsHere, Logit, B.scalarLike(0.0, Logit));
  Value Sum = ExpOp::create(B, B.sub(Own, Largest));
  auto Sums = Reduce(Reduction::sum, {Sum, Logit});
  Value Lse = B.add(Largest, LogOp::create(B, Sums[0]));

  auto [Counts, Share] = countRows(B, Targets, getIgnoreIndex());
  Value Losses = B.mul(B.sub(Lse, Sums[1]), Counts);
  return {B.mul(sumAll(B, Losses), Share), Lse};
}

SmallVector<Loop> CrossEntropyBackwardOp::getPlacedLoops() {
  int64_t Last = getLogits().getType().getRank() - 1;
  return {{{Loop::None, Last, Loop::None, Loop::None}, {Last}}};
}

SmallVector<Value> CrossEntropyBackwardOp::buildPlacedSlice(OpBuilder &Builder,
                                                            const Loop &,
                                                            ValueRange Operands,
                                                            ArrayAttr Axes,
                                                            int64_t) {
  AdjointBuilder B(Builder, *this);
  Value Grad = Operands[0], Logits = Operands[1], Targets = Operands[2];
  int64_t Own = shapeOf(Logits).back();
  LocalIndices Local(B, Targets, Own, Axes);
  SmallVector<int64_t> Columns(tensorType(Logits).getRank(), 1);
  Columns.back() = Own;
  Type Index = elementOf(Targets);
  SmallVector<Attribute> Numbers;
  for (int64_t Column = 0; Column < Own; ++Column)
    Numbers.push_back(B.getIntegerAttr(Index, Column));
  Value Names = ConstantOp::create(
      B,
      DenseElementsAttr::get(RankedTensorType::get(Columns, Index), Numbers));

  auto [Counts, Share] = countRows(B, Targets, getIgnoreIndex());
  Value Scale = addColumn(B, B.mul(B.mul(Counts, Share), Grad));
  Value Likely =
      ExpOp::create(B, B.sub(B.f32(Logits), addColumn(B, Operands[3])));
  Value IsTarget =
      B.f32(B.compare(Predicate::eq, addColumn(B, Local.Local), Names));
  Value Result = B.mul(B.sub(Likely, IsTarget), Scale);
  return {B.cast(Result, elementOf(Logits))};
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Over heads, where probabilities are dropped; batches draw from one stream.
template <typename OpT> static SmallVector<Loop> getHeadLoop(OpT Op) {
  return Op.drawsNumbers() ? SmallVector<Loop>{Op.getLoops()[1]}
                           : SmallVector<Loop>();
}

/// Its first head's seed is what the heads of the ranks before lie behind.
template <typename OpT>
static SmallVector<Value> buildHeads(OpT Op, OpBuilder &Builder,
                                     const Loop &Along, ValueRange Operands,
                                     ArrayAttr Axes, int64_t Count) {
  AdjointBuilder B(Builder, Op);
  int64_t Own = shapeOf(Operands.front())[Along.Operands.front()];
  Value Rank =
      RankIndexOp::create(B, RankedTensorType::get({}, B.getI64Type()), Axes);
  Value First =
      B.mul(Rank, makeScalar(B, Own * HeadSeedStride, B.getI64Type()));
  Value Seed =
      B.add(Operands[Op.getSeedMutable()[0].getOperandNumber()], First);
  auto Slice = cast<OpT>(B.clone(*Op.getOperation()));
  Slice->setOperands(Operands);
  Slice.getSeedMutable().assign(Seed);
  Slice.becomeSlice(Along, Count);
  return Slice->getResults();
}

SmallVector<Loop> AttentionOp::getPlacedLoops() { return getHeadLoop(*this); }

SmallVector<Value> AttentionOp::buildPlacedSlice(OpBuilder &Builder,
                                                 const Loop &Along,
                                                 ValueRange Operands,
                                                 ArrayAttr Axes,
                                                 int64_t Count) {
  return buildHeads(*this, Builder, Along, Operands, Axes, Count);
}

SmallVector<Loop> AttentionBackwardOp::getPlacedLoops() {
  return getHeadLoop(*this);
}

SmallVector<Value> AttentionBackwardOp::buildPlacedSlice(OpBuilder &Builder,
                                                         const Loop &Along,
                                                         ValueRange Operands,
                                                         ArrayAttr Axes,
                                                         int64_t Count) {
  return buildHeads(*this, Builder, Along, Operands, Axes, Count);
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

SmallVector<Loop> DropoutOp::getPlacedLoops() {
  return detail::getPointwiseLoops(*this);
}

/// Draws for the whole and takes the part.
SmallVector<Value> DropoutOp::buildPlacedSlice(OpBuilder &Builder,
                                               const Loop &Along,
                                               ValueRange Operands,
                                               ArrayAttr Axes, int64_t) {
  AdjointBuilder B(Builder, *this);
  auto Whole = RankedTensorType::get(shapeOf(getResult()), B.getF32Type());
  Value Ones = BroadcastOp::create(B, Whole, B.scalar(1.0, B.getF32Type()));
  Value Factors = DropoutOp::create(B, Whole, Ones, Operands[1], Operands[2],
                                    getPAttr(), getIdAttr());
  Type Part = Whole.clone(shapeOf(Operands[0]));
  Factors = RankPartOp::create(B, Part, Factors, Axes, Along.Results.front());
  return {B.cast(B.mul(B.f32(Operands[0]), Factors), elementOf(Operands[0]))};
}
