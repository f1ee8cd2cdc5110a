//===- GraphSignature.cpp - roles of a graph's arguments ------------------===//

#include "remat/Transforms/GraphSignature.h"

using namespace mlir;

namespace remat {

std::optional<Role> getArgRole(func::FuncOp Graph, unsigned Index) {
  auto Attr = Graph.getArgAttrOfType<RoleAttr>(Index, RoleAttrName);
  return Attr ? std::optional<Role>(Attr.getValue()) : std::nullopt;
}

std::optional<Role> getResultRole(func::FuncOp Graph, unsigned Index) {
  auto Attr = Graph.getResultAttrOfType<RoleAttr>(Index, RoleAttrName);
  return Attr ? std::optional<Role>(Attr.getValue()) : std::nullopt;
}

std::string getArgName(func::FuncOp Graph, unsigned Index) {
  if (auto Name = Graph.getArgAttrOfType<StringAttr>(Index, NameAttrName))
    return Name.str();
  return "arg" + std::to_string(Index);
}

SmallVector<unsigned> getArgsOfRole(func::FuncOp Graph, Role Of) {
  SmallVector<unsigned> Indices;
  for (unsigned I = 0; I < Graph.getNumArguments(); ++I)
    if (getArgRole(Graph, I) == Of)
      Indices.push_back(I);
  return Indices;
}

SmallVector<unsigned> getResultsOfRole(func::FuncOp Graph, Role Of) {
  SmallVector<unsigned> Indices;
  for (unsigned I = 0; I < Graph.getNumResults(); ++I)
    if (getResultRole(Graph, I) == Of)
      Indices.push_back(I);
  return Indices;
}

func::ReturnOp getReturn(func::FuncOp Graph) {
  return cast<func::ReturnOp>(Graph.getBody().front().getTerminator());
}

static DictionaryAttr signatureAttrs(MLIRContext *Context, Role Role,
                                     StringRef Name) {
  Builder B(Context);
  return B.getDictionaryAttr(
      {B.getNamedAttr(RoleAttrName, RoleAttr::get(Context, Role)),
       B.getNamedAttr(NameAttrName, B.getStringAttr(Name))});
}

/// The function's type from its block's arguments and its return's operands.
static void updateFunctionType(func::FuncOp Graph) {
  Graph.setFunctionType(FunctionType::get(
      Graph.getContext(), Graph.getBody().front().getArgumentTypes(),
      getReturn(Graph).getOperandTypes()));
}

BlockArgument appendArgument(func::FuncOp Graph, Type Type, Role Role,
                             StringRef Name, Location Loc) {
  DictionaryAttr Attrs = signatureAttrs(Graph.getContext(), Role, Name);
  unsigned Index = Graph.getNumArguments();
  // Fails for a declaration only, which has no block to begin with.
  [[maybe_unused]] LogicalResult Inserted =
      Graph.insertArgument(Index, Type, Attrs, Loc);
  return Graph.getArgument(Index);
}

unsigned appendResult(func::FuncOp Graph, Value Value, Role Role,
                      StringRef Name) {
  DictionaryAttr Attrs = signatureAttrs(Graph.getContext(), Role, Name);
  unsigned Index = Graph.getNumResults();
  [[maybe_unused]] LogicalResult Inserted =
      Graph.insertResult(Index, Value.getType(), Attrs);
  getReturn(Graph)->insertOperands(Index, Value);
  return Index;
}

void setResult(func::FuncOp Graph, unsigned Index, Value Value) {
  getReturn(Graph)->setOperand(Index, Value);
  updateFunctionType(Graph);
}

void eraseResultsOfRole(func::FuncOp Graph, Role Of) {
  SmallVector<unsigned> Indices = getResultsOfRole(Graph, Of);
  for (unsigned Index : llvm::reverse(Indices)) {
    getReturn(Graph)->eraseOperand(Index);
    [[maybe_unused]] LogicalResult Erased = Graph.eraseResult(Index);
  }
}

void setArgumentType(func::FuncOp Graph, unsigned Index, Type Type) {
  Graph.getArgument(Index).setType(Type);
  updateFunctionType(Graph);
}

PhaseMarker::PhaseMarker(MLIRContext *Context, StringRef Phase)
    : Phase(StringAttr::get(Context, Phase)) {}

void PhaseMarker::notifyOperationInserted(Operation *Op,
                                          OpBuilder::InsertPoint) {
  Op->setAttr(PhaseAttrName, Phase);
  Op->setLoc(FusedLoc::get(Op->getContext(), {Op->getLoc()}, Phase));
}

} // namespace remat
