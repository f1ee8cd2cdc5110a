//===- Passes.td - the passes of the compiler ------------------*- tablegen -*-===//
//
// In the order of the pipeline. remat-fit-budget is its last pass and runs what
// stands behind it here, remat-plan, remat-fuse and remat-assign-memory, as often
// as it must; at the end those that check and print. Each pass shows IR before and
// after; a test under test/Transforms runs that very example.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_PASSES
#define REMAT_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

/// A pass over one graph function; see GraphPass.h. With `stage`, one of
/// #remat.stage, it is refused on functions that have reached this stage.
class Remat_Pass<string argument, string stage = "">
    : PassBase<argument, !if(!empty(stage), "::remat::GraphPass",
                             "::remat::GraphPassBefore<::remat::Stage::" # stage # ">")>;

def SetTarget : Remat_Pass<"remat-set-target"> {
  let summary = "Says where the graph runs";
  let description = [{
    Later passes ask the target which kernels can run an operation, and what
    those cost. A graph that says nothing runs on the host. What an option
    leaves open is as the graph says it; a graph that says otherwise than an
    option is refused, and so is one with memory assigned for another target.
    `costs` names profiles that `remat-run --profile` wrote. Their times become
    `remat.costs` of the function, by what decides how long an operation takes:
    later passes take these times where an operation has one.
    `data` and `tensor` are the axes of the mesh of ranks (`#remat.mesh`).

    ```mlir
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    // becomes, with device=cuda attention=own
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32>
        attributes {remat.target = #remat.target<cuda, arch = "sm_90", attention = own>} {
    ```
  }];
  let dependentDialects = ["::remat::RematDialect"];
  let options = [
    Option<"Device", "device", "std::string", "\"\"", "host or cuda">,
    Option<"Arch", "arch", "std::string", "\"\"",
           "architecture of a CUDA device (sm_90 unless given)">,
    Option<"Attention", "attention", "std::string", "\"\"",
           "which kernels run attention and convolutions on CUDA: auto (unless given), "
           "cudnn or own">,
    Option<"Deterministic", "deterministic", "std::string", "\"\"",
           "whether a step computes the same bits at each run on CUDA: true (unless "
           "given), or false, where libraries are then faster">,
    ListOption<"Costs", "costs", "std::string",
               "profiles of remat-run, whose times are taken for those of the target's "
               "model; of two the later one counts">,
    Option<"Data", "data", "int64_t", "1", "ranks with a batch each">,
    Option<"Tensor", "tensor", "int64_t", "1", "ranks that share a batch">];
}

def CancelTransposes : Remat_Pass<"remat-cancel-transposes", "planned"> {
  let summary = "Removes transposes that take each other back";
  let description = [{
    A transpose copies its tensor, for nothing where another one takes it back later.
    What lies between them then works on the order that both had in mind: elementwise
    operations, `concat`, `slice`, `pad` and `roll`, if nobody else reads what they make and
    whatever else they read keeps its elements where they are in the new order, as a
    scalar does, or the angles of a rotary embedding. Operations that draw random numbers
    keep their order: the numbers belong to places in memory. No bit of a value changes;
    gradients that are sums over these dimensions may be added up in another order.

    ```mlir
    %0 = remat.transpose %q, [0, 2, 1, 3] : (tensor<2x8x4x16xf32>) -> tensor<2x4x8x16xf32>
    %1 = remat.mul %0, %cos : (tensor<2x4x8x16xf32>, tensor<8x16xf32>) -> tensor<2x4x8x16xf32>
    %2 = remat.transpose %1, [0, 2, 1, 3] : (tensor<2x4x8x16xf32>) -> tensor<2x8x4x16xf32>
    // becomes
    %0 = remat.reshape %cos : tensor<8x16xf32> to tensor<1x1x8x16xf32>
    %1 = remat.reshape %0 : tensor<1x1x8x16xf32> to tensor<1x8x1x16xf32>
    %2 = remat.mul %q, %1 : (tensor<2x8x4x16xf32>, tensor<1x8x1x16xf32>) -> tensor<2x8x4x16xf32>
    ```
  }];
  let dependentDialects = ["::remat::RematDialect"];
}

def Control : Remat_Pass<"remat-control", "planned"> {
  let summary = "Says from outside the graph which values are kept for the backward";
  let description = [{
    Writes `remat.keep` on operations whose results are named: by what the graph
    calls them (`%h`), by the path of their location (`h.1/mlp/gelu`), by a glob
    (`h.*/gelu`), or by a scope around them (`h.1`). `keep` means `must`: computed
    once. `recompute` means `never`: computed again for the backward, also where
    views show the bytes; what the graph returns and what cannot be computed
    again is kept all the same. `prefer` means `prefer`: better kept.

    A name that no value has is an error, and so are two controls that
    contradict each other or the graph. After differentiation the pass only
    repeats what earlier passes may have lost: there values may be gone.

    ```mlir
    %1 = remat.gelu %0 : tensor<4xf32> loc("h.1/mlp/gelu")
    // becomes, with recompute={h.1}
    %1 = remat.gelu %0 {remat.keep = #remat.keep<never>} : tensor<4xf32> loc("h.1/mlp/gelu")
    ```
  }];
  let dependentDialects = ["::remat::RematDialect"];
  let options = [
    ListOption<"Kept", "keep", "std::string", "names of values to compute once">,
    ListOption<"Recomputed", "recompute", "std::string",
               "names of values to compute again for the backward">,
    ListOption<"Preferred", "prefer", "std::string", "names of values better kept">];
}

def Autocast : Remat_Pass<"remat-autocast", "planned"> {
  let summary = "mixed precision: writes every cast to bf16 or f16 into the graph";
  let description = [{
    Parameters and the signature stay as they are; activations become bf16 or
    f16. Each operation falls into one class:

    | class | operations | runs in |
    |---|---|---|
    | low | matmul, attention | the low type, always |
    | follow | elementwise, shape operations, softmax, gelu, dropout, most reductions | the low type as soon as one operand has it (each computes in f32 inside), else the types as written |
    | full | exp, log, pow, rsqrt, reciprocal, mse, sums and means to one element | f32 |
    | any | normalisations, cross_entropy, global_norm, cast | the type that its operand has by now; a normalisation's result has it too |
    | written | embedding (its rows are cast), constant, random, backward operations, optimizers, kernels | the types as written: operands are cast back to them |

    Statistics and weights of normalisations and the log-sum-exp of attention keep
    the types as written. So every operation is as valid as it was, whatever types
    the graph held before. A value is cast once; its users share the cast, and the
    planner may recompute it. There is no loss scaling, so f16 suits graphs whose
    gradients stay above 6e-8.

    Before:

    ```mlir
    %0 = remat.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %1 = remat.relu %0 : tensor<2x4xf32>
    %2 = remat.mse %1, %t : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<f32>
    ```

    After `remat-autocast{type=bf16}`:

    ```mlir
    %0 = remat.cast %x : tensor<2x3xf32> to tensor<2x3xbf16>
    %1 = remat.cast %w : tensor<3x4xf32> to tensor<3x4xbf16>
    %2 = remat.matmul %0, %1 : (tensor<2x3xbf16>, tensor<3x4xbf16>) -> tensor<2x4xbf16>
    %3 = remat.relu %2 : tensor<2x4xbf16>
    %4 = remat.cast %3 : tensor<2x4xbf16> to tensor<2x4xf32>
    %5 = remat.mse %4, %t : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<f32>
    ```
  }];
  let options = [
    Option<"type", "type", "std::string", "\"bf16\"", "bf16 or f16">];
  let dependentDialects = ["::remat::RematDialect"];
}

include "remat/Transforms/TrainingPasses.td"

//===----------------------------------------------------------------------===//
// Fusion
//===----------------------------------------------------------------------===//

def Split : Remat_Pass<"remat-split", "planned"> {
  let summary = "makes and uses large values slice by slice";
  let description = [{
    Finds the operations around the largest values that can all be cut along one
    dimension, as the rows of a batch, and writes them once a slice, one slice
    after the other: of the large values a slice is there at a time. What the
    operations are is not asked, only along which loops they can be cut
    (`LoopOpInterface`). What is read elsewhere is joined again; a sum over the
    dimension is added up in f32, in the order of the slices, so that another
    number of slices gives other roundings. Where a loss is the mean of the rows
    that count, each slice has the share of its rows.

    A group is split where that saves memory: where its largest values are larger
    than the sums that are kept and the slices that are joined. Of a language
    model these are the logits, their gradient and all that reads them. Runs
    behind `remat-differentiate`: forward and backward of a slice run one after
    the other.

    Before:

    ```mlir
    %0 = remat.matmul %x, %w : (tensor<4x2xf32>, tensor<2x64xf32>) -> tensor<4x64xf32>
    %1 = remat.exp %0 : tensor<4x64xf32>
    %2 = remat.reduce <sum> %1, [1] : (tensor<4x64xf32>) -> tensor<4xf32>
    ```

    After `remat-split{slices=2}`:

    ```mlir
    %0 = remat.slice %x, [0, 0] [2, 2] : (tensor<4x2xf32>) -> tensor<2x2xf32>
    %1 = remat.matmul %0, %w : (tensor<2x2xf32>, tensor<2x64xf32>) -> tensor<2x64xf32>
    %2 = remat.exp %1 : tensor<2x64xf32>
    %3 = remat.reduce <sum> %2, [1] : (tensor<2x64xf32>) -> tensor<2xf32>
    %4 = remat.slice %x, [2, 0] [2, 2] : (tensor<4x2xf32>) -> tensor<2x2xf32>
    %5 = remat.matmul %4, %w : (tensor<2x2xf32>, tensor<2x64xf32>) -> tensor<2x64xf32>
    %6 = remat.exp %5 : tensor<2x64xf32>
    %7 = remat.reduce <sum> %6, [1] : (tensor<2x64xf32>) -> tensor<2xf32>
    %8 = remat.concat %3, %7 {dim = 0 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
    ```
  }];
  let options = [
    Option<"slices", "slices", "int64_t", "1", "how many slices; 1: nothing is split">];
  let dependentDialects = ["::remat::RematDialect"];
}

def PadClasses : Remat_Pass<"remat-pad-classes", "differentiated"> {
  let summary = "Makes rows of logits as long as matrix units read them";
  let description = [{
    On CUDA a product whose rows are no multiple of 16 bytes takes seven times as
    long, and the logits of a language model are often such rows: GPT-2 has 50257
    classes. Where nothing but a `remat.cross_entropy` reads logits of 16 bits, of
    1024 classes and more, they get rows of a multiple of 128 bytes. The weights of
    the classes that are added are zeros, and a bias puts their logits so far below
    all others that their probability and gradient are 0: loss and gradients are
    those of the graph as it was, up to the order of sums. A target that is no
    class is none afterwards either. Stands before `remat-differentiate`, so that
    the products of the gradient have such rows too. Does nothing for the host.

    ```mlir
    %0 = remat.matmul %x, %w {transpose_rhs} : (tensor<64x256xbf16>, tensor<1030x256xbf16>) -> tensor<64x1030xbf16>
    %loss, %lse = remat.cross_entropy %0, %targets : (tensor<64x1030xbf16>, tensor<64xi64>) -> (tensor<f32>, tensor<64xf32>)
    // becomes
    %w1 = remat.pad %w, [0, 0] [58, 0] : (tensor<1030x256xbf16>) -> tensor<1088x256xbf16>
    %zeros = remat.constant dense<0.0> : tensor<1030xbf16>
    %far = remat.constant dense<-1.048580e+06> : tensor<58xbf16>
    %bias = remat.concat %zeros, %far {dim = 0 : i64} : (tensor<1030xbf16>, tensor<58xbf16>) -> tensor<1088xbf16>
    %0 = remat.matmul %x, %w1 bias %bias {transpose_rhs}
        : (tensor<64x256xbf16>, tensor<1088x256xbf16>, tensor<1088xbf16>) -> tensor<64x1088xbf16>
    %classes = remat.constant dense<1030> : tensor<i64>
    %1 = remat.compare <lt> %targets, %classes : (tensor<64xi64>, tensor<i64>) -> tensor<64xi1>
    %none = remat.constant dense<-1> : tensor<i64>
    %2 = remat.select %1, %targets, %none : (tensor<64xi1>, tensor<64xi64>, tensor<i64>) -> tensor<64xi64>
    %loss, %lse = remat.cross_entropy %0, %2 : (tensor<64x1088xbf16>, tensor<64xi64>) -> (tensor<f32>, tensor<64xf32>)
    ```
  }];
  let dependentDialects = ["::remat::RematDialect"];
}

def ChannelsLast : Remat_Pass<"remat-channels-last", "planned"> {
  let summary = "Stores images as [N, X..., C] where cuDNN runs their convolutions";
  let description = [{
    The matrix units want the channels of a convolution's tensors next to each
    other; a library copies other tensors, and its plans for them are up to 2.5
    times as slow. Convolutions of 16 bits that cuDNN runs become
    `channels_last`, and what reads their results follows where it can: elementwise
    operations, pooling, statistics, `normalize`, reductions, `concat`, `slice`,
    `pad` and `roll`. A transpose, or a view where nothing moves past another element, stands where
    an operation needs the order in which the graph was written: parameters and
    results keep theirs. Does nothing for the host.

    ```mlir
    %0 = remat.convolution %x, %w strides [1, 1] pad [1, 1] [1, 1] dilation [1, 1]
        : (tensor<8x16x14x14xbf16>, tensor<32x16x3x3xbf16>) -> tensor<8x32x14x14xbf16>
    %1 = remat.relu %0 : tensor<8x32x14x14xbf16>
    %2 = remat.reduce <mean> %1, [2, 3] : (tensor<8x32x14x14xbf16>) -> tensor<8x32xbf16>
    // becomes
    %x1 = remat.transpose %x, [0, 2, 3, 1] : (tensor<8x16x14x14xbf16>) -> tensor<8x14x14x16xbf16>
    %w1 = remat.transpose %w, [0, 2, 3, 1] : (tensor<32x16x3x3xbf16>) -> tensor<32x3x3x16xbf16>
    %0 = remat.convolution %x1, %w1 strides [1, 1] pad [1, 1] [1, 1] dilation [1, 1] {channels_last}
        : (tensor<8x14x14x16xbf16>, tensor<32x3x3x16xbf16>) -> tensor<8x14x14x32xbf16>
    %1 = remat.relu %0 : tensor<8x14x14x32xbf16>
    %2 = remat.reduce <mean> %1, [1, 2] : (tensor<8x14x14x32xbf16>) -> tensor<8x32xbf16>
    ```
  }];
  let dependentDialects = ["::remat::RematDialect"];
}

def FormRolls : Remat_Pass<"remat-form-rolls", "planned"> {
  let summary = "Writes joins of a tensor's own parts as rolls";
  let description = [{
    A `concat` of the last elements of each line of a tensor and of the others is a
    `roll`, which is part of the kernel that reads it (`remat-fuse`). Rotary embeddings
    (Su et al., RoFormer, 2021) negate one of the parts and multiply by a table of sines:
    the table, which all layers share, takes the signs. In their gradients the product
    comes first: its factors are rolled then. Without a table, parts that are negated
    stay a `concat`. No bit of a value changes, since a sign does not change how a
    product is rounded.

    ```mlir
    %0 = remat.slice %q, [0, 4] [32, 4] : (tensor<32x8xf32>) -> tensor<32x4xf32>
    %1 = remat.neg %0 : tensor<32x4xf32>
    %2 = remat.slice %q, [0, 0] [32, 4] : (tensor<32x8xf32>) -> tensor<32x4xf32>
    %3 = remat.concat %1, %2 {dim = 1 : i64} : (tensor<32x4xf32>, tensor<32x4xf32>) -> tensor<32x8xf32>
    %4 = remat.mul %3, %sin : (tensor<32x8xf32>, tensor<8xf32>) -> tensor<32x8xf32>
    // becomes
    %0 = remat.slice %sin, [0] [4] : (tensor<8xf32>) -> tensor<4xf32>
    %1 = remat.neg %0 : tensor<4xf32>
    %2 = remat.slice %sin, [4] [4] : (tensor<8xf32>) -> tensor<4xf32>
    %3 = remat.concat %1, %2 {dim = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
    %4 = remat.roll %q {dim = 1 : i64, shift = 4 : i64} : tensor<32x8xf32>
    %5 = remat.mul %4, %3 : (tensor<32x8xf32>, tensor<8xf32>) -> tensor<32x8xf32>
    ```
  }];
  let dependentDialects = ["::remat::RematDialect"];
}

def JoinAddends : Remat_Pass<"remat-join-addends", "planned"> {
  let summary = "Lets matrix products add what is added to them";
  let description = [{
    On CUDA cuBLASLt adds a tensor, a residual as a rule, to a matrix product in a
    third of the time of an addition of its own: the product is neither written
    nor read for it. `remat.add` of a product that nobody else reads, perhaps
    through a `remat.reshape`, becomes the product's `add`; of two products the
    later one adds the other. An addition that `remat-fuse` makes part of a kernel
    with its readers, or with what makes its other operand, stays, unless all that
    is added are products. The sum is rounded once instead of twice, so bits are
    others than without the pass, but the same whatever is planned or fused behind
    it. Does nothing for the host.

    ```mlir
    %0 = remat.matmul %x, %w bias %b : (tensor<64x256xbf16>, tensor<256x128xbf16>, tensor<128xbf16>) -> tensor<64x128xbf16>
    %1 = remat.add %residual, %0 : (tensor<64x128xbf16>, tensor<64x128xbf16>) -> tensor<64x128xbf16>
    // becomes
    %1 = remat.matmul %x, %w bias %b add %residual
        : (tensor<64x256xbf16>, tensor<256x128xbf16>, tensor<128xbf16>, tensor<64x128xbf16>) -> tensor<64x128xbf16>
    ```
  }];
  let dependentDialects = ["::remat::RematDialect"];
}

def HalveParameters : Remat_Pass<"remat-halve-parameters", "planned"> {
  let summary = "Stores f32 parameters so that their bf16 is there already";
  let description = [{
    With autocast a step begins by rounding each parameter to bf16, and holds both.
    On CUDA, where bf16 of a parameter is all that is read of it, but for its
    `remat.adamw`, its memory gets another order: all elements rounded to bf16 lie
    in front, and what 16 bits each are missing lies behind
    (`remat.in_halves`). Each `remat.cast` becomes a `remat.upper_half`, a view
    that needs neither time nor memory, and the update reads and writes both
    halves. Rows of a table that are looked up and rounded are looked up in its
    bf16. In another function that shares the parameter, what else reads it
    reads a `remat.join_halves`. Who writes or reads parameters from outside does
    not see it. Does nothing for the host.

    An f32 half-way between two bf16 that rounds down is stored as the f32 before
    it, one of 131,072 numbers; else bits are as without the pass. Which
    parameters lie so depends on the graph alone and on no plan. Where each rank
    updates a part of a parameter that all hold, that lies whole, but its
    `remat.adamw` takes and leaves the same numbers (`as_halves`).

    ```mlir
    %0 = remat.cast %w : tensor<8x8xf32> to tensor<8x8xbf16>
    %new, %m, %v = remat.adamw %w, %g moments %m0, %v0 rate %rate step %step : ...
    // becomes
    %0 = remat.upper_half %w : (tensor<8x8xf32>) -> tensor<8x8xbf16>
    %new, %m, %v = remat.adamw %w, %g moments %m0, %v0 rate %rate step %step {in_halves} : ...

    %0 = remat.embedding %ids, %w : (tensor<3xi64>, tensor<16x4xf32>) -> tensor<3x4xf32>
    %1 = remat.cast %0 : tensor<3x4xf32> to tensor<3x4xbf16>
    // becomes
    %0 = remat.upper_half %w : (tensor<16x4xf32>) -> tensor<16x4xbf16>
    %1 = remat.embedding %ids, %0 : (tensor<3xi64>, tensor<16x4xbf16>) -> tensor<3x4xbf16>
    ```
  }];
  let dependentDialects = ["::remat::RematDialect"];
}

def JoinSums : Remat_Pass<"remat-join-sums", "planned"> {
  let summary = "Lets the gradient of a layer norm sum what it writes over rows";
  let description = [{
    The gradient of a bias is the sum over rows of the gradient of what it was
    added to. In front of a layer norm, as behind each part of a transformer, that
    is what `remat.layer_norm_backward` writes, perhaps with the residual's
    gradient added to it. On CUDA its kernel sums over rows for its scale and bias
    in any case, and makes this sum beside them (`with_sum`) in place of a
    `remat.reduce` that reads the tensor again. The order of the sum is that of
    the kernel, so bits are others than without the pass, but the same whatever
    is planned or fused behind it. Does nothing for the host.

    ```mlir
    %dx, %ds, %db = remat.layer_norm_backward %dy, %x, %s, %mean, %rstd add %r
        : (tensor<64x128xbf16>, tensor<64x128xbf16>, tensor<128xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x128xbf16>)
        -> (tensor<64x128xbf16>, tensor<128xf32>, tensor<128xf32>)
    %bias = remat.reduce <sum> %dx, [0] : (tensor<64x128xbf16>) -> tensor<128xbf16>
    // becomes
    %dx, %ds, %db, %bias = remat.layer_norm_backward %dy, %x, %s, %mean, %rstd add %r {with_sum}
        : (tensor<64x128xbf16>, tensor<64x128xbf16>, tensor<128xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x128xbf16>)
        -> (tensor<64x128xbf16>, tensor<128xf32>, tensor<128xf32>, tensor<128xbf16>)
    ```
  }];
  let dependentDialects = ["::remat::RematDialect"];
}

def Fuse : Remat_Pass<"remat-fuse", "assigned"> {
  let summary = "Groups elementwise operations into kernels";
  let description = [{
    Puts elementwise operations (functions of elements, `dropout`, `random`,
    `broadcast` and splat constants) over one common shape into `remat.kernel`.
    Each value is rounded to its element type as if it had been stored, so no
    bit of any value depends on the grouping. A group stands at the place of its
    last operation; the memory peak stays or falls, never rises.

    The pipeline runs it twice. Before planning it makes only groups with one
    result, within one phase, so that the planner sees the values that will
    exist; and a group moves up to what only it reads, as in the backward of a gated
    activation, if its results are no larger, so that both can be one. After
    planning, where block order is the order of execution, groups may have several
    results, and what reads the same tensor in the same phase shares a group, too.

    Before planning it also saves reads of whole tensors. A cross entropy and its
    gradient become `remat.cross_entropy_with_grad`, and what is added to the
    gradient of a norm, as where a residual branches off, or of an embedding, as
    where its table makes the logits too, becomes its addend. On CUDA the kernel
    that writes a large tensor also yields its sum over all dimensions but the
    last, as the gradient of a bias is. The order of every sum stays, and with it
    every bit.

    Before:
    ```mlir
    %0 = remat.mul %x, %y : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %1 = remat.exp %0 : tensor<8xf32>
    ```
    After:
    ```mlir
    %0 = remat.kernel(%a = %x : tensor<8xf32>, %b = %y : tensor<8xf32>) -> tensor<8xf32> {
      %1 = remat.mul %a, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      %2 = remat.exp %1 : tensor<8xf32>
      remat.yield %2 : tensor<8xf32>
    }
    ```
  }];
  let options = [
    Option<"Mode", "mode", "std::string", /*default=*/"\"before-plan\"",
           "'before-plan' or 'after-plan'">];
  let dependentDialects = ["::remat::RematDialect"];
}

include "remat/Transforms/MemoryPasses.td"

#endif // REMAT_TRANSFORMS_PASSES
