// RUN: remat-opt %s -split-input-file -remat-cancel-transposes | FileCheck %s

// The example of the pass: one tensor of angles for all heads.
// CHECK-LABEL: func.func @main
// CHECK: %[[WIDE:.*]] = remat.reshape %arg1 : tensor<8x16xf32> to tensor<1x1x8x16xf32>
// CHECK: %[[COS:.*]] = remat.reshape %[[WIDE]] : tensor<1x1x8x16xf32> to tensor<1x8x1x16xf32>
// CHECK: %[[Q:.*]] = remat.mul %arg0, %[[COS]] : (tensor<2x8x4x16xf32>, tensor<1x8x1x16xf32>) -> tensor<2x8x4x16xf32>
// CHECK-NEXT: return %[[Q]]
func.func @main(%q: tensor<2x8x4x16xf32>, %cos: tensor<8x16xf32>) -> tensor<2x8x4x16xf32> {
  %0 = remat.transpose %q, [0, 2, 1, 3] : (tensor<2x8x4x16xf32>) -> tensor<2x4x8x16xf32>
  %1 = remat.mul %0, %cos : (tensor<2x4x8x16xf32>, tensor<8x16xf32>) -> tensor<2x4x8x16xf32>
  %2 = remat.transpose %1, [0, 2, 1, 3] : (tensor<2x4x8x16xf32>) -> tensor<2x8x4x16xf32>
  return %2 : tensor<2x8x4x16xf32>
}

// -----

// Rotated halves: all that lies between follows, and what a slice or concat says
// of its dimensions moves along.
// CHECK-LABEL: func.func @rotated
// CHECK-NOT: remat.transpose
// CHECK: remat.slice %arg0, [0, 0, 0, 0] [2, 8, 4, 8]
// CHECK: remat.slice %arg0, [0, 0, 0, 8] [2, 8, 4, 8]
// CHECK: remat.neg
// CHECK: remat.concat %{{.*}}, %{{.*}} {dim = 3 : i64}
// CHECK: remat.add %{{.*}}, %arg0
func.func @rotated(%q: tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32> {
  %0 = remat.transpose %q, [0, 2, 1, 3] : (tensor<2x8x4x16xf32>) -> tensor<2x4x8x16xf32>
  %1 = remat.slice %0, [0, 0, 0, 0] [2, 4, 8, 8] : (tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %2 = remat.slice %0, [0, 0, 0, 8] [2, 4, 8, 8] : (tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %3 = remat.neg %2 : tensor<2x4x8x8xf32>
  %4 = remat.concat %3, %1 {dim = 3 : i64} : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x16xf32>
  %5 = remat.add %4, %0 : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  %6 = remat.transpose %5, [0, 2, 1, 3] : (tensor<2x4x8x16xf32>) -> tensor<2x8x4x16xf32>
  return %6 : tensor<2x8x4x16xf32>
}

// -----

// The dimension that is joined moves: it is the last but one of three in the
// middle, and the first outside.
// CHECK-LABEL: func.func @joined
// CHECK: %[[J:.*]] = remat.concat %arg0, %arg0 {dim = 0 : i64} : (tensor<2x3x5xf32>, tensor<2x3x5xf32>) -> tensor<4x3x5xf32>
// CHECK-NEXT: return %[[J]]
func.func @joined(%x: tensor<2x3x5xf32>) -> tensor<4x3x5xf32> {
  %0 = remat.transpose %x, [2, 0, 1] : (tensor<2x3x5xf32>) -> tensor<5x2x3xf32>
  %1 = remat.concat %0, %0 {dim = 1 : i64} : (tensor<5x2x3xf32>, tensor<5x2x3xf32>) -> tensor<5x4x3xf32>
  %2 = remat.transpose %1, [1, 2, 0] : (tensor<5x4x3xf32>) -> tensor<4x3x5xf32>
  return %2 : tensor<4x3x5xf32>
}

// -----

// A roll along the dimension that is first outside.
// CHECK-LABEL: func.func @rolled
// CHECK: %[[R:.*]] = remat.roll %arg0 {dim = 0 : i64, shift = 1 : i64} : tensor<2x3x5xf32>
// CHECK-NEXT: return %[[R]]
func.func @rolled(%x: tensor<2x3x5xf32>) -> tensor<2x3x5xf32> {
  %0 = remat.transpose %x, [2, 0, 1] : (tensor<2x3x5xf32>) -> tensor<5x2x3xf32>
  %1 = remat.roll %0 {dim = 1 : i64, shift = 1 : i64} : tensor<5x2x3xf32>
  %2 = remat.transpose %1, [1, 2, 0] : (tensor<5x2x3xf32>) -> tensor<2x3x5xf32>
  return %2 : tensor<2x3x5xf32>
}

// -----

// Another reader wants the order of the middle.
// CHECK-LABEL: func.func @read
// CHECK-COUNT-2: remat.transpose
func.func @read(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8x4xf32>) {
  %0 = remat.transpose %x, [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %1 = remat.exp %0 : tensor<8x4xf32>
  %2 = remat.transpose %1, [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  return %2, %1 : tensor<4x8xf32>, tensor<8x4xf32>
}

// -----

// %y would have to be transposed in turn.
// CHECK-LABEL: func.func @other
// CHECK-COUNT-2: remat.transpose
func.func @other(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) -> tensor<4x8xf32> {
  %0 = remat.transpose %x, [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %1 = remat.add %0, %y : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = remat.transpose %1, [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// The random numbers of a dropout belong to places in memory.
// CHECK-LABEL: func.func @random
// CHECK-COUNT-2: remat.transpose
func.func @random(%x: tensor<4x8xf32>, %seed: tensor<i64>, %step: tensor<i64>) -> tensor<4x8xf32> {
  %0 = remat.transpose %x, [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %1 = remat.dropout %0, %seed, %step {p = 0.5 : f64, id = 1 : i64} : tensor<8x4xf32>
  %2 = remat.transpose %1, [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
