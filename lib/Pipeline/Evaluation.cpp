//===- Evaluation.cpp - evaluation by the forward of training -------------===//

#include "mlir/IR/Builders.h"
#include "remat/IR/GraphFile.h"
#include "remat/Pipeline.h"
#include "remat/Transforms/GraphSignature.h"

using namespace mlir;
using namespace remat;

/// An error that says why, and what would do.
static LogicalResult refuse(Location Loc, const Twine &Why) {
  InFlightDiagnostic Diag = emitError(Loc) << "the graph has no func.func @"
                                           << EvaluationName << ", and " << Why;
  Diag.attachNote() << "write how to evaluate as a function of that name, with "
                       "the parameters that it reads as arguments";
  return Diag;
}

/// Whether one pass over a batch with the parameters as they are is what people
/// mean by evaluating.
static LogicalResult verifyIsEvaluation(func::FuncOp Graph) {
  if (getResultsOfRole(Graph, Role::loss).empty())
    return refuse(Graph.getLoc(), "@main has no loss");
  for (unsigned I = 0; I < Graph.getNumArguments(); ++I) {
    BlockArgument Argument = Graph.getArgument(I);
    if (Graph.getArgAttr(I, DonatedAttrName))
      return refuse(Argument.getLoc(), "@main writes '" + getArgName(Graph, I) +
                                           "', which evaluation would change");
    if (getArgRole(Graph, I) == Role::seed && !Argument.use_empty())
      return refuse((*Argument.user_begin())->getLoc(),
                    "@main draws random numbers, as of a dropout");
  }
  return success();
}

LogicalResult remat::addEvaluation(ModuleOp Module) {
  if (Module.lookupSymbol<func::FuncOp>(EvaluationName))
    return success();
  func::FuncOp Graph = getGraph(Module);
  if (!Graph || failed(verifyIsEvaluation(Graph)))
    return failure();
  func::FuncOp Copy = Graph.clone();
  Copy.setName(EvaluationName);
  Module.push_back(Copy);
  return success();
}
