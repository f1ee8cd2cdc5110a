//===- MemoryProfile.cpp - bytes at each operation ------------------------===//

#include "remat/Analysis/MemoryProfile.h"
#include "remat/Analysis/Cost.h"
#include "remat/IR/RematOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;

StringRef remat::getMemoryClassName(MemoryClass Class) {
  static constexpr std::array<StringLiteral, NumMemoryClasses> Names = {
      "parameters",  "gradients",   "optimizer_state",
      "activations", "temporaries", "workspaces",
      "inputs",      "outputs",     "constants"};
  return Names[static_cast<unsigned>(Class)];
}

static MemoryClass getArgumentClass(BlockArgument Argument) {
  auto Func = cast<func::FuncOp>(Argument.getOwner()->getParentOp());
  auto Attr =
      Func.getArgAttrOfType<RoleAttr>(Argument.getArgNumber(), RoleAttrName);
  // What has no role is made around the loop that this is the body of.
  if (!Attr)
    return MemoryClass::Temporaries;
  switch (Attr.getValue()) {
  case Role::parameter:
    return MemoryClass::Parameters;
  case Role::state:
    return MemoryClass::OptimizerState;
  case Role::gradient: // a sum of gradients, in the body of a loop
    return MemoryClass::Gradients;
  case Role::output:
    return MemoryClass::Outputs;
  default:
    return MemoryClass::Inputs;
  }
}

static bool isGradientUse(OpOperand &Use) {
  auto Update = dyn_cast<UpdateOpInterface>(Use.getOwner());
  return Update && Use.get() == Update.getGradMutable().get();
}

MemoryClasses::MemoryClasses(func::FuncOp Func) : Func(Func) {
  for (BlockArgument Argument : Func.getArguments())
    if (std::optional<unsigned> Donated = getDonatedResult(Argument))
      Donors.try_emplace(*Donated, Argument);
}

/// The class of a value that the function returns as result number `Index`.
MemoryClass MemoryClasses::getResultClass(unsigned Index) const {
  if (auto It = Donors.find(Index); It != Donors.end())
    return getArgumentClass(It->second);
  func::FuncOp Graph = Func;
  auto Attr = Graph.getResultAttrOfType<RoleAttr>(Index, RoleAttrName);
  return Attr && Attr.getValue() == Role::gradient ? MemoryClass::Gradients
                                                   : MemoryClass::Outputs;
}

MemoryClass MemoryClasses::find(Value Root) const {
  if (auto Argument = dyn_cast<BlockArgument>(Root))
    return getArgumentClass(Argument);
  Operation *Op = Root.getDefiningOp();
  if (isResidentConstant(Op))
    return MemoryClass::Constants;
  std::optional<MemoryClass> Class;
  anyRead(Root, [&](OpOperand &Use) {
    if (isa<func::ReturnOp>(Use.getOwner()))
      Class = getResultClass(Use.getOperandNumber());
    return Class.has_value();
  });
  if (Class)
    return *Class;
  if (anyRead(Root, isGradientUse))
    return MemoryClass::Gradients;
  bool InForward = !Op->hasAttr(PhaseAttrName);
  if (InForward && anyRead(Root, [](OpOperand &Use) {
        return Use.getOwner()->hasAttr(PhaseAttrName);
      }))
    return MemoryClass::Activations;
  return MemoryClass::Temporaries;
}

MemoryClass MemoryClasses::get(Value V) const {
  Value Root = Places.get(V).Root;
  auto It = Known.find(Root);
  if (It == Known.end())
    It = Known.try_emplace(Root, find(Root)).first;
  return It->second;
}

MemoryClass remat::getMemoryClass(Value V) {
  Operation *Parent = V.getParentBlock()->getParentOp();
  return MemoryClasses(cast<func::FuncOp>(Parent)).get(V);
}

MemoryProfile::MemoryProfile(const BufferLiveness &Liveness,
                             const Target &Where)
    : Liveness(Liveness) {
  Bytes = Liveness.getLiveBytes();
  for (auto [Position, Op] : llvm::enumerate(Liveness.getOperations())) {
    KernelAttr Kernel = getKernel(Where, Op);
    int64_t Exact = Kernel ? Kernel.getWorkspace() : 0;
    ExactWorkspaces.push_back(Exact);
    Workspaces.push_back(Exact > 0 ? alignBytes(Exact).value_or(Exact) : 0);
    if (llvm::AddOverflow(Bytes[Position], Workspaces.back(), Bytes[Position]))
      Bytes[Position] = std::numeric_limits<int64_t>::max();
  }
  PeakPosition = llvm::max_element(Bytes) - Bytes.begin();
}

/// The value that owns `B` at a position: the last one made until then.
Value MemoryProfile::getOccupant(const Buffer &B, int64_t Position) const {
  Value Occupant = B.Values.front();
  for (Value V : llvm::drop_begin(B.Values))
    if (Liveness.getPosition(V.getDefiningOp()) <= Position)
      Occupant = V;
  return Occupant;
}

SmallVector<Value> MemoryProfile::getLiveValues(int64_t Position) const {
  SmallVector<std::pair<int64_t, unsigned>> Live; // (-bytes, number)
  ArrayRef<Buffer> Buffers = Liveness.getBuffers();
  for (auto [Number, B] : llvm::enumerate(Buffers))
    if (B.isLiveAt(Position))
      Live.push_back({-B.Bytes, Number});
  llvm::sort(Live);
  return llvm::map_to_vector(Live, [&](const auto &Entry) {
    return getOccupant(Buffers[Entry.second], Position);
  });
}

std::array<int64_t, NumMemoryClasses>
MemoryProfile::getClasses(int64_t Position) const {
  std::array<int64_t, NumMemoryClasses> Classes = {};
  SmallVector<Value> Live = getLiveValues(Position);
  if (!Live.empty()) {
    Operation *Parent = Live.front().getParentBlock()->getParentOp();
    MemoryClasses Of(cast<func::FuncOp>(Parent));
    for (Value V : Live)
      Classes[static_cast<unsigned>(Of.get(V))] +=
          getByteSize(V.getType()).value_or(0);
  }
  if (Position < static_cast<int64_t>(ExactWorkspaces.size()))
    Classes[static_cast<unsigned>(MemoryClass::Workspaces)] +=
        ExactWorkspaces[Position];
  return Classes;
}
