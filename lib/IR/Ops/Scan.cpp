//===- Scan.cpp - loops in the program --------------------------*- C++ -*-===//

#include "OpUtils.h"
#include "remat/IR/RematOps.h"

using namespace mlir;
using namespace remat;

Block::BlockArgListType ScanOp::getCarryArguments() {
  return getBlock().getArguments().take_front(getNumCarries());
}

Block::BlockArgListType ScanOp::getSliceArguments() {
  return getBlock().getArguments().slice(getNumCarries(), getSlices().size());
}

Block::BlockArgListType ScanOp::getReadArguments() {
  return getBlock().getArguments().take_back(getReads().size());
}

Operation::operand_range ScanOp::getYielded() {
  return getBlock().getTerminator()->getOperands();
}

RankedTensorType ScanOp::getStackType(Type Element) {
  auto Type = cast<RankedTensorType>(Element);
  SmallVector<int64_t> Shape = {static_cast<int64_t>(getSteps())};
  llvm::append_range(Shape, Type.getShape());
  return Type.clone(Shape);
}

//===----------------------------------------------------------------------===//
// Assembly
//
//   remat.scan N reverse? (%h = %init : type, ...) over (%x = %xs : type, ...)
//     with (%w = %read : type, ...) -> (types) attributes {...} { body }
//===----------------------------------------------------------------------===//

namespace {

/// What stands between one pair of parentheses.
struct BoundOperands {
  SmallVector<OpAsmParser::UnresolvedOperand> Operands;
  SmallVector<Type> Types;
};

} // namespace

/// The type of a slice, or null if `Of` has none: then the verifier refuses it.
static Type getSliceType(Type Of) {
  auto Tensor = dyn_cast<RankedTensorType>(Of);
  if (!Tensor || Tensor.getRank() == 0)
    return Of;
  return Tensor.clone(Tensor.getShape().drop_front());
}

static ParseResult parseBound(OpAsmParser &Parser, bool Sliced,
                              SmallVector<OpAsmParser::Argument> &Arguments,
                              BoundOperands &Into) {
  auto ParseOne = [&]() -> ParseResult {
    Type Of;
    if (Parser.parseArgument(Arguments.emplace_back()) || Parser.parseEqual() ||
        Parser.parseOperand(Into.Operands.emplace_back()) ||
        Parser.parseColonType(Of))
      return failure();
    Arguments.back().type = Sliced ? getSliceType(Of) : Of;
    Into.Types.push_back(Of);
    return success();
  };
  return Parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                        ParseOne);
}

ParseResult ScanOp::parse(OpAsmParser &Parser, OperationState &Result) {
  Builder &B = Parser.getBuilder();
  int64_t Steps = 0;
  if (Parser.parseInteger(Steps))
    return failure();
  Properties &P = Result.getOrAddProperties<Properties>();
  P.steps = B.getI64IntegerAttr(Steps);
  if (succeeded(Parser.parseOptionalKeyword("reverse")))
    P.reverse = B.getUnitAttr();

  SmallVector<OpAsmParser::Argument> Arguments;
  std::array<BoundOperands, 3> Bound;
  SMLoc Loc = Parser.getCurrentLocation();
  if (parseBound(Parser, /*Sliced=*/false, Arguments, Bound[0]) ||
      Parser.parseKeyword("over") ||
      parseBound(Parser, /*Sliced=*/true, Arguments, Bound[1]) ||
      Parser.parseKeyword("with") ||
      parseBound(Parser, /*Sliced=*/false, Arguments, Bound[2]))
    return failure();
  for (auto [Index, Group] : llvm::enumerate(Bound)) {
    P.operandSegmentSizes[Index] = static_cast<int32_t>(Group.Operands.size());
    if (Parser.resolveOperands(Group.Operands, Group.Types, Loc,
                               Result.operands))
      return failure();
  }
  if (Parser.parseOptionalArrowTypeList(Result.types) ||
      Parser.parseOptionalAttrDictWithKeyword(Result.attributes) ||
      Parser.parseRegion(*Result.addRegion(), Arguments))
    return failure();
  ensureTerminator(*Result.regions.front(), B, Result.location);
  return success();
}

static void printBound(OpAsmPrinter &Printer, Block::BlockArgListType Arguments,
                       OperandRange Operands) {
  Printer << '(';
  llvm::interleaveComma(
      llvm::zip_equal(Arguments, Operands), Printer, [&](auto It) {
        auto [Argument, Operand] = It;
        Printer << Argument << " = " << Operand << " : " << Operand.getType();
      });
  Printer << ')';
}

void ScanOp::print(OpAsmPrinter &Printer) {
  Printer << ' ' << getSteps() << (getReverse() ? " reverse " : " ");
  printBound(Printer, getCarryArguments(), getInits());
  Printer << " over ";
  printBound(Printer, getSliceArguments(), getSlices());
  Printer << " with ";
  printBound(Printer, getReadArguments(), getReads());
  Printer.printOptionalArrowTypeList(getResultTypes());
  Printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {"steps", "reverse", "operandSegmentSizes"});
  Printer << ' ';
  Printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/true);
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

/// Scans in scans, this one included. What walks over bodies, in the compiler
/// and in the runtime, recurses as deep.
static constexpr unsigned MaxDepth = 4;

static LogicalResult verifyArguments(ScanOp Scan) {
  Block &Body = Scan.getBlock();
  if (Body.getNumArguments() != Scan->getNumOperands())
    return Scan.emitOpError("has ")
           << Scan->getNumOperands() << " operands, and its body "
           << Body.getNumArguments() << " arguments";
  auto Steps = static_cast<int64_t>(Scan.getSteps());
  for (auto [Index, Value] : llvm::enumerate(Scan.getSlices())) {
    RankedTensorType Type = getTensorType(Value);
    if (Type.getRank() == 0 || Type.getDimSize(0) != Steps) {
      InFlightDiagnostic Diag = Scan.emitOpError("slices operand #")
                                << Scan.getNumCarries() + Index << " of type "
                                << Type << " in " << Steps << " steps";
      Diag.attachNote() << "its first dimension must be " << Steps;
      return Diag;
    }
  }
  for (auto [Argument, Operand] :
       llvm::zip_equal(Body.getArguments(), Scan->getOperands())) {
    unsigned Slice = Argument.getArgNumber() - Scan.getNumCarries();
    Type Expected = Slice < Scan.getSlices().size()
                        ? getSliceType(Operand.getType())
                        : Operand.getType();
    if (Argument.getType() != Expected)
      return Scan.emitOpError("the body's argument #")
             << Argument.getArgNumber() << " is of type " << Argument.getType()
             << ", what it is bound to of type " << Expected;
  }
  return success();
}

static LogicalResult verifyResults(ScanOp Scan) {
  Operation *Yield = Scan.getBlock().getTerminator();
  if (Scan.getNumResults() == 0)
    return Scan.emitOpError("has no results");
  if (Yield->getNumOperands() != Scan.getNumResults() ||
      Scan.getNumResults() < Scan.getNumCarries())
    return Yield->emitOpError("yields ")
           << Yield->getNumOperands() << " values; the scan has "
           << Scan.getNumCarries() << " carries and " << Scan.getNumResults()
           << " results";
  for (auto [Index, Yielded] : llvm::enumerate(Scan.getYielded())) {
    bool IsCarry = Index < Scan.getNumCarries();
    if (IsCarry && Yielded.getType() != Scan.getInits()[Index].getType()) {
      InFlightDiagnostic Diag = Yield->emitOpError("yields carry #")
                                << Index << " of type " << Yielded.getType()
                                << ", which begins as "
                                << Scan.getInits()[Index].getType();
      Diag.attachNote() << "a carry has one type in all steps";
      return Diag;
    }
    Type Expected = IsCarry ? Yielded.getType()
                            : Type(Scan.getStackType(Yielded.getType()));
    if (Scan.getResult(Index).getType() != Expected)
      return Scan.emitOpError("result #")
             << Index << " is of type " << Scan.getResult(Index).getType()
             << ", what is yielded for it makes " << Expected;
  }
  return success();
}

static LogicalResult verifyBodyOps(ScanOp Scan) {
  for (Operation &Op : Scan.getBlock()) {
    if (!isa_and_present<RematDialect>(Op.getDialect()))
      return Op.emitError()
             << "'" << Op.getName() << "' is no operation of the remat dialect";
    if (Op.hasTrait<RunsOnce>()) {
      InFlightDiagnostic Diag = Op.emitOpError("cannot be part of a scan");
      Diag.attachNote(Scan.getLoc())
          << "the scan is here; a parameter is updated once a step";
      return Diag;
    }
  }
  unsigned Depth = 1;
  for (auto Outer = Scan->getParentOfType<ScanOp>(); Outer;
       Outer = Outer->getParentOfType<ScanOp>())
    ++Depth;
  if (Depth > MaxDepth)
    return Scan.emitOpError("lies in ")
           << Depth - 1 << " other scans; it may lie in " << MaxDepth - 1;
  return success();
}

LogicalResult ScanOp::verifyRegions() {
  if (failed(verifyArguments(*this)) || failed(verifyResults(*this)))
    return failure();
  return verifyBodyOps(*this);
}

//===----------------------------------------------------------------------===//
// Interfaces
//===----------------------------------------------------------------------===//

double ScanOp::getFlops() {
  double Flops = 0.0;
  for (Operation &Op : getBlock())
    if (auto Cost = dyn_cast<CostOpInterface>(Op))
      Flops += Cost.getFlops();
  return Flops * static_cast<double>(getSteps());
}

double ScanOp::getBytes() {
  double Bytes = 0.0;
  for (Operation &Op : getBlock().without_terminator()) {
    auto Cost = dyn_cast<CostOpInterface>(Op);
    bool IsFree = isa<ViewOpInterface, ConstantOp>(Op);
    if (!IsFree)
      Bytes += Cost ? Cost.getBytes() : remat::detail::countBytes(&Op);
  }
  return Bytes * static_cast<double>(getSteps());
}

/// A carry lies in its result's bytes from the first step on.
SmallVector<unsigned> ScanOp::getReusableOperands(unsigned Result) {
  if (Result >= getNumCarries())
    return {};
  return {Result};
}
