//===- ScanBody.cpp - the body of a scan as a function --------------------===//

#include "remat/Analysis/ScanBody.h"
#include "mlir/IR/IRMapping.h"
#include "remat/Analysis/Liveness.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;

namespace {

/// One argument of the function.
struct BodyArgument {
  Type Of;
  StringRef Kind; ///< what its name begins with
  unsigned Number = 0;
  int64_t Offset = 0;
  std::optional<unsigned> Donated; ///< the result that is written over it
  bool IsBound = true;
};

/// All arguments in their order and the bytes that they take.
struct BodyLayout {
  SmallVector<BodyArgument> Arguments;
  int64_t BoundBytes = 0;
};

} // namespace

bool remat::isAlignedRow(Type Row) {
  return getByteSize(Row).value_or(0) % BufferAlignment == 0;
}

static SmallVector<BodyArgument> listArguments(ScanOp Scan) {
  SmallVector<BodyArgument> List;
  auto Add = [&](ValueRange Values, StringRef Kind, bool IsRow, int Donated) {
    for (auto [I, V] : llvm::enumerate(Values)) {
      BodyArgument &A = List.emplace_back();
      A.Of = V.getType();
      A.Kind = Kind;
      A.Number = I;
      A.IsBound = !IsRow || isAlignedRow(A.Of);
      if (Donated >= 0)
        A.Donated = Donated + I;
    }
  };
  Add(Scan.getCarryArguments(), "carry", /*IsRow=*/false, 0);
  Add(Scan.getSliceArguments(), "slice", /*IsRow=*/true, -1);
  Add(Scan.getReadArguments(), "read", /*IsRow=*/false, -1);
  unsigned Carries = Scan.getNumCarries();
  Add(Scan.getYielded().drop_front(Carries), "stack", /*IsRow=*/true, Carries);
  return List;
}

/// Bound arguments side by side, the others behind them.
static FailureOr<BodyLayout> layOut(ScanOp Scan) {
  BodyLayout Layout;
  Layout.Arguments = listArguments(Scan);
  int64_t End = 0;
  for (bool Bound : {true, false}) {
    for (BodyArgument &A : Layout.Arguments) {
      if (A.IsBound != Bound)
        continue;
      A.Offset = End;
      std::optional<int64_t> Bytes = alignBytes(*getByteSize(A.Of));
      if (!Bytes || llvm::AddOverflow(End, *Bytes, End))
        return Scan.emitOpError("binds more bytes than 64 bits count");
    }
    if (Bound)
      Layout.BoundBytes = End;
  }
  return Layout;
}

FailureOr<int64_t> remat::getBoundBytes(ScanOp Scan) {
  FailureOr<BodyLayout> Layout = layOut(Scan);
  if (failed(Layout))
    return failure();
  return Layout->BoundBytes;
}

static DictionaryAttr getAttributes(Builder &B, const BodyArgument &A) {
  MLIRContext *Context = B.getContext();
  std::string Name = (A.Kind + "." + Twine(A.Number)).str();
  NamedAttrList List;
  List.set(RoleAttrName, RoleAttr::get(Context, Role::state));
  List.set(NameAttrName, B.getStringAttr(Name));
  List.set(OffsetAttrName, B.getI64IntegerAttr(A.Offset));
  if (A.Donated)
    List.set(DonatedAttrName, B.getI64IntegerAttr(*A.Donated));
  return List.getDictionary(Context);
}

/// A result is called as the argument whose place it takes.
static SmallVector<DictionaryAttr>
getResultAttributes(Builder &B, const BodyLayout &Layout, unsigned Count) {
  SmallVector<DictionaryAttr> Results(Count);
  for (const BodyArgument &A : Layout.Arguments)
    if (A.Donated) {
      NamedAttrList List(getAttributes(B, A));
      List.erase(OffsetAttrName);
      List.erase(DonatedAttrName);
      Results[*A.Donated] = List.getDictionary(B.getContext());
    }
  return Results;
}

FailureOr<OwningOpRef<func::FuncOp>> remat::outlineBody(ScanOp Scan) {
  FailureOr<BodyLayout> Layout = layOut(Scan);
  if (failed(Layout))
    return failure();
  OpBuilder B(Scan.getContext());
  SmallVector<Type> Inputs;
  SmallVector<DictionaryAttr> Attributes;
  for (const BodyArgument &A : Layout->Arguments) {
    Inputs.push_back(A.Of);
    Attributes.push_back(getAttributes(B, A));
  }
  Operation::operand_range Yielded = Scan.getYielded();
  OwningOpRef<func::FuncOp> Func = func::FuncOp::create(
      Scan.getLoc(), "body",
      FunctionType::get(B.getContext(), Inputs, Yielded.getTypes()));
  IRMapping Mapping;
  Scan.getBody().cloneInto(&Func->getBody(), Mapping);
  Block &Body = Func->getBody().front();
  for (Type Of : ArrayRef(Inputs).drop_front(Body.getNumArguments()))
    Body.addArgument(Of, Scan.getLoc());
  Operation *Yield = Body.getTerminator();
  B.setInsertionPoint(Yield);
  func::ReturnOp::create(B, Yield->getLoc(), Yield->getOperands());
  Yield->erase();
  Func->setAllArgAttrs(Attributes);
  Func->setAllResultAttrs(getResultAttributes(B, *Layout, Yielded.size()));
  if (auto Outer = Scan->getParentOfType<func::FuncOp>())
    for (StringRef Name : {TargetAttrName, CostsAttrName, MeshAttrName})
      if (Attribute Value = Outer->getAttr(Name))
        (*Func)->setAttr(Name, Value);
  if (IntegerAttr Arena = Scan.getArenaAttr()) {
    (*Func)->setAttr(ArenaAttrName, Arena);
    (*Func)->setAttr(StageAttrName,
                     StageAttr::get(B.getContext(), Stage::assigned));
  }
  return Func;
}

void remat::takeBody(ScanOp Scan, func::FuncOp Body) {
  Scan.setArenaAttr(Body->getAttrOfType<IntegerAttr>(ArenaAttrName));
  Block &Block = Body.getBody().front();
  Operation *Return = Block.getTerminator();
  OpBuilder B(Return);
  YieldOp::create(B, Return->getLoc(), Return->getOperands());
  Return->erase();
  unsigned Count = Scan->getNumOperands();
  Block.eraseArguments(Count, Block.getNumArguments() - Count);
  Scan.getBody().takeBody(Body.getBody());
}

double remat::getCopyMicroseconds(const Target &Where, ScanOp Scan) {
  double Microseconds = 0;
  for (const BodyArgument &A : listArguments(Scan))
    if (!A.IsBound)
      Microseconds += Where.getElementwiseMicroseconds(
          0, 2.0 * static_cast<double>(*getByteSize(A.Of)));
  return Microseconds;
}

SmallVector<KernelAttr> remat::getScanKernels(const Target &Where,
                                              ScanOp Scan) {
  FailureOr<int64_t> Bound = getBoundBytes(Scan);
  if (failed(Bound) || !Scan.getArena())
    return {};
  double Microseconds = 0;
  for (Operation &Op : Scan.getBlock().without_terminator()) {
    KernelAttr Kernel = getKernel(Where, &Op);
    if (!Kernel)
      return {};
    Microseconds += Kernel.getMicroseconds();
  }
  Microseconds += getCopyMicroseconds(Where, Scan);
  auto Arena = static_cast<int64_t>(*Scan.getArena());
  return {KernelAttr::get(Scan.getContext(), KernelKind::own,
                          Microseconds * static_cast<double>(Scan.getSteps()),
                          std::max<int64_t>(Arena - *Bound, 0), /*launches=*/0,
                          /*slices=*/1)};
}

InFlightDiagnostic remat::emitNoScanKernel(ScanOp Scan) {
  InFlightDiagnostic Diag =
      Scan.emitOpError("cannot run: its body has no assigned memory");
  Diag.attachNote() << "run "
                    << (Scan->hasAttr(MicroBatchesAttrName)
                            ? "remat-fit-budget, which plans micro-batches"
                            : "remat-plan-bodies first");
  return Diag;
}
