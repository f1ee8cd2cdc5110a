// Operations that nobody reads join no kernel: it would have no results.
// RUN: remat-opt --remat-fuse %s | FileCheck %s
// RUN: remat-opt --remat-fuse=mode=after-plan %s | FileCheck %s --check-prefix=AFTER

// CHECK-LABEL: func.func @unread
// CHECK: %[[K:.*]] = remat.kernel(%{{.*}} = %arg0 : tensor<8x4xf32>) -> tensor<8x4xf32>
// CHECK: %[[E:.*]] = remat.exp %arg0
// CHECK-NEXT: remat.add %[[K]], %[[E]]
// CHECK-NEXT: remat.mul
// CHECK-NEXT: return

// After planning those that read the same tensor share a kernel.
// AFTER-LABEL: func.func @unread
// AFTER: %[[K:.*]]:2 = remat.kernel(%{{.*}} = %arg0 : tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
// AFTER: remat.exp
// AFTER: remat.add %[[K]]#0, %[[K]]#1
// AFTER-NEXT: remat.mul
// AFTER-NEXT: return
func.func @unread(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %c = remat.constant dense<2.0> : tensor<f32>
  %0 = remat.mul %x, %c : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %1 = remat.exp %x : tensor<8x4xf32>
  %2 = remat.add %0, %1 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = remat.mul %x, %c : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  return %x : tensor<8x4xf32>
}
