// Optimizers and kernel groups.

// RUN: remat-opt %s | FileCheck %s
// RUN: remat-opt %s --mlir-print-op-generic | remat-opt | FileCheck %s

// CHECK-LABEL: @optimizers
func.func @optimizers(%p: tensor<4x8xf32>, %g: tensor<4x8xbf16>, %m: tensor<4x8xf32>, %v: tensor<4x8xf32>, %rate: tensor<f32>, %step: tensor<i64>) {
  // CHECK: remat.global_norm %{{.*}}, %{{.*}} : (tensor<4x8xbf16>, tensor<4x8xf32>) -> tensor<f32>
  %norm = remat.global_norm %g, %m : (tensor<4x8xbf16>, tensor<4x8xf32>) -> tensor<f32>
  // CHECK: remat.sgd %{{.*}}, %{{.*}} rate %{{[a-z0-9]+}} : (tensor<4x8xf32>, tensor<4x8xbf16>, tensor<f32>) -> tensor<4x8xf32>
  %0 = remat.sgd %p, %g rate %rate : (tensor<4x8xf32>, tensor<4x8xbf16>, tensor<f32>) -> tensor<4x8xf32>
  // CHECK: remat.sgd %{{.*}}, %{{.*}} buffer %{{.*}} rate %{{.*}} scale %{{.*}} {momentum = 9.000000e-01 : f64} : (tensor<4x8xf32>, tensor<4x8xbf16>, tensor<4x8xf32>, tensor<f32>, tensor<f32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  %1:2 = remat.sgd %p, %g buffer %m rate %rate scale %norm {momentum = 0.9 : f64} : (tensor<4x8xf32>, tensor<4x8xbf16>, tensor<4x8xf32>, tensor<f32>, tensor<f32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  // CHECK: remat.adamw %{{.*}}, %{{.*}} moments %{{.*}}, %{{.*}} rate %{{.*}} step %{{[a-z0-9]+}} : (tensor<4x8xf32>, tensor<4x8xbf16>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<i64>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
  %2:3 = remat.adamw %p, %g moments %m, %v rate %rate step %step : (tensor<4x8xf32>, tensor<4x8xbf16>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<i64>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
  // CHECK: remat.adamw %{{.*}} scale %{{.*}} {beta2 = 9.000000e-01 : f64}
  %3:3 = remat.adamw %p, %g moments %m, %v rate %rate step %step scale %norm {beta2 = 0.9 : f64} : (tensor<4x8xf32>, tensor<4x8xbf16>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<i64>, tensor<f32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
  return
}

// CHECK-LABEL: @kernel
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<8xf32>, %[[S:.*]]: tensor<i64>)
func.func @kernel(%x: tensor<4x8xf32>, %b: tensor<8xf32>, %s: tensor<i64>) -> (tensor<4x8xf32>, tensor<4x8xbf16>, tensor<4xf32>) {
  // CHECK-NEXT: %[[K:.*]]:2 = remat.kernel(%[[A:.*]] = %[[X]] : tensor<4x8xf32>, %[[C:.*]] = %[[B]] : tensor<8xf32>, %{{.*}} = %[[S]] : tensor<i64>) -> (tensor<4x8xf32>, tensor<4x8xbf16>) attributes {remat.phase = #remat.phase<backward>} {
  // CHECK-NEXT: remat.add %[[A]], %[[C]] :
  %0:2 = remat.kernel(%a = %x : tensor<4x8xf32>, %c = %b : tensor<8xf32>, %seed = %s : tensor<i64>) -> (tensor<4x8xf32>, tensor<4x8xbf16>) attributes {remat.phase = #remat.phase<backward>} {
    %2 = remat.add %a, %c : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    %3 = remat.constant dense<2.0> : tensor<f32>
    %4 = remat.mul %2, %3 : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %5 = remat.dropout %4, %seed, %seed {p = 0.5 : f64, id = 1 : i64} : tensor<4x8xf32>
    %6 = remat.cast %5 : tensor<4x8xf32> to tensor<4x8xbf16>
    // CHECK: remat.yield %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<4x8xbf16>
    // CHECK-NEXT: }
    remat.yield %5, %6 : tensor<4x8xf32>, tensor<4x8xbf16>
  }
  // CHECK: remat.kernel(%{{.*}} = %[[K]]#0 : tensor<4x8xf32>) -> tensor<4xf32> {
  %1 = remat.kernel(%a = %0#0 : tensor<4x8xf32>) -> tensor<4xf32> {
    %2 = remat.exp %a : tensor<4x8xf32>
    %3 = remat.reduce <sum> %2, [1] : (tensor<4x8xf32>) -> tensor<4xf32>
    remat.yield %3 : tensor<4xf32>
  }
  // CHECK: return %[[K]]#0, %[[K]]#1
  return %0#0, %0#1, %1 : tensor<4x8xf32>, tensor<4x8xbf16>, tensor<4xf32>
}
