// RUN: remat-opt %s | FileCheck %s

// The example of remat.yield in the reference: two results of a kernel that computes three values.

// CHECK: %[[K:.*]]:2 = remat.kernel(%{{.*}} = %arg0 : tensor<4x8xf32>, %{{.*}} = %arg1 : tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
// CHECK: remat.yield %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<4x8xf32>
// CHECK: return %[[K]]#0, %[[K]]#1
func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %sum, %root = remat.kernel(%a = %x : tensor<4x8xf32>, %b = %y : tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
    %0 = remat.add %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = remat.exp %0 : tensor<4x8xf32>
    %2 = remat.sqrt %1 : tensor<4x8xf32>
    remat.yield %0, %2 : tensor<4x8xf32>, tensor<4x8xf32>
  }
  return %sum, %root : tensor<4x8xf32>, tensor<4x8xf32>
}
