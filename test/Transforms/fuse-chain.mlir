// The example of the pass's documentation.
// RUN: remat-opt --remat-fuse %s | FileCheck %s
// CHECK-LABEL: func.func @main
// CHECK: %[[K:.*]] = remat.kernel(%[[A:.*]] = %{{.*}} : tensor<8xf32>, %[[B:.*]] = %{{.*}} : tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT: %[[M:.*]] = remat.mul %[[A]], %[[B]]
// CHECK-NEXT: %[[E:.*]] = remat.exp %[[M]]
// CHECK-NEXT: remat.yield %[[E]]
// CHECK: return %[[K]]
func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = remat.mul %x, %y : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = remat.exp %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
