// RUN: remat-opt %s --whole-graph -remat-pipeline="optimizer=sgd budget=smallest" -remat-print-liveness -o /dev/null | FileCheck %s
// RUN: remat-opt %s --whole-graph -remat-pipeline="optimizer=none fuse=false" -remat-print-liveness -o /dev/null | FileCheck %s --check-prefix=GRADIENTS
// RUN: remat-opt %s --whole-graph -remat-pipeline="optimizer=none autocast=bf16 fuse=false" -remat-print-liveness -o /dev/null | FileCheck %s --check-prefix=CASTS

// What overwrites a donated argument, and what is computed again, is the same
// value; the second of two equal names ends in a number, and what the backward
// is of keeps it.
// CHECK: bytes: w1 -> w1, updated
// CHECK: bytes: %h -> h.0/mlp/gelu -> %n{{$}}
// CHECK-NEXT: bytes: %mean
// CHECK-NEXT: bytes: %rstd
// CHECK-NEXT: bytes: h.0/mlp/c_proj -> backward of h.0/mlp/gelu.2
// CHECK-NEXT: bytes: h.0/mlp/gelu.2 -> backward of cross_entropy.2#2
// CHECK-NEXT: bytes: loss
// CHECK-NEXT: bytes: backward of cross_entropy.2#1
// CHECK-NEXT: bytes: %h, recomputed -> h.0/mlp/gelu, recomputed -> %n, recomputed{{$}}
// CHECK: bytes: gradient of w2
// CHECK-NEXT: bytes: backward of h.0/mlp/c_proj -> backward of %n#0
// CHECK-NEXT: bytes: %h, recomputed.2 -> h.0/mlp/gelu, recomputed.2 -> %n, recomputed.2
// CHECK: bytes: %mean, recomputed.2
// CHECK: bytes: gradient of g
// CHECK: bytes: gradient of b
// CHECK: bytes: {{.*}} -> backward of h.0/mlp/gelu{{$}}
// CHECK: bytes: gradient of w1

// A cast has the name of what it casts.
// CASTS: bytes: w1, as bf16
// CASTS: bytes: %h
// CASTS: bytes: h.0/mlp/gelu

// GRADIENTS-NOT: recomputed
// GRADIENTS: bytes: grad.w2

// What people call the values of a step: what the text calls them, what the
// location of an operation says, the user's names of arguments and results.
func.func @main(%x: tensor<64x32xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                %w1: tensor<32x32xf32> {remat.role = #remat.role<parameter>, remat.name = "w1"},
                %w2: tensor<32x32xf32> {remat.role = #remat.role<parameter>, remat.name = "w2"},
                %g: tensor<32xf32> {remat.role = #remat.role<parameter>, remat.name = "g"},
                %b: tensor<32xf32> {remat.role = #remat.role<parameter>, remat.name = "b"},
                %t: tensor<64xi64> {remat.role = #remat.role<input>, remat.name = "t"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %h = remat.matmul %x, %w1 : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
  %0 = remat.gelu %h : tensor<64x32xf32> loc("h.0/mlp/gelu")
  %n, %mean, %rstd = remat.layer_norm %0, %g, %b {epsilon = 1.0e-05 : f64}
      : (tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<64x32xf32>, tensor<64xf32>, tensor<64xf32>)
  %1 = remat.matmul %n, %w2 : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32> loc("h.0/mlp/c_proj")
  %2 = remat.gelu %1 : tensor<64x32xf32> loc("h.0/mlp/gelu")
  %3, %4 = remat.cross_entropy %2, %t : (tensor<64x32xf32>, tensor<64xi64>) -> (tensor<f32>, tensor<64xf32>) loc("cross_entropy")
  return %3 : tensor<f32>
}
