// Dimensions of size 1 in front change no element's place: operations over one
// shape join whether an operand has them or lacks them, and the kernel's shape
// is the one with most dimensions.
// RUN: remat-opt --remat-fuse %s | FileCheck %s
// RUN: remat-run %s --steps 1 --save-outputs %t.fused
// RUN: remat-run %s --steps 1 --save-outputs %t.plain --fuse false
// RUN: cmp %t.fused %t.plain

// CHECK-LABEL: func.func @main
// CHECK: remat.kernel(%{{.*}} = %arg0 : tensor<3x4xf32>, %{{.*}} = %arg1 : tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
// CHECK-NEXT: remat.sigmoid
// CHECK-NEXT: remat.mul
// CHECK: remat.kernel(%{{.*}} = %arg0 : tensor<3x4xf32>) -> tensor<1x1x3x4xf32>
// CHECK-NEXT: remat.broadcast
// CHECK-NEXT: remat.tanh
func.func @main(
    %x: tensor<3x4xf32> {remat.role = #remat.role<input>, remat.name = "x"},
    %y: tensor<1x3x4xf32> {remat.role = #remat.role<input>, remat.name = "y"})
    -> (tensor<1x3x4xf32> {remat.role = #remat.role<output>, remat.name = "a"},
        tensor<1x1x3x4xf32> {remat.role = #remat.role<output>, remat.name = "b"}) {
  %0 = remat.sigmoid %y : tensor<1x3x4xf32>
  %1 = remat.mul %x, %0 : (tensor<3x4xf32>, tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
  %2 = remat.broadcast %x : tensor<3x4xf32> to tensor<1x1x3x4xf32>
  %3 = remat.tanh %2 : tensor<1x1x3x4xf32>
  return %1, %3 : tensor<1x3x4xf32>, tensor<1x1x3x4xf32>
}
