//===- Uses.cpp - who reads and who overwrites which bytes ----------------===//

#include "remat/Analysis/Uses.h"
#include "remat/IR/RematOps.h"

using namespace mlir;
using namespace remat;

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

bool remat::anyUse(Value V, llvm::function_ref<bool(Operation *)> Shows,
                   llvm::function_ref<bool(OpOperand &)> Visit) {
  // Results that show the bytes are entered where they stand among the uses, by
  // a stack of our own: chains of them may be as long as the graph.
  using Uses = std::pair<Value::use_iterator, Value::use_iterator>;
  SmallVector<Uses> Stack = {{V.use_begin(), V.use_end()}};
  while (!Stack.empty()) {
    auto &[Next, End] = Stack.back();
    if (Next == End) {
      Stack.pop_back();
      continue;
    }
    OpOperand &Use = *Next++;
    if (Visit(Use))
      return true;
    if (Operation *User = Use.getOwner(); Shows(User))
      Stack.push_back(
          {User->getResult(0).use_begin(), User->getResult(0).use_end()});
  }
  return false;
}

bool remat::anyRead(Value V, llvm::function_ref<bool(OpOperand &)> Visit) {
  return anyUse(V, isView, [&](OpOperand &Use) {
    return !isView(Use.getOwner()) && Visit(Use);
  });
}

std::optional<unsigned> remat::getDonatedResult(BlockArgument Argument) {
  auto Func = cast<func::FuncOp>(Argument.getOwner()->getParentOp());
  auto Attr = Func.getArgAttrOfType<IntegerAttr>(Argument.getArgNumber(),
                                                 DonatedAttrName);
  if (!Attr)
    return std::nullopt;
  return static_cast<unsigned>(Attr.getInt());
}

Overwrites::Overwrites(func::FuncOp Func) {
  Storages Places;
  Operation *Return = Func.getBody().front().getTerminator();
  for (BlockArgument Argument : Func.getArguments())
    if (std::optional<unsigned> Donated = getDonatedResult(Argument)) {
      Value Returned = Return->getOperand(*Donated);
      if (Returned == Argument)
        continue;
      Value Root = Places.get(Returned).Root;
      Order.push_back(Argument);
      Arguments[Root] = Argument;
      Values[Argument] = Root;
    }
}

void Overwrites::forEachOtherRead(
    llvm::function_ref<void(Operation *, OpOperand &)> Visit) const {
  for (BlockArgument Argument : Order)
    if (Operation *Writer = getWriter(Argument))
      anyRead(Argument, [&](OpOperand &Read) {
        if (Read.getOwner() != Writer)
          Visit(Writer, Read);
        return false;
      });
}

bool Overwrites::isReadByOthers(BlockArgument Argument) const {
  Operation *Writer = getWriter(Argument);
  return Writer && anyRead(Argument, [&](OpOperand &Read) {
           return Read.getOwner() != Writer;
         });
}

LastReaders::LastReaders(Block &Body, const Storages &Places,
                         llvm::function_ref<bool(OpOperand &)> Ignores) {
  for (Operation &Op : Body)
    if (!isView(&Op))
      for (OpOperand &Read : Op.getOpOperands())
        if (!Ignores || !Ignores(Read))
          Last[Places.get(Read.get()).Root] = &Op;
}
