// After planning, a cheap operation with several elementwise readers is made in
// each of them, if its operand is alive there anyway and is no larger.
// RUN: remat-opt --remat-fuse=mode=after-plan --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @cast
// CHECK: remat.kernel(%{{.*}} = %arg0 : tensor<64x64xbf16>)
// CHECK-NEXT: remat.cast
// CHECK-NEXT: remat.exp
// CHECK: remat.softmax
// CHECK: remat.kernel(%{{.*}} = %arg0 : tensor<64x64xbf16>, %{{.*}} : tensor<64x64xf32>)
// CHECK-NEXT: remat.cast
// CHECK-NEXT: remat.mul
func.func @cast(%x: tensor<64x64xbf16>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %wide = remat.cast %x : tensor<64x64xbf16> to tensor<64x64xf32>
  %0 = remat.exp %wide : tensor<64x64xf32>
  %1 = remat.softmax %0 : tensor<64x64xf32>
  %2 = remat.mul %wide, %1 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1, %2 : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// The operand is larger than the result: reading it twice would cost more.

// CHECK-LABEL: func.func @narrowing
// CHECK: remat.cast
// CHECK: remat.softmax
// CHECK-NOT: remat.cast
func.func @narrowing(%x: tensor<64x64xf32>) -> (tensor<64x64xbf16>, tensor<64x64xbf16>) {
  %narrow = remat.cast %x : tensor<64x64xf32> to tensor<64x64xbf16>
  %0 = remat.exp %narrow : tensor<64x64xbf16>
  %1 = remat.softmax %0 : tensor<64x64xbf16>
  %2 = remat.mul %narrow, %1 : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  return %1, %2 : tensor<64x64xbf16>, tensor<64x64xbf16>
}

// -----

// The operand dies at the cast: clones would keep it alive.

// CHECK-LABEL: func.func @dies
// CHECK: remat.softmax
// CHECK: remat.cast
// CHECK: remat.softmax
// CHECK-NOT: remat.cast
func.func @dies(%y: tensor<64x64xbf16>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %x = remat.softmax %y : tensor<64x64xbf16>
  %wide = remat.cast %x : tensor<64x64xbf16> to tensor<64x64xf32>
  %0 = remat.exp %wide : tensor<64x64xf32>
  %1 = remat.softmax %0 : tensor<64x64xf32>
  %2 = remat.mul %wide, %1 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1, %2 : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// Two such operations side by side at the head of the block: both are cloned
// into their two readers, and both are gone. The readers that stand side by side
// then share a kernel, which reads %arg0 once for both.

// CHECK-LABEL: func.func @neighbours
// CHECK-NEXT: remat.kernel(%{{.*}} = %arg0 : tensor<32x16xbf16>) -> (tensor<32x16xf32>, tensor<32x16xbf16>)
// CHECK-NEXT: remat.cast
// CHECK-NEXT: remat.exp
// CHECK-NEXT: remat.neg
// CHECK-NEXT: remat.tanh
// CHECK: remat.softmax
// CHECK: remat.softmax
// CHECK-NEXT: remat.kernel(%{{.*}} = %arg0 : tensor<32x16xbf16>, %{{.*}} : tensor<32x16xbf16>, %{{.*}} : tensor<32x16xf32>)
// CHECK-NEXT: remat.cast
// CHECK-NEXT: remat.mul
// CHECK-NEXT: remat.neg
// CHECK-NEXT: remat.mul
func.func @neighbours(%x: tensor<32x16xbf16>) -> (tensor<32x16xf32>, tensor<32x16xbf16>) {
  %wide = remat.cast %x : tensor<32x16xbf16> to tensor<32x16xf32>
  %negative = remat.neg %x : tensor<32x16xbf16>
  %0 = remat.exp %wide : tensor<32x16xf32>
  %1 = remat.tanh %negative : tensor<32x16xbf16>
  %2 = remat.softmax %0 : tensor<32x16xf32>
  %3 = remat.mul %wide, %2 : (tensor<32x16xf32>, tensor<32x16xf32>) -> tensor<32x16xf32>
  %4 = remat.softmax %1 : tensor<32x16xbf16>
  %5 = remat.mul %negative, %4 : (tensor<32x16xbf16>, tensor<32x16xbf16>) -> tensor<32x16xbf16>
  return %3, %5 : tensor<32x16xf32>, tensor<32x16xbf16>
}

// -----

// What must be kept is computed once.

// CHECK-LABEL: func.func @keep
// CHECK: remat.cast
// CHECK-NOT: remat.cast
func.func @keep(%x: tensor<64x64xbf16>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %wide = remat.cast %x {remat.keep = #remat.keep<must>} : tensor<64x64xbf16> to tensor<64x64xf32>
  %0 = remat.exp %wide : tensor<64x64xf32>
  %1 = remat.softmax %0 : tensor<64x64xf32>
  %2 = remat.mul %wide, %1 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1, %2 : tensor<64x64xf32>, tensor<64x64xf32>
}
