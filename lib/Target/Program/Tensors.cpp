//===- Tensors.cpp - tensors, their lifetimes and classes -----------------===//

#include "ProgramBuilder.h"
#include "remat/Analysis/Liveness.h"
#include "remat/Analysis/MemoryProfile.h"

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

/// Whether `Op` needs no step: a view, or a constant that is loaded once.
static bool isFree(Operation &Op) {
  return isView(&Op) || isResidentConstant(&Op);
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

/// Whether the bytes of a value are two halves (remat.upper_half).
static bool liesInHalves(Value V) {
  if (auto Argument = dyn_cast<BlockArgument>(V)) {
    auto Func = cast<func::FuncOp>(Argument.getOwner()->getParentOp());
    return static_cast<bool>(
        Func.getArgAttr(Argument.getArgNumber(), InHalvesAttrName));
  }
  auto Update = V.getDefiningOp<AdamWOp>();
  return Update && Update.getInHalves() && V == Update.getNewParameter();
}

/// Operations that read halves as they lie.
static bool readsHalves(OpOperand &Use) {
  Operation *Op = Use.getOwner();
  if (auto Update = dyn_cast<AdamWOp>(Op))
    return Update.getInHalves() && Use.getOperandNumber() == 0;
  return isa<UpperHalfOp, JoinHalvesOp>(Op) ||
         Op->hasTrait<OpTrait::IsTerminator>();
}

static LogicalResult verifyReadersOfHalves(Value V) {
  for (OpOperand &Use : V.getUses())
    if (!readsHalves(Use))
      return Use.getOwner()->emitOpError()
             << "reads operand " << Use.getOperandNumber()
             << " as f32, which lies in halves: remat-halve-parameters comes "
                "behind whatever adds readers";
  return success();
}

LogicalResult ProgramBuilder::addTensor(Value Value, int64_t Offset) {
  StringRef Name = Names.get(Value);
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
  Tensor->memory_class = static_cast<program::MemoryClass>(Classes.get(Value));
  Tensor->name = Name.str();
  Tensor->in_halves = liesInHalves(Value);
  if (Tensor->in_halves && failed(verifyReadersOfHalves(Value)))
    return failure();
  Tensors[Value] = Program.tensors.size();
  Program.tensors.push_back(std::move(Tensor));
  return success();
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
    if (!Offset)
      return Func.emitOpError("argument '")
             << Names.get(Argument) << "' has no attribute '" << OffsetAttrName
             << "'";
    if (failed(addTensor(Argument, *Offset)))
      return failure();
  }
  for (Operation &Op : Func.getBody().front().without_terminator()) {
    for (OpResult Result : Op.getResults()) {
      std::optional<int64_t> Offset = getOffset(Result);
      if (!Offset)
        return Op.emitOpError("has no assigned memory: attribute '")
               << OffsetsAttrName << "' has no number for result "
               << Result.getResultNumber();
      Storage Place = Places.get(Result);
      if (isView(&Op) && *Offset != *getOffset(Place.Root) + Place.Offset)
        return Op.emitOpError("is a view but lies at ")
               << *Offset << ", not at "
               << *getOffset(Place.Root) + Place.Offset
               << " within its operand";
      if (failed(addTensor(Result, *Offset)))
        return failure();
    }
  }
  return success();
}

void ProgramBuilder::setLifetimes() {
  int32_t End = StepOps.size();
  // Lifetimes belong to bytes: a value and its views share one.
  LastReaders Readers(Func.getBody().front(), Places);
  auto GetLastRead = [&](mlir::Value Root) {
    Operation *Reader = Readers.get(Root);
    if (!Reader)
      return -1;
    return Reader->hasTrait<OpTrait::IsTerminator>() ? End : Steps.at(Reader);
  };
  for (auto &[Value, Tensor] : Tensors) {
    mlir::Value Root = Places.get(Value).Root;
    program::TensorT &Out = *Program.tensors[Tensor];
    Operation *Def = Root.getDefiningOp();
    auto It = Def ? Steps.find(Def) : Steps.end();
    Out.first_step = It == Steps.end() ? -1 : It->second;
    // A result that nobody reads is there for its own step.
    Out.last_step = std::max(GetLastRead(Root), Out.first_step);
    bool Stays =
        Def ? It == Steps.end()
            : !Func.getArgAttr(cast<BlockArgument>(Root).getArgNumber(),
                               DonatedAttrName);
    if (Stays)
      Out.last_step = End;
  }
}

LogicalResult ProgramBuilder::addConstants() {
  for (auto Constant : Func.getBody().front().getOps<ConstantOp>()) {
    if (!isResidentConstant(Constant))
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
