// RUN: remat-opt %s --remat-differentiate "--remat-add-optimizer=kind=sgd rate=0.1 weight-decay=0" | FileCheck %s --check-prefix=SGD
// RUN: remat-opt %s --remat-differentiate "--remat-add-optimizer=kind=sgd momentum=0.9" | FileCheck %s --check-prefix=MOMENTUM
// RUN: remat-opt %s --remat-differentiate --remat-add-optimizer | FileCheck %s --check-prefix=ADAMW
// RUN: remat-opt %s --remat-differentiate --remat-add-optimizer=clip-norm=1 | FileCheck %s --check-prefix=CLIP
// RUN: remat-opt %s --remat-autocast --remat-differentiate --remat-add-optimizer | FileCheck %s --check-prefix=LOW

// The example of Passes.td: results are the loss, w, the step; each overwrites
// its argument. The learning rate is read only.
// SGD-LABEL: func.func @main
// SGD-SAME: (%[[W:[^:]*]]: tensor<3xf32> {remat.donated = 1 : i64, remat.name = "w", remat.role = #remat.role<parameter>}, %[[RATE:[^:]*]]: tensor<f32> {remat.init = #remat.init<constant, 1.000000e-01>, remat.name = "learning_rate", remat.role = #remat.role<learning_rate>}, %[[STEP:[^:]*]]: tensor<i64> {remat.donated = 2 : i64, remat.name = "step", remat.role = #remat.role<step>})
// SGD-SAME: -> (tensor<f32> {remat.name = "loss", remat.role = #remat.role<loss>}, tensor<3xf32> {remat.name = "w", remat.role = #remat.role<parameter>}, tensor<i64> {remat.name = "step", remat.role = #remat.role<step>})
// SGD: %[[G:.*]] = remat.mul {{.*}} {remat.phase = #remat.phase<backward>}
// SGD-NEXT: %[[NEW:.*]] = remat.sgd %[[W]], %[[G]] rate %[[RATE]] {remat.phase = #remat.phase<optimizer>} : (tensor<3xf32>, tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
// SGD-NEXT: %[[ONE:.*]] = remat.constant {remat.phase = #remat.phase<optimizer>} dense<1> : tensor<i64>
// SGD-NEXT: %[[NEXT:.*]] = remat.add %[[STEP]], %[[ONE]] {remat.phase = #remat.phase<optimizer>}
// SGD-NEXT: return %{{.*}}, %[[NEW]], %[[NEXT]] : tensor<f32>, tensor<3xf32>, tensor<i64>

// MOMENTUM-LABEL: func.func @main
// MOMENTUM-SAME: %[[B:[^:]*]]: tensor<3xf32> {remat.donated = 2 : i64, remat.init = #remat.init<constant, 0.000000e+00>, remat.name = "w.momentum", remat.role = #remat.role<state>}
// MOMENTUM: %[[NEW:.*]], %[[NB:.*]] = remat.sgd %{{.*}}, %{{.*}} buffer %[[B]] rate %{{.*}} {momentum = 9.000000e-01 : f64
// MOMENTUM: return %{{.*}}, %[[NEW]], %[[NB]], %{{.*}} :
func.func @main(%w: tensor<3xf32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.exp %w : tensor<3xf32>
  %loss = remat.reduce <sum> %0, [0] : (tensor<3xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// Two layers. The update of b follows the product that reads b for the gradient
// of the hidden layer, and comes before the gradient of a is made: one gradient
// is alive at a time. Results: loss, hidden, a, b, two moments of each, step.
// ADAMW-LABEL: func.func @two_layers
// ADAMW-SAME: %[[A:[^:]*]]: tensor<4x5xf32> {remat.donated = 2 : i64, remat.name = "a", {{[^}]*}}}, %[[B:[^:]*]]: tensor<5x6xf32> {remat.donated = 3 : i64, remat.name = "b", {{[^}]*}}}, %[[STEP:[^:]*]]: tensor<i64> {remat.donated = 8 : i64
// ADAMW-SAME: %[[AM:[^:]*]]: tensor<4x5xf32> {remat.donated = 4 : i64, {{.*}} remat.name = "a.exp_avg", {{[^}]*}}}, %[[AV:[^:]*]]: tensor<4x5xf32> {remat.donated = 5 : i64, {{.*}} remat.name = "a.exp_avg_sq", {{[^}]*}}}, %[[BM:[^:]*]]: tensor<5x6xf32> {remat.donated = 6 : i64, {{.*}} remat.name = "b.exp_avg", {{[^}]*}}}, %[[BV:[^:]*]]: tensor<5x6xf32> {remat.donated = 7 : i64, {{.*}} remat.name = "b.exp_avg_sq"
// ADAMW: %[[DB:.*]] = remat.matmul {{.*}} {remat.phase = #remat.phase<backward>, transpose_lhs} {{.*}} -> tensor<5x6xf32>
// ADAMW-NEXT: %[[DH:.*]] = remat.matmul %{{.*}}, %[[B]] {remat.phase = #remat.phase<backward>, transpose_rhs}
// ADAMW-NEXT: %[[NB:.*]], %[[NBM:.*]], %[[NBV:.*]] = remat.adamw %[[B]], %[[DB]] moments %[[BM]], %[[BV]] rate %{{.*}} step %[[STEP]] {remat.phase = #remat.phase<optimizer>}
// ADAMW-NEXT: %[[DP:.*]] = remat.relu_backward
// ADAMW-NEXT: %[[DA:.*]] = remat.matmul {{.*}} -> tensor<4x5xf32>
// ADAMW-NEXT: %[[NA:.*]], %[[NAM:.*]], %[[NAV:.*]] = remat.adamw %[[A]], %[[DA]] moments %[[AM]], %[[AV]]
// ADAMW-NEXT: remat.constant
// ADAMW-NEXT: %[[NEXT:.*]] = remat.add %[[STEP]]
// ADAMW-NEXT: return %{{.*}}, %{{.*}}, %[[NA]], %[[NB]], %[[NAM]], %[[NAV]], %[[NBM]], %[[NBV]], %[[NEXT]] :

// Clipping needs all gradients before the first update: factor
// min(1, 1 / (norm + 1e-6)).
// CLIP-LABEL: func.func @two_layers
// CLIP: %[[DB:.*]] = remat.matmul {{.*}} -> tensor<5x6xf32>
// CLIP: %[[DA:.*]] = remat.matmul {{.*}} -> tensor<4x5xf32>
// CLIP-NEXT: %[[NORM:.*]] = remat.global_norm %[[DA]], %[[DB]] {remat.phase = #remat.phase<optimizer>} : (tensor<4x5xf32>, tensor<5x6xf32>) -> tensor<f32>
// CLIP-NEXT: %[[TINY:.*]] = remat.constant {{.*}} dense<9.99999997E-7>
// CLIP-NEXT: %[[ABOVE:.*]] = remat.add %[[NORM]], %[[TINY]]
// CLIP-NEXT: %[[MOST:.*]] = remat.constant {{.*}} dense<1.000000e+00>
// CLIP-NEXT: %[[RATIO:.*]] = remat.div %[[MOST]], %[[ABOVE]]
// CLIP-NEXT: %[[ONE:.*]] = remat.constant {{.*}} dense<1.000000e+00>
// CLIP-NEXT: %[[SCALE:.*]] = remat.min %[[ONE]], %[[RATIO]]
// CLIP-NEXT: remat.adamw %{{.*}}, %[[DA]] {{.*}} scale %[[SCALE]]
// CLIP-NEXT: remat.adamw %{{.*}}, %[[DB]] {{.*}} scale %[[SCALE]]

// Under autocast the update reads the bf16 gradient: its cast to f32 is gone. It
// stands behind the product that reads the cast of b, which a plan may want to
// make again from b.
// LOW-LABEL: func.func @two_layers
// LOW: %[[LB:.*]] = remat.cast %[[B:.*]] : tensor<5x6xf32> to tensor<5x6xbf16>
// LOW: %[[DB:.*]] = remat.matmul {{.*}} -> tensor<5x6xbf16>
// LOW-NEXT: remat.matmul %{{.*}}, %[[LB]] {remat.phase = #remat.phase<backward>, transpose_rhs}
// LOW-NEXT: remat.adamw %[[B]], %[[DB]] {{.*}} : (tensor<5x6xf32>, tensor<5x6xbf16>,
func.func @two_layers(%x: tensor<3x4xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                      %a: tensor<4x5xf32> {remat.role = #remat.role<parameter>, remat.name = "a"},
                      %b: tensor<5x6xf32> {remat.role = #remat.role<parameter>, remat.name = "b"},
                      %step: tensor<i64> {remat.role = #remat.role<step>, remat.name = "step"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"},
        tensor<3x5xf32> {remat.role = #remat.role<output>, remat.name = "hidden"}) {
  %0 = remat.matmul %x, %a : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %1 = remat.relu %0 : tensor<3x5xf32>
  %2 = remat.matmul %1, %b : (tensor<3x5xf32>, tensor<5x6xf32>) -> tensor<3x6xf32>
  %loss = remat.reduce <sum> %2, [0, 1] : (tensor<3x6xf32>) -> tensor<f32>
  return %loss, %1 : tensor<f32>, tensor<3x5xf32>
}

// Nothing to train: the graph stays as it is.
// ADAMW-LABEL: func.func @forward_only
// ADAMW-SAME: (%[[X:[^:]*]]: tensor<3xf32> {remat.name = "x", remat.role = #remat.role<input>})
// ADAMW-NEXT: remat.exp
// ADAMW-NEXT: return
func.func @forward_only(%x: tensor<3xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<3xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.exp %x : tensor<3xf32>
  return %0 : tensor<3xf32>
}
