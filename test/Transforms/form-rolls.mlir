// RUN: remat-opt %s -split-input-file -remat-form-rolls | FileCheck %s

// The example of the pass: the table takes the sign of the first half.
// CHECK-LABEL: func.func @main
// CHECK: %[[FIRST:.*]] = remat.slice %arg1, [0] [4]
// CHECK: %[[NEG:.*]] = remat.neg %[[FIRST]]
// CHECK: %[[REST:.*]] = remat.slice %arg1, [4] [4]
// CHECK: %[[SIN:.*]] = remat.concat %[[NEG]], %[[REST]] {dim = 0 : i64}
// CHECK: %[[Q:.*]] = remat.roll %arg0 {dim = 1 : i64, shift = 4 : i64} : tensor<32x8xf32>
// CHECK: %[[R:.*]] = remat.mul %[[Q]], %[[SIN]] : (tensor<32x8xf32>, tensor<8xf32>) -> tensor<32x8xf32>
// CHECK-NEXT: return %[[R]]
func.func @main(%q: tensor<32x8xf32>, %sin: tensor<8xf32>) -> tensor<32x8xf32> {
  %0 = remat.slice %q, [0, 4] [32, 4] : (tensor<32x8xf32>) -> tensor<32x4xf32>
  %1 = remat.neg %0 : tensor<32x4xf32>
  %2 = remat.slice %q, [0, 0] [32, 4] : (tensor<32x8xf32>) -> tensor<32x4xf32>
  %3 = remat.concat %1, %2 {dim = 1 : i64} : (tensor<32x4xf32>, tensor<32x4xf32>) -> tensor<32x8xf32>
  %4 = remat.mul %3, %sin : (tensor<32x8xf32>, tensor<8xf32>) -> tensor<32x8xf32>
  return %4 : tensor<32x8xf32>
}

// -----

// A gradient: what is rotated is a product, whose factors are rolled; here the
// first 2 of 6 elements go behind the others, so that these come first: a shift
// of 4. The negation was made in a wider type. Two products share one table.
// CHECK-LABEL: func.func @gradient
// CHECK: %[[LAST:.*]] = remat.slice %arg2, [0, 2] [1, 4]
// CHECK: %[[FIRST:.*]] = remat.slice %arg2, [0, 0] [1, 2]
// CHECK: %[[NEG:.*]] = remat.neg %[[FIRST]] : tensor<1x2xbf16>
// CHECK: %[[SIN:.*]] = remat.concat %[[LAST]], %[[NEG]] {dim = 1 : i64}
// CHECK: %[[G:.*]] = remat.roll %arg0 {dim = 2 : i64, shift = 4 : i64} : tensor<4x8x6xbf16>
// CHECK: %[[R:.*]] = remat.mul %[[G]], %[[SIN]]
// CHECK: %[[H:.*]] = remat.roll %arg1 {dim = 2 : i64, shift = 4 : i64} : tensor<4x8x6xbf16>
// CHECK: %[[S:.*]] = remat.mul %[[H]], %[[SIN]]
// CHECK-NEXT: return %[[R]], %[[S]]
func.func @gradient(%g: tensor<4x8x6xbf16>, %h: tensor<4x8x6xbf16>, %sin: tensor<1x6xbf16>) -> (tensor<4x8x6xbf16>, tensor<4x8x6xbf16>) {
  %0 = remat.mul %g, %sin : (tensor<4x8x6xbf16>, tensor<1x6xbf16>) -> tensor<4x8x6xbf16>
  %1 = remat.slice %0, [0, 0, 0] [4, 8, 2] : (tensor<4x8x6xbf16>) -> tensor<4x8x2xbf16>
  %2 = remat.cast %1 : tensor<4x8x2xbf16> to tensor<4x8x2xf32>
  %3 = remat.neg %2 : tensor<4x8x2xf32>
  %4 = remat.cast %3 : tensor<4x8x2xf32> to tensor<4x8x2xbf16>
  %5 = remat.slice %0, [0, 0, 2] [4, 8, 4] : (tensor<4x8x6xbf16>) -> tensor<4x8x4xbf16>
  %6 = remat.concat %5, %4 {dim = 2 : i64} : (tensor<4x8x4xbf16>, tensor<4x8x2xbf16>) -> tensor<4x8x6xbf16>
  %7 = remat.mul %h, %sin : (tensor<4x8x6xbf16>, tensor<1x6xbf16>) -> tensor<4x8x6xbf16>
  %8 = remat.slice %7, [0, 0, 0] [4, 8, 2] : (tensor<4x8x6xbf16>) -> tensor<4x8x2xbf16>
  %9 = remat.neg %8 : tensor<4x8x2xbf16>
  %10 = remat.slice %7, [0, 0, 2] [4, 8, 4] : (tensor<4x8x6xbf16>) -> tensor<4x8x4xbf16>
  %11 = remat.concat %10, %9 {dim = 2 : i64} : (tensor<4x8x4xbf16>, tensor<4x8x2xbf16>) -> tensor<4x8x6xbf16>
  return %6, %11 : tensor<4x8x6xbf16>, tensor<4x8x6xbf16>
}

// -----

// Without a sign there is nothing to do but to roll.
// CHECK-LABEL: func.func @plain
// CHECK-NEXT: %[[R:.*]] = remat.roll %arg0 {dim = 0 : i64, shift = 3 : i64} : tensor<5x2xi32>
// CHECK-NEXT: return %[[R]]
func.func @plain(%x: tensor<5x2xi32>) -> tensor<5x2xi32> {
  %0 = remat.slice %x, [2, 0] [3, 2] : (tensor<5x2xi32>) -> tensor<3x2xi32>
  %1 = remat.slice %x, [0, 0] [2, 2] : (tensor<5x2xi32>) -> tensor<2x2xi32>
  %2 = remat.concat %0, %1 {dim = 0 : i64} : (tensor<3x2xi32>, tensor<2x2xi32>) -> tensor<5x2xi32>
  return %2 : tensor<5x2xi32>
}

// -----

// What stays a concat: parts that overlap, parts in their own order, another
// tensor's part, a sign without a table, one whose table is as large as what it
// multiplies, one that others read with its sign, and what is to be kept.
// CHECK-LABEL: func.func @stays
// CHECK-NOT: remat.roll
// CHECK: return
func.func @stays(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>, %t: tensor<4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x5xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) {
  %first = remat.slice %x, [0, 0] [8, 2] : (tensor<8x4xf32>) -> tensor<8x2xf32>
  %three = remat.slice %x, [0, 0] [8, 3] : (tensor<8x4xf32>) -> tensor<8x3xf32>
  %last = remat.slice %x, [0, 2] [8, 2] : (tensor<8x4xf32>) -> tensor<8x2xf32>
  %other = remat.slice %y, [0, 2] [8, 2] : (tensor<8x4xf32>) -> tensor<8x2xf32>
  %neg = remat.neg %last : tensor<8x2xf32>
  %0 = remat.concat %first, %neg {dim = 1 : i64} : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x4xf32>
  %1 = remat.concat %last, %three {dim = 1 : i64} : (tensor<8x2xf32>, tensor<8x3xf32>) -> tensor<8x5xf32>
  %2 = remat.concat %other, %first {dim = 1 : i64} : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x4xf32>
  %3 = remat.concat %neg, %first {dim = 1 : i64} : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x4xf32>
  %4 = remat.concat %neg, %first {dim = 1 : i64} : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x4xf32>
  %5 = remat.mul %4, %y : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %6 = remat.concat %neg, %first {dim = 1 : i64} : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x4xf32>
  %7 = remat.mul %6, %t : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %8 = remat.concat %last, %first {dim = 1 : i64, remat.keep = #remat.keep<must>} : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x4xf32>
  %kept = remat.slice %y, [0, 0] [8, 2] {remat.keep = #remat.keep<must>} : (tensor<8x4xf32>) -> tensor<8x2xf32>
  %9 = remat.concat %other, %kept {dim = 1 : i64} : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x4xf32>
  return %9, %0, %1, %2, %3, %5, %6, %7, %8 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x5xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}
