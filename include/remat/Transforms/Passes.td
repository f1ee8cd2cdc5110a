//===- Passes.td - the passes of the compiler ------------------*- tablegen -*-===//
//
// In the order of the pipeline. Each pass shows IR before and after; a test
// under test/Transforms runs that very example.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_PASSES
#define REMAT_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Planning and memory
//===----------------------------------------------------------------------===//

def LegalizeResults : Pass<"remat-legalize-results", "::mlir::func::FuncOp"> {
  let summary = "Copies what a donated argument's new value would destroy";
  let description = [{
    A donated argument's memory is overwritten by a result. Where the bytes
    cannot be written in place, or where another result shows the old bytes, a
    copy (a cast to the same type) is inserted; operations that overwrite move
    behind all other readers of the argument.

    ```mlir
    // %w is donated to result 1; result 0 shows its old value.
    return %w, %new
    // becomes
    %old = remat.cast %w : tensor<4xf32> to tensor<4xf32>
    return %old, %new
    ```
  }];
  let dependentDialects = ["::remat::RematDialect"];
}

def Plan : Pass<"remat-plan", "::mlir::func::FuncOp"> {
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
    %2 = remat.reduce sum %1, [0] : (tensor<64xf32>) -> tensor<f32>
    ...
    %8 = remat.mul %7, %1 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    // becomes
    %1 = remat.exp %0 {remat.id = 0 : i64} : tensor<64xf32>
    %2 = remat.reduce sum %1, [0] : (tensor<64xf32>) -> tensor<f32>
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
    Option<"Seed", "seed", "uint64_t", "0", "of the search's random numbers">,
    Option<"Device", "device", "std::string", "\"host\"", "host or cuda">,
    Option<"Arch", "arch", "std::string", "\"sm_90\"", "GPU architecture">,
    Option<"Attention", "attention", "std::string", "\"auto\"",
           "auto, cudnn or own">];
}

def DumpProblem : Pass<"remat-dump-problem", "::mlir::func::FuncOp"> {
  let summary = "Prints the planner's problem as JSON (remat-problem-1)";
  let options = [
    Option<"Device", "device", "std::string", "\"host\"", "host or cuda">,
    Option<"Arch", "arch", "std::string", "\"sm_90\"", "GPU architecture">,
    Option<"Attention", "attention", "std::string", "\"auto\"",
           "auto, cudnn or own">];
}

def AssignMemory : Pass<"remat-assign-memory", "::mlir::func::FuncOp"> {
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
    Option<"Device", "device", "std::string", "\"host\"", "host or cuda">,
    Option<"Arch", "arch", "std::string", "\"sm_90\"", "GPU architecture">,
    Option<"Attention", "attention", "std::string", "\"auto\"",
           "auto, cudnn or own">,
    Option<"NodeLimit", "node-limit", "int64_t", "1000000",
           "nodes of the exact offset search; 0: best fit only">,
    Option<"Target", "target", "int64_t", "0",
           "arena bytes that are good enough; 0: as few as possible">];
}

def VerifyMemory : Pass<"remat-verify-memory", "::mlir::func::FuncOp"> {
  let summary = "Checks assigned memory by running the offsets";
  let description = [{
    Every read finds the bytes of the value that it names; no workspace or
    result destroys what is still read; results, arguments and constants are
    there at the end; the arena ends where its last value does.
  }];
}

def PrintLiveness : Pass<"remat-print-liveness", "::mlir::func::FuncOp"> {
  let summary = "Prints the buffers, their lifetimes and their values";
}

def PrintMemoryProfile
    : Pass<"remat-print-memory-profile", "::mlir::func::FuncOp"> {
  let summary = "Prints the bytes at each operation and what is alive at the peak";
  let options = [
    Option<"Device", "device", "std::string", "\"host\"", "host or cuda">,
    Option<"Arch", "arch", "std::string", "\"sm_90\"", "GPU architecture">];
}

def PrintCost : Pass<"remat-print-cost", "::mlir::func::FuncOp"> {
  let summary = "Prints arithmetic, traffic, time and workspace of operations";
  let options = [
    Option<"Device", "device", "std::string", "\"host\"", "host or cuda">,
    Option<"Arch", "arch", "std::string", "\"sm_90\"", "GPU architecture">];
}

#endif // REMAT_TRANSFORMS_PASSES
