//===- Split.cpp - large values are made and used slice by slice ----------===//
//
// The operations of a slice group are written once a slice, one slice after the
// other. Sums over slices are added up in f32 as they are made; what is read
// elsewhere is joined again.
//
//===----------------------------------------------------------------------===//

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/IRMapping.h"
#include "remat/Analysis/SliceGroup.h"
#include "remat/Analysis/ValueNames.h"
#include "remat/Transforms/GraphSignature.h"
#include "remat/Transforms/Passes.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace remat;

namespace remat {
#define GEN_PASS_DEF_SPLIT
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

static RankedTensorType getTensorType(Value V) {
  return cast<RankedTensorType>(V.getType());
}

namespace {

class Splitter {
public:
  Splitter(SliceGroup &Group, int64_t Count, MLIRContext *Context)
      : Group(Group), Count(Count), B(Context, &Marker) {}

  void run();

private:
  void setInsertionPoint();
  void beginFor(Operation *Source);
  void writeSlice(int64_t Index);
  Value getPart(Value Whole, int64_t Index, Location Loc);
  Value getShare(Operation *Op, const Loop &Along, int64_t Index);
  void addToSum(OpResult Of, Value Part);
  void replaceResults(Operation *Op, const Loop &Along);
  void replaceBySum(OpResult Of);

  SliceGroup &Group;
  int64_t Count;
  PhaseOfSource Marker;
  OpBuilder B;
  DenseMap<Operation *, Value> Shares; ///< null where all are alike
  IRMapping Mapping;                   ///< of the current slice
  DenseMap<Value, Value> Sums;
  DenseMap<Value, SmallVector<Value>> Parts;
};

} // namespace

/// Behind all that the group reads.
void Splitter::setInsertionPoint() {
  Operation *Last = nullptr;
  for (const auto &[Op, Along] : Group.Ops)
    for (Value Operand : Op->getOperands()) {
      Operation *Producer = Operand.getDefiningOp();
      if (Producer && !Group.Ops.contains(Producer) &&
          (!Last || Last->isBeforeInBlock(Producer)))
        Last = Producer;
    }
  Operation *First = Group.Ops.front().first;
  if (Last && First->isBeforeInBlock(Last))
    B.setInsertionPointAfter(Last);
  else
    B.setInsertionPoint(First);
}

void Splitter::beginFor(Operation *Source) {
  Marker.Phase = Source->getAttr(PhaseAttrName);
}

/// Slice `Index` of a value that is made elsewhere.
Value Splitter::getPart(Value Whole, int64_t Index, Location Loc) {
  if (Value Known = Mapping.lookupOrNull(Whole))
    return Known;
  int64_t Dim = Group.Cut.at(Whole);
  SmallVector<int64_t> Sizes(getTensorType(Whole).getShape());
  SmallVector<int64_t> Offsets(Sizes.size(), 0);
  Sizes[Dim] /= Count;
  Offsets[Dim] = Index * Sizes[Dim];
  Value Part = SliceOp::create(B, Loc, Whole, Offsets, Sizes);
  Mapping.map(Whole, Part);
  return Part;
}

/// What slice `Index` of `Op` contributes to a mean: a scalar.
Value Splitter::getShare(Operation *Op, const Loop &Along, int64_t Index) {
  auto Scalar = RankedTensorType::get({}, B.getF32Type());
  Location Loc = Op->getLoc();
  Value All = Shares.lookup(Op);
  if (!All)
    return ConstantOp::create(
        B, Loc,
        DenseElementsAttr::get(Scalar, B.getF32FloatAttr(1.0 / double(Count))));
  Value One = SliceOp::create(B, Loc, All, ArrayRef<int64_t>(Index),
                              ArrayRef<int64_t>(1));
  return ReshapeOp::create(B, Loc, Scalar, One);
}

void Splitter::addToSum(OpResult Of, Value Part) {
  Location Loc = Of.getLoc();
  RankedTensorType Type = getTensorType(Part);
  if (isa<FloatType>(Type.getElementType()) && !Type.getElementType().isF32())
    Part = CastOp::create(B, Loc, Type.clone(B.getF32Type()), Part);
  Value &Sum = Sums[Of];
  Sum = Sum ? AddOp::create(B, Loc, Sum, Part).getResult() : Part;
}

void Splitter::writeSlice(int64_t Index) {
  Mapping.clear();
  for (const auto &[Op, Along] : Group.Ops) {
    beginFor(Op);
    for (auto [Operand, Dim] :
         llvm::zip_equal(Op->getOperands(), Along.Operands))
      if (Dim != Loop::None && !Group.contains(Operand))
        getPart(Operand, Index, Op->getLoc());
    Value Share = Along.IsMean ? getShare(Op, Along, Index) : Value();
    Operation *Slice = B.clone(*Op, Mapping);
    // What others read a slice of, this one may read whole.
    for (auto [Operand, Read, Dim] : llvm::zip_equal(
             Op->getOperands(), Slice->getOpOperands(), Along.Operands))
      if (Dim == Loop::None && !Group.contains(Operand))
        Read.set(Operand);
    if (Along.Shared) {
      OpBuilder::InsertionGuard Guard(B);
      B.setInsertionPoint(Slice);
      OpOperand &Mean = Slice->getOpOperand(*Along.Shared);
      Mean.set(MulOp::create(B, Op->getLoc(), Mean.get(), Share));
    }
    cast<LoopOpInterface>(Slice).becomeSlice(Along, Count);
    for (OpResult Result : Op->getResults()) {
      Value Part = Slice->getResult(Result.getResultNumber());
      if (Along.Results[Result.getResultNumber()] != Loop::None) {
        Parts[Result].push_back(Part);
        continue;
      }
      if (Along.IsMean)
        Part = MulOp::create(B, Op->getLoc(), Part, Share);
      addToSum(Result, Part);
    }
  }
}

/// A sum is rounded once, and not at all for who wants it in f32.
void Splitter::replaceBySum(OpResult Of) {
  Value Sum = Sums.at(Of);
  for (Operation *User : Of.getUsers())
    if (isa<CastOp>(User) && User->getResult(0).getType() == Sum.getType())
      User->getResult(0).replaceAllUsesWith(Sum);
  if (!Of.use_empty() && Sum.getType() != Of.getType())
    Sum = CastOp::create(B, Of.getLoc(), Of.getType(), Sum);
  Of.replaceAllUsesWith(Sum);
}

void Splitter::replaceResults(Operation *Op, const Loop &Along) {
  beginFor(Op);
  for (OpResult Result : Op->getResults()) {
    int64_t Dim = Along.Results[Result.getResultNumber()];
    if (Dim == Loop::None)
      replaceBySum(Result);
    else if (Group.isReadElsewhere(Result))
      Result.replaceUsesWithIf(
          ConcatOp::create(B, Op->getLoc(), Parts.at(Result), Dim),
          [&](OpOperand &Use) { return !Group.Ops.contains(Use.getOwner()); });
  }
}

void Splitter::run() {
  Block *Body = Group.Ops.front().first->getBlock();
  setInsertionPoint();
  // They depend on inputs: the backward reads those of the forward.
  for (const auto &[Op, Along] : Group.Ops)
    if (Along.IsMean)
      Shares[Op] = cast<LoopOpInterface>(Op).buildShares(B, Along, Count);
  for (int64_t Index = 0; Index < Count; ++Index)
    writeSlice(Index);
  for (const auto &[Op, Along] : Group.Ops)
    replaceResults(Op, Along);
  for (const auto &[Op, Along] : llvm::reverse(Group.Ops))
    Op->erase();
  // Readers of results may have stood before the last thing that was read.
  sortTopologically(Body);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct SplitPass : remat::impl::SplitBase<SplitPass> {
  using Base::Base;
  void runOnGraph() override;

private:
  std::optional<SliceGroup> findGroup(Value Seed);
  Attribute describe(Value Seed);
};

} // namespace

/// Values that are this many times smaller than the largest one are let be.
static constexpr int64_t LargeShare = 4;

/// The values that are worth it, the largest first.
static SmallVector<std::pair<Operation *, Value>> getSeeds(Block &Body) {
  SmallVector<std::pair<int64_t, Value>> Sized;
  for (Operation &Op : Body.without_terminator())
    for (Value Result : Op.getResults())
      Sized.push_back({getByteSize(Result.getType()).value(), Result});
  llvm::sort(Sized, [](const auto &L, const auto &R) {
    if (L.first != R.first)
      return L.first > R.first;
    return L.second.getDefiningOp()->isBeforeInBlock(R.second.getDefiningOp());
  });
  SmallVector<std::pair<Operation *, Value>> Seeds;
  for (auto [Bytes, V] : Sized)
    if (Bytes >= Sized.front().first / LargeShare)
      Seeds.push_back({V.getDefiningOp(), V});
  return Seeds;
}

std::optional<SliceGroup> SplitPass::findGroup(Value Seed) {
  for (int64_t Dim = 0; Dim < getTensorType(Seed).getRank(); ++Dim)
    if (std::optional<SliceGroup> Group = findSliceGroup(Seed, Dim, slices))
      if (Group->getGain(slices) > 0)
        return Group;
  return std::nullopt;
}

Attribute SplitPass::describe(Value Seed) {
  Location Loc = Seed.getLoc();
  return SlicedAttr::get(&getContext(), getLocationName(Loc),
                         getLocationText(Loc),
                         getByteSize(Seed.getType()).value(), slices);
}

void SplitPass::runOnGraph() {
  if (slices < 2)
    return;
  // What is written here is no seed: nothing is split twice.
  DenseSet<Operation *> Gone;
  SmallVector<Attribute> Split;
  for (auto [Op, Seed] : getSeeds(getOperation().getBody().front())) {
    if (Gone.contains(Op))
      continue;
    std::optional<SliceGroup> Group = findGroup(Seed);
    if (!Group)
      continue;
    Split.push_back(describe(Seed));
    for (const auto &[Other, Along] : Group->Ops)
      Gone.insert(Other);
    Splitter(*Group, slices, &getContext()).run();
  }
  if (!Split.empty())
    getOperation()->setAttr(SlicesAttrName,
                            ArrayAttr::get(&getContext(), Split));
}
