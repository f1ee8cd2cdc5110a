//===- JoinSums.cpp - gradients of norms that sum what they write ---------===//
//
// What a residual block adds a bias to is the operand of the next norm, so that
// the gradient of the bias is the sum over rows of what the norm's gradient
// writes. That kernel sums over rows already, for scale and bias of its own: a
// third sum costs it nothing, where one of its own reads the whole tensor
// again. The order of the sum is the kernel's, so that the bits are others:
// what is joined depends on the graph alone and on no plan.
//
//===----------------------------------------------------------------------===//

#include "FuseRows.h"
#include "remat/Target/Targets.h"
#include "remat/Transforms/GraphSignature.h"
#include "remat/Transforms/Passes.h"

using namespace mlir;
using namespace remat;

namespace remat {
#define GEN_PASS_DEF_JOINSUMS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

namespace {

struct JoinSumsPass : remat::impl::JoinSumsBase<JoinSumsPass> {
  void runOnGraph() override;
};

} // namespace

/// What `V` is a view of, if its rows are as long.
static Value skipReshape(Value V) {
  auto View = V.getDefiningOp<ReshapeOp>();
  if (!View)
    return V;
  ArrayRef<int64_t> From = View.getOperand().getType().getShape(),
                    To = View.getType().getShape();
  if (From.empty() || To.empty() || From.back() != To.back())
    return V;
  return View.getOperand();
}

static LayerNormBackwardOp getGradient(Value Rows) {
  auto Gradient = Rows.getDefiningOp<LayerNormBackwardOp>();
  return Gradient && Rows == Gradient.getOperandGrad() ? Gradient : nullptr;
}

/// Where an addition makes the summed value, lets a norm's gradient make it.
static void letGradientAdd(Value Summed) {
  auto Add = Summed.getDefiningOp<AddOp>();
  if (!Add)
    return;
  for (Value Operand : Add->getOperands()) {
    LayerNormBackwardOp Gradient = getGradient(Operand);
    if (Gradient && Gradient->getBlock() == Add->getBlock() &&
        addInGradient(Gradient))
      return;
  }
}

/// The gradient that writes what `Sum` sums, and may make the sum.
static LayerNormBackwardOp findGradient(ReduceOp Sum) {
  LayerNormBackwardOp Gradient = getGradient(skipReshape(Sum.getOperand()));
  if (!Gradient || Gradient.getWithSum() ||
      Gradient->getBlock() != Sum->getBlock() ||
      Gradient->getAttr(PhaseAttrName) != Sum->getAttr(PhaseAttrName) ||
      Gradient->hasAttr(KeepAttrName) || Sum->hasAttr(KeepAttrName))
    return nullptr;
  return Gradient;
}

static void join(ReduceOp Sum, LayerNormBackwardOp Gradient) {
  OpBuilder Builder(Gradient);
  auto Both = LayerNormBackwardOp::create(
      Builder, Gradient.getLoc(), Gradient.getGrad(), Gradient.getOperand(),
      Gradient.getScale(), Gradient.getMean(), Gradient.getRstd(),
      Gradient.getAddend(), /*with_sum=*/true);
  takePlace(Both, Gradient, Sum);
  Gradient->replaceAllUsesWith(Both->getResults().drop_back());
  Sum.getResult().replaceAllUsesWith(Both.getSum());
  Gradient->erase();
  Sum->erase();
}

void JoinSumsPass::runOnGraph() {
  func::FuncOp Func = getOperation();
  if (getTargetAttr(Func).getDevice() != DeviceKind::cuda)
    return;
  SmallVector<ReduceOp> Sums;
  Func.walk([&](ReduceOp Sum) {
    if (isColumnSum(Sum))
      Sums.push_back(Sum);
  });
  for (ReduceOp Sum : Sums) {
    letGradientAdd(skipReshape(Sum.getOperand()));
    if (LayerNormBackwardOp Gradient = findGradient(Sum))
      join(Sum, Gradient);
  }
}
