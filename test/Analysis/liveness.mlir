// RUN: remat-opt %s -split-input-file -remat-print-liveness -o /dev/null | FileCheck %s

// One situation a function. A buffer's line says: [first, last] operation, by
// position; bytes, a multiple of 256; the values that own it one after the other.
// -1 stands for "before the step", the number of operations for "to the end".

// Each value dies at its only reader, which writes over it.
// CHECK-LABEL: liveness of @chain: 3 operations
// CHECK-NEXT: [-1, 3] 1024 bytes: x
// CHECK-NEXT: [0, 3] 1024 bytes: exp -> tanh -> y
func.func @chain(%x: tensor<16x16xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<16x16xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.exp %x : tensor<16x16xf32>
  %1 = remat.tanh %0 : tensor<16x16xf32>
  %2 = remat.sin %1 : tensor<16x16xf32>
  return %2 : tensor<16x16xf32>
}

// -----

// exp is read again behind tanh, which therefore needs bytes of its own; sin is
// the last reader and writes over it. mul takes over its first operand.
// CHECK-LABEL: liveness of @diamond
// CHECK-NEXT: [-1, 4] 1024 bytes: x
// CHECK-NEXT: [0, 3] 1024 bytes: exp -> sin
// CHECK-NEXT: [1, 4] 1024 bytes: tanh -> y
func.func @diamond(%x: tensor<16x16xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<16x16xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.exp %x : tensor<16x16xf32>
  %1 = remat.tanh %0 : tensor<16x16xf32>
  %2 = remat.sin %0 : tensor<16x16xf32>
  %3 = remat.mul %1, %2 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %3 : tensor<16x16xf32>
}

// -----

// The residual keeps exp alive to the add, over the matmul that may write over
// none of its operands.
// CHECK-LABEL: liveness of @residual
// CHECK-NEXT: [-1, 3] 1024 bytes: x
// CHECK-NEXT: [-1, 3] 1024 bytes: w
// CHECK-NEXT: [0, 3] 1024 bytes: exp -> y
// CHECK-NEXT: [1, 2] 1024 bytes: matmul
func.func @residual(%x: tensor<16x16xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                    %w: tensor<16x16xf32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<16x16xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.exp %x : tensor<16x16xf32>
  %1 = remat.matmul %0, %w : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = remat.add %0, %1 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %2 : tensor<16x16xf32>
}

// -----

// Views own nothing: exp's buffer lives as long as the reshape and the slice of
// it are read. The slice begins 512 bytes into it, a multiple of 256.
// CHECK-LABEL: liveness of @views
// CHECK-NEXT: [-1, 5] 1024 bytes: x
// CHECK-NEXT: [0, 4] 1024 bytes: exp
// CHECK-NEXT: [3, 4] 512 bytes: tanh
// CHECK-NEXT: [4, 5] 256 bytes: y
// CHECK-NOT: bytes
func.func @views(%x: tensor<16x16xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<8x8xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.exp %x : tensor<16x16xf32>
  %1 = remat.reshape %0 : tensor<16x16xf32> to tensor<32x8xf32>
  %2 = remat.slice %1, [16, 0] [16, 8] : (tensor<32x8xf32>) -> tensor<16x8xf32>
  %3 = remat.tanh %2 : tensor<16x8xf32>
  %4 = remat.matmul %3, %2 {transpose_lhs} : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}

// -----

// A contiguous slice whose first byte, 4 * 16 * 1 = 64, is not aligned is a copy.
// CHECK-LABEL: liveness of @unaligned_slice
// CHECK-NEXT: [-1, 2] 1024 bytes: x
// CHECK-NEXT: [0, 2] 512 bytes: slice -> y
// CHECK-NOT: bytes
func.func @unaligned_slice(%x: tensor<16x16xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<8x16xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.slice %x, [1, 0] [8, 16] : (tensor<16x16xf32>) -> tensor<8x16xf32>
  %1 = remat.exp %0 : tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}

// -----

// A view of a buffer with another reader to come keeps it; when the view is read
// whole and last, its reader takes the bytes over.
// CHECK-LABEL: liveness of @view_taken_over
// CHECK-NEXT: [-1, 3] 1024 bytes: x
// CHECK-NEXT: [0, 3] 1024 bytes: exp -> y
// CHECK-NOT: bytes
func.func @view_taken_over(%x: tensor<16x16xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<256xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.exp %x : tensor<16x16xf32>
  %1 = remat.reshape %0 : tensor<16x16xf32> to tensor<256xf32>
  %2 = remat.tanh %1 : tensor<256xf32>
  return %2 : tensor<256xf32>
}

// -----

// sgd's result takes over the donated parameter. An unread result (lse) needs its
// bytes at its operation.
// CHECK-LABEL: liveness of @donated
// CHECK-NEXT: [-1, 2] 1024 bytes: w -> w
// CHECK-NEXT: [-1, 2] 1024 bytes: g
// CHECK-NEXT: [-1, 2] 256 bytes: t
// CHECK-NEXT: [-1, 2] 256 bytes: rate
// CHECK-NEXT: [0, 2] 256 bytes: loss
// CHECK-NEXT: [0, 0] 256 bytes: cross_entropy#1
// CHECK-NOT: bytes
func.func @donated(%w: tensor<16x16xf32> {remat.role = #remat.role<parameter>, remat.name = "w", remat.donated = 1 : i64},
                   %g: tensor<16x16xf32> {remat.role = #remat.role<input>, remat.name = "g"},
                   %t: tensor<16xi64> {remat.role = #remat.role<input>, remat.name = "t"},
                   %rate: tensor<f32> {remat.role = #remat.role<learning_rate>, remat.name = "rate"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"},
        tensor<16x16xf32> {remat.role = #remat.role<parameter>, remat.name = "w"}) {
  %loss, %lse = remat.cross_entropy %w, %t : (tensor<16x16xf32>, tensor<16xi64>) -> (tensor<f32>, tensor<16xf32>)
  %new = remat.sgd %w, %g rate %rate : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<f32>) -> tensor<16x16xf32>
  return %loss, %new : tensor<f32>, tensor<16x16xf32>
}

// -----

// An argument that nobody reads and a result that is an argument are resident; a
// splat constant is made when it is needed, any other is there from the start.
// CHECK-LABEL: liveness of @residents
// CHECK-NEXT: [-1, 3] 1024 bytes: {{x$}}
// CHECK-NEXT: [-1, 3] 256 bytes: unused
// CHECK-NEXT: [-1, 3] 256 bytes: constant
// CHECK-NEXT: [1, 2] 256 bytes: constant
// CHECK-NEXT: [2, 3] 256 bytes: y
// CHECK-NOT: bytes
func.func @residents(%x: tensor<16x16xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                     %unused: tensor<f32> {remat.role = #remat.role<input>, remat.name = "unused"})
    -> (tensor<16x16xf32> {remat.role = #remat.role<output>, remat.name = "same"},
        tensor<2xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = remat.constant dense<3.0> : tensor<f32>
  %2 = remat.add %0, %1 : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %x, %2 : tensor<16x16xf32>, tensor<2xf32>
}
