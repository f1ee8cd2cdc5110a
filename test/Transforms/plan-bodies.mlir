// The body of a scan is planned once; the scan is an operation with a workspace.

// RUN: remat-opt %s -split-input-file -remat-plan-bodies | FileCheck %s
// RUN: remat-opt %s -split-input-file -remat-plan-bodies -remat-legalize-results -remat-plan -remat-assign-memory -remat-verify-memory | FileCheck %s --check-prefix=ASSIGNED

// The example of the pass. The next carry is written over the one before it:
// the 256 bytes of the carry, which stand for the result's, are all.

// CHECK-LABEL: @example
// CHECK: remat.scan 3 (%[[H:.*]] = %{{.*}} : tensor<64xf32>) over () with () -> tensor<64xf32> attributes {arena = 256 : i64} {
// CHECK-NEXT: remat.exp %[[H]] {remat.offsets = array<i64: 0>}
func.func @example(%a: tensor<64xf32>) -> tensor<64xf32> {
  %0 = remat.scan 3 (%h = %a : tensor<64xf32>) over () with () -> tensor<64xf32> {
    %1 = remat.exp %h : tensor<64xf32>
    remat.yield %1 : tensor<64xf32>
  }
  return %0 : tensor<64xf32>
}

// -----

// Bound, in the order of the arguments: the carry at 0, the slice at 256, what
// is read at 512 (1024 bytes), the row of the stack at 1536; 1792 in all. Above
// them the product, which is stacked: so it is written where its row lies. What
// else the body makes, the sum, is the next carry, which the product has been
// made of by then. No workspace is left.

// CHECK-LABEL: @in_place
// CHECK: remat.scan 2 {{.*}} attributes {arena = 1792 : i64} {
// CHECK-NEXT: remat.softmax %{{.*}} {remat.offsets = array<i64: 1536>}
// CHECK-NEXT: remat.add {{.*}} {remat.offsets = array<i64: 0>}
// ASSIGNED-LABEL: @in_place
// ASSIGNED: remat.scan 2
// ASSIGNED-SAME: remat.offsets
// ASSIGNED-NOT: remat.workspace
// ASSIGNED: return
func.func @in_place(%a: tensor<64xf32>, %b: tensor<2x64xf32>, %c: tensor<4x64xf32>) -> (tensor<64xf32>, tensor<2x64xf32>) {
  %0:2 = remat.scan 2 (%h = %a : tensor<64xf32>) over (%x = %b : tensor<2x64xf32>) with (%w = %c : tensor<4x64xf32>) -> (tensor<64xf32>, tensor<2x64xf32>) {
    %1 = remat.softmax %h : tensor<64xf32>
    %2 = remat.add %x, %1 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    remat.yield %2, %1 : tensor<64xf32>, tensor<64xf32>
  }
  return %0#0, %0#1 : tensor<64xf32>, tensor<2x64xf32>
}

// -----

// Rows of 40 bytes are not aligned: slice and stack are copied, and lie in the
// workspace, 256 bytes each, behind the one bound carry.

// CHECK-LABEL: @copied
// CHECK: attributes {arena = 768 : i64}
// ASSIGNED-LABEL: @copied
// ASSIGNED: remat.workspace = array<i64: {{[0-9]+}}, 512>
func.func @copied(%a: tensor<10xf32>, %b: tensor<2x10xf32>) -> (tensor<10xf32>, tensor<2x10xf32>) {
  %0:2 = remat.scan 2 (%h = %a : tensor<10xf32>) over (%x = %b : tensor<2x10xf32>) with () -> (tensor<10xf32>, tensor<2x10xf32>) {
    %1 = remat.add %x, %h : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
    %2 = remat.softmax %1 : tensor<10xf32>
    remat.yield %1, %2 : tensor<10xf32>, tensor<10xf32>
  }
  return %0#0, %0#1 : tensor<10xf32>, tensor<2x10xf32>
}

// -----

// Carries that change places need a copy: each is read by the other's next value.

// CHECK-LABEL: @swap
// CHECK: attributes {arena = 768 : i64} {
// CHECK: remat.copy
func.func @swap(%a: tensor<64xf32>, %b: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %0:2 = remat.scan 2 (%h = %a : tensor<64xf32>, %g = %b : tensor<64xf32>) over () with () -> (tensor<64xf32>, tensor<64xf32>) {
    remat.yield %g, %h : tensor<64xf32>, tensor<64xf32>
  }
  return %0#0, %0#1 : tensor<64xf32>, tensor<64xf32>
}
