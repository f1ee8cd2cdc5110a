//===- FormRolls.cpp - joins of a tensor's own parts as rolls -------------===//
//
// Rotary embeddings (Su et al., RoFormer, 2021) join the second half of a
// vector, negated, and the first, and multiply that by a table of sines.
// Written so, it takes four passes over the vectors, and four more for their
// gradients. A roll is part of the kernel that reads it, and the signs are the
// table's.
//
//===----------------------------------------------------------------------===//

#include "remat/IR/RematOps.h"
#include "remat/Transforms/GraphSignature.h"
#include "remat/Transforms/Passes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

using namespace mlir;
using namespace remat;

namespace remat {
#define GEN_PASS_DEF_FORMROLLS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

static RankedTensorType getTensorType(Value V) {
  return cast<RankedTensorType>(V.getType());
}

namespace {

/// The last `Shift` elements of each line of `Source` along `Dim`, then the
/// others, each part negated or not.
struct Rotation {
  ConcatOp Join;
  Value Source;
  int64_t Dim, Shift;
  bool NegatesFirst, NegatesRest;

  static std::optional<Rotation> of(ConcatOp Join);
  int64_t getLength() const { return getTensorType(Source).getDimSize(Dim); }
  bool negates() const { return NegatesFirst || NegatesRest; }
};

/// A product of a large tensor and a small one, a table, that has all elements
/// of a line along the dimension.
struct TableProduct {
  MulOp Product;
  Value Large, Table;
  int64_t TableDim;
  static std::optional<TableProduct> of(MulOp Product, Value Large,
                                        Rotation &R);
};

class RollFormer {
public:
  bool form(Rotation &R);

private:
  Value makeTable(TableProduct &P, Rotation &R, bool Rolls);
  bool formReaders(Rotation &R);

  /// Tables by what they are made of: layers share one.
  std::map<std::tuple<void *, int64_t, int64_t, int>, Value> Tables;
};

struct FormRollsPass : remat::impl::FormRollsBase<FormRollsPass> {
  void runOnGraph() override;
};

} // namespace

//===----------------------------------------------------------------------===//
// What is there
//===----------------------------------------------------------------------===//

/// Whether `Wide` has each number of `Narrow`, so that a cast there and back
/// changes none.
static bool holds(Value Wide, Value Narrow) {
  auto To = dyn_cast<FloatType>(getTensorType(Wide).getElementType());
  auto From = dyn_cast<FloatType>(getTensorType(Narrow).getElementType());
  return To && From &&
         APFloat::isRepresentableBy(From.getFloatSemantics(),
                                    To.getFloatSemantics());
}

/// What `V` is the negative of, perhaps computed in a wider type; else null.
static Value getNegated(Value V) {
  if (auto Neg = V.getDefiningOp<NegOp>())
    return Neg.getOperand();
  auto Back = V.getDefiningOp<CastOp>();
  auto Neg = Back ? Back.getOperand().getDefiningOp<NegOp>() : NegOp();
  auto There = Neg ? Neg.getOperand().getDefiningOp<CastOp>() : CastOp();
  if (!There || There.getOperand().getType() != V.getType() ||
      !holds(There.getResult(), V))
    return {};
  return There.getOperand();
}

/// Whether the user said something of a value that a rotation is made of.
static bool isControlled(Operation *Op) {
  return Op->hasAttr(KeepAttrName) ||
         (isa<ConcatOp, NegOp, CastOp>(Op) &&
          llvm::any_of(Op->getOperands(), [](Value Operand) {
            Operation *Maker = Operand.getDefiningOp();
            return Maker && isControlled(Maker);
          }));
}

/// Whether `Slice` has `Size` elements from `Offset` on along `Dim`, and all
/// along the other dimensions.
static bool isPart(SliceOp Slice, int64_t Dim, int64_t Offset, int64_t Size) {
  SmallVector<int64_t> Sizes(getTensorType(Slice.getOperand()).getShape());
  SmallVector<int64_t> Offsets(Sizes.size());
  Sizes[Dim] = Size;
  Offsets[Dim] = Offset;
  return Slice.getSizes() == ArrayRef(Sizes) &&
         Slice.getOffsets() == ArrayRef(Offsets);
}

std::optional<Rotation> Rotation::of(ConcatOp Join) {
  if (Join.getOperands().size() != 2)
    return std::nullopt;
  SliceOp Parts[2];
  bool Negates[2];
  for (auto [Number, Operand] : llvm::enumerate(Join.getOperands())) {
    Value Negated = getNegated(Operand);
    Negates[Number] = Negated != nullptr;
    Parts[Number] = (Negated ? Negated : Operand).getDefiningOp<SliceOp>();
  }
  if (!Parts[0] || !Parts[1] ||
      Parts[0].getOperand() != Parts[1].getOperand() || isControlled(Join))
    return std::nullopt;
  int64_t Dim = Join.getDim();
  Rotation R = {Join,       Parts[0].getOperand(),
                Dim,        getTensorType(Parts[0].getResult()).getDimSize(Dim),
                Negates[0], Negates[1]};
  int64_t Rest = R.getLength() - R.Shift;
  if (!isPart(Parts[0], Dim, Rest, R.Shift) || !isPart(Parts[1], Dim, 0, Rest))
    return std::nullopt;
  return R;
}

std::optional<TableProduct> TableProduct::of(MulOp Product, Value Large,
                                             Rotation &R) {
  if (!Product || Product->hasAttr(KeepAttrName) ||
      Product.getType() != R.Join.getType())
    return std::nullopt;
  Value Other = Product.getLhs() == Large ? Product.getRhs() : Product.getLhs();
  RankedTensorType Type = getTensorType(Other);
  int64_t Dim = R.Dim - (Product.getType().getRank() - Type.getRank());
  // So small that what is done to the table counts for nothing.
  constexpr int64_t Times = 4;
  if (Large.getType() != Product.getType() || Dim < 0 ||
      Type.getDimSize(Dim) != R.getLength() ||
      Type.getNumElements() * Times > Product.getType().getNumElements())
    return std::nullopt;
  return TableProduct{Product, Large, Other, Dim};
}

//===----------------------------------------------------------------------===//
// What is made of it
//===----------------------------------------------------------------------===//

/// The table with the signs of the rotation, and, with `Rolls`, rolled like it.
Value RollFormer::makeTable(TableProduct &P, Rotation &R, bool Rolls) {
  Value &Made = Tables[{P.Table.getAsOpaquePointer(), P.TableDim, R.Shift,
                        (Rolls ? 4 : 0) + (R.NegatesFirst ? 2 : 0) +
                            (R.NegatesRest ? 1 : 0)}];
  if (Made)
    return Made;
  PhaseOfSource Marker;
  if (Operation *Maker = P.Table.getDefiningOp())
    Marker.Phase = Maker->getAttr(PhaseAttrName);
  OpBuilder Builder(P.Product, &Marker);
  Builder.setInsertionPointAfterValue(P.Table);
  Location Loc = P.Product.getLoc();
  int64_t Rest = R.getLength() - R.Shift;
  auto Part = [&](int64_t Offset, int64_t Size, bool Negates) -> Value {
    RankedTensorType Type = getTensorType(P.Table);
    SmallVector<int64_t> Sizes(Type.getShape()), Offsets(Sizes.size());
    Sizes[P.TableDim] = Size;
    Offsets[P.TableDim] = Offset;
    Value Slice = SliceOp::create(Builder, Loc, P.Table, Offsets, Sizes);
    return Negates ? NegOp::create(Builder, Loc, Slice) : Slice;
  };
  Value First = Part(Rolls ? Rest : 0, R.Shift, R.NegatesFirst);
  Value Second = Part(Rolls ? 0 : R.Shift, Rest, R.NegatesRest);
  return Made = ConcatOp::create(Builder, Loc, ValueRange{First, Second},
                                 P.TableDim);
}

/// Gives the signs to the tables that all readers multiply by, if they do.
bool RollFormer::formReaders(Rotation &R) {
  SmallVector<TableProduct> Products;
  for (Operation *Reader : R.Join->getUsers()) {
    auto P = TableProduct::of(dyn_cast<MulOp>(Reader), R.Join.getResult(), R);
    if (!P)
      return false;
    Products.push_back(*P);
  }
  for (TableProduct &P : Products)
    P.Product->replaceUsesOfWith(P.Table, makeTable(P, R, /*Rolls=*/false));
  return true;
}

/// What is rotated, if it is a product with a table that nobody else reads:
/// then its factors are rolled.
static std::optional<TableProduct> findSource(Rotation &R) {
  auto Product = R.Source.getDefiningOp<MulOp>();
  auto IsReadOnce = [](Value Part) { return Part.hasOneUse(); };
  if (!Product || !R.Source.hasNUses(2) ||
      !llvm::all_of(R.Join.getOperands(), IsReadOnce))
    return std::nullopt;
  auto P = TableProduct::of(Product, Product.getLhs(), R);
  return P ? P : TableProduct::of(Product, Product.getRhs(), R);
}

/// Nothing where the signs have no table to go to.
bool RollFormer::form(Rotation &R) {
  PhaseOfSource Marker;
  Marker.Phase = R.Join->getAttr(PhaseAttrName);
  OpBuilder Builder(R.Join, &Marker);
  Location Loc = R.Join.getLoc();
  auto Roll = [&](Value Of) -> Value {
    return RollOp::create(Builder, Loc, Of, R.Dim, R.Shift);
  };
  Value Made;
  if (std::optional<TableProduct> P = findSource(R))
    Made = MulOp::create(Builder, Loc, Roll(P->Large), makeTable(*P, R, true));
  else if (!R.negates() || formReaders(R))
    Made = Roll(R.Source);
  else
    return false;
  R.Join.getResult().replaceAllUsesWith(Made);
  return true;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Erases `Op`, and what only it read of what such a join is made of.
static void eraseJoin(Operation *Op) {
  SmallVector<Value> Operands(Op->getOperands());
  Op->erase();
  for (Value Operand : Operands)
    if (Operation *Maker = Operand.getDefiningOp();
        Maker && Maker->use_empty() &&
        isa<NegOp, CastOp, SliceOp, MulOp>(Maker))
      eraseJoin(Maker);
}

void FormRollsPass::runOnGraph() {
  SmallVector<ConcatOp> Joins;
  getOperation().walk([&](ConcatOp Join) { Joins.push_back(Join); });
  RollFormer Former;
  for (ConcatOp Join : Joins)
    if (std::optional<Rotation> R = Rotation::of(Join); R && Former.form(*R))
      eraseJoin(Join);
}
