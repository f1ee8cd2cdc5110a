//===- Training.cpp - optimizers --------------------------------*- C++ -*-===//

#include "OpUtils.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "remat/IR/RematOps.h"

using namespace mlir;
using namespace remat;

/// Checks that `Value` is a tensor of the parameter's shape.
static LogicalResult verifyShape(Operation *Op, StringRef Name, Value Value,
                                 RankedTensorType Parameter) {
  if (getTensorType(Value).getShape() == Parameter.getShape())
    return success();
  return Op->emitOpError() << Name << " " << Value.getType()
                           << " must have the shape of the parameter "
                           << Parameter;
}

/// Checks that the bytes of `V` are two halves.
static LogicalResult verifyInHalves(Operation *Op, Value V) {
  auto Argument = dyn_cast<BlockArgument>(V);
  auto Func =
      Argument
          ? dyn_cast<FunctionOpInterface>(Argument.getOwner()->getParentOp())
          : FunctionOpInterface();
  if (Func && Func.getArgAttr(Argument.getArgNumber(), InHalvesAttrName))
    return success();
  return Op->emitOpError() << "reads halves of what is no argument with '"
                           << InHalvesAttrName << "'";
}

//===----------------------------------------------------------------------===//
// sgd
//===----------------------------------------------------------------------===//

LogicalResult SgdOp::verify() {
  RankedTensorType Type = getParameter().getType();
  if (getNewParameter().getType() != Type)
    return emitOpError() << "new parameter " << getNewParameter().getType()
                         << " must have the parameter's type " << Type;
  if (!getBuffer() != !getNewBuffer())
    return emitOpError("the second result must be there exactly when the "
                       "buffer is");
  if (!getBuffer() && !getMomentum().isZero())
    return emitOpError("momentum needs a buffer");
  if (failed(verifyShape(*this, "grad", getGrad(), Type)) ||
      (getBuffer() &&
       (failed(verifyShape(*this, "buffer", getBuffer(), Type)) ||
        failed(verifyShape(*this, "new buffer", getNewBuffer(), Type)))))
    return failure();
  return success();
}

SmallVector<unsigned> SgdOp::getReusableOperands(unsigned Result) {
  // The new buffer over the buffer, the new parameter over the parameter.
  return {Result == 0 ? 0u : 2u};
}

//===----------------------------------------------------------------------===//
// adamw
//===----------------------------------------------------------------------===//

LogicalResult AdamWOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                        Adaptor Operands,
                                        SmallVectorImpl<Type> &Types) {
  Types.append({Operands.getParameter().getType(),
                Operands.getMoment1().getType(),
                Operands.getMoment2().getType()});
  return success();
}

LogicalResult AdamWOp::verify() {
  RankedTensorType Type = getParameter().getType();
  if (getInHalves() && failed(verifyInHalves(*this, getParameter())))
    return failure();
  if (getAsHalves() && (getInHalves() || !Type.getElementType().isF32()))
    return emitOpError("as_halves is for an f32 parameter that lies whole");
  if (failed(verifyShape(*this, "grad", getGrad(), Type)) ||
      failed(verifyShape(*this, "first moment", getMoment1(), Type)) ||
      failed(verifyShape(*this, "second moment", getMoment2(), Type)))
    return failure();
  for (const auto &[Name, Beta] :
       {std::pair("beta1", getBeta1()), std::pair("beta2", getBeta2())}) {
    double Value = Beta.convertToDouble();
    // At 1 the bias correction divides by zero.
    if (!(Value >= 0.0 && Value < 1.0))
      return emitOpError() << Name << " is " << Value
                           << "; it must be in [0, 1)";
  }
  return success();
}

SmallVector<unsigned> AdamWOp::getReusableOperands(unsigned Result) {
  // parameter, first moment, second moment
  constexpr unsigned Operands[] = {0, 2, 3};
  return {Operands[Result]};
}

// Two moving averages, their corrections, a root, a quotient and the decay.
double AdamWOp::getFlops() { return 15.0 * countElements(getParameter()); }

double GlobalNormOp::getFlops() {
  double Flops = 0.0;
  for (Value Operand : getOperands())
    Flops += 2.0 * countElements(Operand);
  return Flops;
}

//===----------------------------------------------------------------------===//
// upper_half, join_halves
//===----------------------------------------------------------------------===//

LogicalResult UpperHalfOp::inferReturnTypes(MLIRContext *Context,
                                            std::optional<Location>,
                                            Adaptor Operands,
                                            SmallVectorImpl<Type> &Types) {
  Types.push_back(
      getTensorType(Operands.getOperand()).clone(BFloat16Type::get(Context)));
  return success();
}

LogicalResult UpperHalfOp::verify() {
  return verifyInHalves(*this, getOperand());
}

std::optional<int64_t> UpperHalfOp::getViewOffset() { return 0; }

LogicalResult JoinHalvesOp::inferReturnTypes(MLIRContext *,
                                             std::optional<Location>,
                                             Adaptor Operands,
                                             SmallVectorImpl<Type> &Types) {
  Types.push_back(Operands.getOperand().getType());
  return success();
}

LogicalResult JoinHalvesOp::verify() {
  return verifyInHalves(*this, getOperand());
}
