// After planning, operations of one phase that read the same tensor share a
// kernel, which reads it once.
// RUN: remat-opt --remat-fuse=mode=after-plan %s | FileCheck %s
// RUN: remat-opt --remat-fuse %s | FileCheck %s --check-prefix=BEFORE
// BEFORE-NOT: remat.kernel

// CHECK-LABEL: func.func @main
// CHECK: remat.kernel(%{{.*}} = %arg0 : tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
// CHECK-NEXT: remat.exp
// CHECK-NEXT: remat.tanh
func.func @main(%x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %0 = remat.exp %x : tensor<8x4xf32>
  %1 = remat.tanh %x : tensor<8x4xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<8x4xf32>
}

// One reads the tensor in the forward, the other in the backward: what bounds
// assume of programs tells them apart.
// CHECK-LABEL: func.func @phases
// CHECK-NOT: remat.kernel
// CHECK: return
func.func @phases(%x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %0 = remat.exp %x : tensor<8x4xf32>
  %1 = remat.tanh %x {remat.phase = #remat.phase<backward>} : tensor<8x4xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<8x4xf32>
}

// A row that both repeat is no reason.
// CHECK-LABEL: func.func @row
// CHECK-NOT: remat.kernel
// CHECK: return
func.func @row(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>, %r: tensor<4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %0 = remat.mul %x, %r : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %1 = remat.add %y, %r : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<8x4xf32>
}

// The product stands between them and reads the first: it cannot move behind.
// CHECK-LABEL: func.func @between
// CHECK-NOT: remat.kernel
// CHECK: return
func.func @between(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = remat.exp %x : tensor<4x4xf32>
  %1 = remat.matmul %0, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = remat.tanh %x : tensor<4x4xf32>
  return %1, %2 : tensor<4x4xf32>, tensor<4x4xf32>
}
