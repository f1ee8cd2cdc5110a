//===- RematIndexOps.td - elements by index, order and scans ---*- tablegen -*-===//

#ifndef REMAT_IR_REMATINDEXOPS_TD
#define REMAT_IR_REMATINDEXOPS_TD

include "remat/IR/RematBase.td"

def Remat_GatherOp : Remat_Op<"gather", [
    Remat_InferType, Remat_ElementwiseCost, Remat_Precision<"follow">, Remat_Loops, Remat_Differentiable]> {
  let summary = "elements of each line along dimension `dim`, by index";
  let description = [{
    operand and indices have the same sizes but for dimension `dim`; the result
    has the shape of the indices: with dim = 1, r[i, j] = x[i, index[i, j]]. An
    index outside is an error when the step runs on the host and gives zero on a
    GPU.
  }];
  let arguments = (ins Remat_Tensor:$operand, Remat_IntTensor:$indices, I64Attr:$dim);
  let results = (outs Remat_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $indices attr-dict `:` functional-type(operands, results)
  }];
}

def Remat_ScatterAddOp : Remat_Op<"scatter_add", [
    Remat_Cost, Remat_Loops, Remat_Differentiable]> {
  let summary = "adds elements to places of each line along dimension `dim`";
  let description = [{
    The reverse of `remat.gather`: indices and updates are of one shape, the
    result has its sizes but for dimension `dim`. Places that no index names are
    zero. Sums run in f32 in the order of the indices: they are the same at every
    run. An index outside is an error on the host and adds nothing on a GPU.
  }];
  let arguments = (ins Remat_IntTensor:$indices, Remat_FloatTensor:$updates, I64Attr:$dim);
  let results = (outs Remat_FloatTensor:$result);
  let assemblyFormat = [{
    $indices `,` $updates attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Remat_TopKOp : Remat_Op<"top_k", [
    Remat_InferType, Remat_Cost, Remat_Precision<"follow">, Remat_Loops, Remat_Differentiable]> {
  let summary = "the first `k` elements of each line along `dim` in sorted order";
  let description = [{
    In descending order, with `smallest` in ascending order, and their i64
    indices along `dim`. Equal elements keep their order; NaN is larger than all
    others. With `k` of the whole size it sorts. The gradient of the elements
    goes back to where they came from.
  }];
  let arguments = (ins Remat_NumberTensor:$operand, I64Attr:$k, I64Attr:$dim,
                       UnitAttr:$smallest);
  let results = (outs Remat_NumberTensor:$values, Remat_IntTensor:$indices);
  let assemblyFormat = [{
    $operand attr-dict `:` functional-type(operands, results)
  }];
}

def Remat_CumsumOp : Remat_Op<"cumsum", [
    SameOperandsAndResultType, Remat_Cost, Remat_Precision<"follow">, Remat_Loops,
    Remat_Differentiable]> {
  let summary = "running sums along dimension `dim`, from its end with `reverse`";
  let description = [{ Each sum includes its own element. Sums of bf16 and f16 are made in f32. }];
  let arguments = (ins Remat_NumberTensor:$operand, I64Attr:$dim, UnitAttr:$reverse);
  let results = (outs Remat_NumberTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif // REMAT_IR_REMATINDEXOPS_TD
