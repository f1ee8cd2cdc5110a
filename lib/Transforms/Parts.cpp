//===- Parts.cpp - parts of tensors that ranks hold -----------------------===//

#include "Parts.h"

using namespace mlir;
using namespace remat;

static RankedTensorType getTensorType(Value V) {
  return cast<RankedTensorType>(V.getType());
}

static int64_t countRanks(OpBuilder &B, ArrayAttr Axes) {
  return getMesh(B.getInsertionBlock()->getParentOp()).getGroupSize(Axes);
}

Value remat::flatten(OpBuilder &B, Location Loc, Value Whole, int64_t Ranks) {
  RankedTensorType Type = getTensorType(Whole);
  int64_t Count = Type.getNumElements();
  auto Flat = RankedTensorType::get({Count}, Type.getElementType());
  if (Flat != Type)
    Whole = ReshapeOp::create(B, Loc, Flat, Whole);
  int64_t Missing = (Ranks - Count % Ranks) % Ranks;
  return Missing ? PadOp::create(B, Loc, Whole, ArrayRef<int64_t>(0),
                                 ArrayRef(Missing))
                       .getResult()
                 : Whole;
}

Value remat::unflatten(OpBuilder &B, Location Loc, Value Flat,
                       ArrayRef<int64_t> Shape) {
  RankedTensorType Whole = getTensorType(Flat).clone(Shape);
  int64_t Count = Whole.getNumElements();
  if (getTensorType(Flat).getNumElements() != Count)
    Flat = SliceOp::create(B, Loc, Flat, ArrayRef<int64_t>(0), ArrayRef(Count));
  return Flat.getType() == Whole
             ? Flat
             : ReshapeOp::create(B, Loc, Whole, Flat).getResult();
}

Value remat::takePart(OpBuilder &B, Location Loc, Value Whole, ArrayAttr Axes) {
  int64_t Ranks = countRanks(B, Axes);
  Value Flat = flatten(B, Loc, Whole, Ranks);
  RankedTensorType Type = getTensorType(Flat);
  return RankPartOp::create(B, Loc, Type.clone({Type.getDimSize(0) / Ranks}),
                            Flat, Axes);
}

Value remat::joinParts(OpBuilder &B, Location Loc, Value Part, ArrayAttr Axes,
                       ArrayRef<int64_t> Shape) {
  RankedTensorType Type = getTensorType(Part);
  Type = Type.clone({Type.getDimSize(0) * countRanks(B, Axes)});
  Value Flat = AllGatherOp::create(B, Loc, Type, Part, Axes).getResult(0);
  return unflatten(B, Loc, Flat, Shape);
}

PartAttr remat::addFlatCut(func::FuncOp Graph, unsigned Index, ArrayAttr Axes) {
  MLIRContext *Context = Graph.getContext();
  auto Old = Graph.getArgAttrOfType<PartAttr>(Index, PartAttrName);
  SmallVector<Attribute> Cuts;
  if (Old)
    llvm::append_range(Cuts, Old.getCuts());
  Cuts.push_back(CutAttr::get(Context, Axes, -1, 1));
  ArrayRef<int64_t> Whole =
      Old ? Old.getWhole() : getTensorType(Graph.getArgument(Index)).getShape();
  return PartAttr::get(Context, Whole, ArrayAttr::get(Context, Cuts));
}

/// The type that all readers cast `Of` to; null if they do not.
static RankedTensorType getOnlyCast(Value Of) {
  RankedTensorType Only;
  for (Operation *User : Of.getUsers()) {
    auto Cast = dyn_cast<CastOp>(User);
    if (!Cast || (Only && Cast.getType() != Only))
      return {};
    Only = cast<RankedTensorType>(Cast.getType());
  }
  return Only;
}

void remat::makePart(func::FuncOp Graph, SignatureEditor &Signature,
                     unsigned Index, ArrayAttr Axes) {
  BlockArgument Argument = Graph.getArgument(Index);
  RankedTensorType Whole = getTensorType(Argument);
  PartAttr Part = addFlatCut(Graph, Index, Axes);
  Signature.setArgAttr(Index, PartAttrName, Part);
  auto Cut = cast<CutAttr>(Part.getCuts().getValue().back());
  RankedTensorType Own =
      Whole.clone(*getPartShape(getMesh(Graph), Cut, Whole.getShape()));
  Location Loc = Argument.getLoc();
  RankedTensorType Cast = getOnlyCast(Argument);
  SmallVector<Operation *> Casts;
  if (Cast)
    Casts.assign(Argument.user_begin(), Argument.user_end());
  SmallVector<OpOperand *> Uses = llvm::map_to_vector(
      Argument.getUses(), [](OpOperand &Use) { return &Use; });
  Signature.setArgumentType(Index, Own);
  if (Uses.empty())
    return;
  Operation *First = Uses.front()->getOwner();
  for (OpOperand *Use : Uses)
    if (Use->getOwner()->isBeforeInBlock(First))
      First = Use->getOwner();
  OpBuilder B(First);
  Value Held = Argument;
  if (Cast)
    Held = CastOp::create(B, Loc, Own.clone(Cast.getElementType()), Held);
  Value Joined = joinParts(B, Loc, Held, Axes, Whole.getShape());
  for (Operation *Old : Casts) {
    Old->getResult(0).replaceAllUsesWith(Joined);
    Old->erase();
  }
  if (!Cast)
    for (OpOperand *Use : Uses)
      Use->set(Joined);
}
