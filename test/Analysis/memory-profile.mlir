// RUN: remat-opt %s -remat-print-memory-profile -o /dev/null | FileCheck %s

// x: 16*16*4 = 1024, w: 1024, t: 16*8 = 128 -> 256: resident 2304.
// 0 matmul: + 1024 = 3328        (kept for the backward: an activation)
// 1 relu: writes over it           3328
// 2 cross_entropy: + loss 4 -> 256 and lse 64 -> 256 = 3840
// 3 constant: + 4 -> 256 = 4096
// 4 cross_entropy_backward: writes over the logits, frees lse and the constant behind it: 4096
// 5 matmul: the gradient of w: + 1024, less lse 256 and the constant 256 = 4608
// end: less the logits' gradient 1024 = 3584
// CHECK: memory of @main: peak 4608 bytes at 5
// CHECK-NEXT: 0: matmul 3328
// CHECK-NEXT: 1: relu 3328
// CHECK-NEXT: 2: cross_entropy 3840
// CHECK-NEXT: 3: constant 4096
// CHECK-NEXT: 4: cross_entropy_backward 4096
// CHECK-NEXT: 5: matmul 4608
// CHECK-NEXT: end: 3584
// CHECK-NEXT: alive at the peak:
// CHECK-NEXT: x 1024 inputs
// CHECK-NEXT: w 1024 parameters
// CHECK-NEXT: cross_entropy_backward 1024 temporaries
// CHECK-NEXT: grad.w 1024 gradients
// CHECK-NEXT: t 256 inputs
// CHECK-NEXT: loss 256 outputs
func.func @main(%x: tensor<16x16xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                %w: tensor<16x16xf32> {remat.role = #remat.role<parameter>, remat.name = "w"},
                %t: tensor<16xi64> {remat.role = #remat.role<input>, remat.name = "t"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"},
        tensor<16x16xf32> {remat.role = #remat.role<gradient>, remat.name = "grad.w"}) {
  %0 = remat.matmul %x, %w : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = remat.relu %0 : tensor<16x16xf32>
  %loss, %lse = remat.cross_entropy %1, %t : (tensor<16x16xf32>, tensor<16xi64>) -> (tensor<f32>, tensor<16xf32>)
  %one = remat.constant {remat.phase = #remat.phase<backward>} dense<1.0> : tensor<f32>
  %2 = remat.cross_entropy_backward %one, %1, %t, %lse {remat.phase = #remat.phase<backward>}
      : (tensor<f32>, tensor<16x16xf32>, tensor<16xi64>, tensor<16xf32>) -> tensor<16x16xf32>
  %3 = remat.matmul %x, %2 {transpose_lhs, remat.phase = #remat.phase<backward>}
      : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %loss, %3 : tensor<f32>, tensor<16x16xf32>
}
