//===- FuseHoist.cpp - groups up to where what they read is made ----------===//
//
// The backward of a gated activation makes the gradients of two factors, and
// the matrix products of one factor stand between what the other's gradient is
// made of and what makes it. Moved up, the reader can be one group with its
// producer, which is then never written.
//
//===----------------------------------------------------------------------===//

#include "FuseModel.h"

using namespace mlir;
using namespace remat;

/// The last operation that makes something for `Op`, where that could be part
/// of it: nobody else reads it.
static Operation *findProducer(Operation *Op) {
  Operation *Last = nullptr;
  for (Value Operand : Op->getOperands())
    if (Operation *Def = Operand.getDefiningOp();
        Def && !isSplatConstant(Def) && (!Last || Last->isBeforeInBlock(Def)))
      Last = Def;
  if (!Last || Last->getNumResults() != 1 || !Last->hasOneUse() ||
      !mayShareKernel(Last, Op) || !leavesPlanFree(Last, Op))
    return nullptr;
  return Last;
}

/// Bytes of what the operation makes.
static int64_t getResultBytes(Operation *Op) {
  int64_t Bytes = 0;
  for (Value Result : Op->getResults())
    Bytes += getByteSize(Result.getType()).value_or(0);
  return Bytes;
}

/// The last of the operations from the producer on that its kernel could hold
/// as well: what they read lives until the reader, beside which they then
/// stand.
static Operation *findPlace(Operation *Producer, Operation *Reader) {
  Operation *Place = Producer;
  for (Operation *Next = Place->getNextNode();
       Next != Reader && mayShareKernel(Producer, Next);
       Next = Next->getNextNode())
    Place = Next;
  return Place;
}

/// Between the two places the reader's results then live in place of the
/// producer's.
bool remat::hoistReaders(func::FuncOp Func) {
  Block &Body = Func.getBody().front();
  bool Moved = false;
  for (Operation &Op : llvm::make_early_inc_range(Body.without_terminator())) {
    if (!getPointwiseShape(&Op) || Op.hasAttr(KeepAttrName))
      continue;
    Operation *Producer = findProducer(&Op);
    if (!Producer || getResultBytes(&Op) > getResultBytes(Producer))
      continue;
    Operation *Place = findPlace(Producer, &Op);
    if (Place->getNextNode() == &Op)
      continue;
    Op.moveAfter(Place);
    Moved = true;
  }
  return Moved;
}
