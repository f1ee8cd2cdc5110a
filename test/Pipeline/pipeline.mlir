// RUN: remat-opt %s -remat-pipeline="optimizer=sgd" | FileCheck %s
// RUN: remat-opt %s -remat-pipeline="optimizer=none" | FileCheck %s --check-prefix=NONE
// RUN: remat-opt %s -remat-pipeline="optimizer=sgd budget=19456" | FileCheck %s --check-prefix=TIGHT
// RUN: remat-opt %s -remat-pipeline="optimizer=sgd budget=19KiB" | FileCheck %s --check-prefix=TIGHT
// RUN: remat-opt %s -remat-pipeline="optimizer=sgd budget=91%%" | FileCheck %s --check-prefix=TIGHT
// RUN: remat-opt %s -remat-pipeline="optimizer=sgd budget=19456" | remat-opt --remat-verify-memory -o /dev/null

// Two layers and a loss. Resident: x 16*32*4 = 2048, w1 and w2 32*32*4 = 4096 each,
// t 16*8 -> 256, the learning rate 256, the step 256: 11008 bytes. The peak is at
// the product that gives w2's gradient: 4096 for it, 2048 for its operands gelu
// and gelu_backward each, 256 for the loss, and 2048 for gelu's input, which the
// backward of the first layer will read: 10496, in all 21504.
// The first matmul run again in the backward leaves 19456. Only a loss that is
// computed again at the very end, from the input on, needs 256 bytes less.

// CHECK: func.func @main(
// CHECK-SAME: remat.donated = 1 : i64
// CHECK-SAME: attributes {remat.arena_bytes = 21504 : i64, 
// CHECK-NOT: remat.origin
// CHECK: remat.sgd %arg2, {{.*}}remat.offsets = array<i64: 6144>
// CHECK: remat.sgd %arg1, {{.*}}remat.offsets = array<i64: 2048>

// NONE-NOT: remat.sgd
// NONE: remat.role = #remat.role<gradient>
// NONE-NOT: remat.sgd

// TIGHT: remat.arena_bytes = 19456 : i64
// TIGHT: remat.matmul %arg0, %arg1 {remat.id = 0 : i64
// TIGHT: remat.matmul %arg0, %arg1 {{{.*}}remat.origin = 0 : i64
func.func @main(%x: tensor<16x32xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                %w1: tensor<32x32xf32> {remat.role = #remat.role<parameter>, remat.name = "w1"},
                %w2: tensor<32x32xf32> {remat.role = #remat.role<parameter>, remat.name = "w2"},
                %t: tensor<16xi64> {remat.role = #remat.role<input>, remat.name = "t"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.matmul %x, %w1 : (tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<16x32xf32>
  %1 = remat.gelu %0 : tensor<16x32xf32>
  %2 = remat.matmul %1, %w2 : (tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<16x32xf32>
  %3 = remat.gelu %2 : tensor<16x32xf32>
  %loss, %lse = remat.cross_entropy %3, %t : (tensor<16x32xf32>, tensor<16xi64>) -> (tensor<f32>, tensor<16xf32>)
  return %loss : tensor<f32>
}
