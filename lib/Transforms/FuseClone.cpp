//===- FuseClone.cpp - cheap operations beside each of their readers ------===//
//
// A cast of a stored value that several groups read is better made in each of
// them: nothing is written, and less is read. An operation is cloned only if
//  - it is elementwise and costs next to nothing, and nobody asked for its
//    result to be kept: then it runs once;
//  - every reader is elementwise over the same shape, so that no use is left;
//  - its operands hold no more bytes than its result, and live until its last
//    reader anyway: the clones keep nothing alive that was not alive before.
//
//===----------------------------------------------------------------------===//

#include "FuseModel.h"
#include "remat/Analysis/Uses.h"

using namespace mlir;
using namespace remat;

/// More readers than this leave the value stored.
static constexpr unsigned MaxReaders = 8;

namespace {

/// The order of a block's operations while some are inserted. The block's own
/// numbers leave room for two between neighbours, then all are given anew;
/// these leave room for 32 in one place.
class BlockOrder {
public:
  explicit BlockOrder(Block &Body) : Body(Body) { number(); }

  bool isBefore(Operation *L, Operation *R) const {
    return Keys.at(L) < Keys.at(R);
  }

  /// `Op` has been inserted before an operation of the block.
  void add(Operation *Op) {
    Operation *Prev = Op->getPrevNode();
    uint64_t Low = Prev ? Keys.at(Prev) : 0;
    uint64_t High = Keys.at(Op->getNextNode());
    if (High - Low < 2)
      return number();
    Keys[Op] = Low + (High - Low) / 2;
  }

  void erase(Operation *Op) { Keys.erase(Op); }

private:
  void number() {
    uint64_t Key = 0;
    for (Operation &Op : Body)
      Keys[&Op] = Key += uint64_t(1) << 32;
  }

  Block &Body;
  DenseMap<Operation *, uint64_t> Keys;
};

/// Finds the operations to clone.
class Cloner {
public:
  explicit Cloner(Block &Body)
      : Body(Body), Order(Body), Readers(Body, Places) {}

  void run();

private:
  SmallVector<Operation *> getReaders(Operation *Op) const;
  bool operandsLiveUntil(Operation *Op, Operation *LastReader) const;

  Block &Body;
  BlockOrder Order;
  Storages Places; ///< no views are cloned or erased
  /// They stay: what is cloned was not the last reader of a value, nor are its
  /// clones; but for values that are not asked about.
  const LastReaders Readers;
};

} // namespace

/// The distinct readers of `Op`, in block order; none if one of them cannot
/// take a clone, or if there are too many.
SmallVector<Operation *> Cloner::getReaders(Operation *Op) const {
  llvm::SmallSetVector<Operation *, 8> Readers;
  for (Operation *User : Op->getResult(0).getUsers()) {
    if (getPointwiseShape(User) != getPointwiseShape(Op) ||
        rolls(User, Op->getResult(0)))
      return {};
    Readers.insert(User);
    if (Readers.size() > MaxReaders)
      return {};
  }
  SmallVector<Operation *> Sorted = Readers.takeVector();
  llvm::sort(Sorted,
             [&](Operation *L, Operation *R) { return Order.isBefore(L, R); });
  return Sorted;
}

bool Cloner::operandsLiveUntil(Operation *Op, Operation *LastReader) const {
  int64_t Bytes = 0;
  for (Value Operand : Op->getOperands()) {
    if (isSplatConstant(Operand.getDefiningOp()))
      continue;
    Bytes += getByteSize(Operand.getType()).value_or(0);
    Value Root = Places.get(Operand).Root;
    if (auto Argument = dyn_cast<BlockArgument>(Root)) {
      // Who overwrites a donated argument may stand before the last reader.
      if (getDonatedResult(Argument))
        return false;
      continue;
    }
    if (Order.isBefore(Readers.get(Root), LastReader))
      return false;
  }
  return Bytes <= getByteSize(Op->getResult(0).getType()).value_or(0);
}

static bool mustBeKept(Operation *Op) {
  auto Attr = Op->getAttrOfType<KeepAttr>(KeepAttrName);
  return Attr && Attr.getValue() == Keep::must;
}

void Cloner::run() {
  // Collected first: a reverse iterator holds on to the operation behind the
  // one that it shows, which is the one erased last.
  SmallVector<Operation *> Cheap;
  for (Operation &Op : Body.without_terminator())
    if (Op.hasTrait<CheapToRepeat>() && !mustBeKept(&Op))
      Cheap.push_back(&Op);
  // From the end, so that the clones of a reader are readers in their turn.
  for (Operation *Op : llvm::reverse(Cheap)) {
    SmallVector<Operation *> Readers = getReaders(Op);
    if (Readers.size() < 2 || !operandsLiveUntil(Op, Readers.back()))
      continue;
    for (Operation *Reader : Readers) {
      Operation *Clone = OpBuilder(Reader).clone(*Op);
      Order.add(Clone);
      Reader->replaceUsesOfWith(Op->getResult(0), Clone->getResult(0));
    }
    Order.erase(Op);
    Op->erase();
  }
}

void remat::cloneCheapOperations(func::FuncOp Func) {
  Cloner(Func.getBody().front()).run();
}
