//===- RematDialect.td - the remat dialect ---------------------*- tablegen -*-===//
//
// The dialect, its enums and attributes.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_IR_REMATDIALECT_TD
#define REMAT_IR_REMATDIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/DialectBase.td"
include "mlir/IR/EnumAttr.td"

def Remat_Dialect : Dialect {
  let name = "remat";
  let cppNamespace = "::remat";
  let summary = "Training graphs of neural networks on static tensors";
  let description = [{
    A graph is one `func.func` whose arguments and results carry roles
    (`remat.role`). Its values are ranked tensors of static shape with element
    type f32, bf16, f16, i32, i64, i1 or f8E4M3FN, with at most 16 dimensions, none of size
    zero, no encoding, and a byte size that fits 64 bits. Every op is pure; values
    stay tensors to the end of the pipeline, and memory is an attribute
    (`remat.offsets`).

    A graph file has one function, `@main`, of one block; every argument and
    result has a role and a name:

    ```mlir
    func.func @main(%x: tensor<8x16xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                    %w: tensor<16x4xf32> {remat.role = #remat.role<parameter>, remat.name = "w",
                                          remat.init = #remat.init<normal, 2.0e-02>},
                    %t: tensor<8xi64> {remat.role = #remat.role<input>, remat.name = "targets",
                                       remat.data = #remat.data<targets>, remat.bound = 4 : i64})
        -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
      %0 = remat.matmul %x, %w : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
      %loss, %lse = remat.cross_entropy %0, %t : (tensor<8x4xf32>, tensor<8xi64>) -> (tensor<f32>, tensor<8xf32>)
      return %loss : tensor<f32>
    }
    ```

    A result of role `loss` makes a graph trainable. A name has 1 to 255 letters,
    digits and characters of `_.-/:+@#$[](),=`. Attributes `remat.*` that are not
    in these tables are refused.

    Attributes of function arguments and results:

    | attribute | on | meaning |
    |---|---|---|
    | `remat.role` | arguments, results | what the value is for, see `#remat.role` |
    | `remat.name` | arguments, results | the name that a user knows it by, unique among arguments and among results |
    | `remat.init` | parameters, states | how to initialise it when no weights are given |
    | `remat.data` | integer inputs | what fills it from a token file, see `#remat.data` |
    | `remat.bound` | integer inputs | random data is drawn from [0, bound) |
    | `remat.rate_scale` | parameters | an f64 that multiplies the learning rate in this parameter's update; 1 without it |
    | `remat.weight_decay` | parameters | an f64, this parameter's weight decay in place of the optimizer's |
    | `remat.update` | parameters | this parameter's optimizer in place of the graph's, see `#remat.update` |
    | `remat.shard` | parameters, frozen ones too | how remat-shard cuts it among ranks, a `#remat.cut` along a dimension |
    | `remat.part` | arguments, results of role gradient | that a rank holds a part of a larger tensor, see `#remat.part` |
    | `remat.donated` | arguments | index of the result that takes over this argument's memory |
    | `remat.in_halves` | f32 arguments | that their bytes are two halves, see remat.upper_half; written by halve-parameters |
    | `remat.offset` | arguments | byte offset in the arena, written by assign-memory; where it stands before, it stays |
    | `remat.target` | the function | where it runs, a `#remat.target`; absent: on the host |
    | `remat.mesh` | the function | which ranks run it side by side, a `#remat.mesh`; absent: one |
    | `remat.arena_bytes` | the function | size of the arena, written by assign-memory |
    | `remat.stage` | the function | how far the passes have come, see `#remat.stage`; absent: nobody says |
    | `remat.plan` | the function | what fit-budget promises and proves, see `#remat.plan` |

    Attributes of operations that passes write:

    | attribute | written by | meaning |
    |---|---|---|
    | `remat.phase` | differentiate, add-optimizer | part of the step, see `#remat.phase`; absent in the forward |
    | `remat.origin` | plan | id of the operation that this one recomputes |
    | `remat.id` | plan | id of an operation that some other one recomputes |
    | `remat.offsets` | assign-memory | byte offset of each result in the arena |
    | `remat.workspace` | assign-memory | byte offset and bytes of the workspace |
    | `remat.choice` | plan, assign-memory | the `#remat.kernel` that runs the operation; absent: the project's own |
    | `remat.keep` | user | whether results are kept for the backward, see `#remat.keep` |
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

class Remat_EnumAttr<EnumInfo info, string mnemonic>
    : EnumAttr<Remat_Dialect, info, mnemonic> {
  let assemblyFormat = "`<` $value `>`";
}

//===----------------------------------------------------------------------===//
// Roles of arguments and results
//===----------------------------------------------------------------------===//

def Remat_Role : I32Enum<"Role", "what a function argument or result is for", [
    I32EnumCase<"parameter", 0>, I32EnumCase<"input", 1>,
    I32EnumCase<"state", 2>, I32EnumCase<"seed", 3>, I32EnumCase<"step", 4>,
    I32EnumCase<"learning_rate", 5>, I32EnumCase<"loss", 6>,
    I32EnumCase<"output", 7>, I32EnumCase<"gradient", 8>]> {
  let cppNamespace = "::remat";
}
def Remat_RoleAttr : Remat_EnumAttr<Remat_Role, "role"> {
  let description = [{
    `parameter`: trained; `input`: given at each step; `state`: kept between
    steps (optimizer moments); `seed`, `step`: tensor<i64> that random ops read
    (`step` counts the finished steps); `learning_rate`: tensor<f32>; `loss`,
    `output`, `gradient`: results.
  }];
}

def Remat_Data : I32Enum<"DataSource", "what of a token file an input takes", [
    I32EnumCase<"tokens", 0>, I32EnumCase<"targets", 1>]> {
  let cppNamespace = "::remat";
}
def Remat_DataAttr : Remat_EnumAttr<Remat_Data, "data"> {
  let description = [{
    `tokens`: the tokens of the batch; `targets`: the token after each of them.
  }];
}

def Remat_Phase : I32Enum<"Phase", "part of the step after the forward", [
    I32EnumCase<"backward", 0>, I32EnumCase<"optimizer", 1>]> {
  let cppNamespace = "::remat";
}
def Remat_PhaseAttr : Remat_EnumAttr<Remat_Phase, "phase"> {
  let description = [{
    `backward`: made by differentiation or accumulation; `optimizer`: updates
    parameters and states.
  }];
}

def Remat_Keep : I32Enum<"Keep", "whether results are kept for the backward", [
    I32EnumCase<"must", 0>, I32EnumCase<"never", 1>,
    I32EnumCase<"prefer", 2>]> {
  let cppNamespace = "::remat";
}
def Remat_KeepAttr : Remat_EnumAttr<Remat_Keep, "keep"> {
  let description = [{
    `must`: never computed again; `never`: dropped after the forward, which says
    nothing of a result of the graph, nor of what cannot be computed again;
    `prefer`: kept where the budget allows.
  }];
}

def Remat_UpdateKind : I32Enum<"UpdateKind", "how a parameter is updated", [
    I32EnumCase<"adamw", 0>, I32EnumCase<"adam", 1>, I32EnumCase<"sgd", 2>,
    I32EnumCase<"lion", 3>, I32EnumCase<"rmsprop", 4>,
    I32EnumCase<"adafactor", 5>, I32EnumCase<"muon", 6>]> {
  let cppNamespace = "::remat";
}
def Remat_UpdateKindAttr : Remat_EnumAttr<Remat_UpdateKind, "update"> {
  let description = [{
    An optimizer of remat-add-optimizer. `muon` is for matrices.
  }];
}

def Remat_InitKind : I32Enum<"InitKind", "how a parameter is initialised", [
    I32EnumCase<"constant", 0>, I32EnumCase<"normal", 1>,
    I32EnumCase<"uniform", 2>]> {
  let cppNamespace = "::remat";
}
def Remat_InitAttr : AttrDef<Remat_Dialect, "Init"> {
  let mnemonic = "init";
  let summary = "how a parameter or state is initialised";
  let description = [{
    `constant`: every element is `value`; `normal`: mean 0, standard deviation
    `value`; `uniform`: in [-value, value).
  }];
  let parameters = (ins EnumParameter<Remat_InitKind>:$kind,
                        APFloatParameter<"a finite number">:$number);
  let builders = [AttrBuilder<(ins "::remat::InitKind":$kind, "double":$value), [{
    return $_get($_ctxt, kind, ::llvm::APFloat(value));
  }]>];
  let assemblyFormat = "`<` $kind `,` custom<Double>($number) `>`";
  let extraClassDeclaration = [{
    double getValue() const { return getNumber().convertToDouble(); }
  }];
}

//===----------------------------------------------------------------------===//
// How far a function has come
//===----------------------------------------------------------------------===//

def Remat_Stage : I32Enum<"Stage", "how far the passes have come with a function", [
    I32EnumCase<"differentiated", 0>, I32EnumCase<"optimized", 1>,
    I32EnumCase<"planned", 2>, I32EnumCase<"assigned", 3>]> {
  let cppNamespace = "::remat";
}
def Remat_StageAttr : Remat_EnumAttr<Remat_Stage, "stage"> {
  let description = [{
    A pass that ends a stage writes the next one, and passes that belong before
    it are refused from then on. What holds at a stage is checked whenever the
    function is verified:

    | stage | written by | from here on |
    |---|---|---|
    | `differentiated` | differentiate | each parameter has a result of role `gradient` (until the next stage) |
    | `optimized` | add-optimizer | no result has role `gradient`; each parameter's memory is donated (until the next stage) |
    | `planned` | plan | the block's order is the order of execution, and operations may run again |
    | `assigned` | assign-memory, fit-budget | the arena, each argument and each operation have their offsets |

    What a later stage writes (`remat.id`, `remat.origin`, `remat.choice`; the
    offsets, `remat.workspace`, `remat.arena_bytes`) does not stand in an earlier
    one. A function without the attribute may be anything.
  }];
}

def Remat_SlicedAttr : AttrDef<Remat_Dialect, "Sliced"> {
  let mnemonic = "sliced";
  let summary = "a value that remat-split made one of slices";
  let description = [{
    On a function, in an array: what the value was called, where it was written,
    its bytes as a whole, and in how many `slices` it is made and used.
  }];
  let parameters = (ins
      StringRefParameter<"of the value">:$name,
      StringRefParameter<"where it was written">:$location,
      "int64_t":$bytes, "int64_t":$slices);
  let assemblyFormat = [{
    `<` $name `,` $location `,` `bytes` `=` $bytes `,` `slices` `=` $slices `>`
  }];
}

def Remat_PlanAttr : AttrDef<Remat_Dialect, "Plan"> {
  let mnemonic = "plan";
  let summary = "what fitting the budget found, promises and proves";
  let description = [{
    Bytes: the `budget` (left out: unlimited), the peak of the program with
    (`peak`) and without (`unplanned`) recomputation, the smallest budget that
    was found to do (`smallest`) and the largest that is proven to fit no program
    (`impossible`). Times in milliseconds: what the program is predicted to take
    (`predicted`), and what no program within the budget takes less than
    (`at_least`). `overhead` is over the fastest program found for whatever
    budget; `recomputed` counts operations that run again. The program carries
    what remat-run reports of a compiled program.
  }];
  let parameters = (ins
      StringRefParameter<"of the search">:$strategy,
      DefaultValuedParameter<"int64_t", "-1">:$budget, "int64_t":$peak,
      "int64_t":$unplanned, "int64_t":$smallest, "int64_t":$impossible,
      "int64_t":$recomputed, APFloatParameter<"milliseconds">:$predicted,
      APFloatParameter<"milliseconds">:$at_least,
      APFloatParameter<"a part of the time">:$overhead);
  let assemblyFormat = [{
    `<` $strategy `,` (`budget` `=` $budget^ `,`)? `peak` `=` $peak
    `,` `unplanned` `=` $unplanned `,` `smallest` `=` $smallest
    `,` `impossible` `=` $impossible `,` `recomputed` `=` $recomputed
    `,` `predicted` `=` custom<Double>($predicted)
    `,` `at_least` `=` custom<Double>($at_least)
    `,` `overhead` `=` custom<Double>($overhead) `>`
  }];
}

//===----------------------------------------------------------------------===//
// Enums of operations
//===----------------------------------------------------------------------===//

def Remat_Predicate : I32Enum<"Predicate", "how two values are compared", [
    I32EnumCase<"eq", 0>, I32EnumCase<"ne", 1>, I32EnumCase<"lt", 2>,
    I32EnumCase<"le", 3>, I32EnumCase<"gt", 4>, I32EnumCase<"ge", 5>]> {
  let cppNamespace = "::remat";
}
def Remat_PredicateAttr : Remat_EnumAttr<Remat_Predicate, "predicate">;

def Remat_Reduction : I32Enum<"Reduction", "how elements are combined", [
    I32EnumCase<"sum", 0>, I32EnumCase<"mean", 1>, I32EnumCase<"max", 2>]> {
  let cppNamespace = "::remat";
}
def Remat_ReductionAttr : Remat_EnumAttr<Remat_Reduction, "reduction">;

def Remat_Gelu : I32Enum<"Gelu", "which GELU", [
    I32EnumCase<"erf", 0>, I32EnumCase<"tanh", 1>]> {
  let cppNamespace = "::remat";
}
def Remat_GeluAttr : Remat_EnumAttr<Remat_Gelu, "gelu_kind">;

def Remat_Distribution : I32Enum<"Distribution", "distribution of random numbers", [
    I32EnumCase<"uniform", 0>, I32EnumCase<"normal", 1>]> {
  let cppNamespace = "::remat";
}
def Remat_DistributionAttr : Remat_EnumAttr<Remat_Distribution, "distribution">;

//===----------------------------------------------------------------------===//
// Targets and kernels
//===----------------------------------------------------------------------===//

/// An enum parameter of an attribute that may be left out.
class Remat_OptionalEnumParameter<EnumInfo info, string case>
    : EnumParameter<info> {
  let defaultValue = info.cppNamespace # "::" # info.className # "::" # case;
}

def Remat_DeviceKind : I32Enum<"DeviceKind", "what kind of device runs a program", [
    I32EnumCase<"host", 0>, I32EnumCase<"cuda", 1>]> {
  let cppNamespace = "::remat";
}

def Remat_AttentionKernels : I32Enum<"AttentionKernels", "which kernels run attention", [
    I32EnumCase<"automatic", 0, "auto">, I32EnumCase<"cudnn", 1>,
    I32EnumCase<"own", 2>]> {
  let cppNamespace = "::remat";
}

def Remat_TargetAttr : AttrDef<Remat_Dialect, "Target"> {
  let mnemonic = "target";
  let summary = "where a graph runs";
  let description = [{
    `#remat.target<host>`, or a CUDA device with its architecture:
    `#remat.target<cuda, arch = "sm_90">`. `attention = own` keeps attention and
    convolutions off cuDNN; with `cudnn` the library runs what it can, and with
    `auto`, the default, too, but for backward passes of attention that own
    kernels are faster at. With `deterministic = false` libraries may add in an order
    that differs from run to run, where that is faster: results then differ in
    their last bits.
    Passes that ask what an operation costs or which kernel runs it find the
    target as `remat.target` on the function; `remat-set-target` writes it.
  }];
  let parameters = (ins
      EnumParameter<Remat_DeviceKind>:$device,
      StringRefParameter<"the architecture", [{""}]>:$arch,
      Remat_OptionalEnumParameter<Remat_AttentionKernels, "automatic">:$attention,
      DefaultValuedParameter<"bool", "true">:$deterministic);
  let assemblyFormat = [{
    `<` $device (`,` struct($arch, $attention, $deterministic)^)? `>`
  }];
  let genVerifyDecl = 1;
}

def Remat_KernelKind : I32Enum<"KernelKind", "who runs an operation", [
    I32EnumCase<"own", 0>, I32EnumCase<"cublaslt", 1>, I32EnumCase<"cudnn", 2>,
    I32EnumCase<"nccl", 3>]> {
  let cppNamespace = "::remat";
}

def Remat_KernelAttr : AttrDef<Remat_Dialect, "Kernel"> {
  let mnemonic = "kernel";
  let summary = "one way to run an operation";
  let description = [{
    `own`: the project's kernels, of which the program has the text or the host
    device the functions; `cublaslt`, `cudnn`, `nccl`: the library of that name. With
    `slices` so many equal parts are run one after the other: of the batch, or,
    where they are more than that, of the heads of each of its elements.
    `workspace` is in bytes, `launches` counts the kernels that start, and
    `microseconds` is what the target predicts for all of them. Where it is not
    `deterministic`, it adds in another order at each run.
  }];
  let parameters = (ins
      EnumParameter<Remat_KernelKind>:$kind,
      APFloatParameter<"microseconds">:$time,
      DefaultValuedParameter<"int64_t", "0">:$workspace,
      DefaultValuedParameter<"int64_t", "1">:$slices,
      DefaultValuedParameter<"int64_t", "1">:$launches,
      DefaultValuedParameter<"bool", "true">:$deterministic);
  let builders = [AttrBuilder<(ins "::remat::KernelKind":$kind,
      "double":$microseconds, "int64_t":$workspace, "int64_t":$launches,
      CArg<"int64_t", "1">:$slices, CArg<"bool", "true">:$deterministic), [{
    return $_get($_ctxt, kind, ::llvm::APFloat(microseconds), workspace, slices,
                 launches, deterministic);
  }]>];
  let assemblyFormat = [{
    `<` $kind `,` `microseconds` `=` custom<Double>($time)
    (`,` struct($workspace, $slices, $launches, $deterministic)^)? `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    double getMicroseconds() const { return getTime().convertToDouble(); }
    /// "cudnn", "cudnn/4": for people, nobody parses it.
    std::string getName() const;
  }];
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

def Remat_MeshAttr : AttrDef<Remat_Dialect, "Mesh"> {
  let mnemonic = "mesh";
  let summary = "the ranks that run a graph side by side";
  let description = [{
    `#remat.mesh<data = 4, tensor = 2>`: named axes with their sizes, 8 ranks here.
    Ranks are numbered row by row, along the last axis first. At most 65536 ranks.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names,
                        ArrayRefParameter<"int64_t">:$sizes);
  let assemblyFormat = "`<` custom<Axes>($names, $sizes) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getNumRanks() const;
    /// The size of the axis of that name, 0 without one.
    int64_t getSize(::llvm::StringRef Axis) const;
    /// The ranks of a group over `Axes`, 0 if one of them is missing, named
    /// twice or not in the mesh's order.
    int64_t getGroupSize(::mlir::ArrayAttr Axes) const;
    /// Distance of neighbours and size of each of `Axes`, as programs have it.
    ::llvm::SmallVector<int64_t> getGroup(::mlir::ArrayAttr Axes) const;
  }];
}

def Remat_CutAttr : AttrDef<Remat_Dialect, "Cut"> {
  let mnemonic = "cut";
  let summary = "how a tensor is cut into one part a rank";
  let description = [{
    `#remat.cut<["tensor"], dim = 1>`: along dimension 1 into as many equal parts as
    there are ranks along the axes. Without `dim` the tensor is flattened to one
    dimension and padded with zeros to such parts.

    `#remat.cut<["tensor"], dim = 1, blocks = 3>`: the dimension is three equal
    blocks, one behind the other, and a part has its share of each: of query, key
    and value in one matrix those of the same heads.
  }];
  let parameters = (ins "::mlir::ArrayAttr":$axes,
                        DefaultValuedParameter<"int64_t", "-1">:$dim,
                        DefaultValuedParameter<"int64_t", "1">:$blocks);
  let assemblyFormat = [{
    `<` $axes (`,` `dim` `=` $dim^)? (`,` `blocks` `=` $blocks^)? `>`
  }];
  let genVerifyDecl = 1;
}

def Remat_PartAttr : AttrDef<Remat_Dialect, "Part"> {
  let mnemonic = "part";
  let summary = "what the ranks hold together";
  let description = [{
    `#remat.part<[50, 8], [#remat.cut<["tensor"], dim = 1>, #remat.cut<["data"]>]>`: the
    shape of the whole, and the cuts that were made one after the other.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$whole, "::mlir::ArrayAttr":$cuts);
  let assemblyFormat = "`<` `[` $whole `]` `,` $cuts `>`";
  let genVerifyDecl = 1;
}

#endif // REMAT_IR_REMATDIALECT_TD
