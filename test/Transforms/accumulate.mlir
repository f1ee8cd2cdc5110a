// RUN: remat-opt %s --remat-accumulate=micro-batches=2 | FileCheck %s
// RUN: remat-opt %s --remat-accumulate=micro-batches=1 | FileCheck %s --check-prefix=ONE
// RUN: remat-opt %s --remat-differentiate --remat-accumulate=micro-batches=2 | FileCheck %s --check-prefix=GRAD

// The example of Passes.td. The sum begins with -0: whatever is added to that
// stays as it is.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:[^:]*]]: tensor<2x3xf32> {{.*}}, %[[W:[^:]*]]: tensor<3xf32>
// CHECK-NEXT: %[[ZERO:.*]] = remat.constant dense<-0.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[SUM:.*]] = remat.scan 2 (%[[S:.*]] = %[[ZERO]] : tensor<f32>) over (%[[X0:.*]] = %[[X]] : tensor<2x3xf32>) with (%[[W0:.*]] = %[[W]] : tensor<3xf32>) -> tensor<f32> attributes {micro_batches} {
// CHECK-NEXT: %[[P:.*]] = remat.mul %[[X0]], %[[W0]]
// CHECK-NEXT: %[[L:.*]] = remat.reduce <sum> %[[P]]
// CHECK-NEXT: %[[NEXT:.*]] = remat.add %[[S]], %[[L]]
// CHECK-NEXT: remat.yield %[[NEXT]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[HALF:.*]] = remat.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %[[MEAN:.*]] = remat.mul %[[SUM]], %[[HALF]]
// CHECK-NEXT: return %[[MEAN]] : tensor<f32>

// The gradient of w is (x0 + x1) / 2: its sum is carried, each part is added as
// it is made.
// GRAD-LABEL: func.func @main
// GRAD: %[[ZERO:.*]] = remat.constant dense<-0.000000e+00> : tensor<3xf32>
// GRAD: %[[SUMS:.*]]:2 = remat.scan 2 ({{.*}}, %[[S:.*]] = %[[ZERO]] : tensor<3xf32>)
// GRAD: %[[G:.*]] = remat.mul %{{.*}}, %{{.*}} {remat.phase = #remat.phase<backward>} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// GRAD-NEXT: %[[NEXT:.*]] = remat.add %[[S]], %[[G]] {remat.phase = #remat.phase<backward>}
// GRAD-NEXT: remat.yield %{{.*}}, %[[NEXT]]
// GRAD: %[[HALF:.*]] = remat.constant {remat.phase = #remat.phase<backward>} dense<5.000000e-01> : tensor<f32>
// GRAD-NEXT: %[[MEAN:.*]] = remat.mul %[[SUMS]]#1, %[[HALF]] {remat.phase = #remat.phase<backward>}
// GRAD-NEXT: return %{{.*}}, %[[MEAN]] : tensor<f32>, tensor<3xf32>

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

// The seed is carried, and grows by 1 << 32: forward and backward of a
// micro-batch draw alike, and each draws other numbers.
// What depends on no input is made once: the cast of w, but not the random
// numbers that multiply it.
// GRAD-LABEL: func.func @random
// GRAD-SAME: (%[[W:[^:]*]]: tensor<3xf32> {{.*}}, %[[SEED:[^:]*]]: tensor<i64> {{.*}}remat.name = "seed"
// GRAD-NEXT: %[[L:.*]] = remat.cast %[[W]] : tensor<3xf32> to tensor<3xbf16>
// GRAD: remat.scan 2 (%[[OWN:[^ ]*]] = %[[SEED]] : tensor<i64>, {{.*}}, %[[S:[^ ]*]] = %{{[^ ]*}} : tensor<3xf32>) over () with ({{.*}}%[[READ:[^ ]*]] = %[[L]] : tensor<3xbf16>
// GRAD: %[[R:.*]] = remat.random <uniform> %[[OWN]], {{.*}} {id = 4 : i64}
// GRAD-NEXT: remat.mul %[[READ]], %[[R]]
// GRAD: remat.dropout {{.*}}, %[[OWN]], {{.*}} {id = 6 : i64, p = 5.000000e-01 : f64} : tensor<3xbf16>
// GRAD: remat.dropout {{.*}}, %[[OWN]], {{.*}} {id = 6 : i64, p = 5.000000e-01 : f64, remat.phase = #remat.phase<backward>}
// Gradients are added up in f32.
// GRAD: remat.add %[[S]], {{.*}}#remat.phase<backward>} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// GRAD: %[[BIT:.*]] = remat.constant dense<4294967296> : tensor<i64>
// GRAD: %[[NEXT:.*]] = remat.add %[[OWN]], %[[BIT]]
// GRAD: remat.yield %[[NEXT]],
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
// CHECK-NEXT: %[[MADE:.*]]:2 = remat.scan 2 () over (%[[X0:.*]] = %[[X]] : tensor<2x3xf32>) with (%[[E:.*]] = %[[SAME]] : tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
// CHECK-NEXT: %[[Y:.*]] = remat.add %[[X0]], %[[E]]
// CHECK-NEXT: remat.yield %[[Y]], %[[E]]
// CHECK: return %[[MADE]]#0, %[[MADE]]#1 : tensor<2x3xf32>, tensor<2x3xf32>
func.func @outputs(%x: tensor<3xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                   %w: tensor<3xf32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<3xf32> {remat.role = #remat.role<output>, remat.name = "y"},
        tensor<3xf32> {remat.role = #remat.role<output>, remat.name = "same"}) {
  %e = remat.exp %w : tensor<3xf32>
  %y = remat.add %x, %e : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %y, %e : tensor<3xf32>, tensor<3xf32>
}

// Ranks draw with a seed of their own, which is computed from that of the
// micro-batch. What reads the seed and draws nothing reads that of the step.
// CHECK-LABEL: func.func @derived
// CHECK: %[[SAME:.*]] = remat.cast %[[SEED:.*]] : tensor<i64> to tensor<f32>
// CHECK: remat.scan 2 (%[[OWN:[^ ]*]] = %[[SEED]] : tensor<i64>, {{.*}}) over ({{.*}}) with (%[[SHIFT:[^ ]*]] = %{{[^ ]*}} : tensor<i64>, {{.*}}%[[READ:[^ ]*]] = %[[SAME]] : tensor<f32>
// CHECK: %[[MINE:.*]] = remat.add %[[OWN]], %[[SHIFT]]
// CHECK: remat.dropout %{{.*}}, %[[MINE]],
// CHECK: remat.mul %{{.*}}, %[[READ]]
func.func @derived(%x: tensor<f32> {remat.role = #remat.role<input>, remat.name = "x"},
                   %one: tensor<i64> {remat.role = #remat.role<state>, remat.name = "one"},
                   %seed: tensor<i64> {remat.role = #remat.role<seed>, remat.name = "seed"},
                   %step: tensor<i64> {remat.role = #remat.role<step>, remat.name = "step"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %mine = remat.add %seed, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %d = remat.dropout %x, %mine, %step {p = 0.5, id = 1} : tensor<f32>
  %0 = remat.mul %x, %d : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %same = remat.cast %seed : tensor<i64> to tensor<f32>
  %loss = remat.mul %0, %same : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
