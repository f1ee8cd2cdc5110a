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

/// `Name`, or with as many `+` behind as make it a new one.
static std::string addName(llvm::StringSet<> &Names, StringRef Name) {
  std::string Unique = Name.str();
  while (!Names.insert(Unique).second)
    Unique += '+';
  return Unique;
}

SignatureEditor::SignatureEditor(func::FuncOp Graph) : Graph(Graph) {
  auto Read = [&](ArrayAttr All, unsigned Count,
                  SmallVector<DictionaryAttr> &Into, llvm::StringSet<> &Names) {
    Into.assign(Count, DictionaryAttr::get(Graph.getContext()));
    if (All)
      llvm::copy(All.getAsRange<DictionaryAttr>(), Into.begin());
    for (DictionaryAttr Attrs : Into)
      if (auto Name = Attrs.getAs<StringAttr>(NameAttrName))
        Names.insert(Name.getValue());
  };
  Read(Graph.getArgAttrsAttr(), Graph.getNumArguments(), Arguments,
       ArgumentNames);
  Read(Graph.getResAttrsAttr(), Graph.getNumResults(), Results, ResultNames);
}

BlockArgument SignatureEditor::appendArgument(Type Type, Role Role,
                                              StringRef Name, Location Loc) {
  Arguments.push_back(
      signatureAttrs(Graph.getContext(), Role, addName(ArgumentNames, Name)));
  return Graph.getBody().front().addArgument(Type, Loc);
}

void SignatureEditor::setArgumentType(unsigned Index, Type Type) {
  Graph.getArgument(Index).setType(Type);
}

void SignatureEditor::setArgAttr(unsigned Index, StringRef Name,
                                 Attribute Attr) {
  NamedAttrList List(Arguments[Index]);
  if (Attr)
    List.set(Name, Attr);
  else
    List.erase(Name);
  Arguments[Index] = List.getDictionary(Graph.getContext());
}

bool drawsNumbers(Operation &Op) {
  WalkResult Walked = Op.walk([](RandomOpInterface Random) {
    return Random.drawsNumbers() ? WalkResult::interrupt()
                                 : WalkResult::advance();
  });
  return Walked.wasInterrupted();
}

void SignatureEditor::setResultAttr(unsigned Index, StringRef Name,
                                    Attribute Attr) {
  NamedAttrList List(Results[Index]);
  List.set(Name, Attr);
  Results[Index] = List.getDictionary(Graph.getContext());
}

unsigned SignatureEditor::appendResult(Value Value, Role Role, StringRef Name) {
  func::ReturnOp Return = getReturn(Graph);
  unsigned Index = Return.getNumOperands();
  Results.push_back(
      signatureAttrs(Graph.getContext(), Role, addName(ResultNames, Name)));
  Return->insertOperands(Index, Value);
  return Index;
}

void SignatureEditor::setResult(unsigned Index, Value Value) {
  getReturn(Graph)->setOperand(Index, Value);
}

void SignatureEditor::eraseResultsOfRole(Role Of) {
  BitVector Erased(Results.size());
  for (auto [Index, Attrs] : llvm::enumerate(Results))
    if (auto R = Attrs.getAs<RoleAttr>(RoleAttrName); R && R.getValue() == Of)
      Erased.set(Index);
  getReturn(Graph)->eraseOperands(Erased);
  SmallVector<DictionaryAttr> Kept;
  for (auto [Index, Attrs] : llvm::enumerate(Results))
    if (!Erased.test(Index))
      Kept.push_back(Attrs);
  Results = std::move(Kept);
}

void SignatureEditor::write() {
  Graph.setFunctionType(FunctionType::get(
      Graph.getContext(), Graph.getBody().front().getArgumentTypes(),
      getReturn(Graph).getOperandTypes()));
  Graph.setAllArgAttrs(Arguments);
  Graph.setAllResultAttrs(Results);
}

PhaseMarker::PhaseMarker(MLIRContext *Context, remat::Phase Phase)
    : Phase(PhaseAttr::get(Context, Phase)) {}

void PhaseMarker::notifyOperationInserted(Operation *Op,
                                          OpBuilder::InsertPoint) {
  Op->setAttr(PhaseAttrName, Phase);
  Op->setLoc(FusedLoc::get(Op->getContext(), {Op->getLoc()}, Phase));
}

void PhaseOfSource::notifyOperationInserted(Operation *Op,
                                            OpBuilder::InsertPoint) {
  if (Phase)
    Op->setAttr(PhaseAttrName, Phase);
}

} // namespace remat
