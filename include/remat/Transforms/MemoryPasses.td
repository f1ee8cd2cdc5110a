//===- MemoryPasses.td - planning and memory -------------------*- tablegen -*-===//
//
// The end of Passes.td, which includes it: the pass that fits the budget, those
// that it runs, and those that check and print.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_MEMORYPASSES
#define REMAT_TRANSFORMS_MEMORYPASSES

def SinkConstants : Remat_Pass<"remat-sink-constants", "planned"> {
  let summary = "Moves each splat constant in front of its first reader";
  let description = [{
    A splat is bytes that a step writes. Canonicalization gathers constants at the
    block's begin, where they would be alive before anybody reads them.

    ```mlir
    %c = remat.constant dense<1.0> : tensor<64xf32>
    %0 = remat.exp %x : tensor<64xf32>
    %1 = remat.sub %c, %0 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    // becomes
    %0 = remat.exp %x : tensor<64xf32>
    %c = remat.constant dense<1.0> : tensor<64xf32>
    %1 = remat.sub %c, %0 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    ```
  }];
}

def LegalizeResults : Remat_Pass<"remat-legalize-results", "assigned"> {
  let summary = "Copies what a donated argument's new value would destroy";
  let description = [{
    A donated argument's memory is overwritten by a result. Where the bytes
    cannot be written in place, or where another result shows the old bytes, a
    `remat.copy` is inserted; operations that overwrite move
    behind all other readers of the argument.

    ```mlir
    // %w is donated to result 1; result 0 shows its old value.
    return %w, %new
    // becomes
    %old = remat.copy %w : tensor<4xf32>
    return %old, %new
    ```
  }];
  let dependentDialects = ["::remat::RematDialect"];
}

def PlanBodies : Remat_Pass<"remat-plan-bodies", "planned"> {
  let summary = "Assigns the memory of the bodies of scans";
  let description = [{
    The body of a scan is planned once, as it is written and without
    recomputation: its operations are fused, and each value has an offset. Rows
    that are sliced or stacked, carries and what is read lie outside, and stand
    for `bound` bytes at the begin of the body's arena; what is above them is the
    workspace of the scan, the same in each step. So a scan is one operation to
    the planner, as any other: it may be computed again as a whole.
    The loop over micro-batches is left to `remat-fit-budget`.

    ```mlir
    %0 = remat.scan 3 (%h = %a : tensor<64xf32>) over () with () -> tensor<64xf32> {
      %1 = remat.exp %h : tensor<64xf32>
      remat.yield %1 : tensor<64xf32>
    }
    // becomes
    %0 = remat.scan 3 (%h = %a : tensor<64xf32>) over () with () -> tensor<64xf32> attributes {arena = 256 : i64} {
      %1 = remat.exp %h {remat.offsets = array<i64: 0>} : tensor<64xf32>
      remat.yield %1 : tensor<64xf32>
    }
    ```
  }];
  let dependentDialects = ["::remat::RematDialect"];
  let options = [Option<"Fuse", "fuse", "bool", "true",
                        "whether operations of a body become kernels">];
}

def FitBudget : Remat_Pass<"remat-fit-budget", "planned"> {
  let summary = "Plans, fuses and assigns memory until the budget is met, or refuses it";
  let description = [{
    Only assigned memory tells a plan's true peak. So this pass plans for a
    target, applies the plan, fuses, assigns memory, and plans again with a
    tighter target while the arena is over the budget, a bounded number of times.
    Of all programs made it takes the fastest within the budget. `remat.plan` says
    what was found and what is proven. What operations of a scope with a budget of
    its own make before the loss and is read after it holds at most so many
    bytes, each value a multiple of 256; the bounds are those without. A budget
    that nothing found meets is refused: the error names the peak, where it is and what lives there.
    Of a step that runs micro-batches in a loop, the loop's body is planned first, with
    all that is there around it, and then the rest. What does not depend on the
    micro-batch is computed once if all programs that do so without recomputation fit,
    else where it is cheap in each micro-batch.

    Before, with `budget=60%`:

    ```mlir
    func.func @main(%x: tensor<64xf32> {...}) -> (tensor<64xf32> {...}) {
      %0 = remat.exp %x : tensor<64xf32>
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<64xf32> {remat.offset = 0 : i64, ...}) -> (tensor<64xf32> {...})
        attributes {remat.arena_bytes = 512 : i64,
                    remat.plan = #remat.plan<"search", budget = 512, peak = 512, unplanned = 768, ...>,
                    remat.stage = #remat.stage<assigned>} {
      %0 = remat.exp %x {remat.offsets = array<i64: 256>} : tensor<64xf32>
    ```
  }];
  let dependentDialects = ["::remat::RematDialect"];
  let options = [
    Option<"Budget", "budget", "std::string", "\"unlimited\"",
           "bytes such as 4GiB or 1000000, a part of the peak without recomputation such as 50%, smallest or unlimited">,
    Option<"Strategy", "strategy", "std::string", "\"search\"",
           "none, sqrt, mincut or search">,
    Option<"Effort", "effort", "int64_t", "1", "work of the search, a count">,
    Option<"Seed", "planner-seed", "uint64_t", "0", "of the search's random numbers">,
    Option<"Fuse", "fuse", "bool", "true", "groups operations into kernels after the plan">,
    ListOption<"ScopeBudgets", "scope-budget", "std::string",
               "scopes and the bytes of theirs that may be kept for the backward, such as h.1=4MiB">];
}

def Plan : Remat_Pass<"remat-plan", "planned"> {
  let summary = "Orders the block and recomputes values, so that it fits a budget";
  let description = [{
    Builds the planner's problem from the block, solves it, and rewrites the
    block into the plan's order. An operation that runs again is a clone whose
    `remat.origin` is the `remat.id` of the first one. Each decision is a remark
    of the category `remat-plan` (`--remarks-filter=remat-plan`). From here on no
    pass may merge equal operations.

    This pass plans once, for what the problem can know; the pipeline checks the
    memory that is really assigned and plans again with a tighter target.

    ```mlir
    %1 = remat.exp %0 : tensor<64xf32>
    %2 = remat.reduce <sum> %1, [0] : (tensor<64xf32>) -> tensor<f32>
    ...
    %8 = remat.mul %7, %1 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    // becomes
    %1 = remat.exp %0 {remat.id = 0 : i64} : tensor<64xf32>
    %2 = remat.reduce <sum> %1, [0] : (tensor<64xf32>) -> tensor<f32>
    ...
    %8 = remat.exp %0 {remat.origin = 0 : i64} : tensor<64xf32>
    %9 = remat.mul %7, %8 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    ```
  }];
  let dependentDialects = ["::remat::RematDialect"];
  let options = [
    Option<"Budget", "budget", "int64_t", "0", "bytes; 0: unlimited">,
    Option<"Strategy", "strategy", "std::string", "\"search\"",
           "none, sqrt, greedy, mincut, optimal or search">,
    Option<"Effort", "effort", "int64_t", "1", "work of the search, a count">,
    Option<"Seed", "seed", "uint64_t", "0", "of the search's random numbers">];
}

def DumpProblem : Remat_Pass<"remat-dump-problem", "assigned"> {
  let summary = "Prints the planner's problem as JSON (remat-problem-1)";
}

def AssignMemory : Remat_Pass<"remat-assign-memory"> {
  let summary = "Gives every value a byte offset in one arena";
  let description = [{
    Block order is execution order. A view lies in its operand; a result takes
    over an operand that dies at its operation where the operation allows that;
    a donated argument's result takes over the argument. Arguments, donated
    results and constants that are no splat live through the whole step.
    Offsets and sizes are multiples of 256 bytes.

    ```mlir
    func.func @main(%x: tensor<64xf32> {remat.role = #remat.role<input>})
        -> (tensor<64xf32> {remat.role = #remat.role<output>}) {
      %0 = remat.exp %x : tensor<64xf32>
      %1 = remat.tanh %0 : tensor<64xf32>
      return %1 : tensor<64xf32>
    }
    // becomes
    func.func @main(%x: tensor<64xf32> {remat.offset = 0 : i64, ...})
        -> ... attributes {remat.arena_bytes = 512 : i64} {
      %0 = remat.exp %x {remat.offsets = array<i64: 256>} : tensor<64xf32>
      %1 = remat.tanh %0 {remat.offsets = array<i64: 256>} : tensor<64xf32>
    ```
  }];
  let dependentDialects = ["::remat::RematDialect"];
  let options = [
    Option<"NodeLimit", "node-limit", "int64_t", "1000000",
           "nodes of the exact offset search; 0: best fit only">,
    Option<"Target", "target", "int64_t", "0",
           "arena bytes that are good enough; 0: as few as possible">];
}

def VerifyMemory : Remat_Pass<"remat-verify-memory"> {
  let summary = "Checks assigned memory by running the offsets";
  let description = [{
    Every read finds the bytes of the value that it names; no workspace or
    result destroys what is still read; results, arguments and constants are
    there at the end; the arena ends where its last value does.
  }];
}

def PrintLiveness : Remat_Pass<"remat-print-liveness"> {
  let summary = "Prints the buffers, their lifetimes and their values";
}

def PrintMemoryProfile
    : Remat_Pass<"remat-print-memory-profile"> {
  let summary = "Prints the bytes at each operation and what is alive at the peak";
}

def PrintCost : Remat_Pass<"remat-print-cost"> {
  let summary = "Prints arithmetic, traffic, time and workspace of operations";
}

#endif // REMAT_TRANSFORMS_MEMORYPASSES
