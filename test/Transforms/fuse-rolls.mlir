// A roll is part of the kernel that reads it, as long as the kernel does not make
// what is rolled.
// RUN: remat-opt --remat-fuse %s | FileCheck %s

// A rotary embedding: the tensor is read as it is and rolled.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[R:.*]] = remat.kernel(%[[X:.*]] = %arg0 : tensor<4x8xf32>, %[[C:.*]] = %arg1 : tensor<8xf32>, %[[S:.*]] = %arg2 : tensor<8xf32>)
// CHECK-NEXT: %[[A:.*]] = remat.mul %[[X]], %[[C]]
// CHECK-NEXT: %[[ROLL:.*]] = remat.roll %[[X]] {dim = 1 : i64, shift = 4 : i64}
// CHECK-NEXT: %[[B:.*]] = remat.mul %[[ROLL]], %[[S]]
// CHECK-NEXT: %[[Y:.*]] = remat.add %[[A]], %[[B]]
// CHECK-NEXT: remat.yield %[[Y]]
func.func @main(%x: tensor<4x8xf32>, %cos: tensor<8xf32>, %sin: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = remat.mul %x, %cos : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = remat.roll %x {dim = 1 : i64, shift = 4 : i64} : tensor<4x8xf32>
  %2 = remat.mul %1, %sin : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %3 = remat.add %0, %2 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// What is rolled is made by another kernel than the one that rolls it.
// CHECK-LABEL: func.func @made
// CHECK: %[[MADE:.*]] = remat.kernel
// CHECK-NEXT: remat.exp
// CHECK-NEXT: remat.neg
// CHECK-NEXT: remat.yield
// CHECK: remat.kernel(%[[IN:.*]] = %[[MADE]] : tensor<4x8xf32>)
// CHECK-NEXT: remat.roll %[[IN]]
// CHECK-NEXT: remat.tanh
func.func @made(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = remat.exp %x : tensor<4x8xf32>
  %1 = remat.neg %0 : tensor<4x8xf32>
  %2 = remat.roll %1 {dim = 0 : i64, shift = 1 : i64} : tensor<4x8xf32>
  %3 = remat.tanh %2 : tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// The consumer rolls one of two values that one kernel could else make.
// CHECK-LABEL: func.func @both
// CHECK: %[[MADE:.*]] = remat.kernel
// CHECK: remat.exp
// CHECK-NEXT: remat.yield
// CHECK: remat.kernel(%[[IN:.*]] = %[[MADE]] : tensor<4x8xf32>)
// CHECK-NEXT: %[[R:.*]] = remat.roll %[[IN]]
// CHECK-NEXT: remat.add %[[IN]], %[[R]]
func.func @both(%x: tensor<4x8xf32>, %c: tensor<8xf32>) -> tensor<4x8xf32> {
  %one = remat.constant dense<1.0> : tensor<f32>
  %0 = remat.add %x, %one : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %1 = remat.exp %0 : tensor<4x8xf32>
  %2 = remat.roll %1 {dim = 1 : i64, shift = 2 : i64} : tensor<4x8xf32>
  %3 = remat.add %1, %2 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}
