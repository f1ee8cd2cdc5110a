//===- Tensors.cpp - tensors, their lifetimes and classes -----------------===//

#include "ProgramBuilder.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace remat;

static std::optional<int64_t> getOffset(OpResult Result) {
  auto Offsets =
      Result.getOwner()->getAttrOfType<DenseI64ArrayAttr>(OffsetsAttrName);
  if (!Offsets || Result.getResultNumber() >= Offsets.size())
    return std::nullopt;
  return Offsets[Result.getResultNumber()];
}

static std::optional<int64_t> getOffset(Value Value) {
  if (auto Result = dyn_cast<OpResult>(Value))
    return getOffset(Result);
  auto Argument = cast<BlockArgument>(Value);
  auto Func = cast<func::FuncOp>(Argument.getOwner()->getParentOp());
  auto Offset = Func.getArgAttrOfType<IntegerAttr>(Argument.getArgNumber(),
                                                   OffsetAttrName);
  if (!Offset)
    return std::nullopt;
  return Offset.getInt();
}

/// Whether `Op` is a view that was placed at its operand's bytes.
static bool isPlacedView(Operation &Op) {
  auto View = dyn_cast<ViewOpInterface>(Op);
  if (!View)
    return false;
  std::optional<int64_t> Shift = View.getViewOffset();
  std::optional<int64_t> From = getOffset(Op.getOperand(0));
  std::optional<int64_t> To = getOffset(Op.getResult(0));
  return Shift && From && To && *From + *Shift == *To;
}

static bool isStoredConstant(Operation &Op) {
  auto Constant = dyn_cast<ConstantOp>(Op);
  return Constant && !isa<SplatElementsAttr>(Constant.getValue());
}

bool ProgramBuilder::isFree(Operation &Op) const {
  return isPlacedView(Op) || isStoredConstant(Op);
}

Value ProgramBuilder::getRoot(Value Value) const {
  while (Operation *Op = Value.getDefiningOp()) {
    if (!isPlacedView(*Op))
      break;
    Value = Op->getOperand(0);
  }
  return Value;
}

LogicalResult ProgramBuilder::numberSteps() {
  for (Operation &Op : Func.getBody().front().without_terminator()) {
    if (!isa_and_present<RematDialect>(Op.getDialect()))
      return Op.emitOpError("has no step in a program");
    if (isFree(Op))
      continue;
    Steps[&Op] = StepOps.size();
    StepOps.push_back(&Op);
  }
  return success();
}

LogicalResult ProgramBuilder::addTensor(Value Value, int64_t Offset,
                                        StringRef Name) {
  auto Type = cast<RankedTensorType>(Value.getType());
  std::optional<int64_t> Bytes = getByteSize(Type);
  int64_t Arena = Program.arena_bytes;
  if (!Bytes || Offset < 0 || *Bytes > Arena || Offset > Arena - *Bytes)
    return emitError(Value.getLoc(), "'")
           << Name << "' of type " << Type << " at offset " << Offset
           << " does not lie in the arena of " << Arena << " bytes";
  auto Tensor = std::make_unique<program::TensorT>();
  Tensor->dtype = convertElementType(Type);
  Tensor->shape = Type.getShape().vec();
  Tensor->offset = Offset;
  Tensor->name = Name.str();
  Tensors[Value] = Program.tensors.size();
  Program.tensors.push_back(std::move(Tensor));
  return success();
}

/// What messages call a result: the name of its location if it has one, else
/// the op's name and its place among the ops, as "gelu.12".
static std::string nameResult(OpResult Result, unsigned OpNumber) {
  Operation *Op = Result.getOwner();
  std::string Name =
      (Op->getName().stripDialect() + "." + Twine(OpNumber)).str();
  if (auto Named = dyn_cast<NameLoc>(Op->getLoc()))
    Name = Named.getName().str();
  if (Op->getNumResults() > 1)
    Name += "#" + std::to_string(Result.getResultNumber());
  return Name;
}

LogicalResult ProgramBuilder::addTensors() {
  auto Arena = Func->getAttrOfType<IntegerAttr>(ArenaAttrName);
  if (!Arena)
    return Func.emitOpError("has no assigned memory: attribute '")
           << ArenaAttrName << "' is missing, run remat-assign-memory first";
  if (Arena.getInt() < 0)
    return Func.emitOpError("has an arena of ") << Arena.getInt() << " bytes";
  Program.arena_bytes = Arena.getInt();

  for (BlockArgument Argument : Func.getArguments()) {
    std::optional<int64_t> Offset = getOffset(Argument);
    auto Name = Func.getArgAttrOfType<StringAttr>(Argument.getArgNumber(),
                                                  NameAttrName);
    std::string Known =
        Name ? Name.str()
             : "argument." + std::to_string(Argument.getArgNumber());
    if (!Offset)
      return Func.emitOpError("argument '")
             << Known << "' has no attribute '" << OffsetAttrName << "'";
    if (failed(addTensor(Argument, *Offset, Known)))
      return failure();
  }
  unsigned Number = 0;
  for (Operation &Op : Func.getBody().front().without_terminator()) {
    for (OpResult Result : Op.getResults()) {
      std::optional<int64_t> Offset = getOffset(Result);
      if (!Offset)
        return Op.emitOpError("has no assigned memory: attribute '")
               << OffsetsAttrName << "' has no number for result "
               << Result.getResultNumber();
      if (failed(addTensor(Result, *Offset, nameResult(Result, Number))))
        return failure();
    }
    ++Number;
  }
  return success();
}

void ProgramBuilder::setLifetimes() {
  int32_t End = StepOps.size();
  // Lifetimes belong to bytes: a value and its views share one.
  llvm::DenseMap<Value, int32_t> LastRead;
  for (auto &[Value, Tensor] : Tensors) {
    int32_t &Last = LastRead.try_emplace(getRoot(Value), -1).first->second;
    for (Operation *User : Value.getUsers()) {
      if (User->hasTrait<OpTrait::IsTerminator>())
        Last = End;
      else if (auto It = Steps.find(User); It != Steps.end())
        Last = std::max(Last, It->second);
    }
  }
  for (auto &[Value, Tensor] : Tensors) {
    mlir::Value Root = getRoot(Value);
    program::TensorT &Out = *Program.tensors[Tensor];
    Operation *Def = Root.getDefiningOp();
    auto It = Def ? Steps.find(Def) : Steps.end();
    Out.first_step = It == Steps.end() ? -1 : It->second;
    // A result that nobody reads is there for its own step.
    Out.last_step = std::max(LastRead.lookup(Root), Out.first_step);
    bool Stays =
        Def ? It == Steps.end()
            : !Func.getArgAttr(cast<BlockArgument>(Root).getArgNumber(),
                               DonatedAttrName);
    if (Stays)
      Out.last_step = End;
  }
}

static program::MemoryClass classOfRole(Role Role) {
  switch (Role) {
  case Role::parameter:
    return program::MemoryClass::Parameters;
  case Role::state:
    return program::MemoryClass::OptimizerState;
  case Role::gradient:
    return program::MemoryClass::Gradients;
  case Role::loss:
  case Role::output:
    return program::MemoryClass::Outputs;
  case Role::input:
  case Role::seed:
  case Role::step:
  case Role::learning_rate:
    return program::MemoryClass::Inputs;
  }
  return program::MemoryClass::Temporaries;
}

/// Forward values that the backward reads are activations; what the optimizer
/// reads as a gradient is one; the rest is temporary.
static program::MemoryClass classOfReaders(Operation *Def,
                                           ArrayRef<OpOperand *> Readers) {
  bool Forward = !Def->hasAttr(PhaseAttrName);
  auto Class = program::MemoryClass::Temporaries;
  for (OpOperand *Use : Readers) {
    Operation *User = Use->getOwner();
    if (isa<SgdOp, AdamWOp>(User) && Use->getOperandNumber() == 1)
      return program::MemoryClass::Gradients;
    if (Forward && User->hasAttr(PhaseAttrName))
      Class = program::MemoryClass::Activations;
  }
  return Class;
}

void ProgramBuilder::setMemoryClasses() {
  llvm::DenseMap<Value, SmallVector<OpOperand *>> Readers;
  for (auto &[Value, Tensor] : Tensors)
    for (OpOperand &Use : Value.getUses())
      Readers[getRoot(Value)].push_back(&Use);

  auto RoleOf = [](Attribute Attr) {
    auto Role = dyn_cast_or_null<RoleAttr>(Attr);
    return Role ? std::optional(Role.getValue()) : std::nullopt;
  };
  llvm::DenseMap<Value, program::MemoryClass> Classes;
  for (auto &[Root, Uses] : Readers) {
    if (auto Argument = dyn_cast<BlockArgument>(Root)) {
      if (auto Role =
              RoleOf(Func.getArgAttr(Argument.getArgNumber(), RoleAttrName)))
        Classes[Root] = classOfRole(*Role);
      continue;
    }
    Classes[Root] = isa<ConstantOp>(Root.getDefiningOp())
                        ? program::MemoryClass::Constants
                        : classOfReaders(Root.getDefiningOp(), Uses);
    for (OpOperand *Use : Uses)
      if (isa<func::ReturnOp>(Use->getOwner()))
        if (auto Role = RoleOf(
                Func.getResultAttr(Use->getOperandNumber(), RoleAttrName)))
          Classes[Root] = classOfRole(*Role);
  }
  for (auto &[Value, Tensor] : Tensors) {
    mlir::Value Root = getRoot(Value);
    auto It = Classes.find(Root);
    if (It != Classes.end())
      Program.tensors[Tensor]->memory_class = It->second;
    else // nobody reads it
      Program.tensors[Tensor]->memory_class =
          isa<BlockArgument>(Root) ? program::MemoryClass::Inputs
                                   : program::MemoryClass::Temporaries;
  }
}

LogicalResult ProgramBuilder::addConstants() {
  for (auto Constant : Func.getBody().front().getOps<ConstantOp>()) {
    if (!isStoredConstant(*Constant))
      continue;
    auto Elements = dyn_cast<DenseElementsAttr>(Constant.getValue());
    if (!Elements)
      return Constant.emitOpError("holds elements that are not in the graph: ")
             << "a program stores dense constants only";
    auto Out = std::make_unique<program::ConstantT>();
    Out->tensor = getTensor(Constant.getResult());
    ArrayRef<char> Raw = Elements.getRawData();
    if (Elements.getElementType().isInteger(1)) {
      // One byte an element here, whatever MLIR packs.
      for (bool Bit : Elements.getValues<bool>())
        Out->data.push_back(Bit);
    } else {
      Out->data.assign(Raw.begin(), Raw.end());
    }
    Program.constants.push_back(std::move(Out));
  }
  return success();
}
