// Scans in text, and what canonicalization makes of them.

// RUN: remat-opt %s -split-input-file | remat-opt -split-input-file | FileCheck %s
// RUN: remat-opt %s -split-input-file -canonicalize | FileCheck %s --check-prefix=CANON

// CHECK-LABEL: @all
// CHECK: %{{.*}}:2 = remat.scan 3 reverse (%[[H:.*]] = %{{.*}} : tensor<4xf32>) over (%[[X:.*]] = %{{.*}} : tensor<3x4xf32>) with (%[[W:.*]] = %{{.*}} : tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
// CHECK-NEXT: remat.mul %[[H]], %[[W]]
// CHECK: remat.yield
func.func @all(%a: tensor<4xf32>, %b: tensor<3x4xf32>, %c: tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  %0, %1 = remat.scan 3 reverse (%h = %a : tensor<4xf32>) over (%x = %b : tensor<3x4xf32>) with (%w = %c : tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
    %2 = remat.mul %h, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %3 = remat.add %2, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    remat.yield %3, %3 : tensor<4xf32>, tensor<4xf32>
  }
  return %0, %1 : tensor<4xf32>, tensor<3x4xf32>
}

// -----

// What nobody reads goes: a slice, a read, a carry, a stack. A carry that stays
// is read, and what is the same in each step stands before the scan.

// CANON-LABEL: @unread
// CANON: %[[EXP:.*]] = remat.exp %arg4
// CANON: %[[R:.*]] = remat.scan 3 (%[[H:.*]] = %arg0 : tensor<4xf32>) over () with (%[[S:.*]] = %arg2 : tensor<4xf32>, %[[E:.*]] = %[[EXP]] : tensor<4xf32>) -> tensor<4xf32> {
// CANON-NEXT: %[[M:.*]] = remat.mul %[[H]], %[[E]]
// CANON-NEXT: %[[A:.*]] = remat.add %[[M]], %[[S]]
// CANON-NEXT: remat.yield %[[A]] : tensor<4xf32>
// CANON: return %[[R]], %arg2
func.func @unread(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<4xf32>, %arg3: tensor<3x4xf32>, %arg4: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:4 = remat.scan 3 (%h = %arg0 : tensor<4xf32>, %u = %arg1 : tensor<4xf32>, %s = %arg2 : tensor<4xf32>) over (%x = %arg3 : tensor<3x4xf32>) with (%w = %arg4 : tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>) {
    %e = remat.exp %w : tensor<4xf32>
    %1 = remat.mul %h, %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = remat.add %1, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    remat.yield %2, %2, %s, %1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %0#0, %0#2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Bytes of the program cannot lie in a body; a splat is made where it is read.

// CANON-LABEL: @constants
// CANON: %[[C:.*]] = remat.constant dense<[1.{{.*}}, 2.{{.*}}]>
// CANON: remat.scan 2 (%{{.*}}) over () with (%[[R:.*]] = %[[C]] : tensor<2xf32>)
// CANON: remat.constant dense<3.0
func.func @constants(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = remat.scan 2 (%h = %a : tensor<2xf32>) over () with () -> tensor<2xf32> {
    %c = remat.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %three = remat.constant dense<3.0> : tensor<2xf32>
    %1 = remat.mul %h, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %2 = remat.add %1, %three : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    remat.yield %2 : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}
