//===- LoopSurroundings.cpp - what is there while a loop runs -------------===//

#include "LoopSurroundings.h"
#include "mlir/IR/IRMapping.h"
#include "remat/Analysis/MemoryProfile.h"
#include "remat/Analysis/ScanBody.h"
#include "remat/Analysis/Uses.h"
#include "remat/Analysis/ValueNames.h"
#include "remat/Transforms/GraphSignature.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace remat;

/// A name in front of what tells it from others, within what names may have.
static constexpr size_t MaxNameLength = 200;

//===----------------------------------------------------------------------===//
// What is read
//===----------------------------------------------------------------------===//

/// The argument that shows `Operand`, made if there is none.
static BlockArgument getRead(ScanOp Loop, Value Operand) {
  for (auto [Argument, Read] :
       llvm::zip_equal(Loop.getReadArguments(), Loop.getReads()))
    if (Read == Operand)
      return Argument;
  Loop.getReadsMutable().append(Operand);
  return Loop.getBlock().addArgument(Operand.getType(), Operand.getLoc());
}

/// Makes what stands before the loop, and is read in it, part of the body, as
/// long as `MayMove` says so of the operation that makes it. Halves are shown
/// by arguments of functions only.
static void sinkReads(ScanOp Loop, function_ref<bool(Operation *)> MayMove) {
  unsigned First = Loop->getNumOperands() - Loop.getReads().size();
  for (unsigned I = First; I < Loop->getNumOperands();) {
    Operation *Op = Loop->getOperand(I).getDefiningOp();
    if (!Op || Op->getNumResults() != 1 || isa<UpperHalfOp>(Op) ||
        !MayMove(Op)) {
      ++I;
      continue;
    }
    IRMapping Inside;
    for (Value Operand : Op->getOperands())
      Inside.map(Operand, getRead(Loop, Operand));
    OpBuilder B = OpBuilder::atBlockBegin(&Loop.getBlock());
    Value Made = B.clone(*Op, Inside)->getResult(0);
    Loop.getBlock().getArgument(I).replaceAllUsesWith(Made);
    Loop.getBlock().eraseArgument(I);
    Loop.getReadsMutable().erase(I - First);
    if (Op->use_empty())
      Op->erase();
  }
}

void remat::sinkViews(ScanOp Loop) {
  sinkReads(Loop, [](Operation *Op) { return isView(Op); });
}

/// A kernel is as cheap to repeat as all that it does.
static bool isCheap(Operation *Op) {
  if (auto Kernel = dyn_cast<KernelOp>(Op))
    return llvm::all_of(Kernel.getBody().front().without_terminator(),
                        [](Operation &Inner) { return isCheap(&Inner); });
  return Op->hasTrait<CheapToRepeat>() || isView(Op) ||
         (isa<ConstantOp>(Op) && !isResidentConstant(Op));
}

std::optional<SunkInvariants> remat::sinkInvariants(ScanOp Loop,
                                                    const Target &Where) {
  SunkInvariants Sunk;
  bool Any = false;
  auto Align = [](int64_t Bytes) { return alignBytes(Bytes).value_or(Bytes); };
  llvm::SmallDenseSet<Value> ReadBefore(Loop.getReads().begin(),
                                        Loop.getReads().end());
  sinkReads(Loop, [&](Operation *Op) {
    KernelAttr Kernel = getKernel(Where, Op);
    if (!Kernel || (!isCheap(Op) && !isa<AllGatherOp>(Op)))
      return false;
    if (isView(Op))
      return true;
    Any = true;
    Sunk.Microseconds += Kernel.getMicroseconds();
    Sunk.Bytes += Align(getByteSize(Op->getResult(0).getType()).value_or(0)) +
                  Align(std::max<int64_t>(Kernel.getWorkspace(), 0));
    return true;
  });
  for (Value Read : Loop.getReads())
    if (Read.getDefiningOp() && !ReadBefore.contains(Read))
      Sunk.ReadBytes += Align(getByteSize(Read.getType()).value_or(0));
  return Any ? std::optional(Sunk) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

namespace {

/// Writes what a body's arguments stand for, and those that it gets.
class Describer {
public:
  Describer(func::FuncOp Body, func::FuncOp Around, ScanOp Loop)
      : Loop(Loop), Classes(Around), Names(Around), Signature(Body),
        B(Body.getContext()), Own(Loop->getNumOperands()) {}

  void describeOwn(func::FuncOp Body, int64_t Bound, int64_t Bytes);
  RankedTensorType getRest(Value V) const;
  bool mayMove(Value V) const;
  void add(Value V, RankedTensorType Of, int64_t Offset);
  void write() { Signature.write(); }

private:
  Value getSource(unsigned Argument);
  bool isRow(unsigned Argument) {
    unsigned Reads = Loop.getReads().size(), Carries = Loop.getNumCarries();
    return Argument >= Carries && (Argument < Own - Reads || Argument >= Own);
  }
  std::string getName(Value V, StringRef Suffix = "");
  Attribute getRole(Value V) const;

  ScanOp Loop;
  MemoryClasses Classes;
  ValueNames Names;
  SignatureEditor Signature;
  Builder B;
  unsigned Own; ///< arguments for the loop's operands
  llvm::StringSet<> Taken;
};

} // namespace

/// The role whose class is that of `V`; null for what the step makes on its
/// way.
Attribute Describer::getRole(Value V) const {
  auto Get = [&](Role Of) { return RoleAttr::get(B.getContext(), Of); };
  switch (Classes.get(V)) {
  case MemoryClass::Parameters:
    return Get(Role::parameter);
  case MemoryClass::Gradients:
    return Get(Role::gradient);
  case MemoryClass::OptimizerState:
    return Get(Role::state);
  case MemoryClass::Inputs:
    return Get(Role::input);
  case MemoryClass::Outputs:
    return Get(Role::output);
  default:
    return {};
  }
}

/// What an argument of the body is outside: of a sum, its mean.
Value Describer::getSource(unsigned Argument) {
  if (Argument >= Own)
    return Loop.getResult(Argument - Own + Loop.getNumCarries());
  if (Argument >= Loop.getNumCarries())
    return Loop->getOperand(Argument);
  Value Last = Loop.getResult(Argument);
  if (Last.hasOneUse())
    if (auto Mean = dyn_cast<MulOp>(*Last.user_begin()))
      return Mean;
  return Last;
}

/// Names of values as arguments can have them: "grad.w" is the gradient of w.
std::string Describer::getName(Value V, StringRef Suffix) {
  StringRef Of = Names.get(V);
  std::string Name;
  if (Of.consume_front("gradient of "))
    Name = "grad.";
  for (char C : Of.take_front(MaxNameLength)) {
    bool IsAllowed =
        llvm::isAlnum(C) || StringRef("_.-/:+@#$[](),=").contains(C);
    if (C != '%') // as the text of the graph begins a name
      Name += IsAllowed ? C : '.';
  }
  Name += Suffix;
  while (!Taken.insert(Name).second)
    Name += '+';
  return Name;
}

/// Rows that are copied lie in the workspace, which begins further up.
void Describer::describeOwn(func::FuncOp Body, int64_t Bound, int64_t Bytes) {
  for (unsigned I = 0; I < Body.getNumArguments(); ++I) {
    Value V = getSource(I);
    Signature.setArgAttr(I, RoleAttrName, getRole(V));
    Attribute Name = B.getStringAttr(getName(V, isRow(I) ? "[0]" : ""));
    Signature.setArgAttr(I, NameAttrName, Name);
    if (std::optional<unsigned> Next = getDonatedResult(Body.getArgument(I)))
      Signature.setResultAttr(*Next, NameAttrName, Name);
    auto Offset = Body.getArgAttrOfType<IntegerAttr>(I, OffsetAttrName);
    if (Offset.getInt() >= Bound)
      Signature.setArgAttr(I, OffsetAttrName,
                           B.getI64IntegerAttr(Offset.getInt() + Bytes));
  }
}

/// What is there of a parameter in halves beside the upper one, as so many
/// bytes; null if nothing.
static RankedTensorType getLowerHalf(RankedTensorType Whole) {
  int64_t Bytes = *getByteSize(Whole);
  int64_t Rest = *alignBytes(Bytes) - *alignBytes(Bytes / 2);
  Type Element = BFloat16Type::get(Whole.getContext());
  return Rest ? RankedTensorType::get({Rest / 2}, Element) : RankedTensorType();
}

/// What is there of `V` beside what is bound in the body; null if nothing.
RankedTensorType Describer::getRest(Value V) const {
  auto Whole = cast<RankedTensorType>(V.getType());
  auto GetOthers = [&]() -> RankedTensorType {
    ArrayRef<int64_t> Row = Whole.getShape().drop_front();
    if (!isAlignedRow(Whole.clone(Row)))
      return Whole;
    SmallVector<int64_t> Shape(Whole.getShape());
    --Shape.front();
    return Shape.front() ? Whole.clone(Shape) : RankedTensorType();
  };
  ScanOp Of = Loop;
  if (auto Result = dyn_cast<OpResult>(V);
      Result && Result.getOwner() == Of.getOperation())
    return Result.getResultNumber() < Of.getNumCarries() ? RankedTensorType()
                                                         : GetOthers();
  if (llvm::is_contained(Of.getReads(), V))
    return {};
  auto IsUpperHalf = [&](Value Read) {
    auto Half = Read.getDefiningOp<UpperHalfOp>();
    return Half && Half.getOperand() == V;
  };
  if (llvm::any_of(Of.getReads(), IsUpperHalf))
    return getLowerHalf(Whole);
  if (llvm::is_contained(Of.getSlices(), V))
    return GetOthers();
  return Whole;
}

/// Whether a plan of the function around may see to it that `V` is not there.
bool Describer::mayMove(Value V) const {
  ScanOp Of = Loop;
  auto Shows = [&](Value Other) { return getStorage(Other).Root == V; };
  return !isa<BlockArgument>(V) && !isResidentConstant(V.getDefiningOp()) &&
         V.getDefiningOp() != Of.getOperation() &&
         llvm::none_of(Of->getOperands(), Shows);
}

void Describer::add(Value V, RankedTensorType Of, int64_t Offset) {
  bool IsPart = Of != V.getType();
  bool IsHalf = Of.getElementType() != getElementTypeOrSelf(V.getType());
  std::string Name = getName(V, IsHalf ? "[lower]" : IsPart ? "[1:]" : "");
  BlockArgument Added =
      Signature.appendArgument(Of, Role::state, Name, V.getLoc());
  Signature.setArgAttr(Added.getArgNumber(), RoleAttrName, getRole(V));
  Signature.setArgAttr(Added.getArgNumber(), OffsetAttrName,
                       B.getI64IntegerAttr(Offset));
}

LogicalResult LoopSurroundings::addTo(func::FuncOp Body, func::FuncOp Around,
                                      ScanOp Loop, const Target &Where) {
  FailureOr<int64_t> End = getBoundBytes(Loop);
  FailureOr<BufferLiveness> Liveness = BufferLiveness::compute(Around);
  if (failed(End) || failed(Liveness))
    return failure();
  Bound = *End;
  Describer Of(Body, Around, Loop);
  SmallVector<std::tuple<Value, RankedTensorType, int64_t>> Others;
  MemoryProfile Profile(*Liveness, Where);
  for (Value V : Profile.getLiveValues(Liveness->getPosition(Loop)))
    if (RankedTensorType Rest = Of.getRest(V)) {
      Others.push_back({V, Rest, Bound + Bytes});
      int64_t Taken = *alignBytes(*getByteSize(Rest));
      Bytes += Taken;
      MovableBytes += Of.mayMove(V) ? Taken : 0;
    }
  Of.describeOwn(Body, Bound, Bytes);
  for (auto [V, Rest, Offset] : Others)
    Of.add(V, Rest, Offset);
  Of.write();
  return success();
}

void LoopSurroundings::removeFrom(func::FuncOp Body) const {
  Builder B(Body.getContext());
  auto Move = [&](Operation &Op, StringRef Name, size_t Places) {
    auto Numbers = Op.getAttrOfType<DenseI64ArrayAttr>(Name);
    if (!Numbers)
      return;
    SmallVector<int64_t> Moved(Numbers.asArrayRef());
    for (int64_t &Offset : MutableArrayRef(Moved).take_front(Places))
      if (Offset >= Bound)
        Offset -= Bytes;
    Op.setAttr(Name, B.getDenseI64ArrayAttr(Moved));
  };
  for (Operation &Op : Body.getBody().front().without_terminator()) {
    Move(Op, OffsetsAttrName, Op.getNumResults());
    Move(Op, WorkspaceAttrName, 1);
  }
  auto Arena = Body->getAttrOfType<IntegerAttr>(ArenaAttrName);
  Body->setAttr(ArenaAttrName, B.getI64IntegerAttr(Arena.getInt() - Bytes));
}
