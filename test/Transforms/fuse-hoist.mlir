// A gated activation: %1 makes what its backward, %5, reads, and a product stands
// between them. Where %1 joined %5, %g and %up would live across the product; so %5
// moves up, and %1 is never written.
// RUN: remat-opt --remat-fuse %s | FileCheck %s
// RUN: remat-opt --remat-fuse=mode=after-plan %s | FileCheck %s --check-prefix=AFTER
// CHECK-LABEL: func.func @main
// CHECK: %[[OTHER:.*]] = remat.mul
// CHECK-NEXT: %[[K:.*]] = remat.kernel
// CHECK-NEXT: remat.mul
// CHECK-NEXT: remat.tanh
// CHECK-NEXT: remat.mul
// CHECK: %[[P:.*]] = remat.matmul %[[OTHER]]
// CHECK-NEXT: return %[[K]], %[[P]]

// What is planned stays in its place.
// AFTER-LABEL: func.func @main
// AFTER: remat.matmul
// AFTER: remat.tanh
func.func @main(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %gate: tensor<64x64xf32>, %c: tensor<64x64xf32>)
    -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %g = remat.softmax %a : tensor<64x64xf32>
  %up = remat.softmax %b : tensor<64x64xf32>
  %silu = remat.softmax %c : tensor<64x64xf32>
  %1 = remat.mul %g, %up : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = remat.mul %g, %silu : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = remat.matmul %2, %2 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %4 = remat.tanh %gate : tensor<64x64xf32>
  %5 = remat.mul %1, %4 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %5, %3 : tensor<64x64xf32>, tensor<64x64xf32>
}

// A wider result would lie beside the product, where the narrow value did.
// CHECK-LABEL: func.func @wider
// CHECK: remat.mul
// CHECK-NEXT: remat.matmul
// CHECK-NEXT: remat.cast
func.func @wider(%x: tensor<64x64xbf16>, %y: tensor<64x64xbf16>) -> (tensor<64x64xf32>, tensor<64x64xbf16>) {
  %s = remat.softmax %x : tensor<64x64xbf16>
  %t = remat.softmax %y : tensor<64x64xbf16>
  %0 = remat.mul %s, %t : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %1 = remat.matmul %x, %x : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %2 = remat.cast %0 : tensor<64x64xbf16> to tensor<64x64xf32>
  return %2, %1 : tensor<64x64xf32>, tensor<64x64xbf16>
}
