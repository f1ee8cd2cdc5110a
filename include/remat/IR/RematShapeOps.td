//===- RematShapeOps.td - shapes and reductions ----------------*- tablegen -*-===//

#ifndef REMAT_IR_REMATSHAPEOPS_TD
#define REMAT_IR_REMATSHAPEOPS_TD

include "remat/IR/RematBase.td"

def Remat_ReshapeOp : Remat_Op<"reshape", [
    Remat_View, Remat_CopiesOperand, Remat_Precision<"follow">, Remat_Loops,
    Remat_Linear, Remat_Differentiable]> {
  let summary = "the same elements in row-major order under another shape";
  let arguments = (ins Remat_Tensor:$operand);
  let results = (outs Remat_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `to` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Remat_TransposeOp : Remat_Op<"transpose", [
    Remat_InferType, Remat_ElementwiseCost, Remat_CopiesOperand, Remat_Precision<"follow">,
    Remat_Loops, Remat_Linear, Remat_Differentiable]> {
  let summary = "permutes dimensions: result dimension i is operand dimension permutation[i]";
  let arguments = (ins Remat_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs Remat_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $permutation attr-dict `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
}

def Remat_SliceOp : Remat_Op<"slice", [
    Remat_InferType, Remat_ElementwiseCost, Remat_View, Remat_CopiesOperand, Remat_Precision<"follow">,
    Remat_LoopsAndSlices, Remat_Linear, Remat_Differentiable]> {
  let summary = "the box of `sizes` elements that begins at `offsets`";
  let arguments = (ins Remat_Tensor:$operand, DenseI64ArrayAttr:$offsets,
                       DenseI64ArrayAttr:$sizes);
  let results = (outs Remat_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $offsets $sizes attr-dict `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
}

def Remat_PadOp : Remat_Op<"pad", [
    Remat_InferType, Remat_ElementwiseCost, Remat_Loops, Remat_Linear,
    Remat_Precision<"follow">, Remat_Differentiable]> {
  let summary = "puts `low` zeros before and `high` zeros behind, for each dimension";
  let arguments = (ins Remat_Tensor:$operand, DenseI64ArrayAttr:$low,
                       DenseI64ArrayAttr:$high);
  let results = (outs Remat_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $low $high attr-dict `:` functional-type(operands, results)
  }];
  let hasCanonicalizer = 1;
}

def Remat_ConcatOp : Remat_Op<"concat", [
    Remat_InferType, Remat_ElementwiseCost, Remat_Loops, Remat_Linear,
    Remat_Precision<"follow">, Remat_Differentiable]> {
  let summary = "joins tensors along dimension `dim`";
  let arguments = (ins Variadic<Remat_Tensor>:$operands, I64Attr:$dim);
  let results = (outs Remat_Tensor:$result);
  let assemblyFormat = "$operands attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def Remat_RollOp : Remat_Op<"roll", [
    SameOperandsAndResultType, Remat_ElementwiseCost, Remat_CopiesOperand, Remat_Precision<"follow">,
    Remat_Loops, Remat_Linear, Remat_Differentiable]> {
  let summary = "moves elements on along dimension `dim`, round its end";
  let description = [{
    Element i of a line along `dim` of n elements becomes element (i + `shift`) mod n;
    `shift` is in [0, n). A roll the other way is one by n - `shift`.
  }];
  let arguments = (ins Remat_Tensor:$operand, I64Attr:$dim, I64Attr:$shift);
  let results = (outs Remat_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Remat_BroadcastOp : Remat_Op<"broadcast", [
    Remat_ElementwiseCost, Remat_Pointwise, Remat_PointwiseLoops, Remat_CheapToRepeat,
    Remat_CopiesOperand, Remat_Precision<"follow">, Remat_Linear, Remat_Differentiable]> {
  let summary = "repeats elements to a larger shape, by NumPy's rule";
  let arguments = (ins Remat_Tensor:$operand);
  let results = (outs Remat_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `to` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Remat_ReduceOp : Remat_Op<"reduce", [
    Remat_InferType, Remat_Cost, Remat_Rowwise, Remat_Loops, Remat_OwnPrecision,
    Remat_Linear, Remat_Differentiable]> {
  let summary = "sum, mean or max over dimensions";
  let description = [{
    `dims` is sorted, without repetition. With `keep_dims` the reduced dimensions
    stay with size 1. Sums of bf16 and f16 are made in f32. Elements that share a
    maximum share its gradient evenly.
  }];
  let arguments = (ins Remat_ReductionAttr:$kind, Remat_NumberTensor:$operand,
                       DenseI64ArrayAttr:$dims, UnitAttr:$keep_dims);
  let results = (outs Remat_NumberTensor:$result);
  let assemblyFormat = [{
    $kind $operand `,` $dims attr-dict `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

#endif // REMAT_IR_REMATSHAPEOPS_TD
