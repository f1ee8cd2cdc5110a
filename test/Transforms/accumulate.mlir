// RUN: remat-opt %s --remat-accumulate=micro-batches=2 | FileCheck %s
// RUN: remat-opt %s --remat-accumulate=micro-batches=1 | FileCheck %s --check-prefix=ONE
// RUN: remat-opt %s --remat-differentiate --remat-accumulate=micro-batches=2 | FileCheck %s --check-prefix=GRAD

// The example of Passes.td.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:[^:]*]]: tensor<2x3xf32> {{.*}}, %[[W:[^:]*]]: tensor<3xf32>
// CHECK-NEXT: %[[S0:.*]] = remat.slice %[[X]], [0, 0] [1, 3] : (tensor<2x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %[[X0:.*]] = remat.reshape %[[S0]] : tensor<1x3xf32> to tensor<3xf32>
// CHECK-NEXT: %[[P0:.*]] = remat.mul %[[X0]], %[[W]]
// CHECK-NEXT: %[[L0:.*]] = remat.reduce <sum> %[[P0]]
// CHECK-NEXT: %[[S1:.*]] = remat.slice %[[X]], [1, 0] [1, 3] : (tensor<2x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %[[X1:.*]] = remat.reshape %[[S1]] : tensor<1x3xf32> to tensor<3xf32>
// CHECK-NEXT: %[[P1:.*]] = remat.mul %[[X1]], %[[W]]
// CHECK-NEXT: %[[L1:.*]] = remat.reduce <sum> %[[P1]]
// CHECK-NEXT: %[[SUM:.*]] = remat.add %[[L0]], %[[L1]]
// CHECK-NEXT: %[[HALF:.*]] = remat.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %[[MEAN:.*]] = remat.mul %[[SUM]], %[[HALF]]
// CHECK-NEXT: return %[[MEAN]] : tensor<f32>

// The gradient of w is (x0 + x1) / 2, added up as micro-batch 1 completes its
// part: the two parts are never alive beside another value of micro-batch 0.
// GRAD-LABEL: func.func @main
// GRAD: %[[G0:.*]] = remat.mul %{{.*}}, %{{.*}} {remat.phase = #remat.phase<backward>} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// GRAD: remat.slice %{{.*}}, [1, 0] [1, 3]
// GRAD: %[[G1:.*]] = remat.mul %{{.*}}, %{{.*}} {remat.phase = #remat.phase<backward>} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// GRAD-NEXT: %[[GSUM:.*]] = remat.add %[[G0]], %[[G1]] {remat.phase = #remat.phase<backward>}
// GRAD-NEXT: %[[HALF:.*]] = remat.constant {remat.phase = #remat.phase<backward>} dense<5.000000e-01> : tensor<f32>
// GRAD-NEXT: %[[G:.*]] = remat.mul %[[GSUM]], %[[HALF]] {remat.phase = #remat.phase<backward>}
// GRAD-NEXT: return %{{.*}}, %[[G]] : tensor<f32>, tensor<3xf32>

// ONE-LABEL: func.func @main
// ONE-SAME: tensor<3xf32>
// ONE-NEXT: remat.mul
// ONE-NEXT: remat.reduce
// ONE-NEXT: return
func.func @main(%x: tensor<3xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                %w: tensor<3xf32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.mul %x, %w : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %loss = remat.reduce <sum> %0, [0] : (tensor<3xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// Micro-batch 1 draws with the seed plus 1 << 32, forward and backward alike.
// What depends on no input is made once: the cast of w, but not the random
// numbers that multiply it.
// GRAD-LABEL: func.func @random
// GRAD-SAME: (%[[W:[^:]*]]: tensor<3xf32> {{.*}}, %[[SEED:[^:]*]]: tensor<i64> {{.*}}remat.name = "seed"
// GRAD-NEXT: %[[L:.*]] = remat.cast %[[W]] : tensor<3xf32> to tensor<3xbf16>
// GRAD: %[[R0:.*]] = remat.random <uniform> %[[SEED]], {{.*}} {id = 4 : i64}
// GRAD-NEXT: remat.mul %[[L]], %[[R0]]
// GRAD: remat.dropout {{.*}} {id = 6 : i64, p = 5.000000e-01 : f64} : tensor<3xbf16>
// GRAD: remat.dropout {{.*}} {id = 6 : i64, p = 5.000000e-01 : f64, remat.phase = #remat.phase<backward>}
// GRAD: %[[BIT:.*]] = remat.constant dense<4294967296> : tensor<i64>
// GRAD: %[[NEXT:.*]] = remat.add %[[SEED]], %[[BIT]]
// GRAD: %[[R1:.*]] = remat.random <uniform> %[[NEXT]], {{.*}} {id = 4 : i64}
// GRAD-NEXT: remat.mul %[[L]], %[[R1]]
// GRAD: remat.dropout %{{.*}}, %[[NEXT]], {{.*}} {id = 6 : i64, p = 5.000000e-01 : f64} : tensor<3xbf16>
// GRAD: remat.dropout %{{.*}}, %[[NEXT]], {{.*}} {id = 6 : i64, p = 5.000000e-01 : f64, remat.phase = #remat.phase<backward>}
// Gradients are added up in f32.
// GRAD: remat.add {{.*}}#remat.phase<backward>} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
func.func @random(%w: tensor<3xf32> {remat.role = #remat.role<parameter>, remat.name = "w"},
                  %seed: tensor<i64> {remat.role = #remat.role<seed>, remat.name = "seed"},
                  %step: tensor<i64> {remat.role = #remat.role<step>, remat.name = "step"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %l = remat.cast %w : tensor<3xf32> to tensor<3xbf16>
  %r = remat.random <uniform> %seed, %step {id = 4} : tensor<3xbf16>
  %p = remat.mul %l, %r : (tensor<3xbf16>, tensor<3xbf16>) -> tensor<3xbf16>
  %d = remat.dropout %p, %seed, %step {p = 0.5, id = 6} : tensor<3xbf16>
  %f = remat.cast %d : tensor<3xbf16> to tensor<3xf32>
  %loss = remat.reduce <sum> %f, [0] : (tensor<3xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// Outputs are stacked, also one that is the same for every micro-batch; a
// forward-only graph needs no loss.
// CHECK-LABEL: func.func @outputs
// CHECK-SAME: (%[[X:[^:]*]]: tensor<2x3xf32> {{.*}}, %[[W:[^:]*]]: tensor<3xf32>
// CHECK-SAME: -> (tensor<2x3xf32> {remat.name = "y", {{.*}}}, tensor<2x3xf32> {remat.name = "same", {{.*}}})
// CHECK-NEXT: %[[SAME:.*]] = remat.exp %[[W]]
// CHECK: %[[Y0:.*]] = remat.add %{{.*}}, %[[SAME]]
// CHECK: %[[Y1:.*]] = remat.add %{{.*}}, %[[SAME]]
// CHECK-NEXT: %[[R0:.*]] = remat.reshape %[[Y0]] : tensor<3xf32> to tensor<1x3xf32>
// CHECK-NEXT: %[[R1:.*]] = remat.reshape %[[Y1]] : tensor<3xf32> to tensor<1x3xf32>
// CHECK-NEXT: %[[Y:.*]] = remat.concat %[[R0]], %[[R1]] {dim = 0 : i64} : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
// CHECK: %[[T:.*]] = remat.concat
// CHECK-NEXT: return %[[Y]], %[[T]] : tensor<2x3xf32>, tensor<2x3xf32>
func.func @outputs(%x: tensor<3xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                   %w: tensor<3xf32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<3xf32> {remat.role = #remat.role<output>, remat.name = "y"},
        tensor<3xf32> {remat.role = #remat.role<output>, remat.name = "same"}) {
  %e = remat.exp %w : tensor<3xf32>
  %y = remat.add %x, %e : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %y, %e : tensor<3xf32>, tensor<3xf32>
}
