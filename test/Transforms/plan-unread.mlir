// At 66,048 bytes, four tensors of 16 KiB and a block for the constant, the plan
// drops all that was made up to the turn, where most is alive: the second
// transpose, which nothing reads before it runs again. The planner keeps its
// first run as a mark; the block has each transpose once, and %0 twice.
// RUN: remat-opt --remat-plan="strategy=sqrt budget=66048" %s | FileCheck %s

// CHECK: %[[S:.*]] = remat.softmax %arg0 {remat.id
// CHECK-NEXT: %[[T:.*]] = remat.softmax %[[S]]
// CHECK-NEXT: remat.transpose %[[T]]
// CHECK-NEXT: remat.transpose
// CHECK-NOT: remat.transpose
// CHECK: remat.softmax %arg0 {remat.origin
func.func @f(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %c = remat.constant dense<2.0> : tensor<f32>
  %0 = remat.softmax %x : tensor<64x64xf32>
  %1 = remat.mul %0, %c : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %2 = remat.softmax %0 : tensor<64x64xf32>
  %3 = remat.transpose %2, [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %4 = remat.transpose %3, [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %5 = remat.add %4, %1 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %5, %2 : tensor<64x64xf32>, tensor<64x64xf32>
}
