// What keeps a scan from being planned.

// RUN: remat-opt %s -split-input-file -verify-diagnostics -remat-plan-bodies
// RUN: not remat-opt %s -split-input-file -remat-assign-memory 2>&1 | FileCheck %s

// CHECK: error: 'remat.scan' op cannot run: its body has no assigned memory
// CHECK: note: run remat-plan-bodies first
func.func @constant(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = remat.scan 2 (%h = %a : tensor<2xf32>) over () with () -> tensor<2xf32> {
    // expected-error @+2 {{of several values cannot lie in the body of a scan}}
    // expected-note @+1 {{run --canonicalize, which moves it out}}
    %c = remat.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %1 = remat.mul %h, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    remat.yield %1 : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}

// -----

// CHECK: error: 'remat.scan' op cannot run: its body has no assigned memory
// CHECK: note: run remat-fit-budget, which plans micro-batches
func.func @micro_batches(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = remat.scan 2 (%h = %a : tensor<2xf32>) over () with () -> tensor<2xf32> attributes {micro_batches} {
    %1 = remat.exp %h : tensor<2xf32>
    remat.yield %1 : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}
