//===- SinkConstants.cpp - splats are made where they are read ------------===//

#include "remat/Analysis/Uses.h"
#include "remat/IR/RematOps.h"
#include "remat/Transforms/Passes.h"

using namespace mlir;
using namespace remat;

namespace remat {
#define GEN_PASS_DEF_SINKCONSTANTS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

namespace {

struct SinkConstantsPass : remat::impl::SinkConstantsBase<SinkConstantsPass> {
  void runOnGraph() override {
    Block &Body = getOperation().getBody().front();
    // Readers of constants stay where they are. Their places are noted, for a
    // block numbers its operations anew after each move.
    for (auto [Position, Op] : llvm::enumerate(Body))
      Positions[&Op] = Position;
    // The last first: a constant moves to its reader's new place.
    for (Operation &Op : llvm::make_early_inc_range(llvm::reverse(Body)))
      if (isa<ConstantOp>(Op) && !isResidentConstant(&Op))
        sink(&Op);
    Positions.clear();
  }

private:
  void sink(Operation *Constant) {
    Operation *First = nullptr;
    for (Operation *User : Constant->getUsers())
      if (!First || Positions.at(User) < Positions.at(First))
        First = User;
    if (First)
      Constant->moveBefore(First);
  }

  DenseMap<Operation *, unsigned> Positions;
};

} // namespace
