//===- FuseClone.cpp - cheap operations beside each of their readers ------===//
//
// A cast of a stored value that several groups read is better made in each of
// them: nothing is written, and less is read. An operation is cloned only if
//  - it is elementwise and costs next to nothing;
//  - every reader is elementwise over the same shape, so that no use is left;
//  - its operands hold no more bytes than its result, and live until its last
//    reader anyway: the clones keep nothing alive that was not alive before.
//
//===----------------------------------------------------------------------===//

#include "FuseModel.h"
#include "remat/Analysis/Liveness.h"

using namespace mlir;
using namespace remat;

/// More readers than this leave the value stored.
static constexpr unsigned MaxReaders = 8;

static bool isCheap(Operation *Op) {
  return isa<BroadcastOp, CastOp, CompareOp, SelectOp, NegOp, AbsOp, AddOp,
             SubOp, MulOp, MaxOp, MinOp, ReluOp>(Op);
}

/// The last operation of the block that reads the bytes of `Root`; the
/// terminator if the function returns them.
static Operation *getLastReader(Value Root) {
  Operation *Last = nullptr;
  for (Operation *User : Root.getUsers()) {
    Operation *Reader = isView(User) ? getLastReader(User->getResult(0)) : User;
    if (Reader && (!Last || Last->isBeforeInBlock(Reader)))
      Last = Reader;
  }
  return Last;
}

/// The distinct readers of `Op`, in block order; none if one of them cannot
/// take a clone.
static SmallVector<Operation *> getReaders(Operation *Op) {
  llvm::SmallSetVector<Operation *, 8> Readers;
  for (Operation *User : Op->getResult(0).getUsers()) {
    if (getPointwiseShape(User) != getPointwiseShape(Op))
      return {};
    Readers.insert(User);
  }
  SmallVector<Operation *> Sorted = Readers.takeVector();
  llvm::sort(Sorted,
             [](Operation *L, Operation *R) { return L->isBeforeInBlock(R); });
  return Sorted;
}

static bool operandsLiveUntil(Operation *Op, Operation *LastReader) {
  int64_t Bytes = 0;
  for (Value Operand : Op->getOperands()) {
    if (isSplatConstant(Operand.getDefiningOp()))
      continue;
    Bytes += getByteSize(Operand.getType()).value_or(0);
    Value Root = getStorage(Operand).Root;
    if (auto Argument = dyn_cast<BlockArgument>(Root)) {
      // Who overwrites a donated argument may stand before the last reader.
      if (getDonatedResult(Argument))
        return false;
      continue;
    }
    Operation *Last = getLastReader(Root);
    if (Last->isBeforeInBlock(LastReader))
      return false;
  }
  return Bytes <= getByteSize(Op->getResult(0).getType()).value_or(0);
}

void remat::cloneCheapOperations(func::FuncOp Func) {
  // Collected first: a reverse iterator holds on to the operation behind the
  // one that it shows, which is the one erased last.
  SmallVector<Operation *> Cheap;
  for (Operation &Op : Func.getBody().front().without_terminator())
    if (isCheap(&Op))
      Cheap.push_back(&Op);
  // From the end, so that the clones of a reader are readers in their turn.
  for (Operation *Op : llvm::reverse(Cheap)) {
    SmallVector<Operation *> Readers = getReaders(Op);
    if (Readers.size() < 2 || Readers.size() > MaxReaders ||
        !operandsLiveUntil(Op, Readers.back()))
      continue;
    for (Operation *Reader : Readers) {
      Operation *Clone = OpBuilder(Reader).clone(*Op);
      Reader->replaceUsesOfWith(Op->getResult(0), Clone->getResult(0));
    }
    Op->erase();
  }
}
