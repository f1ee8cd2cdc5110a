//===- Freeze.cpp - parameters that are not trained -----------------------===//

#include "remat/Analysis/NamePattern.h"
#include "remat/Transforms/GraphSignature.h"
#include "remat/Transforms/Passes.h"

using namespace mlir;

namespace remat {

#define GEN_PASS_DEF_FREEZE
#include "remat/Transforms/Passes.h.inc"

namespace {

class Freeze : public impl::FreezeBase<Freeze> {
public:
  using FreezeBase::FreezeBase;

private:
  void runOnGraph() override {
    for (StringRef Text : *Frozen)
      if (failed(freeze(Text)))
        return signalPassFailure();
  }

  LogicalResult freeze(StringRef Text);
};

} // namespace

/// A parameter may be named twice: it is a state by then.
LogicalResult Freeze::freeze(StringRef Text) {
  func::FuncOp Graph = getOperation();
  std::optional<NamePattern> Pattern = NamePattern::parse(Text);
  if (!Pattern)
    return emitError(Graph.getLoc(), "freeze")
           << " is '" << Text << "'; it must be " << NamePatternHelp;
  SmallVector<std::string> Names;
  bool Found = false;
  for (unsigned Index = 0; Index < Graph.getNumArguments(); ++Index) {
    std::string Name = getArgName(Graph, Index);
    bool IsParameter = getArgRole(Graph, Index) == Role::parameter;
    if (!IsParameter && getArgRole(Graph, Index) != Role::state)
      continue;
    bool Matches = Pattern->matches(Name);
    Found |= Matches;
    if (IsParameter)
      Names.push_back(Name);
    if (IsParameter && Matches)
      Graph.setArgAttr(Index, RoleAttrName,
                       RoleAttr::get(&getContext(), Role::state));
  }
  if (Found)
    return success();
  return emitError(Graph.getLoc(), "--freeze '" + Text + "'")
         << " names no parameter" << describeNearNames(*Pattern, Names);
}

} // namespace remat
