//===- RematTrainingOps.td - optimizers and kernel groups ------*- tablegen -*-===//

#ifndef REMAT_IR_REMATTRAININGOPS_TD
#define REMAT_IR_REMATTRAININGOPS_TD

include "remat/IR/RematBase.td"

//===----------------------------------------------------------------------===//
// Optimizers. Arithmetic is f32; parameters and states are updated in place.
//===----------------------------------------------------------------------===//

def Remat_SgdOp : Remat_Op<"sgd", [
    AttrSizedOperandSegments, Remat_ElementwiseCost, Remat_Update,
    Remat_InPlaceFromOperands]> {
  let summary = "stochastic gradient descent";
  let description = [{
    g = grad * grad_scale + weight_decay * p; with momentum: b = momentum * b + g
    (the buffer begins at zero), p - rate * b; without: p - rate * g. The second
    result is there exactly when the buffer is.
  }];
  let arguments = (ins Remat_FloatTensor:$parameter, Remat_FloatTensor:$grad,
                       Optional<Remat_F32Tensor>:$buffer, Remat_F32Scalar:$rate,
                       Optional<Remat_F32Scalar>:$grad_scale,
                       DefaultValuedAttr<Remat_FiniteAttr, "0.0">:$momentum,
                       DefaultValuedAttr<Remat_FiniteAttr, "0.0">:$weight_decay);
  let results = (outs Remat_FloatTensor:$newParameter,
                      Optional<Remat_F32Tensor>:$newBuffer);
  let assemblyFormat = [{
    $parameter `,` $grad (`buffer` $buffer^)? `rate` $rate (`scale` $grad_scale^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Remat_AdamWOp : Remat_Op<"adamw", [
    Remat_Cost, Remat_Update, Remat_InferType, Remat_InPlaceFromOperands]> {
  let summary = "Adam with decoupled weight decay (Loshchilov and Hutter, 2019)";
  let description = [{
    t = step + 1, g = grad * grad_scale; m = beta1 m + (1 - beta1) g;
    v = beta2 v + (1 - beta2) g^2; p -= rate * weight_decay * p;
    p -= rate * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon).
    m and v are f32 of the parameter's shape; grad has its shape and any float type.
    With `in_halves` the parameter, f32, is read and written as two halves (see
    remat.upper_half). With `as_halves` its numbers are those that it would have
    so, though it lies whole, as a part of one that a rank updates does.
  }];
  let arguments = (ins Remat_FloatTensor:$parameter, Remat_FloatTensor:$grad,
                       Remat_F32Tensor:$moment1, Remat_F32Tensor:$moment2,
                       Remat_F32Scalar:$rate, Remat_I64Scalar:$step,
                       Optional<Remat_F32Scalar>:$grad_scale,
                       DefaultValuedAttr<F64Attr, "0.9">:$beta1,
                       DefaultValuedAttr<F64Attr, "0.999">:$beta2,
                       DefaultValuedAttr<Remat_FiniteAttr, "1.0e-8">:$epsilon,
                       DefaultValuedAttr<Remat_FiniteAttr, "0.01">:$weight_decay,
                       UnitAttr:$in_halves, UnitAttr:$as_halves);
  let results = (outs Remat_FloatTensor:$newParameter, Remat_F32Tensor:$newMoment1,
                      Remat_F32Tensor:$newMoment2);
  let assemblyFormat = [{
    $parameter `,` $grad `moments` $moment1 `,` $moment2 `rate` $rate `step` $step
    (`scale` $grad_scale^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Remat_GlobalNormOp : Remat_Op<"global_norm", [Remat_Cost, Remat_Precision<"any">]> {
  let summary = "square root of the sum of squares of all elements of all operands, in f32";
  let description = [{
    With `remat.min(1, max_norm / (norm + 1e-6))` it gives the factor of gradient
    clipping by global norm (Pascanu et al., 2013).
  }];
  let arguments = (ins Variadic<Remat_FloatTensor>:$operands);
  let results = (outs Remat_F32Scalar:$norm);
  let assemblyFormat = "$operands attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Parameters in halves
//===----------------------------------------------------------------------===//

def Remat_UpperHalfOp : Remat_Op<"upper_half", [
    Remat_InferType, Remat_View, Remat_Precision<"any">]> {
  let summary = "an f32 argument in halves, rounded to bf16: a view of its bytes";
  let description = [{
    An argument with `remat.in_halves` lies as two halves of its bytes. The upper
    half has all elements as bf16, rounded to nearest even, one behind the other,
    and is this operation's result, which costs nothing. The lower half has for
    each element what its 32 bits, as an integer, are above those of the rounded
    one, as an i16. An element half-way between two bf16 that is rounded down has
    a difference that no i16 holds: it is stored as the next smaller f32.
  }];
  let arguments = (ins Remat_F32Tensor:$operand);
  let results = (outs Remat_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Remat_JoinHalvesOp : Remat_Op<"join_halves", [
    Remat_InferType, Remat_ElementwiseCost, Remat_Precision<"any">]> {
  let summary = "the elements of an f32 argument in halves, as other operations read them";
  let description = [{
    See remat.upper_half.
  }];
  let arguments = (ins Remat_F32Tensor:$operand);
  let results = (outs Remat_F32Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Kernel groups
//===----------------------------------------------------------------------===//

def Remat_KernelOp : Remat_Op<"kernel", [
    IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">,
    Remat_Cost, Remat_InPlaceFromOperands]> {
  let summary = "operations that run as one kernel";
  let description = [{
    Made by `remat-fuse`. The block's arguments are the operands; its values stay
    in registers. The yielded values are the results. All operations inside are
    elementwise (functions of elements, dropout, random, broadcast, splat constants,
    rolls of operands) over one common shape, or, with a row reduction inside, over
    rows of it.
    Every device runs kernels of the former kind, which may also yield sums of
    their results over all dimensions but the last, as the gradient of a bias is;
    canonicalization takes others apart.

    ```mlir
    %r = remat.kernel(%a = %x : tensor<4x8xf32>, %b = %y : tensor<8xf32>)
        -> tensor<4x8xf32> {
      %0 = remat.add %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
      %1 = remat.relu %0 : tensor<4x8xf32>
      remat.yield %1 : tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Remat_StoredTensor>:$inputs);
  let results = (outs Variadic<Remat_StoredTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizeMethod = 1;
  let extraClassDeclaration = [{
    /// The shape of all results and of all values that are no splat constants,
    /// if each is computed element by element; else nothing. Sums over all
    /// dimensions but the last of what is yielded may be yielded beside it.
    ::std::optional<::llvm::ArrayRef<int64_t>> getPointwiseShape();
    /// The operation of the body that makes result number `result` if that is
    /// such a sum, else null.
    ::mlir::Operation *getSum(unsigned result);
    /// Whether the kernel rolls that operand: then an element of it is read by
    /// others than who writes the same element of a result.
    bool rolls(unsigned operand);
  }];
}

def Remat_YieldOp : Remat_Op<"yield", [
    ReturnLike, Terminator, ParentOneOf<["KernelOp", "ScanOp"]>]> {
  let summary = "ends a kernel group or the body of a scan and names its results";
  let description = [{
    In a kernel its operands are what the kernel writes, in the order of the kernel's
    results; whatever else the kernel computes stays inside. In a scan they are the next
    carries, then what is stacked.

    ```mlir
    %sum, %root = remat.kernel(%a = %x : tensor<4x8xf32>, %b = %y : tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
      %0 = remat.add %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
      %1 = remat.exp %0 : tensor<4x8xf32>
      %2 = remat.sqrt %1 : tensor<4x8xf32>
      remat.yield %0, %2 : tensor<4x8xf32>, tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Remat_StoredTensor>:$operands);
  let assemblyFormat = "($operands^ `:` type($operands))? attr-dict";
  let builders = [OpBuilder<(ins), [{ /* an empty yield */ }]>];
}

#endif // REMAT_IR_REMATTRAININGOPS_TD
