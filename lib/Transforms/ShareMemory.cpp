//===- ShareMemory.cpp - two functions over one arena ---------------------===//
//
// Between two steps the arena holds what survives a step. A function that runs
// there gets all of it as arguments: so liveness, planning, packing and every
// check know these bytes without knowing of another function. Averages of
// parameters are states of the optimizer, and a function that evaluates them
// reads these arguments.
//
//===----------------------------------------------------------------------===//

#include "Parts.h"
#include "remat/Analysis/Uses.h"
#include "remat/IR/RematOps.h"
#include "remat/Transforms/GraphSignature.h"
#include "remat/Transforms/Memory.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace remat;

namespace {

/// A run of bytes that survives a step.
struct Survivor {
  std::string Name;
  RankedTensorType Type;
  Role Of = Role::state;
  IntegerAttr Offset;
};

class Sharing {
public:
  Sharing(func::FuncOp Planned, func::FuncOp Function)
      : Planned(Planned), Function(Function), B(Function.getContext()) {}
  LogicalResult run();

private:
  LogicalResult collect();
  LogicalResult place(unsigned Index);
  LogicalResult verifyShared(unsigned Index, const Survivor &Shared);

  func::FuncOp Planned, Function;
  Builder B;
  SmallVector<Survivor> Survivors;
  llvm::StringMap<unsigned> ByName;
  BitVector Named; ///< survivors that the function has as arguments
  SmallVector<std::pair<unsigned, IntegerAttr>> Offsets;
};

} // namespace

LogicalResult Sharing::collect() {
  for (unsigned I = 0; I < Planned.getNumArguments(); ++I) {
    auto Offset = Planned.getArgAttrOfType<IntegerAttr>(I, OffsetAttrName);
    if (!Offset)
      return Planned.emitError("has no assigned memory to be shared");
    std::optional<Role> Of = getArgRole(Planned, I);
    if (!Of || *Of == Role::input)
      continue;
    std::string Name = getArgName(Planned, I);
    ByName[Name] = Survivors.size();
    Survivors.push_back(
        {Name, cast<RankedTensorType>(Planned.getArgument(I).getType()), *Of,
         Offset});
  }
  for (Operation &Op : Planned.getBody().front()) {
    if (!isResidentConstant(&Op))
      continue;
    auto Placed = Op.getAttrOfType<DenseI64ArrayAttr>(OffsetsAttrName);
    if (!Placed || Placed.size() != 1)
      return Op.emitOpError("has no assigned memory to be shared");
    Survivors.push_back({("constant@" + Planned.getName()).str(),
                         cast<RankedTensorType>(Op.getResult(0).getType()),
                         Role::state, B.getI64IntegerAttr(Placed[0])});
  }
  Named.resize(Survivors.size());
  return success();
}

/// A shared argument is what it is in the other function, and is not written.
LogicalResult Sharing::verifyShared(unsigned Index, const Survivor &Shared) {
  Type Here = Function.getArgument(Index).getType();
  std::optional<Role> Of = getArgRole(Function, Index);
  if (Here != Shared.Type || Of != Shared.Of) {
    InFlightDiagnostic Diag =
        emitError(Function.getArgument(Index).getLoc(), "argument '")
        << Shared.Name << "' of @" << Function.getName() << " has the role "
        << stringifyEnum(*Of) << " and the type " << Here << ", in @"
        << Planned.getName() << " the role " << stringifyEnum(Shared.Of)
        << " and the type " << Shared.Type;
    Diag.attachNote() << "what functions share by name has one role and type";
    return Diag;
  }
  if (!Function.getArgAttr(Index, DonatedAttrName))
    return success();
  InFlightDiagnostic Diag = emitError(Function.getArgument(Index).getLoc(), "@")
                            << Function.getName() << " writes '" << Shared.Name
                            << "', which @" << Planned.getName()
                            << " keeps from step to step";
  Diag.attachNote() << "only @" << Planned.getName()
                    << " may write it; leave out the result that takes its "
                       "place";
  return Diag;
}

/// Puts an argument that is shared where the other function has it.
LogicalResult Sharing::place(unsigned Index) {
  std::optional<Role> Of = getArgRole(Function, Index);
  std::string Name = getArgName(Function, Index);
  auto It = ByName.find(Name);
  if (!Of || (*Of == Role::input && It == ByName.end()))
    return success();
  if (It == ByName.end()) {
    InFlightDiagnostic Diag =
        emitError(Function.getArgument(Index).getLoc(), "argument '")
        << Name << "' of @" << Function.getName() << " is a "
        << stringifyEnum(*Of) << ", and @" << Planned.getName()
        << " has none of that name";
    Diag.attachNote() << "whatever is no input of @" << Function.getName()
                      << " must be an argument of @" << Planned.getName();
    return Diag;
  }
  const Survivor &Shared = Survivors[It->second];
  if (failed(verifyShared(Index, Shared)))
    return failure();
  Named.set(It->second);
  Offsets.push_back({Index, Shared.Offset});
  return success();
}

LogicalResult Sharing::run() {
  if (failed(collect()))
    return failure();
  unsigned Count = Function.getNumArguments();
  for (unsigned I = 0; I < Count; ++I)
    if (failed(place(I)))
      return failure();
  SignatureEditor Signature(Function);
  for (auto [Number, S] : llvm::enumerate(Survivors))
    if (!Named[Number]) {
      Signature.appendArgument(S.Type, S.Of, S.Name, Planned.getLoc());
      Offsets.push_back({Count++, S.Offset});
    }
  for (auto [Index, Offset] : Offsets)
    Signature.setArgAttr(Index, OffsetAttrName, Offset);
  Signature.write();
  return success();
}

LogicalResult remat::shareMemory(func::FuncOp Planned, func::FuncOp Function) {
  return Sharing(Planned, Function).run();
}

//===----------------------------------------------------------------------===//
// Averages
//===----------------------------------------------------------------------===//

/// The arguments by name.
static llvm::StringMap<BlockArgument> getArguments(func::FuncOp Func) {
  llvm::StringMap<BlockArgument> Named;
  for (BlockArgument Argument : Func.getArguments())
    Named[getArgName(Func, Argument.getArgNumber())] = Argument;
  return Named;
}

void remat::gatherParts(func::FuncOp Planned, func::FuncOp Function) {
  if (MeshAttr Mesh = getMesh(Planned))
    Function->setAttr(MeshAttrName, Mesh);
  llvm::StringMap<BlockArgument> Kept = getArguments(Planned);
  SignatureEditor Signature(Function);
  for (unsigned Index : getArgsOfRole(Function, Role::parameter)) {
    BlockArgument Shared = Kept.lookup(getArgName(Function, Index));
    if (!Shared)
      continue;
    auto Part =
        Planned.getArgAttrOfType<PartAttr>(Shared.getArgNumber(), PartAttrName);
    if (!Part)
      continue;
    auto Cut = cast<CutAttr>(Part.getCuts().getValue().back());
    if (Cut.getDim() < 0)
      makePart(Function, Signature, Index, Cut.getAxes());
  }
  Signature.write();
}

void remat::readAverages(func::FuncOp Given, func::FuncOp Planned,
                         func::FuncOp Function) {
  llvm::StringMap<BlockArgument> Before = getArguments(Given),
                                 Kept = getArguments(Planned),
                                 Here = getArguments(Function);
  SignatureEditor Signature(Function);
  OpBuilder B(Function.getBody());
  B.setInsertionPointToStart(&Function.getBody().front());
  for (unsigned Index : getArgsOfRole(Function, Role::parameter)) {
    BlockArgument Parameter = Function.getArgument(Index);
    std::string Name = getArgName(Function, Index) + ".ema";
    while (Before.contains(Name))
      Name += '+'; // as the optimizer called it, see SignatureEditor
    BlockArgument Average = Kept.lookup(Name);
    // A function that names averages says itself what it reads.
    if (!Average || Here.contains(Name))
      continue;
    Value Read = Signature.appendArgument(Average.getType(), Role::state, Name,
                                          Parameter.getLoc());
    if (Read.getType() != Parameter.getType())
      Read = CastOp::create(B, Parameter.getLoc(), Parameter.getType(), Read);
    Parameter.replaceAllUsesWith(Read);
  }
  Signature.write();
}
