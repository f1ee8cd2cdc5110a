//===- Liveness.cpp - which bytes are needed when -------------------------===//

#include "remat/Analysis/Liveness.h"
#include "remat/IR/RematOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;

std::optional<int64_t> remat::alignBytes(int64_t Bytes) {
  int64_t Padded;
  if (llvm::AddOverflow(std::max<int64_t>(Bytes, 1), BufferAlignment - 1,
                        Padded))
    return std::nullopt;
  return Padded / BufferAlignment * BufferAlignment;
}

bool remat::mayOverwrite(OpResult Result, Value Root, const Storages &Places) {
  Operation *Op = Result.getOwner();
  SmallVector<unsigned> Reusable;
  if (auto InPlace = dyn_cast<InPlaceOpInterface>(Op))
    Reusable = InPlace.getReusableOperands(Result.getResultNumber());
  std::optional<int64_t> RootBytes = getByteSize(Root.getType());
  for (OpOperand &Operand : Op->getOpOperands()) {
    if (Places.get(Operand.get()).Root != Root)
      continue;
    if (!llvm::is_contained(Reusable, Operand.getOperandNumber()) ||
        getByteSize(Operand.get().getType()) != RootBytes ||
        getByteSize(Result.getType()) != RootBytes)
      return false;
  }
  return true;
}

FailureOr<BufferLiveness> BufferLiveness::compute(func::FuncOp Func) {
  BufferLiveness L(Func);
  Block &Body = Func.getBody().front();
  for (Operation &Op : Body.without_terminator()) {
    L.Positions[&Op] = L.Ops.size();
    L.Ops.push_back(&Op);
  }
  int64_t End = L.Ops.size();
  L.Positions[Body.getTerminator()] = End;
  for (BlockArgument Argument : Body.getArguments())
    if (failed(L.addBuffer(Argument, -1, End)))
      return failure();
  for (auto [Position, Op] : llvm::enumerate(L.Ops))
    if (failed(L.addOperation(Op, Position)))
      return failure();
  if (failed(L.sumLiveBytes(Func)))
    return failure();
  return L;
}

LogicalResult BufferLiveness::addOperation(Operation *Op, int64_t Position) {
  if (isView(Op))
    return success();
  if (isResidentConstant(Op))
    return addBuffer(Op->getResult(0), -1, Ops.size());
  for (OpResult Result : Op->getResults())
    if (failed(addResult(Result, Position)))
      return failure();
  return success();
}

LogicalResult BufferLiveness::addResult(OpResult Result, int64_t Position) {
  int64_t End = std::max(Position, getLastRead(Result));
  if (BlockArgument Argument = Written.getArgument(Result)) {
    if (getLastRead(Argument) > Position ||
        !mayOverwrite(Result, Argument, Places) ||
        getByteSize(Result.getType()) != getByteSize(Argument.getType()))
      return Result.getOwner()->emitOpError("result #")
             << Result.getResultNumber() << " cannot overwrite argument #"
             << Argument.getArgNumber()
             << ", which is read by or after this operation";
    join(Result, BufferOf.at(Argument), Ops.size());
    return success();
  }
  if (std::optional<unsigned> Number = findReusable(Result, Position)) {
    join(Result, *Number, End);
    return success();
  }
  return addBuffer(Result, Position, End);
}

/// The buffer of an operand that `Result` can take over: this operation is the
/// last reader of the operand, and nothing else keeps the buffer alive.
std::optional<unsigned> BufferLiveness::findReusable(OpResult Result,
                                                     int64_t Position) const {
  auto InPlace = dyn_cast<InPlaceOpInterface>(Result.getOwner());
  if (!InPlace)
    return std::nullopt;
  for (unsigned I : InPlace.getReusableOperands(Result.getResultNumber())) {
    Value Root = Places.get(Result.getOwner()->getOperand(I)).Root;
    unsigned Number = BufferOf.at(Root);
    const Buffer &B = Buffers[Number];
    // A buffer whose last owner is not `Root` was taken by an earlier result.
    if (B.End == Position && B.Values.back() == Root &&
        mayOverwrite(Result, Root, Places))
      return Number;
  }
  return std::nullopt;
}

LogicalResult BufferLiveness::addBuffer(Value V, int64_t Begin, int64_t End) {
  std::optional<int64_t> Bytes = getByteSize(V.getType());
  if (Bytes)
    Bytes = alignBytes(*Bytes);
  if (!Bytes)
    return emitError(V.getLoc())
           << "size of " << V.getType() << " does not fit 64 bits";
  BufferOf[V] = Buffers.size();
  Buffers.push_back({*Bytes, Begin, End, {V}});
  return success();
}

void BufferLiveness::join(Value V, unsigned Number, int64_t End) {
  BufferOf[V] = Number;
  Buffers[Number].Values.push_back(V);
  Buffers[Number].End = End;
}

LogicalResult BufferLiveness::sumLiveBytes(func::FuncOp Func) {
  // A running sum over begins and ends; it stays exact in 128 bits.
  SmallVector<__int128> Change(Ops.size() + 2, 0);
  for (const Buffer &B : Buffers) {
    Change[std::max<int64_t>(B.Begin, 0)] += B.Bytes;
    Change[std::min<int64_t>(B.End, Ops.size()) + 1] -= B.Bytes;
  }
  __int128 Live = 0;
  for (size_t I = 0; I <= Ops.size(); ++I) {
    Live += Change[I];
    if (Live > std::numeric_limits<int64_t>::max())
      return emitError(Func.getLoc(), "bytes alive at once do not fit 64 bits");
    LiveBytes.push_back(static_cast<int64_t>(Live));
  }
  return success();
}
