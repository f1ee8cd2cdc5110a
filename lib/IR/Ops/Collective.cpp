//===- Collective.cpp - values of several ranks -----------------*- C++ -*-===//

#include "OpUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "remat/IR/RematOps.h"
#include "remat/Support/Parallel.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/InterleavedRange.h"
#include <set>

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// #remat.mesh, #remat.cut, #remat.part
//===----------------------------------------------------------------------===//

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> EmitError,
                               ArrayRef<StringAttr> Names,
                               ArrayRef<int64_t> Sizes) {
  int64_t Ranks = 1;
  llvm::DenseSet<StringAttr> Seen;
  for (auto [Name, Size] : llvm::zip_equal(Names, Sizes)) {
    if (Name.empty() || !Seen.insert(Name).second)
      return EmitError() << "axis '" << Name.getValue()
                         << "' needs a name that no other axis has";
    if (Size < 1 || Size > MaxRanks || (Ranks *= Size) > MaxRanks)
      return EmitError() << "axis '" << Name.getValue() << "' has " << Size
                         << " ranks; all ranks together are from 1 to "
                         << MaxRanks;
  }
  return success();
}

int64_t MeshAttr::getNumRanks() const {
  int64_t Ranks = 1;
  for (int64_t Size : getSizes())
    Ranks *= Size;
  return Ranks;
}

int64_t MeshAttr::getSize(StringRef Axis) const {
  for (auto [Name, Size] : llvm::zip_equal(getNames(), getSizes()))
    if (Name.getValue() == Axis)
      return Size;
  return 0;
}

SmallVector<int64_t> MeshAttr::getGroup(ArrayAttr Axes) const {
  SmallVector<int64_t> Group;
  int64_t Distance = getNumRanks();
  for (auto [Name, Size] : llvm::zip_equal(getNames(), getSizes())) {
    Distance /= Size;
    if (Group.size() < 2 * Axes.size() && Axes[Group.size() / 2] == Name)
      Group.append({Distance, Size});
  }
  return Group;
}

int64_t MeshAttr::getGroupSize(ArrayAttr Axes) const {
  SmallVector<int64_t> Group = getGroup(Axes);
  if (Axes.empty() || Group.size() != 2 * Axes.size())
    return 0;
  int64_t Ranks = 1;
  for (size_t I = 1; I < Group.size(); I += 2)
    Ranks *= Group[I];
  return Ranks;
}

MeshAttr remat::getMesh(Operation *Op) {
  auto Func = dyn_cast<func::FuncOp>(Op);
  if (!Func)
    Func = Op->getParentOfType<func::FuncOp>();
  return Func ? Func->getAttrOfType<MeshAttr>(MeshAttrName) : MeshAttr();
}

LogicalResult CutAttr::verify(function_ref<InFlightDiagnostic()> EmitError,
                              ArrayAttr Axes, int64_t Dim, int64_t Blocks) {
  if (Axes.empty() || !llvm::all_of(Axes, llvm::IsaPred<StringAttr>))
    return EmitError() << "expected names of axes, got " << Axes;
  if (Dim < -1)
    return EmitError() << "dim is " << Dim << "; it must not be negative";
  if (Blocks < 1 || (Dim < 0 && Blocks > 1))
    return EmitError() << "there are " << Blocks
                       << " blocks; a dimension has one or more";
  return success();
}

LogicalResult PartAttr::verify(function_ref<InFlightDiagnostic()> EmitError,
                               ArrayRef<int64_t> Whole, ArrayAttr Cuts) {
  if (Cuts.empty() || !llvm::all_of(Cuts, llvm::IsaPred<CutAttr>))
    return EmitError() << "expected an array of #remat.cut, got " << Cuts;
  if (llvm::any_of(Whole, [](int64_t Size) { return Size < 1; }))
    return EmitError() << "a tensor has no shape [" << llvm::interleaved(Whole)
                       << "]";
  return success();
}

std::optional<SmallVector<int64_t>>
remat::getPartShape(MeshAttr Mesh, CutAttr Cut, ArrayRef<int64_t> Whole) {
  int64_t Ranks = Mesh ? Mesh.getGroupSize(Cut.getAxes()) : 0;
  std::optional<int64_t> Elements = getNumElements(Whole);
  if (Ranks == 0 || !Elements)
    return std::nullopt;
  int64_t Dim = Cut.getDim();
  if (Dim < 0)
    return SmallVector<int64_t>{(*Elements - 1) / Ranks + 1};
  if (Dim >= static_cast<int64_t>(Whole.size()) ||
      Whole[Dim] / Cut.getBlocks() % Ranks != 0 ||
      Whole[Dim] % Cut.getBlocks() != 0)
    return std::nullopt;
  SmallVector<int64_t> Part(Whole);
  Part[Dim] /= Ranks;
  return Part;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// How many ranks the group of `Op` has.
static FailureOr<int64_t> countRanks(CollectiveOpInterface Op) {
  MeshAttr Mesh = getMesh(Op);
  int64_t Ranks = Mesh ? Mesh.getGroupSize(Op.getAxes()) : 0;
  if (Ranks > 0)
    return Ranks;
  InFlightDiagnostic Diag = Op->emitOpError()
                            << "is over axes " << Op.getAxes();
  if (Mesh)
    Diag << ", which " << Mesh << " does not have in this order";
  else
    Diag << ", but its function has no '" << MeshAttrName << "'";
  return Diag;
}

static LogicalResult verifyKind(Operation *Op, Reduction Kind) {
  if (Kind != Reduction::mean)
    return success();
  InFlightDiagnostic Diag = Op->emitOpError("has no mean");
  Diag.attachNote() << "multiply the sum by one over the number of ranks";
  return Diag;
}

/// `Part` must be one of the equal parts of `Whole` along `Dim`.
static LogicalResult verifyPart(CollectiveOpInterface Op, Type PartType,
                                Type WholeType, int64_t Dim) {
  FailureOr<int64_t> Ranks = countRanks(Op);
  if (failed(Ranks))
    return failure();
  auto Whole = cast<RankedTensorType>(WholeType);
  if (Dim >= Whole.getRank())
    return Op->emitOpError() << "cuts dimension " << Dim << ", but " << Whole
                             << " has " << Whole.getRank() << " dimensions";
  SmallVector<int64_t> Shape(Whole.getShape());
  if (Shape[Dim] % *Ranks != 0)
    return Op->emitOpError() << "cuts " << Whole << " along dimension " << Dim
                             << " into " << *Ranks << " equal parts";
  Shape[Dim] /= *Ranks;
  if (PartType == Whole.clone(Shape))
    return success();
  return Op->emitOpError() << "has " << PartType << " for one of " << *Ranks
                           << " parts of " << Whole << " along dimension "
                           << Dim << ", which is " << Whole.clone(Shape);
}

/// Each operand has a result; `Verify` sees their types.
static LogicalResult
verifyPairs(Operation *Op,
            function_ref<LogicalResult(Type Operand, Type Result)> Each) {
  if (Op->getNumOperands() == 0 || Op->getNumOperands() != Op->getNumResults())
    return Op->emitOpError() << "has " << Op->getNumOperands()
                             << " operands and " << Op->getNumResults()
                             << " results; it must have a result for each of "
                                "one or more operands";
  for (auto [Operand, Result] :
       llvm::zip_equal(Op->getOperandTypes(), Op->getResultTypes()))
    if (failed(Each(Operand, Result)))
      return failure();
  return success();
}

LogicalResult AllReduceOp::verify() {
  if (failed(verifyKind(*this, getKind())) || failed(countRanks(*this)))
    return failure();
  return verifyPairs(*this, [&](Type Operand, Type Result) -> LogicalResult {
    if (Operand == Result)
      return success();
    return emitOpError() << "has an operand " << Operand << " and its result "
                         << Result << "; they must be of one type";
  });
}

LogicalResult ReduceScatterOp::verify() {
  if (failed(verifyKind(*this, getKind())))
    return failure();
  return verifyPairs(*this, [&](Type Operand, Type Result) {
    return verifyPart(*this, Result, Operand, getDim());
  });
}

LogicalResult AllGatherOp::verify() {
  return verifyPairs(*this, [&](Type Operand, Type Result) {
    return verifyPart(*this, Operand, Result, getDim());
  });
}

LogicalResult AllToAllOp::verify() {
  FailureOr<int64_t> Ranks = countRanks(*this);
  if (failed(Ranks))
    return failure();
  RankedTensorType Type = getTensorType(getOperand());
  SmallVector<int64_t> Piece(Type.getShape());
  int64_t Dim = getSplitDim();
  if (Dim >= Type.getRank() || Piece[Dim] % *Ranks != 0)
    return emitOpError() << "splits " << Type << " along dimension " << Dim
                         << " into " << *Ranks << " equal parts";
  Piece[Dim] /= *Ranks;
  return verifyPart(*this, Type.clone(Piece), getResult().getType(),
                    getConcatDim());
}

LogicalResult CollectiveBroadcastOp::verify() {
  FailureOr<int64_t> Ranks = countRanks(*this);
  if (failed(Ranks))
    return failure();
  if (static_cast<int64_t>(getRoot()) < *Ranks)
    return success();
  return emitOpError() << "has the root " << getRoot() << " of " << *Ranks
                       << " ranks";
}

LogicalResult CollectivePermuteOp::verify() {
  FailureOr<int64_t> Ranks = countRanks(*this);
  if (failed(Ranks))
    return failure();
  ArrayRef<int64_t> Pairs = getPairs();
  if (Pairs.size() % 2 != 0)
    return emitOpError() << "has " << Pairs.size()
                         << " numbers for pairs of source and target";
  std::set<std::pair<int64_t, bool>> Seen;
  for (auto [Place, Rank] : llvm::enumerate(Pairs)) {
    if (Rank < 0 || Rank >= *Ranks)
      return emitOpError() << "has a pair with rank " << Rank << " of "
                           << *Ranks;
    if (!Seen.insert({Rank, Place % 2 == 0}).second)
      return emitOpError() << "has rank " << Rank << " "
                           << (Place % 2 == 0 ? "send" : "receive") << " twice";
  }
  return success();
}

LogicalResult RankPartOp::verify() {
  return verifyPart(*this, getResult().getType(), getOperand().getType(),
                    getDim());
}

LogicalResult RankIndexOp::verify() { return countRanks(*this); }

//===----------------------------------------------------------------------===//
// What travels
//===----------------------------------------------------------------------===//

static double sumBytes(TypeRange Types) {
  double Bytes = 0;
  for (Type Each : Types)
    Bytes += static_cast<double>(getByteSize(Each).value_or(0));
  return Bytes;
}

/// The part of a whole that other ranks have.
static double getOthers(int64_t Ranks) {
  return double(Ranks - 1) / double(Ranks);
}

Traffic AllReduceOp::getTraffic(int64_t Ranks) {
  return {2 * getOthers(Ranks) * sumBytes(getOperandTypes()), 2};
}
Traffic ReduceScatterOp::getTraffic(int64_t Ranks) {
  return {getOthers(Ranks) * sumBytes(getOperandTypes()), 1};
}
Traffic AllGatherOp::getTraffic(int64_t Ranks) {
  return {getOthers(Ranks) * sumBytes(getResultTypes()), 1};
}
Traffic AllToAllOp::getTraffic(int64_t Ranks) {
  return {getOthers(Ranks) * sumBytes(getOperand().getType()), 1};
}
Traffic CollectiveBroadcastOp::getTraffic(int64_t) {
  return {sumBytes(getOperand().getType()), 1};
}
Traffic CollectivePermuteOp::getTraffic(int64_t) {
  return {sumBytes(getOperand().getType()), 1};
}
Traffic RankPartOp::getTraffic(int64_t) { return {}; }
Traffic RankIndexOp::getTraffic(int64_t) { return {}; }

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

SmallVector<unsigned> AllReduceOp::getReusableOperands(unsigned Result) {
  return {Result};
}
SmallVector<unsigned> CollectiveBroadcastOp::getReusableOperands(unsigned) {
  return {0};
}
