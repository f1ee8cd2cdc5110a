// What is the same in every micro-batch may be made once, before the loop, or in
// each micro-batch. Bounds hold for both, whatever the strategy does.

// RUN: remat-opt %s --split-input-file -remat-differentiate -remat-accumulate="micro-batches=3" -remat-add-optimizer -canonicalize -cse -remat-sink-constants -remat-fit-budget=strategy=none | FileCheck %s --check-prefixes=CHECK,NONE
// RUN: remat-opt %s --split-input-file -remat-differentiate -remat-accumulate="micro-batches=3" -remat-add-optimizer -canonicalize -cse -remat-sink-constants -remat-fit-budget=budget=smallest | FileCheck %s --check-prefixes=CHECK,SMALL

// Parameter, copy and result have 256 bytes each where the copy is made before
// the loop; a copy of it in the loop has 256 more: 1024. Made in each micro-batch
// the copy is the row of the result: 768. The strategy none moves nothing, but
// what it calls impossible is so for programs that move the copy, too.
// CHECK-LABEL: func.func @main
// NONE-SAME: #remat.plan<"none", peak = 1024, unplanned = 1024, smallest = 1024, impossible = 767, recomputed = 0, predicted = 3.505600e-03, at_least = 0.003004{{[0-9]+}},
// SMALL-SAME: smallest = 768, impossible = 511,
func.func @main(%w: tensor<f32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<f32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.copy %w : tensor<f32>
  return %0 : tensor<f32>
}

// -----

// The last two additions are one kernel, which can run before the loop or in it.
// In it three numbers live until the loop ends, before it one does: what is
// impossible for programs of the former kind is possible for the latter.
// CHECK-LABEL: func.func @main
// NONE-SAME: smallest = 2048, impossible = 2047,
// SMALL-SAME: smallest = 2048, impossible = 1535,
func.func @main(%w: tensor<16x1x4x1xf32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<16x1x4x1xf32> {remat.role = #remat.role<output>, remat.name = "x"},
        tensor<f32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.sigmoid %w : tensor<16x1x4x1xf32>
  %1 = remat.mse %0, %w : (tensor<16x1x4x1xf32>, tensor<16x1x4x1xf32>) -> tensor<f32>
  %2 = remat.reduce <sum> %w, [0, 1, 2, 3] : (tensor<16x1x4x1xf32>) -> tensor<f32>
  %3 = remat.reduce <sum> %0, [0, 1, 2, 3] : (tensor<16x1x4x1xf32>) -> tensor<f32>
  %4 = remat.kernel(%a = %1 : tensor<f32>, %b = %2 : tensor<f32>, %c = %3 : tensor<f32>) -> tensor<f32> {
    %5 = remat.add %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %6 = remat.add %5, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
    remat.yield %6 : tensor<f32>
  }
  return %0, %4 : tensor<16x1x4x1xf32>, tensor<f32>
}

// -----

// Three copies of the comparison, made once, are slower than three comparisons:
// those are made in the loop. The update of w reads nothing of the loop, and
// overwrites what the loop reads: the loop runs first.
// CHECK-LABEL: func.func @main
// NONE-SAME: peak = 2304, unplanned = 2304, smallest = 2304,
// NONE: remat.compare
// NONE: remat.scan 3
// SMALL-SAME: predicted = 5.095200e-03, at_least = 0.00509{{[0-9]+}},
// SMALL: remat.scan 3
// SMALL-NEXT: remat.compare
// SMALL: remat.adamw
func.func @main(%w: tensor<8xf32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"},
        tensor<8xi1> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.compare <eq> %w, %w : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  %loss = remat.reduce <sum> %w, [0] : (tensor<8xf32>) -> tensor<f32>
  return %loss, %0 : tensor<f32>, tensor<8xi1>
}
