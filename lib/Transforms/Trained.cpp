//===- Trained.cpp - parameters that an optimizer updates -----------------===//

#include "Trained.h"

using namespace mlir;
using namespace remat;

/// Numbers of gradients by the names that remat-differentiate gave them.
static llvm::StringMap<unsigned> findGradients(func::FuncOp Graph) {
  llvm::StringMap<unsigned> Gradients;
  for (unsigned Index : getResultsOfRole(Graph, Role::gradient))
    if (auto Of = Graph.getResultAttrOfType<StringAttr>(Index, NameAttrName))
      Gradients.try_emplace(Of.getValue(), Index);
  return Gradients;
}

/// Sets the gradient of `T`, which is result `Result`, and what it is a part
/// of. False if it is neither of the parameter's shape nor a flat part of it.
static bool findPart(func::FuncOp Graph, unsigned Result, Trained &T) {
  auto getShape = [](Value V) {
    return cast<RankedTensorType>(V.getType()).getShape();
  };
  Value Parameter = Graph.getArgument(T.Argument);
  T.Gradient = getReturn(Graph).getOperand(Result);
  T.Part = Graph.getArgAttrOfType<PartAttr>(T.Argument, PartAttrName);
  if (getShape(T.Gradient) == getShape(Parameter))
    return true;
  T.Part = Graph.getResultAttrOfType<PartAttr>(Result, PartAttrName);
  if (!T.Part)
    return false;
  auto Cut = cast<CutAttr>(T.Part.getCuts().getValue().back());
  T.UpdateAxes = Cut.getAxes();
  auto Shape = getPartShape(getMesh(Graph), Cut, getShape(Parameter));
  return Cut.getDim() < 0 && Shape && ArrayRef(*Shape) == getShape(T.Gradient);
}

RankedTensorType remat::getUpdatedType(func::FuncOp Graph, const Trained &T) {
  auto Whole = cast<RankedTensorType>(Graph.getArgument(T.Argument).getType());
  return Whole.clone(cast<RankedTensorType>(T.Gradient.getType()).getShape());
}

ArrayAttr remat::getPartAxes(PartAttr Part, MeshAttr Mesh) {
  if (!Part)
    return {};
  SmallVector<Attribute> Axes;
  for (StringAttr Name : Mesh.getNames())
    if (llvm::any_of(Part.getCuts().getAsRange<CutAttr>(), [&](CutAttr Cut) {
          return llvm::is_contained(Cut.getAxes(), Name);
        }))
      Axes.push_back(Name);
  return ArrayAttr::get(Part.getContext(), Axes);
}

LogicalResult remat::collectTrained(func::FuncOp Graph, UpdateKind Kind,
                                    SmallVectorImpl<Trained> &Parameters) {
  Parameters.clear();
  // A graph that is not trained stays as it is.
  if (getResultsOfRole(Graph, Role::loss).empty() &&
      getResultsOfRole(Graph, Role::gradient).empty())
    return success();
  llvm::StringMap<unsigned> Gradients = findGradients(Graph);
  for (unsigned Index : getArgsOfRole(Graph, Role::parameter)) {
    BlockArgument Parameter = Graph.getArgument(Index);
    std::string Name = getArgName(Graph, Index);
    unsigned Result = Gradients.lookup("grad." + Name);
    Trained T = {Index, Name, nullptr, Value(), PartAttr(), ArrayAttr()};
    if (!Gradients.contains("grad." + Name) || !findPart(Graph, Result, T)) {
      InFlightDiagnostic Diag = emitError(Parameter.getLoc())
                                << "parameter '" << Name
                                << "' has no gradient of its shape";
      Diag.attachNote() << "run remat-differentiate before "
                           "remat-add-optimizer, each once";
      return Diag;
    }
    auto Own = Graph.getArgAttrOfType<UpdateKindAttr>(Index, UpdateAttrName);
    T.Rule = &getUpdateRule(Own ? Own.getValue() : Kind,
                            cast<RankedTensorType>(Parameter.getType()));
    if (T.Part && !T.Rule->IsElementwise) {
      InFlightDiagnostic Diag = emitError(Parameter.getLoc())
                                << "optimizer "
                                << stringifyUpdateKind(T.Rule->Kind)
                                << " looks at all of parameter '" << Name
                                << "', of which a rank has " << T.Part;
      Diag.attachNote() << "leave it whole, or give it another optimizer with '"
                        << UpdateAttrName << "'";
      return Diag;
    }
    Parameters.push_back(std::move(T));
  }
  return success();
}
