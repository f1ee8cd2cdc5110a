// A group stands at the place of its last operation, so an operation between
// that reads a member's result keeps that member out, and so does one that
// overwrites a donated argument which the member reads.
// RUN: remat-opt --remat-fuse=mode=after-plan --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @reader_between
// CHECK: remat.mul
// CHECK-NEXT: remat.reduce
// CHECK-NEXT: remat.add
func.func @reader_between(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = remat.mul %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = remat.reduce <sum> %0, [1] {keep_dims} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %2 = remat.add %0, %1 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @view_between
// CHECK: remat.mul
// CHECK-NEXT: remat.reshape
// CHECK-NEXT: remat.exp
func.func @view_between(%x: tensor<4x8xf32>) -> (tensor<32xf32>, tensor<4x8xf32>) {
  %0 = remat.mul %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = remat.reshape %0 : tensor<4x8xf32> to tensor<32xf32>
  %2 = remat.exp %0 : tensor<4x8xf32>
  return %1, %2 : tensor<32xf32>, tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @overwriter_between
// CHECK: remat.mul
// CHECK-NEXT: remat.sgd
// CHECK-NEXT: remat.exp
func.func @overwriter_between(%w: tensor<8xf32> {remat.donated = 0 : i64}, %g: tensor<8xf32>, %r: tensor<f32>)
    -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = remat.mul %w, %w : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = remat.sgd %w, %g rate %r : (tensor<8xf32>, tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = remat.exp %0 : tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}
