//===- VerifyMemory.cpp - is assigned memory right? -----------------------===//
//
// Runs the offsets: a map from bytes to the value that was last written there.
// An operation must find each operand's bytes as that value left them.
//
//===----------------------------------------------------------------------===//

#include "remat/Analysis/Liveness.h"
#include "remat/Analysis/ScanBody.h"
#include "remat/IR/RematOps.h"
#include "remat/Transforms/Memory.h"
#include "remat/Transforms/Passes.h"
#include "llvm/Support/MathExtras.h"
#include <map>

using namespace mlir;
using namespace remat;

namespace remat {
#define GEN_PASS_DEF_VERIFYMEMORY
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

namespace {

/// Bytes [Begin, End) of the arena.
struct Range {
  int64_t Begin = 0, End = 0;

  bool overlaps(const Range &Other) const {
    return Begin < Other.End && Other.Begin < End;
  }
  bool operator==(const Range &) const = default;
};

/// Who wrote which bytes last. Ranges never overlap.
class Contents {
public:
  void write(Range R, Value Owner) {
    auto It = Map.upper_bound(R.Begin);
    if (It != Map.begin())
      --It;
    while (It != Map.end() && It->first < R.End) {
      auto [Begin, Entry] = *It;
      if (Entry.End <= R.Begin) {
        ++It;
        continue;
      }
      It = Map.erase(It); // a value that is partly gone is gone
    }
    if (Owner)
      Map[R.Begin] = {R.End, Owner};
  }

  /// Whether `R` lies `Offset` bytes behind the begin of `Owner`, unharmed.
  bool holds(Range R, Value Owner, int64_t Offset) const {
    auto It = Map.find(R.Begin - Offset);
    return It != Map.end() && It->second.Owner == Owner &&
           It->second.End >= R.End;
  }

private:
  struct Entry {
    int64_t End;
    Value Owner;
  };
  std::map<int64_t, Entry> Map;
};

class Verifier {
public:
  explicit Verifier(func::FuncOp Func) : Func(Func) {}
  LogicalResult run();

private:
  LogicalResult locate(Value V, int64_t Offset);
  LogicalResult locateAll();
  LogicalResult checkRead(Operation *Reader, Value V);
  LogicalResult checkWrites(Operation *Op);
  LogicalResult checkWorkspace(Operation *Op);
  LogicalResult checkEnd();
  static LogicalResult checkBody(ScanOp Scan);

  func::FuncOp Func;
  DenseMap<Value, Range> Ranges;
  Storages Places;
  Contents Arena;
  int64_t ArenaBytes = 0, HighestEnd = 0;
};

} // namespace

LogicalResult Verifier::locate(Value V, int64_t Offset) {
  std::optional<int64_t> Bytes = getByteSize(V.getType());
  Range R{Offset, 0};
  if (!Bytes || Offset < 0 || llvm::AddOverflow(Offset, *Bytes, R.End) ||
      R.End > ArenaBytes)
    return emitError(V.getLoc())
           << "value at offset " << Offset << " does not lie in the arena of "
           << ArenaBytes << " bytes";
  if (Offset % BufferAlignment)
    return emitError(V.getLoc()) << "offset " << Offset
                                 << " is not a multiple of " << BufferAlignment;
  HighestEnd = std::max(HighestEnd, *alignBytes(*Bytes) + Offset);
  Ranges[V] = R;
  return success();
}

LogicalResult Verifier::locateAll() {
  for (BlockArgument Argument : Func.getArguments()) {
    auto Offset = Func.getArgAttrOfType<IntegerAttr>(Argument.getArgNumber(),
                                                     OffsetAttrName);
    if (!Offset)
      return emitError(Func.getLoc(), "argument #")
             << Argument.getArgNumber() << " has no " << OffsetAttrName;
    if (failed(locate(Argument, Offset.getInt())))
      return failure();
  }
  for (Operation &Op : Func.getBody().front().without_terminator()) {
    auto Offsets = Op.getAttrOfType<DenseI64ArrayAttr>(OffsetsAttrName);
    if (!Offsets || Offsets.size() != Op.getNumResults())
      return Op.emitOpError("has not one offset a result in ")
             << OffsetsAttrName;
    for (auto [Result, Offset] :
         llvm::zip_equal(Op.getResults(), Offsets.asArrayRef()))
      if (failed(locate(Result, Offset)))
        return failure();
  }
  return success();
}

LogicalResult Verifier::checkRead(Operation *Reader, Value V) {
  Storage S = Places.get(V);
  if (Arena.holds(Ranges.at(V), S.Root, S.Offset))
    return success();
  InFlightDiagnostic Diag = Reader->emitOpError(
      "reads bytes that no longer hold the value they should");
  Diag.attachNote(V.getLoc()) << "the value at offset " << Ranges.at(V).Begin;
  return Diag;
}

LogicalResult Verifier::checkWorkspace(Operation *Op) {
  auto Workspace = Op->getAttrOfType<DenseI64ArrayAttr>(WorkspaceAttrName);
  if (!Workspace)
    return success();
  Range R;
  if (Workspace.size() != 2 || Workspace[0] < 0 || Workspace[1] < 0 ||
      llvm::AddOverflow(Workspace[0], Workspace[1], R.End) ||
      R.End > ArenaBytes || Workspace[0] % BufferAlignment)
    return Op->emitOpError("has a workspace that does not lie in the arena");
  R.Begin = Workspace[0];
  HighestEnd = std::max(HighestEnd, R.End);
  auto Clashes = [&](Value V) { return R.overlaps(Ranges.at(V)); };
  if (llvm::any_of(Op->getOperands(), Clashes) ||
      llvm::any_of(Op->getResults(), Clashes))
    return Op->emitOpError("has a workspace over its operands or results");
  Arena.write(R, Value());
  return success();
}

/// A result may lie over an operand only as a whole, and only over one that the
/// operation says it may overwrite; two results never overlap.
LogicalResult Verifier::checkWrites(Operation *Op) {
  for (OpResult Result : Op->getResults()) {
    Range R = Ranges.at(Result);
    for (Value Operand : Op->getOperands()) {
      if (!R.overlaps(Ranges.at(Operand)))
        continue;
      if (R == Ranges.at(Operand) &&
          mayOverwrite(Result, Places.get(Operand).Root, Places))
        continue;
      return Op->emitOpError("result #")
             << Result.getResultNumber() << " overwrites an operand";
    }
    for (OpResult Other :
         Op->getResults().drop_front(Result.getResultNumber() + 1))
      if (R.overlaps(Ranges.at(Other)))
        return Op->emitOpError("results #")
               << Result.getResultNumber() << " and #"
               << Other.getResultNumber() << " overlap";
  }
  for (OpResult Result : Op->getResults())
    Arena.write(Ranges.at(Result), Result);
  return success();
}

/// The next step begins with what this one leaves: arguments keep their bytes
/// or hold the result that took them over, constants keep theirs.
LogicalResult Verifier::checkEnd() {
  Operation *Return = Func.getBody().front().getTerminator();
  for (Value V : Return->getOperands())
    if (failed(checkRead(Return, V)))
      return failure();
  for (BlockArgument Argument : Func.getArguments()) {
    Value Expected = Argument;
    if (std::optional<unsigned> Donated = getDonatedResult(Argument))
      Expected = Return->getOperand(*Donated);
    if (Ranges.at(Expected) != Ranges.at(Argument))
      return emitError(Func.getLoc(), "result of donated argument #")
             << Argument.getArgNumber() << " lies elsewhere";
    if (failed(checkRead(Return, Expected)))
      return failure();
  }
  for (Operation &Op : Func.getBody().front().without_terminator())
    if (isResidentConstant(&Op) && failed(checkRead(Return, Op.getResult(0))))
      return failure();
  if (HighestEnd != ArenaBytes)
    return emitError(Func.getLoc(), "arena has ")
           << ArenaBytes << " bytes but the last value ends at " << HighestEnd;
  return success();
}

/// A step of the body begins with what the one before it left, as does a step
/// of the program.
LogicalResult Verifier::checkBody(ScanOp Scan) {
  FailureOr<OwningOpRef<func::FuncOp>> Body = outlineBody(Scan);
  return failed(Body) ? failure() : Verifier(**Body).run();
}

LogicalResult Verifier::run() {
  auto Size = Func->getAttrOfType<IntegerAttr>(ArenaAttrName);
  if (!Size)
    return emitError(Func.getLoc(), "has no ") << ArenaAttrName;
  ArenaBytes = Size.getInt();
  if (failed(locateAll()))
    return failure();

  Block &Body = Func.getBody().front();
  for (BlockArgument Argument : Body.getArguments())
    Arena.write(Ranges.at(Argument), Argument);
  for (Operation &Op : Body)
    if (isResidentConstant(&Op))
      Arena.write(Ranges.at(Op.getResult(0)), Op.getResult(0));
  for (Operation &Op : Body.without_terminator()) {
    if (isResidentConstant(&Op))
      continue;
    if (auto Scan = dyn_cast<ScanOp>(Op); Scan && failed(checkBody(Scan)))
      return failure();
    if (isView(&Op)) {
      int64_t Begin = Ranges.at(Op.getOperand(0)).Begin +
                      *cast<ViewOpInterface>(&Op).getViewOffset();
      if (Ranges.at(Op.getResult(0)).Begin != Begin)
        return Op.emitOpError("is a view that lies not in its operand");
      continue;
    }
    for (Value Operand : Op.getOperands())
      if (failed(checkRead(&Op, Operand)))
        return failure();
    if (failed(checkWorkspace(&Op)) || failed(checkWrites(&Op)))
      return failure();
  }
  return checkEnd();
}

LogicalResult remat::verifyMemory(func::FuncOp Func) {
  return Verifier(Func).run();
}

namespace {

struct VerifyMemoryPass : remat::impl::VerifyMemoryBase<VerifyMemoryPass> {
  void runOnGraph() override {
    if (failed(verifyMemory(getOperation())))
      signalPassFailure();
  }
};

} // namespace
