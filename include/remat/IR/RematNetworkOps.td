//===- RematNetworkOps.td - layers and losses ------------------*- tablegen -*-===//

#ifndef REMAT_IR_REMATNETWORKOPS_TD
#define REMAT_IR_REMATNETWORKOPS_TD

include "remat/IR/RematBase.td"

def Remat_MatmulOp : Remat_Op<"matmul", [
    AttrSizedOperandSegments, Remat_Cost, Remat_UsesMatrixUnits,
    Remat_Precision<"low">, Remat_Differentiable, Remat_LoopsAndSlices]> {
  let summary = "matrix product, batched, with transposes, bias and addend";
  let description = [{
    With no transposes, lhs is [batch..., M, K], rhs [batch..., K, N], the result
    [batch..., M, N]; `transpose_lhs` takes lhs as [batch..., K, M],
    `transpose_rhs` takes rhs as [batch..., N, K]. Batch dimensions are equal, or
    one side has none and serves every batch. `bias` is [N], of the operands' or
    the result's element type, and added to each row. `add` is a tensor of the
    result's type that is added too: remat-join-addends writes it so on CUDA. The
    result never lies over it, where cuBLASLt gives other bits. Products, bias and
    addend are summed in f32 and rounded once to the result's element type, which
    is the operands' or f32. Canonicalization casts a bias to the result's type: a
    library adds no other.
  }];
  let arguments = (ins Remat_FloatTensor:$lhs, Remat_FloatTensor:$rhs,
                       Optional<Remat_FloatTensor>:$bias,
                       Optional<Remat_FloatTensor>:$addend,
                       UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let results = (outs Remat_FloatTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`bias` $bias^)? (`add` $addend^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def Remat_SoftmaxOp : Remat_Op<"softmax", [
    SameOperandsAndResultType, Remat_Cost, Remat_InPlace, Remat_Rowwise, Remat_Loops,
    Remat_Precision<"follow">, Remat_Differentiable]> {
  let summary = "exp(x - max) / sum over the last dimension";
  let description = [{ Computed in f32. The backward reads the result only. }];
  let arguments = (ins Remat_FloatTensor:$operand);
  let results = (outs Remat_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Remat_SoftmaxBackwardOp : Remat_Op<"softmax_backward", [
    SameOperandsAndResultType, Remat_Cost, Remat_InPlace, Remat_Rowwise, Remat_Loops,
    Remat_Precision<"follow">]> {
  let summary = "output * (grad - sum(output * grad)) over the last dimension";
  let arguments = (ins Remat_FloatTensor:$output, Remat_FloatTensor:$grad);
  let results = (outs Remat_FloatTensor:$result);
  let assemblyFormat = "$output `,` $grad attr-dict `:` type($result)";
}

def Remat_LayerNormOp : Remat_Op<"layer_norm", [
    Remat_InferType, Remat_Cost, Remat_Loops, Remat_InPlaceFromOperands,
    Remat_OperandPrecision, Remat_Differentiable]> {
  let summary = "normalises the last dimension, then scales and shifts";
  let description = [{
    y = (x - mean) * rstd * scale + bias with rstd = 1 / sqrt(variance + epsilon),
    biased variance, in f32 (Ba et al., 2016). x is [rows..., C], scale and bias
    [C] of one type; mean and rstd are f32 [rows...]. The backward reads x, scale, mean, rstd.
  }];
  let arguments = (ins Remat_FloatTensor:$operand, Remat_FloatTensor:$scale,
                       Remat_FloatTensor:$bias,
                       DefaultValuedAttr<Remat_FiniteAttr, "1.0e-5">:$epsilon);
  let results = (outs Remat_FloatTensor:$result, Remat_F32Tensor:$mean,
                      Remat_F32Tensor:$rstd);
  let assemblyFormat = [{
    $operand `,` $scale `,` $bias attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Remat_LayerNormBackwardOp : Remat_Op<"layer_norm_backward", [
    Remat_InferType, Remat_Cost, Remat_Loops, Remat_InPlaceFromOperands]> {
  let summary = "gradients of layer_norm: of operand, scale and bias";
  let description = [{
    The gradient of the operand has the operand's type, those of scale and bias
    the type of scale. An addend, of the operand's type, is added to the first
    result after that is rounded, as remat.add does: remat-fuse writes it so where
    gradients of a residual meet. The first result may overwrite `grad`, the
    operand or the addend: the sums over rows must have read both by then.
    With `with_sum` a fourth result is the sum of the first one, as it is stored,
    over all dimensions but the last: the gradient of a bias that was added to
    the operand. It is made in f32 and rounded once; remat-join-sums asks for it.
  }];
  let arguments = (ins Remat_FloatTensor:$grad, Remat_FloatTensor:$operand,
                       Remat_FloatTensor:$scale, Remat_F32Tensor:$mean,
                       Remat_F32Tensor:$rstd, Optional<Remat_FloatTensor>:$addend,
                       UnitAttr:$with_sum);
  let results = (outs Remat_FloatTensor:$operandGrad, Remat_FloatTensor:$scaleGrad,
                      Remat_FloatTensor:$biasGrad, Optional<Remat_FloatTensor>:$sum);
  let assemblyFormat = [{
    $grad `,` $operand `,` $scale `,` $mean `,` $rstd (`add` $addend^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def Remat_MomentsOp : Remat_Op<"moments", [
    Remat_InferType, Remat_Cost, Remat_Loops, Remat_OperandPrecision, Remat_Differentiable]> {
  let summary = "mean and variance over dimensions, in one read";
  let description = [{
    `dims` is sorted, without repetition; both results are f32, with size 1 in the
    reduced dimensions. The variance is not corrected for the number of elements.
    The backward reads the operand and the mean.
  }];
  let arguments = (ins Remat_FloatTensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Remat_F32Tensor:$mean, Remat_F32Tensor:$variance);
  let assemblyFormat = [{
    $operand `,` $dims attr-dict `:` functional-type(operands, results)
  }];
}

def Remat_NormalizeOp : Remat_Op<"normalize", [
    Remat_InferType, Remat_ElementwiseCost, Remat_InPlace, Remat_Pointwise,
    Remat_PointwiseLoops, Remat_ScalarFunction, Remat_OperandPrecision, Remat_Differentiable]> {
  let summary = "(x - mean) * rstd * scale + bias with statistics of groups of x";
  let description = [{
    Computed in f32 and rounded once. mean, rstd, scale and bias are f32 of one
    shape of x's rank, with the size of x or 1 in each dimension: batch norm
    (Ioffe and Szegedy, 2015) has [1, C, 1...]. The backward reads x, mean, rstd
    and scale.
  }];
  let arguments = (ins Remat_FloatTensor:$operand, Remat_F32Tensor:$mean,
                       Remat_F32Tensor:$rstd, Remat_F32Tensor:$scale,
                       Remat_F32Tensor:$bias);
  let results = (outs Remat_FloatTensor:$result);
  let assemblyFormat = [{
    $operand `,` $mean `,` $rstd `,` $scale `,` $bias attr-dict `:`
    functional-type(operands, results)
  }];
}

def Remat_NormalizeSumsOp : Remat_Op<"normalize_sums", [
    Remat_InferType, Remat_Cost, Remat_Loops]> {
  let summary = "what the gradients of normalize are made of: two sums in one read";
  let description = [{
    The sums of `grad` and of grad * (operand - mean) over the dimensions in which
    `mean` has size 1, in f32. With rstd, scale and bias behind `relu`, `grad` is
    the gradient of relu(normalize(...)): it counts where that is positive, which
    is computed again instead of read. Canonicalization writes it so where the
    graph does.
  }];
  let arguments = (ins Remat_FloatTensor:$grad, Remat_FloatTensor:$operand,
                       Remat_F32Tensor:$mean, Variadic<Remat_F32Tensor>:$affine);
  let results = (outs Remat_F32Tensor:$sum, Remat_F32Tensor:$centredSum);
  let assemblyFormat = [{
    $grad `,` $operand `,` $mean (`relu` $affine^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasCanonicalizeMethod = 1;
}

def Remat_RMSNormOp : Remat_Op<"rms_norm", [
    Remat_InferType, Remat_Cost, Remat_Loops, Remat_InPlaceFromOperands,
    Remat_OperandPrecision, Remat_Differentiable]> {
  let summary = "divides the last dimension by its root mean square, then scales";
  let description = [{
    y = x * rstd * weight with rstd = 1 / sqrt(mean(x * x) + epsilon), in f32
    (Zhang and Sennrich, 2019). x is [rows..., C], weight [C]; rstd is f32
    [rows...]. The backward reads x, weight and rstd.
  }];
  let arguments = (ins Remat_FloatTensor:$operand, Remat_FloatTensor:$weight,
                       DefaultValuedAttr<Remat_FiniteAttr, "1.0e-6">:$epsilon);
  let results = (outs Remat_FloatTensor:$result, Remat_F32Tensor:$rstd);
  let assemblyFormat = [{
    $operand `,` $weight attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Remat_RMSNormBackwardOp : Remat_Op<"rms_norm_backward", [
    Remat_InferType, Remat_Cost, Remat_Loops, Remat_InPlaceFromOperands]> {
  let summary = "gradients of rms_norm: of operand and weight";
  let description = [{
    Each gradient has the type of what it is the gradient of. An addend is added
    to the first result as in remat.layer_norm_backward. The first result may
    overwrite `grad`, the operand or the addend: the sums over rows must have read
    both by then.
  }];
  let arguments = (ins Remat_FloatTensor:$grad, Remat_FloatTensor:$operand,
                       Remat_FloatTensor:$weight, Remat_F32Tensor:$rstd,
                       Optional<Remat_FloatTensor>:$addend);
  let results = (outs Remat_FloatTensor:$operandGrad, Remat_FloatTensor:$weightGrad);
  let assemblyFormat = [{
    $grad `,` $operand `,` $weight `,` $rstd (`add` $addend^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

def Remat_AttentionOp : Remat_Op<"attention", [
    AttrSizedOperandSegments, Remat_InferType, Remat_Cost, Remat_UsesMatrixUnits,
    Remat_Loops, Remat_PlacedLoops, Remat_OperandPrecision, Remat_Differentiable,
    Remat_SometimesRandom]> {
  let summary = "scaled dot-product attention";
  let description = [{
    Either one packed operand [B, T, 3, H, D], or query [B, T, H, D], key and
    value [B, S, G, D] where G divides H: head h of the queries reads head
    h / (H / G) of the keys (grouped queries; Ainslie et al., 2023). The result is
    [B, T, H, D]; the second one the f32 log-sum-exp of the scaled (masked)
    scores, [B, H, T], that the backward reads beside the operands and the result.
    `causal`: query t sees keys s <= t, with a `window` only those
    s > t - window (a sliding window; Beltagy et al., 2020).
    `mask`, broadcast to [B, H, T, S]: i1, true where the key is seen, or float,
    added to the scores; not differentiable. `scale` defaults to 1 / sqrt(D).
    `dropout_p` drops probabilities after the softmax, those of head h by element
    (b * T + t) * S + s of the stream `id` with the seed plus h times
    0x5851F42D4C95, and then needs seed and step. A query that sees no key gives
    0 and a log-sum-exp of minus infinity.
  }];
  let arguments = (ins Variadic<Remat_FloatTensor>:$qkv, Optional<Remat_Tensor>:$mask,
                       Optional<Remat_I64Scalar>:$seed, Optional<Remat_I64Scalar>:$step,
                       UnitAttr:$causal, OptionalAttr<I64Attr>:$window,
                       OptionalAttr<Remat_FiniteAttr>:$scale,
                       DefaultValuedAttr<F64Attr, "0.0">:$dropout_p,
                       DefaultValuedAttr<I64Attr, "0">:$id);
  let results = (outs Remat_FloatTensor:$result, Remat_F32Tensor:$lse);
  let assemblyFormat = [{
    $qkv (`mask` $mask^)? (`random` $seed^ `,` $step)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Remat_AttentionBackwardOp : Remat_Op<"attention_backward", [
    AttrSizedOperandSegments, Remat_Cost, Remat_UsesMatrixUnits, Remat_Loops,
    Remat_PlacedLoops, Remat_SometimesRandom]> {
  let summary = "gradients of attention with respect to the packed operand or to query, key, value";
  let description = [{
    Those of a key and a value that several heads of the queries read are summed
    over these heads in f32, in a fixed order.
  }];
  let arguments = (ins Remat_FloatTensor:$grad, Variadic<Remat_FloatTensor>:$qkv,
                       Remat_FloatTensor:$output, Remat_F32Tensor:$lse,
                       Optional<Remat_Tensor>:$mask, Optional<Remat_I64Scalar>:$seed,
                       Optional<Remat_I64Scalar>:$step, UnitAttr:$causal,
                       OptionalAttr<I64Attr>:$window,
                       OptionalAttr<Remat_FiniteAttr>:$scale,
                       DefaultValuedAttr<F64Attr, "0.0">:$dropout_p,
                       DefaultValuedAttr<I64Attr, "0">:$id);
  let results = (outs Variadic<Remat_FloatTensor>:$qkvGrads);
  let assemblyFormat = [{
    $grad `qkv` $qkv `output` $output `,` $lse (`mask` $mask^)?
    (`random` $seed^ `,` $step)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Remat_EmbeddingOp : Remat_Op<"embedding", [
    Remat_InferType, Remat_CostAndTraffic, Remat_Loops, Remat_PlacedLoops,
    Remat_Precision<"low_result">, Remat_Differentiable]> {
  let summary = "rows of a table";
  let description = [{
    ids [rows...] into table [V, C] gives [rows..., C]. An id outside [0, V) is an
    error when the step runs on the host and gives zeros on a GPU.
  }];
  let arguments = (ins Remat_IntTensor:$ids, Remat_FloatTensor:$table);
  let results = (outs Remat_FloatTensor:$result);
  let assemblyFormat = [{
    $ids `,` $table attr-dict `:` functional-type(operands, results)
  }];
}

def Remat_EmbeddingBackwardOp : Remat_Op<"embedding_backward", [
    Remat_Cost, Remat_Loops, Remat_PlacedLoops, Remat_InPlaceFromOperands]> {
  let summary = "sums gradient rows into the table rows that they came from";
  let description = [{
    ids [rows...] and grad [rows..., C] give [V, C]. The sum for each row runs in
    f32 in the order of the ids, of which whole runs of 32 that name the row, as
    they lie sorted, are summed first: it is the same each time. Rows that no id
    names are zero. An addend [V, C] is added in f32 once the sum is rounded; the
    result may lie over it. The elements of grad and of the addend may be narrower
    than those of the result: that they are widened first changes nothing, so
    canonicalization takes the cast of grad away, and remat-fuse that of the addend.
  }];
  let arguments = (ins Remat_IntTensor:$ids, Remat_FloatTensor:$grad,
                       Optional<Remat_FloatTensor>:$addend);
  let results = (outs Remat_FloatTensor:$tableGrad);
  let assemblyFormat = [{
    $ids `,` $grad (`add` $addend^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Remat_CrossEntropyOp : Remat_Op<"cross_entropy", [
    Remat_InferType, Remat_Cost,
    DeclareOpInterfaceMethods<Remat_LoopOpInterface, ["getLoops", "buildShares"]>,
    Remat_PlacedLoops, Remat_Precision<"any">, Remat_Differentiable]> {
  let summary = "mean negative log-likelihood of targets under softmax(logits)";
  let description = [{
    logits [rows..., V], targets [rows...] of i32 or i64. Rows whose target is
    `ignore_index` count neither in the sum nor in the mean; if all are ignored
    the loss is 0. The second result is the f32 log-sum-exp of each row.
  }];
  let arguments = (ins Remat_FloatTensor:$logits, Remat_IntTensor:$targets,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index);
  let results = (outs Remat_F32Scalar:$loss, Remat_F32Tensor:$lse);
  let assemblyFormat = [{
    $logits `,` $targets attr-dict `:` functional-type(operands, results)
  }];
}

def Remat_CrossEntropyBackwardOp : Remat_Op<"cross_entropy_backward", [
    Remat_InferType, Remat_Cost,
    DeclareOpInterfaceMethods<Remat_LoopOpInterface, ["getLoops", "buildShares"]>,
    Remat_PlacedLoops, Remat_InPlaceFromOperands]> {
  let summary = "(softmax(logits) - one_hot(targets)) * grad / counted rows, in place of the logits";
  let arguments = (ins Remat_F32Scalar:$grad, Remat_FloatTensor:$logits,
                       Remat_IntTensor:$targets, Remat_F32Tensor:$lse,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index);
  let results = (outs Remat_FloatTensor:$logitsGrad);
  let assemblyFormat = [{
    $grad `,` $logits `,` $targets `,` $lse attr-dict `:`
    functional-type(operands, results)
  }];
}

def Remat_CrossEntropyWithGradOp : Remat_Op<"cross_entropy_with_grad", [
    Remat_InferType, Remat_Cost, Remat_InPlaceFromOperands]> {
  let summary = "cross_entropy and cross_entropy_backward in one read of the logits";
  let description = [{
    The results are those of remat.cross_entropy and what
    remat.cross_entropy_backward makes of them and of `grad`, bit for bit; the
    gradient may lie over the logits. remat-fuse writes it where a step makes both.
  }];
  let arguments = (ins Remat_F32Scalar:$grad, Remat_FloatTensor:$logits,
                       Remat_IntTensor:$targets,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index);
  let results = (outs Remat_F32Scalar:$loss, Remat_F32Tensor:$lse,
                      Remat_FloatTensor:$logitsGrad);
  let assemblyFormat = [{
    $grad `,` $logits `,` $targets attr-dict `:` functional-type(operands, results)
  }];
}

def Remat_MseOp : Remat_Op<"mse", [
    SameTypeOperands, DeclareOpInterfaceMethods<InferTypeOpInterface>, Remat_Cost, Remat_Loops,
    Remat_Precision<"full">, Remat_Differentiable]> {
  let summary = "mean of (x - y)^2 over all elements, in f32";
  let arguments = (ins Remat_FloatTensor:$prediction, Remat_FloatTensor:$target);
  let results = (outs Remat_F32Scalar:$loss);
  let assemblyFormat = [{
    $prediction `,` $target attr-dict `:` functional-type(operands, results)
  }];
}

#endif // REMAT_IR_REMATNETWORKOPS_TD
