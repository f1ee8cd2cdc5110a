//===- TrainingPasses.td - from a forward to a rank's step -----*- tablegen -*-===//
//
// The middle of Passes.td, which includes it: the passes that make a training
// step of a forward, and of it the step of one of several ranks.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_TRAININGPASSES
#define REMAT_TRANSFORMS_TRAININGPASSES

def Freeze : Remat_Pass<"remat-freeze", "differentiated"> {
  let summary = "parameters that are not trained";
  let description = [{
    A parameter whose name matches becomes a `state` that nothing writes: it is
    initialised, loaded and saved as before, has no gradient and is not updated.
    A name that no parameter has is an error.

    ```mlir
    %w: tensor<3xf32> {remat.name = "w", remat.role = #remat.role<parameter>}
    // becomes, with parameters={w}
    %w: tensor<3xf32> {remat.name = "w", remat.role = #remat.role<state>}
    ```
  }];
  let dependentDialects = ["::remat::RematDialect"];
  let options = [
    ListOption<"Frozen", "parameters", "std::string", "names of parameters, or globs">];
}

def Differentiate : Remat_Pass<"remat-differentiate", "differentiated"> {
  let summary = "appends the backward and one gradient for each parameter";
  let description = [{
    Reverse-mode differentiation of the result with role `loss`. The backward
    follows the forward in reverse order; its operations carry
    `remat.phase = #remat.phase<backward>` and the location of the operation that they are
    the adjoint of. Each parameter gets one result with role `gradient` and the
    name `grad.<parameter>`, in the order of the parameters. Gradients of one
    value are added in the order in which they are made. Each adjoint reads as few
    values of the forward as it can. A graph without a loss stays as it is. With
    `loss-scale` the gradients are those of the loss multiplied by it, which
    `remat-add-optimizer` with the same options undoes.

    Before:

    ```mlir
    %0 = remat.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %1 = remat.relu %0 : tensor<2x4xf32>
    %loss = remat.reduce <sum> %1, [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
    return %loss : tensor<f32>
    ```

    After, for a parameter `%w` (the phase attributes left out):

    ```mlir
    %0 = remat.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %1 = remat.relu %0 : tensor<2x4xf32>
    %loss = remat.reduce <sum> %1, [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
    %2 = remat.constant dense<1.0> : tensor<f32>
    %3 = remat.reshape %2 : tensor<f32> to tensor<1x1xf32>
    %4 = remat.broadcast %3 : tensor<1x1xf32> to tensor<2x4xf32>
    %5 = remat.relu_backward %1, %4 : tensor<2x4xf32>
    %6 = remat.matmul %x, %5 {transpose_lhs} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
    return %loss, %6 : tensor<f32>, tensor<3x4xf32>
    ```
  }];
  let options = [
    Option<"lossScale", "loss-scale", "::remat::Real", "0.0",
           "what the gradients are multiplied by, so that small ones are no zeros in f16; 0: nothing">,
    Option<"dynamicLossScale", "dynamic-loss-scale", "bool", "false",
           "loss-scale is the first value of the state loss_scale">];
  let dependentDialects = ["::remat::RematDialect"];
}

def Shard : Remat_Pass<"remat-shard", "optimized"> {
  let summary = "tensor parallel: parameters are cut among ranks";
  let description = [{
    Where the function's `remat.mesh` has an axis `tensor`, the step of one process
    becomes that of one of its ranks. Parameters with `remat.shard`, or named by
    `shards`, become the rank's part (`remat.part`), and their gradients too; inputs,
    losses, outputs and states stay whole and equal on every rank. Without any such
    request every matrix that can be cut evenly is cut: along the dimension with which
    the fewest bytes are sent while all others stay as they are, again until none
    changes; vectors are cut where that sends fewer bytes. Parameters of one type whose
    names differ in numbers only are cut alike.

    From there every value of forward and backward is whole on each rank, cut along a
    dimension, or a sum whose summands the ranks have, in the manner of GSPMD (Xu et
    al., 2021). An operation runs whole, as a slice of one of its loops
    (`LoopOpInterface`), as a slice that knows its place (`PlacedLoopOpInterface`:
    tables and cross entropy cut along the vocabulary, dropout), or on summands
    (`LinearOpInterface`); one without loops runs whole on every rank. Where a value is
    read otherwise than it is made, `rank_part`, `all_gather`, `all_reduce`,
    `reduce_scatter` or `all_to_all` stand before the first reader. Sums are made in
    f32 and rounded once. First each operation gets the way that is cheapest in its
    place in bytes sent, then each is changed while that saves bytes; a matrix itself
    is only sent where an operation cannot use a part of it. Of an MLP and attention
    come Megatron's pairs (Shoeybi et al., 2019): one sum forward and one backward.

    Random numbers are those that one process draws: dropout of a part draws for the
    whole, attention that drops probabilities for its heads. An id outside a table that
    is cut along its rows gives zeros. Optimizers that look at all elements of a
    parameter together (adafactor, muon) refuse a part. A graph with collectives over
    the axis, or with parts along it, is one rank's already and stays as it is.

    Before:

    ```mlir
    func.func @main(%x: tensor<4x8xf32>, %w1: tensor<8x6xf32> {remat.shard = #remat.cut<["tensor"], dim = 1>, ...}, %w2: tensor<6x8xf32> {remat.shard = #remat.cut<["tensor"], dim = 0>, ...}) -> tensor<4x8xf32>
        attributes {remat.mesh = #remat.mesh<tensor = 2>} {
      %0 = remat.matmul %x, %w1 : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
      %1 = remat.relu %0 : tensor<4x6xf32>
      %2 = remat.matmul %1, %w2 : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<4x8xf32>, %w1: tensor<8x3xf32> {remat.part = #remat.part<[8, 6], [#remat.cut<["tensor"], dim = 1>]>, ...}, %w2: tensor<3x8xf32> {remat.part = #remat.part<[6, 8], [#remat.cut<["tensor"], dim = 0>]>, ...}) -> tensor<4x8xf32>
        attributes {remat.mesh = #remat.mesh<tensor = 2>} {
      %0 = remat.matmul %x, %w1 : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
      %1 = remat.relu %0 : tensor<4x3xf32>
      %2 = remat.matmul %1, %w2 : (tensor<4x3xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
      %3 = remat.all_reduce <sum> %2 over ["tensor"] : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let options = [
    ListOption<"Shards", "shards", "std::string",
               "parameters to cut, each NAME=DIM: a name or a glob, and a dimension; "
               "the last that names a parameter counts, before what the graph says">];
  let dependentDialects = ["::remat::RematDialect"];
}

def Accumulate : Remat_Pass<"remat-accumulate", "optimized"> {
  let summary = "one step over several micro-batches";
  let description = [{
    Inputs get a leading dimension of `micro-batches`, and a loop (`remat.scan`) runs
    forward and backward for one slice of them after the other, so that the activations
    of one are alive at a time, and the graph is compiled once however many there are.
    The loop carries sums of losses and gradients in f32, to which each part is added as
    it is made, and which are divided behind it; outputs are stacked along a new leading
    dimension. It carries the seed as well, whose upper half counts micro-batches, so that
    each draws other random numbers, and the states: each micro-batch reads what the one
    before it left.
    What depends on no input, on no state that is updated, and draws no numbers,
    as the cast of a weight, is computed once, before the loop. Runs behind
    `remat-differentiate`; a forward-only graph works too.

    Before:

    ```mlir
    func.func @main(%x: tensor<3xf32> {remat.role = #remat.role<input>}, ...) {
      %0 = remat.mul %x, %w : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      %loss = remat.reduce <sum> %0, [0] : (tensor<3xf32>) -> tensor<f32>
      return %loss : tensor<f32>
    ```

    After `remat-accumulate{micro-batches=2}`:

    ```mlir
    func.func @main(%x: tensor<2x3xf32> {remat.role = #remat.role<input>}, ...) {
      %0 = remat.constant dense<-0.0> : tensor<f32>
      %1 = remat.scan 2 (%sum = %0 : tensor<f32>) over (%part = %x : tensor<2x3xf32>) with (%v = %w : tensor<3xf32>) -> tensor<f32> attributes {micro_batches} {
        %4 = remat.mul %part, %v : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
        %5 = remat.reduce <sum> %4, [0] : (tensor<3xf32>) -> tensor<f32>
        %6 = remat.add %sum, %5 : (tensor<f32>, tensor<f32>) -> tensor<f32>
        remat.yield %6 : tensor<f32>
      }
      %2 = remat.constant dense<5.0e-01> : tensor<f32>
      %3 = remat.mul %1, %2 : (tensor<f32>, tensor<f32>) -> tensor<f32>
      return %3 : tensor<f32>
    ```
  }];
  let options = [
    Option<"microBatches", "micro-batches", "int64_t", "1",
           "how many micro-batches make a step">];
  let dependentDialects = ["::remat::RematDialect"];
}

def Distribute : Remat_Pass<"remat-distribute", "optimized"> {
  let summary = "one rank's step becomes that of all ranks of the axis `data`";
  let description = [{
    Each rank has a batch of its own. Losses, gradients, and states that follow the
    batch, become means over the ranks of the mesh's axis `data`: sums in f32 in the
    order of the ranks, then divided, so that N ranks give the bits of N
    micro-batches (`remat-accumulate`). Gradients are summed as they are made, as
    many at once as fill `bucket` bytes. The seed of random numbers differs by rank.

    With `sharding` ranks keep parts, flat ones (`#remat.cut`): `zero1` of the
    optimizer's states, `zero2` of summed gradients too, `zero3` of parameters too
    (Rajbhandari et al., 2020). A parameter that is kept in parts is gathered where
    the forward first reads it; gathering it again for the backward is a
    recomputation, which the planner decides as any other. Parameters whose
    `optimizer` looks at all their elements together, and those of fewer elements
    than ranks, stay whole. Outputs are each rank's own.

    Before:

    ```mlir
    func.func @main(%x: tensor<4xf32>, %w: tensor<4xf32> {remat.role = #remat.role<parameter>})
        -> (tensor<f32> {remat.role = #remat.role<loss>}, tensor<4xf32> {remat.role = #remat.role<gradient>})
        attributes {remat.mesh = #remat.mesh<data = 2>} {
      ...
      return %loss, %grad : tensor<f32>, tensor<4xf32>
    ```

    After `remat-distribute{sharding=zero2}`:

    ```mlir
      %sum = remat.all_reduce <sum> %loss over ["data"] : (tensor<f32>) -> tensor<f32>
      %half = remat.constant dense<5.0e-01> : tensor<f32>
      %0 = remat.mul %sum, %half : (tensor<f32>, tensor<f32>) -> tensor<f32>
      ...
      %1 = remat.reduce_scatter <sum> %grad over ["data"] : (tensor<4xf32>) -> tensor<2xf32>
      %2 = remat.mul %1, %half : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
      return %0, %2 : tensor<f32>, tensor<2xf32>
    ```
  }];
  let options = [
    Option<"sharding", "sharding", "std::string", "\"data\"",
           "what ranks keep a part of: data (nothing), zero1, zero2 or zero3">,
    Option<"optimizer", "optimizer", "std::string", "\"adamw\"",
           "the optimizer that remat-add-optimizer will add, or none">,
    Option<"bucket", "bucket", "int64_t", "26214400",
           "bytes of gradients that are summed at once">,
    Option<"microBatches", "micro-batches", "int64_t", "1",
           "micro-batches of a rank's step">];
  let dependentDialects = ["::remat::RematDialect"];
}

def AddOptimizer : Remat_Pass<"remat-add-optimizer", "optimized"> {
  let summary = "replaces gradients by an optimizer's updates";
  let description = [{
    Gradient results give way to the new parameters, then the new states, then
    `step` + 1; each takes over the memory of its argument
    (`remat.donated`). Arguments are appended: states (`<parameter>.exp_avg` and
    `<parameter>.exp_avg_sq` for adamw and adam, `<parameter>.momentum` for sgd,
    rmsprop and muon with momentum, `<parameter>.square_avg` for rmsprop,
    `<parameter>.exp_avg` for lion, `<parameter>.row_var` and `<parameter>.col_var`
    or, with fewer than two dimensions, `<parameter>.variance` for adafactor), `learning_rate`, and `step` if the graph has none; a name that the
    graph uses already gets a `+` behind. An update stands
    behind the gradient and the last reader of its parameter, so that a gradient
    lives as short as it can; with `clip-norm` or `skip-nonfinite` all updates stand at the end. A
    gradient that was cast to f32 is handed over as it was before the cast.
    Operations carry `remat.phase = #remat.phase<optimizer>`. adamw (Loshchilov
    and Hutter, 2019), adam (Kingma and Ba, 2015) and sgd are one operation, lion
    (Chen et al., 2023), rmsprop (Hinton, 2012) and adafactor (Shazeer and Stern,
    2018) several elementwise ones and reductions, muon (Jordan et al., 2024) matrix
    products of bf16 too. muon is for matrices: other parameters have adamw's
    update, and each one that `remat.update` says has that.

    A `schedule` makes the rate of a step from the learning rate and `step`; it is
    the output `rate`. Over t steps behind the warm-up and the hold it multiplies
    by 1 + (f - 1) u (`linear`), f + (1 - f) (1 + cos(pi u)) / 2 (`cosine`), each
    with u = min(t / decay-steps, 1), by f^floor(t / decay-steps) (`step`) or by
    f^(t / decay-steps) (`exponential`), f being `decay-factor`; in the warm-up by
    (step + 1) / warmup-steps.

    `gradient-norm`, and `clip-norm` too, make the output `gradient_norm`: of the
    gradients before clipping. With `skip-nonfinite` or a dynamic loss scale a step
    whose loss or gradients are infinite or no number leaves parameters and states
    as they are; the output `skipped` is 1 then, and the state `updates` counts the
    steps that were not skipped, which is what adamw and others count. A dynamic
    loss scale halves at such a step and doubles after `loss-scale-interval` others
    in a row, as `torch.amp.GradScaler` does; that of a step is the output `scale`. `ema`
    makes a state `<parameter>.ema`, which begins as the first updated parameter and
    becomes ema * itself + (1 - ema) * the parameter at each step.

    Before:

    ```mlir
    func.func @main(%w: tensor<3xf32> {remat.name = "w", remat.role = #remat.role<parameter>}, ...)
        -> (tensor<f32> {...}, tensor<3xf32> {remat.name = "grad.w", remat.role = #remat.role<gradient>}) {
      ...
      return %loss, %grad : tensor<f32>, tensor<3xf32>
    ```

    After `remat-add-optimizer{kind=sgd rate=0.1}`:

    ```mlir
    func.func @main(%w: tensor<3xf32> {remat.donated = 1 : i64, remat.name = "w", remat.role = #remat.role<parameter>}, ...,
                    %rate: tensor<f32> {remat.init = #remat.init<constant, 1.0e-01>, remat.name = "learning_rate", remat.role = #remat.role<learning_rate>},
                    %step: tensor<i64> {remat.donated = 2 : i64, remat.name = "step", remat.role = #remat.role<step>})
        -> (tensor<f32> {...}, tensor<3xf32> {remat.name = "w", remat.role = #remat.role<parameter>},
            tensor<i64> {remat.name = "step", remat.role = #remat.role<step>}) {
      ...
      %new = remat.sgd %w, %grad rate %rate : (tensor<3xf32>, tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
      %one = remat.constant dense<1> : tensor<i64>
      %next = remat.add %step, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
      return %loss, %new, %next : tensor<f32>, tensor<3xf32>, tensor<i64>
    ```
  }];
  let options = [
    Option<"kind", "kind", "std::string", "\"adamw\"",
           "adamw, adam, sgd, lion, rmsprop, adafactor or muon">,
    Option<"rate", "rate", "::remat::Real", "1.0e-3", "initial learning rate">,
    Option<"beta1", "beta1", "::remat::Real", "0.9",
           "adamw, adam: decay of the first moment; lion: of the average, in the direction">,
    Option<"beta2", "beta2", "::remat::Real", "0.999",
           "adamw, adam, rmsprop: decay of the squares; lion: of the average, as it is kept">,
    Option<"epsilon", "epsilon", "::remat::Real", "1.0e-8",
           "adamw, adam, rmsprop: added to the denominator; adafactor: the least size of a parameter">,
    Option<"weightDecay", "weight-decay", "::remat::Real", "0.01",
           "decay of parameters (sgd, adam and rmsprop: through the gradient)">,
    Option<"momentum", "momentum", "::remat::Real", "0.0", "sgd, rmsprop, muon: decay of the buffer">,
    Option<"clipNorm", "clip-norm", "::remat::Real", "0.0",
           "largest global norm of the gradients; 0: no clipping">,
    Option<"schedule", "schedule", "std::string", "\"constant\"",
           "how the rate goes on behind the warm-up: constant, linear, cosine, step or exponential">,
    Option<"warmupSteps", "warmup-steps", "int64_t", "0", "steps in which the rate rises to its own">,
    Option<"holdSteps", "hold-steps", "int64_t", "0",
           "steps between the warm-up and the begin of the decay">,
    Option<"decaySteps", "decay-steps", "int64_t", "0",
           "linear, cosine: steps until the rate is at its least; step, exponential: in which it falls by decay-factor once">,
    Option<"decayFactor", "decay-factor", "::remat::Real", "0.1",
           "the part of the rate that is left after decay-steps">,
    Option<"gradientNorm", "gradient-norm", "bool", "false",
           "the norm of the gradients is a result">,
    Option<"skipNonfinite", "skip-nonfinite", "bool", "false",
           "a step whose loss or gradients are infinite or no number changes nothing">,
    Option<"lossScale", "loss-scale", "::remat::Real", "0.0",
           "what remat-differentiate scaled the loss by; 0: nothing">,
    Option<"dynamicLossScale", "dynamic-loss-scale", "bool", "false",
           "the scale is a state of the graph, which follows the gradients">,
    Option<"lossScaleInterval", "loss-scale-interval", "int64_t", "2000",
           "steps with finite gradients after which a dynamic scale doubles">,
    Option<"ema", "ema", "::remat::Real", "0.0",
           "decay of an average of each parameter over the steps; 0: no average">];
  let dependentDialects = ["::remat::RematDialect"];
}

#endif // REMAT_TRANSFORMS_TRAININGPASSES
