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
