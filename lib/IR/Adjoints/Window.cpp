//===- Window.cpp - adjoints of convolution and pooling -------------------===//

#include "AdjointBuilder.h"

using namespace mlir;

namespace remat {

LogicalResult ConvolutionOp::buildAdjoint(OpBuilder &Builder,
                                          ValueRange ResultGrads,
                                          ArrayRef<bool> Needed,
                                          MutableArrayRef<Value> OperandGrads) {
  Value G = ResultGrads[0];
  if (!G)
    return success();
  if (Needed[0])
    OperandGrads[0] = ConvolutionInputGradOp::create(
        Builder, getLoc(), getOperand().getType(), G, getWeight(), getStrides(),
        getLow(), getHigh(), getDilation(), getGroups(), getChannelsLast());
  if (Needed[1])
    OperandGrads[1] = ConvolutionWeightGradOp::create(
        Builder, getLoc(), getWeight().getType(), G, getOperand(), getStrides(),
        getLow(), getHigh(), getDilation(), getGroups(), getChannelsLast());
  return success();
}

// The operation is linear in the convolution's gradient, and the convolution is
// the reverse of it.
LogicalResult
ConvolutionInputGradOp::buildAdjoint(OpBuilder &Builder, ValueRange ResultGrads,
                                     ArrayRef<bool> Needed,
                                     MutableArrayRef<Value> OperandGrads) {
  Value G = ResultGrads[0];
  if (!G)
    return success();
  if (Needed[0])
    OperandGrads[0] = ConvolutionOp::create(
        Builder, getLoc(), G, getWeight(), getStrides(), getLow(), getHigh(),
        getDilation(), getGroups(), getChannelsLast());
  if (Needed[1])
    OperandGrads[1] = ConvolutionWeightGradOp::create(
        Builder, getLoc(), getWeight().getType(), getGrad(), G, getStrides(),
        getLow(), getHigh(), getDilation(), getGroups(), getChannelsLast());
  return success();
}

LogicalResult MaxPoolOp::buildAdjoint(OpBuilder &Builder,
                                      ValueRange ResultGrads,
                                      ArrayRef<bool> Needed,
                                      MutableArrayRef<Value> OperandGrads) {
  if (Needed[0] && ResultGrads[0])
    OperandGrads[0] = MaxPoolBackwardOp::create(
        Builder, getLoc(), ResultGrads[0], getOperand(), getWindow(),
        getStrides(), getLow(), getHigh(), getDilation(), getChannelsLast());
  return success();
}

} // namespace remat
