// Sizes whose sum the planner cannot hold are refused, also where it would have
// to find the turn to know whether a value can be computed again after it.
// RUN: not remat-opt %s --remat-set-target=device=host --remat-plan 2>&1 | FileCheck %s
// CHECK: plan-too-large.mlir:6:1: error: cannot be planned: value 'mul.4#0' has 18014398509481984 bytes: negative, or the total exceeds 72057594037927936

func.func @main(%s: tensor<4503599627370496xf32> {remat.role = #remat.role<state>, remat.name = "s", remat.donated = 1 : i64})
    -> (tensor<4503599627370496xf32> {remat.role = #remat.role<output>, remat.name = "y"},
        tensor<4503599627370496xf32> {remat.role = #remat.role<state>, remat.name = "s"}) {
  %0 = remat.exp %s {remat.keep = #remat.keep<never>} : tensor<4503599627370496xf32>
  %new = remat.neg %s : tensor<4503599627370496xf32>
  %1 = remat.mul %new, %0 : (tensor<4503599627370496xf32>, tensor<4503599627370496xf32>) -> tensor<4503599627370496xf32>
  %2 = remat.mul %1, %0 : (tensor<4503599627370496xf32>, tensor<4503599627370496xf32>) -> tensor<4503599627370496xf32>
  %3 = remat.mul %2, %0 : (tensor<4503599627370496xf32>, tensor<4503599627370496xf32>) -> tensor<4503599627370496xf32>
  %4 = remat.mul %3, %0 : (tensor<4503599627370496xf32>, tensor<4503599627370496xf32>) -> tensor<4503599627370496xf32>
  return %4, %new : tensor<4503599627370496xf32>, tensor<4503599627370496xf32>
}
