//===- CancelTransposes.cpp - transposes that take each other back --------===//
//
// A module that works on [B, H, T, D] between layers that work on [B, T, H, D],
// as rotary embeddings do, transposes before and behind. What lies between can
// work on the order of its neighbours.
//
//===----------------------------------------------------------------------===//

#include "Permute.h"
#include "remat/Transforms/GraphSignature.h"
#include "remat/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace remat;

namespace remat {
#define GEN_PASS_DEF_CANCELTRANSPOSES
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

/// A region is as large as a module writes between two transposes, no more.
static constexpr size_t MostOps = 64;

static RankedTensorType getTensorType(Value V) {
  return cast<RankedTensorType>(V.getType());
}

namespace {

/// What lies between one transpose and those before it that it takes back.
class Between {
public:
  explicit Between(TransposeOp End)
      : Order(End.getPermutation()), Block(End->getBlock()),
        Rank(getTensorType(End.getResult()).getRank()) {}

  /// Whether all that `V` is made of can be had in the new order, without a
  /// transpose, and nobody else reads what lies between.
  bool find(Value V);
  /// Writes the operations anew, and erases those that nobody reads any more:
  /// transposes that do not stand any more are noted in `Gone`.
  void convert(llvm::SmallPtrSetImpl<Operation *> &Gone);

private:
  bool add(Value V);
  bool isTakenBack(TransposeOp Begin) const;
  bool stays(Value V) const;
  bool mayFollow(Operation *Op) const;
  bool isEnd(Operation *Reader) const;
  Value getOrdered(OpBuilder &B, Value V);
  void writeAnew(Operation *Op);

  SmallVector<int64_t> Order;
  mlir::Block *Block;
  int64_t Rank;
  llvm::SmallSetVector<Operation *, 16> Ops;
  llvm::SmallSetVector<TransposeOp, 4> Begins, Ends;
  DenseMap<Value, Value> Ordered;
};

} // namespace

bool Between::isTakenBack(TransposeOp Begin) const {
  return llvm::equal(permute(Begin.getPermutation(), Order),
                     llvm::seq<int64_t>(0, Rank));
}

/// Few elements, which the new order leaves where they are.
bool Between::stays(Value V) const {
  return isViewInOrder(extendRank(getTensorType(V), Rank), Order);
}

bool Between::mayFollow(Operation *Op) const {
  return Op->getBlock() == Block && Op->getNumResults() == 1 &&
         getTensorType(Op->getResult(0)).getRank() == Rank &&
         mayWriteInOrder(Op);
}

/// Whether a reader asks for the new order.
bool Between::isEnd(Operation *Reader) const {
  auto Transpose = dyn_cast<TransposeOp>(Reader);
  return Transpose && Transpose->getBlock() == Block &&
         Transpose.getPermutation() == ArrayRef(Order);
}

/// Notes where `V` comes from; false where it cannot be had.
bool Between::add(Value V) {
  Operation *Def = V.getDefiningOp();
  if (auto Begin = dyn_cast_or_null<TransposeOp>(Def);
      Begin && isTakenBack(Begin)) {
    Begins.insert(Begin);
    return true;
  }
  if (Def && mayFollow(Def))
    Ops.insert(Def);
  else
    return stays(V);
  return Ops.size() <= MostOps;
}

bool Between::find(Value V) {
  if (!add(V))
    return false;
  // More are found on the way.
  for (size_t I = 0; I < Ops.size(); ++I)
    for (Value Operand : Ops[I]->getOperands())
      if (!add(Operand))
        return false;
  for (Operation *Op : Ops)
    for (Operation *Reader : Op->getUsers()) {
      if (isEnd(Reader))
        Ends.insert(cast<TransposeOp>(Reader));
      else if (!Ops.contains(Reader))
        return false;
    }
  return !Begins.empty() && !Ends.empty();
}

Value Between::getOrdered(OpBuilder &B, Value V) {
  if (Value Known = Ordered.lookup(V))
    return Known;
  if (auto Begin = V.getDefiningOp<TransposeOp>();
      Begin && Begins.contains(Begin))
    return Begin.getOperand();
  if (getTensorType(V).getRank() == 0)
    return V;
  return Ordered[V] = reorder(B, extendRank(B, V, Rank), Order);
}

void Between::writeAnew(Operation *Op) {
  PhaseOfSource Marker;
  Marker.Phase = Op->getAttr(PhaseAttrName);
  OpBuilder B(Op, &Marker);
  auto Operands = llvm::map_to_vector(
      Op->getOperands(), [&](Value V) { return getOrdered(B, V); });
  Ordered[Op->getResult(0)] =
      writeInOrder(B, Op, Operands, Order)->getResult(0);
}

void Between::convert(llvm::SmallPtrSetImpl<Operation *> &Gone) {
  SmallVector<Operation *> InOrder = llvm::to_vector(Ops);
  llvm::sort(InOrder,
             [](Operation *L, Operation *R) { return L->isBeforeInBlock(R); });
  for (Operation *Op : InOrder)
    writeAnew(Op);
  for (TransposeOp End : Ends) {
    End.getResult().replaceAllUsesWith(Ordered.at(End.getOperand()));
    Gone.insert(End);
    End->erase();
  }
  for (Operation *Op : llvm::reverse(InOrder))
    Op->erase();
  for (TransposeOp Begin : Begins)
    if (Begin->use_empty()) {
      Gone.insert(Begin);
      Begin->erase();
    }
}

/// Returns whether any transposes went.
static bool cancelTransposes(mlir::Block &Body) {
  llvm::SmallPtrSet<Operation *, 32> Gone;
  for (TransposeOp End : llvm::to_vector(Body.getOps<TransposeOp>())) {
    if (Gone.contains(End))
      continue;
    Between Region(End);
    if (Region.find(End.getOperand()))
      Region.convert(Gone);
  }
  return !Gone.empty();
}

namespace {
struct CancelTransposesPass
    : remat::impl::CancelTransposesBase<CancelTransposesPass> {
  void runOnGraph() override {
    while (cancelTransposes(getOperation().getBody().front()))
      ;
  }
};
} // namespace
