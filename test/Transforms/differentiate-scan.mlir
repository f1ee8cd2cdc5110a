// The adjoint of a scan runs the other way, over the carries that the forward
// stacks, and makes each step again from them.

// RUN: remat-opt %s -split-input-file -remat-differentiate -canonicalize | FileCheck %s

// h' = tanh(h w + x): dz = dh' (1 - h'^2), dh = dz w, and the gradient of w is
// the sum of dz h. No gradient flows to x, which is an input.

// CHECK-LABEL: @read
// CHECK: %[[F:.*]]:2 = remat.scan 3 (%[[H:.*]] = %arg0 : tensor<64xf32>) {{.*}} -> (tensor<64xf32>, tensor<3x64xf32>) {
// CHECK: remat.yield %{{.*}}, %[[H]] : tensor<64xf32>, tensor<64xf32>
// CHECK: %[[B:.*]]:2 = remat.scan 3 reverse (%[[DH:.*]] = %{{.*}} : tensor<64xf32>, %[[SUM:.*]] = %{{.*}} : tensor<64xf32>) over (%[[OLD:.*]] = %[[F]]#1 : tensor<3x64xf32>, %[[X:.*]] = %arg1 : tensor<3x64xf32>) with (%[[W:.*]] = %arg0 : tensor<64xf32>)
// CHECK: %[[M:.*]] = remat.mul %[[OLD]], %[[W]]
// CHECK: %[[A:.*]] = remat.add %[[M]], %[[X]]
// CHECK: %[[T:.*]] = remat.tanh %[[A]]
// CHECK: %[[DZ:.*]] = remat.mul %[[DH]], %
// CHECK: %[[NEXT:.*]] = remat.mul %[[DZ]], %[[W]]
// CHECK: %[[DW:.*]] = remat.mul %[[DZ]], %[[OLD]]
// CHECK: %[[MORE:.*]] = remat.add %[[SUM]], %[[DW]]
// CHECK: remat.yield %[[NEXT]], %[[MORE]]
// CHECK: %[[G:.*]] = remat.add %[[B]]#0, %[[B]]#1
// CHECK: return %{{.*}}, %[[G]]
func.func @read(%w: tensor<64xf32> {remat.role = #remat.role<parameter>, remat.name = "w"}, %x: tensor<3x64xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.scan 3 (%h = %w : tensor<64xf32>) over (%r = %x : tensor<3x64xf32>) with (%v = %w : tensor<64xf32>) -> tensor<64xf32> {
    %1 = remat.mul %h, %v : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %2 = remat.add %1, %r : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %3 = remat.tanh %2 : tensor<64xf32>
    remat.yield %3 : tensor<64xf32>
  }
  %4 = remat.reduce <sum> %0, [0] : (tensor<64xf32>) -> tensor<f32>
  return %4 : tensor<f32>
}

// -----

// A sum over steps reads no carry, and the forward stacks none; the gradient of
// what it sliced is stacked. A stop_gradient in the body stops it.

// CHECK-LABEL: @sum
// CHECK: remat.scan 3 ({{.*}}) over ({{.*}}) with () -> tensor<64xf32> {
// CHECK-NOT: remat.stop_gradient
// CHECK: remat.scan 3 reverse
// CHECK-SAME: -> tensor<3x64xf32>
// CHECK-NOT: remat.exp
// CHECK: return
func.func @sum(%w: tensor<3x64xf32> {remat.role = #remat.role<parameter>, remat.name = "w"}, %x: tensor<64xf32> {remat.role = #remat.role<input>, remat.name = "x"}) -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.scan 3 (%h = %x : tensor<64xf32>) over (%r = %w : tensor<3x64xf32>) with () -> tensor<64xf32> {
    %e = remat.exp %r : tensor<64xf32>
    %s = remat.stop_gradient %e : tensor<64xf32>
    %1 = remat.add %h, %r : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %2 = remat.add %1, %s : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    remat.yield %2 : tensor<64xf32>
  }
  %4 = remat.reduce <sum> %0, [0] : (tensor<64xf32>) -> tensor<f32>
  return %4 : tensor<f32>
}
