// RUN: not remat-opt %s -remat-plan="budget=700" 2>&1 | FileCheck %s --check-prefix=BUDGET
// RUN: not remat-opt %s -remat-plan="strategy=fastest" 2>&1 | FileCheck %s --check-prefix=STRATEGY
// RUN: not remat-opt %s -remat-plan="budget=-1" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not remat-opt %s -remat-plan="effort=21" 2>&1 | FileCheck %s --check-prefix=EFFORT
// RUN: not remat-opt %s -remat-plan="effort=4294967297" 2>&1 | FileCheck %s --check-prefix=WRAPS
// RUN: not remat-opt %s -remat-plan="effort=-9223372036854775808" 2>&1 | FileCheck %s --check-prefix=NO-EFFORT
// RUN: not remat-opt %s -remat-assign-memory="node-limit=-1" 2>&1 | FileCheck %s --check-prefix=NODES
// RUN: not remat-opt %s -remat-assign-memory="target=-256" 2>&1 | FileCheck %s --check-prefix=TARGET

// NEGATIVE: error: budget=-1 effort=1: a budget is not negative
// EFFORT: error: budget=0 effort=21: a budget is not negative, an effort is 0 to 20
// WRAPS: error: budget=0 effort=4294967297: a budget is not negative, an effort is 0 to 20
// NO-EFFORT: error: budget=0 effort=-9223372036854775808: a budget
// NODES: error: node-limit is -1 and target is 0; neither must be negative
// TARGET: error: node-limit is 1000000 and target is -256; neither must be negative

// x, exp and matmul's result stand together: 768 bytes.
// BUDGET: plan-errors.mlir:[[#@LINE+2]]:1: error: no plan fits: 768 bytes stand together at op 'matmul.1', the budget is 700
// STRATEGY: error: unknown strategy 'fastest': use none, sqrt, greedy, mincut, optimal or search
func.func @main(%x: tensor<8x8xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<8x8xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.exp %x : tensor<8x8xf32>
  %1 = remat.matmul %0, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
