//===- LegalizeResults.cpp - results that can stay where they must --------===//
//
// A donated argument's memory is overwritten by a result. Where that would
// destroy bytes that somebody still needs, a copy is made first.
//
//===----------------------------------------------------------------------===//

#include "remat/Analysis/Liveness.h"
#include "remat/IR/RematOps.h"
#include "remat/Transforms/Memory.h"
#include "remat/Transforms/Passes.h"

using namespace mlir;
using namespace remat;

namespace remat {
#define GEN_PASS_DEF_LEGALIZERESULTS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

namespace {

class Legalizer {
public:
  explicit Legalizer(func::FuncOp Func)
      : Func(Func), Body(Func.getBody().front()), Return(Body.getTerminator()) {
  }

  LogicalResult run();

private:
  void copyShownArguments();
  void legalize(BlockArgument Argument, unsigned Index);
  bool canOverwrite(Value Returned, BlockArgument Argument);
  bool reaches(Operation *From, const DenseSet<Operation *> &Targets);
  DenseSet<Operation *> getReaders(Value Root);
  Value copy(Value V, Operation *Before);

  func::FuncOp Func;
  Block &Body;
  Operation *Return;
  /// Operations that must stand before others, beyond the operands' order: the
  /// readers of an argument before the operation that overwrites it.
  DenseMap<Operation *, SmallVector<Operation *, 1>> Followers;
  DenseSet<Value> Taken; ///< values that overwrite some argument
  Storages Places;       ///< what is added here are no views
};

} // namespace

Value Legalizer::copy(Value V, Operation *Before) {
  OpBuilder B(Before);
  auto Copy = CopyOp::create(B, V.getLoc(), V);
  if (Attribute Phase = Before->getAttr(PhaseAttrName))
    Copy->setAttr(PhaseAttrName, Phase);
  return Copy;
}

/// A result that shows bytes of an argument which another result overwrites
/// gets a copy, made before anything runs.
void Legalizer::copyShownArguments() {
  for (OpOperand &Operand : Return->getOpOperands()) {
    auto Argument = dyn_cast<BlockArgument>(Places.get(Operand.get()).Root);
    if (!Argument)
      continue;
    std::optional<unsigned> Donated = getDonatedResult(Argument);
    bool Stays = !Donated || Return->getOperand(*Donated) == Argument;
    if (Stays)
      continue;
    Operation *Made = Operand.get().getDefiningOp();
    Operation *Before = Made ? Made->getNextNode() : &Body.front();
    Operand.set(copy(Operand.get(), Before));
  }
}

/// Operations, the return excluded, that read the bytes of `Root`.
DenseSet<Operation *> Legalizer::getReaders(Value Root) {
  DenseSet<Operation *> Readers;
  anyRead(Root, [&](OpOperand &Read) {
    if (Read.getOwner() != Return)
      Readers.insert(Read.getOwner());
    return false;
  });
  return Readers;
}

bool Legalizer::reaches(Operation *From, const DenseSet<Operation *> &Targets) {
  SmallVector<Operation *> Worklist = {From};
  DenseSet<Operation *> Seen = {From};
  while (!Worklist.empty()) {
    Operation *Op = Worklist.pop_back_val();
    auto Visit = [&](Operation *Next) {
      if (Seen.insert(Next).second)
        Worklist.push_back(Next);
      return Targets.contains(Next);
    };
    if (llvm::any_of(Op->getUsers(), Visit))
      return true;
    auto It = Followers.find(Op);
    if (It != Followers.end() && llvm::any_of(It->second, Visit))
      return true;
  }
  return false;
}

bool Legalizer::canOverwrite(Value Returned, BlockArgument Argument) {
  Storage S = Places.get(Returned);
  auto Result = dyn_cast<OpResult>(S.Root);
  if (!Result || S.Offset != 0 || Taken.contains(Result) ||
      isResidentConstant(Result.getOwner()) ||
      getByteSize(Result.getType()) != getByteSize(Argument.getType()) ||
      !mayOverwrite(Result, Argument, Places))
    return false;
  DenseSet<Operation *> Readers = getReaders(Argument);
  Readers.erase(Result.getOwner());
  return !reaches(Result.getOwner(), Readers);
}

void Legalizer::legalize(BlockArgument Argument, unsigned Index) {
  OpOperand &Operand = Return->getOpOperand(Index);
  if (Operand.get() == Argument)
    return;
  if (!canOverwrite(Operand.get(), Argument))
    Operand.set(copy(Operand.get(), Return));
  Value Root = Places.get(Operand.get()).Root;
  Taken.insert(Root);
  for (Operation *Reader : getReaders(Argument))
    if (Reader != Root.getDefiningOp())
      Followers[Reader].push_back(Root.getDefiningOp());
}

LogicalResult Legalizer::run() {
  copyShownArguments();
  for (BlockArgument Argument : Func.getArguments())
    if (std::optional<unsigned> Donated = getDonatedResult(Argument))
      legalize(Argument, *Donated);
  return sortOverwrites(Func);
}

LogicalResult remat::legalizeResults(func::FuncOp Func) {
  return Legalizer(Func).run();
}

namespace {

struct LegalizeResultsPass
    : remat::impl::LegalizeResultsBase<LegalizeResultsPass> {
  void runOnGraph() override {
    if (failed(legalizeResults(getOperation())))
      signalPassFailure();
  }
};

} // namespace
