// RUN: not remat-opt %s -remat-plan="budget=700" 2>&1 | FileCheck %s --check-prefix=BUDGET
// RUN: not remat-opt %s -remat-plan="strategy=fastest" 2>&1 | FileCheck %s --check-prefix=STRATEGY
// RUN: not remat-opt %s -remat-plan="device=tpu" 2>&1 | FileCheck %s --check-prefix=DEVICE
// RUN: not remat-opt %s -remat-assign-memory="device=tpu" 2>&1 | FileCheck %s --check-prefix=DEVICE

// x, exp and matmul's result stand together: 768 bytes.
// BUDGET: plan-errors.mlir:[[#@LINE+3]]:1: error: no plan fits: 768 bytes stand together at op 'matmul.1', the budget is 700
// STRATEGY: error: unknown strategy 'fastest': use none, sqrt, greedy, mincut, optimal or search
// DEVICE: error: unknown device 'tpu': use host or cuda
func.func @main(%x: tensor<8x8xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<8x8xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.exp %x : tensor<8x8xf32>
  %1 = remat.matmul %0, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
