//===- RematCollectiveOps.td - values of several ranks ---------*- tablegen -*-===//
//
// Ranks run one graph side by side, each with its own values. `axes` names axes
// of the function's `remat.mesh`; ranks that differ only along them are a group,
// in the order of their numbers. All ranks run the same operations in the same
// order: nothing in a graph can depend on the rank but values.
//
// Gradients are those of the sum of all ranks' losses.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_IR_REMATCOLLECTIVEOPS_TD
#define REMAT_IR_REMATCOLLECTIVEOPS_TD

include "remat/IR/RematBase.td"

class Remat_CollectiveOp<string mnemonic, list<Trait> traits = []>
    : Remat_Op<mnemonic, !listconcat(
        [Remat_ElementwiseCost, DeclareOpInterfaceMethods<Remat_CollectiveOpInterface>],
        traits)> {
  let hasVerifier = 1;
}

def Remat_AllReduceOp : Remat_CollectiveOp<"all_reduce", [
    Remat_InPlaceFromOperands, Remat_Differentiable]> {
  let summary = "the sum, or the largest, of all ranks' values, on each of them";
  let description = [{
    Each operand is combined by itself; several of them travel together. The sum of
    elements x0, x1, ... of the ranks in their order is ((x0 + x1) + x2) + ..., of bf16
    and f16 in f32, rounded once; a device's library may have another order, which
    then is the same at each run. Only sums have gradients.

    ```mlir
    %0 = remat.all_reduce <sum> %a over ["data"] : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Remat_ReductionAttr:$kind, Variadic<Remat_NumberTensor>:$operands,
                       Remat_AxesAttr:$axes);
  let results = (outs Variadic<Remat_NumberTensor>:$results);
  let assemblyFormat = [{
    $kind $operands `over` $axes attr-dict `:` functional-type(operands, results)
  }];
}

def Remat_ReduceScatterOp : Remat_CollectiveOp<"reduce_scatter", [Remat_Differentiable]> {
  let summary = "each rank's part of the sum, or the largest, of all ranks' values";
  let description = [{
    What `all_reduce` gives, cut along dimension `dim` into as many equal parts as
    there are ranks; each rank has the part of its number.

    ```mlir
    %0 = remat.reduce_scatter <sum> %a over ["data"] : (tensor<4xf32>) -> tensor<2xf32>
    ```
  }];
  let arguments = (ins Remat_ReductionAttr:$kind, Variadic<Remat_NumberTensor>:$operands,
                       Remat_AxesAttr:$axes,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntNonNegative]>, "0">:$dim);
  let results = (outs Variadic<Remat_NumberTensor>:$results);
  let assemblyFormat = [{
    $kind $operands `over` $axes attr-dict `:` functional-type(operands, results)
  }];
}

def Remat_AllGatherOp : Remat_CollectiveOp<"all_gather", [Remat_Differentiable]> {
  let summary = "the ranks' values, joined along dimension `dim`";
  let description = [{
    ```mlir
    %0 = remat.all_gather %a over ["data"] {dim = 1 : i64} : (tensor<4x2xf32>) -> tensor<4x4xf32>
    ```
  }];
  let arguments = (ins Variadic<Remat_StoredTensor>:$operands, Remat_AxesAttr:$axes,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntNonNegative]>, "0">:$dim);
  let results = (outs Variadic<Remat_StoredTensor>:$results);
  let assemblyFormat = [{
    $operands `over` $axes attr-dict `:` functional-type(operands, results)
  }];
}

def Remat_AllToAllOp : Remat_CollectiveOp<"all_to_all", [Remat_Differentiable]> {
  let summary = "part r of each rank's value goes to rank r, which joins what it gets";
  let description = [{
    The operand is cut along `split_dim`; what a rank gets is joined along `concat_dim`
    in the order of the ranks.

    ```mlir
    %0 = remat.all_to_all %a over ["data"] {split_dim = 0 : i64, concat_dim = 1 : i64} : (tensor<4x2xf32>) -> tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Remat_StoredTensor:$operand, Remat_AxesAttr:$axes,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$split_dim,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$concat_dim);
  let results = (outs Remat_StoredTensor:$result);
  let assemblyFormat = [{
    $operand `over` $axes attr-dict `:` functional-type(operands, results)
  }];
}

def Remat_CollectiveBroadcastOp : Remat_CollectiveOp<"collective_broadcast", [
    SameOperandsAndResultType, Remat_InPlaceFromOperands, Remat_Differentiable]> {
  let summary = "the value of the rank `root` of each group";
  let description = [{
    ```mlir
    %0 = remat.collective_broadcast %a over ["data"] {root = 1 : i64} : tensor<4xf32>
    ```
  }];
  let arguments = (ins Remat_StoredTensor:$operand, Remat_AxesAttr:$axes,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntNonNegative]>, "0">:$root);
  let results = (outs Remat_StoredTensor:$result);
  let assemblyFormat = "$operand `over` $axes attr-dict `:` type($result)";
}

def Remat_CollectivePermuteOp : Remat_CollectiveOp<"collective_permute", [
    SameOperandsAndResultType, Remat_Differentiable]> {
  let summary = "ranks send their values to each other";
  let description = [{
    `pairs` are a source and a target in turn, positions in the group. A rank sends at
    most once and receives at most once; who receives nothing has zeros.

    ```mlir
    %0 = remat.collective_permute %a over ["data"] {pairs = array<i64: 0, 1>} : tensor<4xf32>
    ```
  }];
  let arguments = (ins Remat_StoredTensor:$operand, Remat_AxesAttr:$axes,
                       DenseI64ArrayAttr:$pairs);
  let results = (outs Remat_StoredTensor:$result);
  let assemblyFormat = "$operand `over` $axes attr-dict `:` type($result)";
}

def Remat_RankPartOp : Remat_CollectiveOp<"rank_part", [Remat_Differentiable]> {
  let summary = "the rank's own part of a value, cut along dimension `dim`";
  let description = [{
    Nothing is sent. Where all ranks have the same operand, `all_gather` gives it back.

    ```mlir
    %0 = remat.rank_part %a over ["data"] : (tensor<4xf32>) -> tensor<2xf32>
    ```
  }];
  let arguments = (ins Remat_StoredTensor:$operand, Remat_AxesAttr:$axes,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntNonNegative]>, "0">:$dim);
  let results = (outs Remat_StoredTensor:$result);
  let assemblyFormat = [{
    $operand `over` $axes attr-dict `:` functional-type(operands, results)
  }];
}

def Remat_RankIndexOp : Remat_CollectiveOp<"rank_index", [Remat_CheapToRepeat]> {
  let summary = "the rank's position in its group, from 0";
  let description = [{
    ```mlir
    %0 = remat.rank_index over ["data"] : tensor<i64>
    ```
  }];
  let arguments = (ins Remat_AxesAttr:$axes);
  let results = (outs Remat_I64Scalar:$result);
  let assemblyFormat = "`over` $axes attr-dict `:` type($result)";
}

#endif // REMAT_IR_REMATCOLLECTIVEOPS_TD
