//===- SortOverwrites.cpp - readers before those who overwrite ------------===//

#include "remat/Analysis/Uses.h"
#include "remat/Transforms/Memory.h"
#include <queue>

using namespace mlir;
using namespace remat;

namespace {

/// The operations of a block by number, with who must wait for whom.
class Order {
public:
  explicit Order(func::FuncOp Func);
  /// Kahn's algorithm (1962); of the ready operations the first in the block
  /// goes next, so that an order that is right stays as it is.
  std::vector<unsigned> sort();
  Operation *getOperation(unsigned I) const { return Ops[I]; }
  size_t size() const { return Ops.size(); }

private:
  void addEdge(unsigned From, unsigned To) {
    Followers[From].push_back(To);
    ++Waiting[To];
  }

  SmallVector<Operation *> Ops;
  DenseMap<Operation *, unsigned> Numbers;
  std::vector<SmallVector<unsigned, 4>> Followers;
  std::vector<unsigned> Waiting;
};

} // namespace

Order::Order(func::FuncOp Func) {
  Block &Body = Func.getBody().front();
  for (Operation &Op : Body.without_terminator()) {
    Numbers[&Op] = Ops.size();
    Ops.push_back(&Op);
  }
  Followers.resize(Ops.size());
  Waiting.resize(Ops.size());
  for (auto [Number, Op] : llvm::enumerate(Ops))
    for (Value Operand : Op->getOperands())
      if (Operation *Made = Operand.getDefiningOp())
        addEdge(Numbers.at(Made), Number);
  Overwrites(Func).forEachOtherRead([&](Operation *Writer, OpOperand &Read) {
    if (auto It = Numbers.find(Read.getOwner()); It != Numbers.end())
      addEdge(It->second, Numbers.at(Writer));
  });
}

std::vector<unsigned> Order::sort() {
  std::priority_queue<unsigned, std::vector<unsigned>, std::greater<>> Ready;
  for (auto [Number, Count] : llvm::enumerate(Waiting))
    if (Count == 0)
      Ready.push(Number);
  std::vector<unsigned> Sorted;
  while (!Ready.empty()) {
    unsigned Next = Ready.top();
    Ready.pop();
    Sorted.push_back(Next);
    for (unsigned Follower : Followers[Next])
      if (--Waiting[Follower] == 0)
        Ready.push(Follower);
  }
  return Sorted;
}

LogicalResult remat::sortOverwrites(func::FuncOp Func) {
  Order O(Func);
  std::vector<unsigned> Sorted = O.sort();
  if (Sorted.size() != O.size())
    return emitError(Func.getLoc(),
                     "no order of the operations reads every donated "
                     "argument before it is overwritten");
  Operation *Return = Func.getBody().front().getTerminator();
  for (unsigned Number : Sorted)
    O.getOperation(Number)->moveBefore(Return);
  return success();
}
