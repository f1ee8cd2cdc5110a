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

bool remat::isView(Operation *Op) {
  auto View = dyn_cast<ViewOpInterface>(Op);
  if (!View)
    return false;
  std::optional<int64_t> Offset = View.getViewOffset();
  return Offset && *Offset % BufferAlignment == 0;
}

bool remat::isResidentConstant(Operation *Op) {
  auto Constant = dyn_cast<ConstantOp>(Op);
  return Constant && !Constant.getValue().isSplat();
}

Storage remat::getStorage(Value V) { return Storages().get(V); }

Storage Storages::get(Value V) const {
  Storage Result{V, 0};
  SmallVector<Operation *> Views;
  while (Operation *Op = Result.Root.getDefiningOp()) {
    if (!isView(Op))
      break;
    if (auto It = Known.find(Result.Root); It != Known.end()) {
      Result = It->second;
      break;
    }
    Views.push_back(Op);
    Result.Root = Op->getOperand(0);
  }
  for (Operation *View : llvm::reverse(Views)) {
    Result.Offset += *cast<ViewOpInterface>(View).getViewOffset();
    Known[View->getResult(0)] = Result;
  }
  return Result;
}

bool remat::anyRead(Value V, llvm::function_ref<bool(OpOperand &)> Visit) {
  // Views are entered where they stand among the uses, by a stack of our own:
  // chains of them may be as long as the graph.
  using Uses = std::pair<Value::use_iterator, Value::use_iterator>;
  SmallVector<Uses> Stack = {{V.use_begin(), V.use_end()}};
  while (!Stack.empty()) {
    auto &[Next, End] = Stack.back();
    if (Next == End) {
      Stack.pop_back();
      continue;
    }
    OpOperand &Use = *Next++;
    if (Operation *User = Use.getOwner(); isView(User))
      Stack.push_back(
          {User->getResult(0).use_begin(), User->getResult(0).use_end()});
    else if (Visit(Use))
      return true;
  }
  return false;
}

std::optional<unsigned> remat::getDonatedResult(BlockArgument Argument) {
  auto Func = cast<func::FuncOp>(Argument.getOwner()->getParentOp());
  auto Attr = Func.getArgAttrOfType<IntegerAttr>(Argument.getArgNumber(),
                                                 DonatedAttrName);
  if (!Attr)
    return std::nullopt;
  return static_cast<unsigned>(Attr.getInt());
}

DenseMap<Value, BlockArgument> remat::getOverwrites(func::FuncOp Func) {
  DenseMap<Value, BlockArgument> Overwrites;
  Storages Places;
  Operation *Return = Func.getBody().front().getTerminator();
  for (BlockArgument Argument : Func.getArguments())
    if (std::optional<unsigned> Donated = getDonatedResult(Argument)) {
      Value Returned = Return->getOperand(*Donated);
      if (Returned != Argument)
        Overwrites[Places.get(Returned).Root] = Argument;
    }
  return Overwrites;
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
  BufferLiveness L;
  Block &Body = Func.getBody().front();
  for (Operation &Op : Body.without_terminator()) {
    L.Positions[&Op] = L.Ops.size();
    L.Ops.push_back(&Op);
  }
  int64_t End = L.Ops.size();
  for (auto [Position, Op] : llvm::enumerate(L.Ops))
    if (!isView(Op))
      for (Value Operand : Op->getOperands())
        L.LastReads[L.Places.get(Operand).Root] = Position;
  for (Value Operand : Body.getTerminator()->getOperands())
    L.LastReads[L.Places.get(Operand).Root] = End;

  L.Overwrites = getOverwrites(Func);
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
  if (BlockArgument Argument = Overwrites.lookup(Result)) {
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
