//===- Kernel.cpp - kernel groups -------------------------------*- C++ -*-===//

#include "OpUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "remat/IR/RematOps.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Assembly
//
//   remat.kernel(%a = %x : type, ...) -> (types) attributes {...} { body }
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &Parser, OperationState &Result) {
  SmallVector<OpAsmParser::Argument> Arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> Operands;
  SmallVector<Type> Types;
  auto ParseInput = [&]() -> ParseResult {
    Type Type;
    if (Parser.parseArgument(Arguments.emplace_back()) || Parser.parseEqual() ||
        Parser.parseOperand(Operands.emplace_back()) ||
        Parser.parseColonType(Type))
      return failure();
    Arguments.back().type = Type;
    Types.push_back(Type);
    return success();
  };
  SMLoc Loc = Parser.getCurrentLocation();
  if (Parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                     ParseInput) ||
      Parser.resolveOperands(Operands, Types, Loc, Result.operands) ||
      Parser.parseOptionalArrowTypeList(Result.types) ||
      Parser.parseOptionalAttrDictWithKeyword(Result.attributes) ||
      Parser.parseRegion(*Result.addRegion(), Arguments))
    return failure();
  ensureTerminator(*Result.regions.front(), Parser.getBuilder(),
                   Result.location);
  return success();
}

void KernelOp::print(OpAsmPrinter &Printer) {
  Block &Body = getBody().front();
  Printer << "(";
  llvm::interleaveComma(
      llvm::zip_equal(Body.getArguments(), getInputs()), Printer, [&](auto It) {
        auto [Argument, Input] = It;
        Printer << Argument << " = " << Input << " : " << Input.getType();
      });
  Printer << ")";
  Printer.printOptionalArrowTypeList(getResultTypes());
  Printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  Printer << ' ';
  Printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/true);
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

bool remat::isColumnSum(Operation *Op) {
  auto Reduce = dyn_cast_or_null<ReduceOp>(Op);
  if (!Reduce || Reduce.getKind() != Reduction::sum || Reduce.getKeepDims())
    return false;
  RankedTensorType Type = getTensorType(Reduce.getOperand());
  auto Leading = llvm::seq<int64_t>(0, Type.getRank() - 1);
  return Type.getRank() > 1 && isa<FloatType>(Type.getElementType()) &&
         llvm::equal(Reduce.getDims(), Leading);
}

/// A sum over rows is there when the kernel has ended: nothing inside reads it,
/// and its operand is stored.
static LogicalResult verifySum(Operation &Op) {
  auto IsYield = [](Operation *User) { return isa<YieldOp>(User); };
  if (!llvm::all_of(Op.getUsers(), IsYield))
    return Op.emitOpError("a sum over rows can only be yielded by the kernel "
                          "that makes it");
  if (llvm::any_of(Op.getOperand(0).getUsers(), IsYield))
    return success();
  InFlightDiagnostic Diag =
      Op.emitOpError("sums over rows what the kernel does not yield");
  Diag.attachNote() << "yield the operand too";
  return Diag;
}

/// A roll reads elements that other threads may compute: only operands of the
/// kernel, of its shape, are there before it begins.
static LogicalResult verifyRoll(RollOp Op) {
  if (isa<BlockArgument>(Op.getOperand()))
    return success();
  InFlightDiagnostic Diag = Op.emitOpError("rolls what the kernel makes");
  Diag.attachNote() << "a kernel can roll its operands";
  return Diag;
}

/// Whether a kernel can compute `Op` element by element, or, of the row
/// operations, by rows.
static LogicalResult verifyMember(KernelOp Kernel, Operation &Op) {
  if (Op.hasTrait<Pointwise>() || isa<YieldOp>(Op))
    return success();
  if (auto Constant = dyn_cast<ConstantOp>(Op)) {
    auto Value = dyn_cast<SplatElementsAttr>(Constant.getValue());
    if (Value)
      return success();
    return Op.emitOpError("must be a splat to be part of a kernel");
  }
  if (auto Roll = dyn_cast<RollOp>(Op))
    return verifyRoll(Roll);
  if (isColumnSum(&Op))
    return verifySum(Op);
  if (auto Reduce = dyn_cast<ReduceOp>(Op)) {
    int64_t Rank = Reduce.getOperand().getType().getRank();
    if (Reduce.getDims() == ArrayRef<int64_t>{Rank - 1})
      return success();
    return Op.emitOpError("must reduce the last dimension to be part of a "
                          "kernel");
  }
  if (Op.hasTrait<Rowwise>())
    return success();
  InFlightDiagnostic Diagnostic = Op.emitOpError("cannot be part of a kernel");
  Diagnostic.attachNote(Kernel.getLoc()) << "the kernel is here";
  return Diagnostic;
}

/// Whether a value of shape `From` has one element for each of `To` or for each
/// of several of them.
static bool broadcastsTo(ArrayRef<int64_t> From, ArrayRef<int64_t> To) {
  auto Shape = broadcastShapes(From, To);
  return Shape && ArrayRef(*Shape) == To;
}

/// Checks that all values of the kernel belong to one loop nest: over the shape
/// of the largest value, or, beside a row reduction, over its rows.
static LogicalResult verifyShapes(KernelOp Kernel) {
  Block &Body = Kernel.getBody().front();
  RankedTensorType Full;
  bool Reduces = false;
  // Of shapes with as many elements the one of most dimensions: the others lack
  // some of size 1.
  auto Grow = [&](Value Value) {
    RankedTensorType Type = getTensorType(Value);
    if (!Full || std::pair(Type.getNumElements(), Type.getRank()) >
                     std::pair(Full.getNumElements(), Full.getRank()))
      Full = Type;
  };
  llvm::for_each(Body.getArguments(), Grow);
  for (Operation &Op : Body) {
    Reduces |= isa<ReduceOp>(Op) && !isColumnSum(&Op);
    llvm::for_each(Op.getResults(), Grow);
  }
  for (Operation &Op : Body)
    for (Value Value : Op.getResults()) {
      ArrayRef<int64_t> Shape = getTensorType(Value).getShape();
      bool Fits = broadcastsTo(Shape, Full.getShape()) ||
                  (Reduces && !Full.getShape().empty() &&
                   broadcastsTo(Shape, Full.getShape().drop_back()));
      if (!Fits)
        return Op.emitOpError() << "result " << Value.getType()
                                << " does not broadcast to the kernel's "
                                << Full << (Reduces ? " or its rows" : "");
    }
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  if (getNumResults() == 0)
    return emitOpError("has no results");
  Block &Body = getBody().front();
  if (Body.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("the block's arguments must have the operands' types");
  for (Operation &Op : Body)
    if (failed(verifyMember(*this, Op)))
      return failure();
  if (failed(verifyShapes(*this)))
    return failure();
  auto Yield = cast<YieldOp>(Body.getTerminator());
  if (Yield.getOperandTypes() != getResultTypes())
    return Yield.emitOpError("the yielded values must have the types of the "
                             "kernel's results");
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels that every device runs
//===----------------------------------------------------------------------===//

Operation *KernelOp::getSum(unsigned Result) {
  Value Yielded = getBody().front().getTerminator()->getOperand(Result);
  Operation *Maker = Yielded.getDefiningOp();
  return isColumnSum(Maker) ? Maker : nullptr;
}

bool KernelOp::rolls(unsigned Operand) {
  return llvm::any_of(getBody().getArgument(Operand).getUsers(),
                      [](Operation *Reader) { return isa<RollOp>(Reader); });
}

std::optional<ArrayRef<int64_t>> KernelOp::getPointwiseShape() {
  std::optional<ArrayRef<int64_t>> Shape;
  auto HasShape = [&](Value Value) {
    return getTensorType(Value).getShape() == Shape;
  };
  for (OpResult Result : getResults()) {
    if (getSum(Result.getResultNumber()))
      continue;
    if (!Shape)
      Shape = getTensorType(Result).getShape();
    if (!HasShape(Result))
      return std::nullopt;
  }
  for (Operation &Op : getBody().front().without_terminator()) {
    bool Fits = isColumnSum(&Op)
                    ? HasShape(Op.getOperand(0))
                    : !Op.hasTrait<Rowwise>() && HasShape(Op.getResult(0));
    if (!isa<ConstantOp>(Op) && !Fits)
      return std::nullopt;
  }
  return Shape;
}

/// The operations of a kernel take its place where no device needs to run it
/// as one. They inherit what it says of its phase, and those that it yields
/// what the user wants kept.
LogicalResult KernelOp::canonicalize(KernelOp Op, PatternRewriter &Rewriter) {
  if (Op.getPointwiseShape())
    return failure();
  Block &Body = Op.getBody().front();
  Operation *Yield = Body.getTerminator();
  auto Inherit = [&](Operation *Inner, StringRef Name) {
    Attribute Attr = Op->getAttr(Name);
    if (Inner && Attr && !Inner->hasAttr(Name))
      Inner->setAttr(Name, Attr);
  };
  for (Operation &Inner : Body.without_terminator())
    Inherit(&Inner, PhaseAttrName);
  for (Value Yielded : Yield->getOperands())
    Inherit(Yielded.getDefiningOp(), KeepAttrName);
  Rewriter.inlineBlockBefore(&Body, Op, Op.getInputs());
  SmallVector<Value> Results(Yield->getOperands());
  Rewriter.eraseOp(Yield);
  Rewriter.replaceOp(Op, Results);
  return success();
}

//===----------------------------------------------------------------------===//
// Interfaces
//===----------------------------------------------------------------------===//

double KernelOp::getFlops() {
  double Flops = 0.0;
  for (Operation &Op : getBody().front())
    if (auto Cost = dyn_cast<CostOpInterface>(Op))
      Flops += Cost.getFlops();
  return Flops;
}

SmallVector<unsigned> KernelOp::getReusableOperands(unsigned Result) {
  // Each element of an operand of the kernel's full shape is read by the thread
  // that writes the same element of a result. That holds neither for smaller
  // operands, which several threads read, nor for those that are rolled, nor
  // beside a row operation, which may read a row again after part of it is
  // written.
  int64_t Full = 0;
  for (Operation &Op : getBody().front()) {
    if (Op.hasTrait<Rowwise>() && !isColumnSum(&Op))
      return {};
    for (Value Value : Op.getResults())
      Full = std::max(Full, getTensorType(Value).getNumElements());
  }
  if (getTensorType(getResult(Result)).getNumElements() != Full)
    return {};
  SmallVector<unsigned> Reusable =
      remat::detail::sameShapeOperands(*this, Result);
  llvm::erase_if(Reusable, [&](unsigned Operand) { return rolls(Operand); });
  return Reusable;
}
