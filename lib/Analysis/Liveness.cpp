//===- Liveness.cpp - which bytes are needed when -------------------------===//

#include "remat/Analysis/Liveness.h"
#include "remat/IR/RematOps.h"

using namespace mlir;
using namespace remat;

FailureOr<BufferLiveness> BufferLiveness::compute(func::FuncOp Func) {
  BufferLiveness L(Func);
  Block &Body = Func.getBody().front();
  for (Operation &Op : Body.without_terminator())
    L.Ops.push_back(&Op);
  for (BlockArgument Argument : Body.getArguments())
    if (failed(L.addBuffer(Argument, -1, L.Ops.size())))
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
  SmallVector<StepLiveness::Reuse> Reuses = Steps.getReuses(Position);
  for (OpResult Result : Op->getResults()) {
    if (BlockArgument Argument = Steps.getOverwrites().getArgument(Result)) {
      if (failed(addOverwrite(Result, Position, Argument)))
        return failure();
      continue;
    }
    int64_t End = std::max(Position, Steps.getLastRead(Result));
    const auto *Reuse =
        llvm::find_if(Reuses, [&](const auto &R) { return R.first == Result; });
    if (Reuse != Reuses.end())
      join(Result, BufferOf.at(Reuse->second), End);
    else if (failed(addBuffer(Result, Position, End)))
      return failure();
  }
  return success();
}

LogicalResult BufferLiveness::addOverwrite(OpResult Result, int64_t Position,
                                           BlockArgument Argument) {
  if (Steps.getLastRead(Argument) > Position ||
      !mayOverwrite(Result, Argument, getStorages()) ||
      getByteSize(Result.getType()) != getByteSize(Argument.getType()))
    return Result.getOwner()->emitOpError("result #")
           << Result.getResultNumber() << " cannot overwrite argument #"
           << Argument.getArgNumber()
           << ", which is read by or after this operation";
  join(Result, BufferOf.at(Argument), Ops.size());
  return success();
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

/// What is there all the time, and what the steps need.
LogicalResult BufferLiveness::sumLiveBytes(func::FuncOp Func) {
  StepLiveness::Sum Resident = 0;
  for (const Buffer &B : Buffers)
    if (B.Begin < 0)
      Resident += B.Bytes;
  for (StepLiveness::Sum Bytes : Steps.getLive()) {
    StepLiveness::Sum Live = Resident + Bytes;
    if (Live > std::numeric_limits<int64_t>::max())
      return emitError(Func.getLoc(), "bytes alive at once do not fit 64 bits");
    LiveBytes.push_back(static_cast<int64_t>(Live));
  }
  return success();
}
