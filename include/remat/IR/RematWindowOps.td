//===- RematWindowOps.td - convolution and pooling -------------*- tablegen -*-===//

#ifndef REMAT_IR_REMATWINDOWOPS_TD
#define REMAT_IR_REMATWINDOWOPS_TD

include "remat/IR/RematBase.td"

/// How a window moves over one to three dimensions, with an entry for each.
defvar Remat_Window = (ins DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$low,
                           DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$dilation);

/// Whether the channels come last. The host and own kernels take both orders;
/// cuDNN is up to 2.5 times as fast with the channels last, so on CUDA
/// `remat-channels-last` sets it.
defvar Remat_Layout = (ins UnitAttr:$channels_last);

def Remat_ConvolutionOp : Remat_Op<"convolution", [
    Remat_InferType, Remat_Cost, Remat_UsesMatrixUnits, Remat_Precision<"low">,
    Remat_LoopsAndSlices, Remat_Differentiable]> {
  let summary = "convolution over one to three dimensions";
  let description = [{
    operand [N, C, X...], weight [O, C / groups, K...]; the result is [N, O, Y...]
    with Y = (X + low + high - dilation * (K - 1) - 1) / strides + 1, rounded
    down. Zeros are padded, `low` before and `high` behind each dimension; the
    window does not turn (cross-correlation, as in PyTorch). Output channel o
    reads the C / groups input channels of its group. Products are summed in f32.
    With `channels_last` the operand is [N, X..., C], the weight
    [O, K..., C / groups] and the result [N, Y..., O].
  }];
  let arguments = !con((ins Remat_FloatTensor:$operand, Remat_FloatTensor:$weight),
                       Remat_Window, (ins DefaultValuedAttr<I64Attr, "1">:$groups),
                       Remat_Layout);
  let results = (outs Remat_FloatTensor:$result);
  let assemblyFormat = [{
    $operand `,` $weight `strides` $strides `pad` $low $high `dilation` $dilation
    attr-dict `:` functional-type(operands, results)
  }];
}

def Remat_ConvolutionInputGradOp : Remat_Op<"convolution_input_grad", [
    Remat_Cost, Remat_UsesMatrixUnits, Remat_Precision<"low">,
    Remat_LoopsAndSlices, Remat_Differentiable]> {
  let summary = "gradient of a convolution's operand; a transposed convolution";
  let description = [{
    `grad` is of the shape of the convolution's result, the result of its
    operand's: a convolution of the result with these attributes and this weight
    gives the shape of `grad`. `channels_last` as there.
  }];
  let arguments = !con((ins Remat_FloatTensor:$grad, Remat_FloatTensor:$weight),
                       Remat_Window, (ins DefaultValuedAttr<I64Attr, "1">:$groups),
                       Remat_Layout);
  let results = (outs Remat_FloatTensor:$result);
  let assemblyFormat = [{
    $grad `,` $weight `strides` $strides `pad` $low $high `dilation` $dilation
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Remat_ConvolutionWeightGradOp : Remat_Op<"convolution_weight_grad", [
    Remat_Cost, Remat_UsesMatrixUnits, Remat_LoopsAndSlices]> {
  let summary = "gradient of a convolution's weight";
  let description = [{
    `grad` is of the shape of the convolution's result, the result of its
    weight's. Summed in f32 over batch and positions, in one order at every run.
    `channels_last` as in `remat.convolution`.
  }];
  let arguments = !con((ins Remat_FloatTensor:$grad, Remat_FloatTensor:$operand),
                       Remat_Window, (ins DefaultValuedAttr<I64Attr, "1">:$groups),
                       Remat_Layout);
  let results = (outs Remat_FloatTensor:$result);
  let assemblyFormat = [{
    $grad `,` $operand `strides` $strides `pad` $low $high `dilation` $dilation
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Remat_MaxPoolOp : Remat_Op<"max_pool", [
    Remat_InferType, Remat_Cost, Remat_Precision<"follow">, Remat_Loops, Remat_Differentiable]> {
  let summary = "the largest element of each window";
  let description = [{
    operand [batch..., X...], with as many window sizes as dimensions X; the
    result is [batch..., Y...], Y as in `remat.convolution`. Padding is never the
    largest: a window that sees nothing else gives minus infinity. A NaN in the
    window is the result. With `channels_last` the operand is
    [batch..., X..., C] and the result [batch..., Y..., C]. The backward reads the
    operand only.
  }];
  let arguments = !con((ins Remat_FloatTensor:$operand, DenseI64ArrayAttr:$window),
                       Remat_Window, Remat_Layout);
  let results = (outs Remat_FloatTensor:$result);
  let assemblyFormat = [{
    $operand `window` $window `strides` $strides `pad` $low $high
    `dilation` $dilation attr-dict `:` functional-type(operands, results)
  }];
}

def Remat_MaxPoolBackwardOp : Remat_Op<"max_pool_backward", [
    Remat_InferType, Remat_Cost, Remat_Loops]> {
  let summary = "gradient of max_pool";
  let description = [{
    The gradient of each window goes to its first largest element, in row-major
    order. What an element gets from several windows is summed in f32.
    `channels_last` as in `remat.max_pool`.
  }];
  let arguments = !con((ins Remat_FloatTensor:$grad, Remat_FloatTensor:$operand,
                            DenseI64ArrayAttr:$window),
                       Remat_Window, Remat_Layout);
  let results = (outs Remat_FloatTensor:$result);
  let assemblyFormat = [{
    $grad `,` $operand `window` $window `strides` $strides `pad` $low $high
    `dilation` $dilation attr-dict `:` functional-type(operands, results)
  }];
}

#endif // REMAT_IR_REMATWINDOWOPS_TD
