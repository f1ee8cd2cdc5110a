// RUN: not remat-opt %s --remat-add-optimizer=schedule=triangle 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not remat-opt %s --remat-add-optimizer=schedule=cosine 2>&1 | FileCheck %s --check-prefix=STEPS
// RUN: not remat-opt %s --remat-add-optimizer=decay-steps=5 2>&1 | FileCheck %s --check-prefix=CONSTANT
// RUN: not remat-opt %s --remat-add-optimizer=warmup-steps=-5 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not remat-opt %s --remat-add-optimizer="schedule=linear decay-steps=5 decay-factor=2" 2>&1 | FileCheck %s --check-prefix=FACTOR
// RUN: not remat-opt %s --remat-add-optimizer="schedule=step decay-steps=5 decay-factor=0" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not remat-opt %s --remat-add-optimizer=ema=1 2>&1 | FileCheck %s --check-prefix=EMA
// RUN: not remat-opt %s --remat-add-optimizer="dynamic-loss-scale=true loss-scale=8" 2>&1 | FileCheck %s --check-prefix=SCALE
// RUN: not remat-opt %s --remat-add-optimizer="loss-scale-interval=0" 2>&1 | FileCheck %s --check-prefix=INTERVAL
// RUN: not remat-opt %s --remat-differentiate="loss-scale=-1" 2>&1 | FileCheck %s --check-prefix=LOSS
// RUN: not remat-opt %s --remat-differentiate="dynamic-loss-scale=true" 2>&1 | FileCheck %s --check-prefix=DYNAMIC

// KIND: error: unknown schedule 'triangle'
// KIND: note: known are constant, linear, cosine, step, exponential
// STEPS: error: schedule 'cosine' has no decay-steps
// STEPS: note: say with decay-steps how many steps the decay takes
// CONSTANT: error: schedule 'constant' does not decay, but decay-steps is 5 and hold-steps is 0
// CONSTANT: note: choose schedule linear, cosine, step or exponential
// NEGATIVE: error: optimizer option warmup-steps is -5; it must be from 0 to 1000000000
// FACTOR: error: optimizer option decay-factor is 2{{.*}}; it must be in [0, 1]
// ZERO: error: optimizer option decay-factor is 0{{.*}}; it must be in (0, 1]
// EMA: error: optimizer option ema is 1{{.*}}; it must be in [0, 1)
// SCALE: error: the graph has no state 'loss_scale', which a dynamic loss scale is
// SCALE: note: run remat-differentiate with the same loss-scale
// INTERVAL: error: optimizer option loss-scale-interval is 0{{.*}}; it must be at least 1
// LOSS: error: option loss-scale is -1{{.*}}; it must be finite and not negative
// DYNAMIC: error: option loss-scale is 0{{.*}}; it must be finite and positive
func.func @main(
    %w: tensor<2xf32> {remat.role = #remat.role<parameter>, remat.name = "w"},
    %g: tensor<2xf32> {remat.role = #remat.role<input>, remat.name = "g"})
    -> (tensor<2xf32> {remat.role = #remat.role<gradient>, remat.name = "grad.w"}) {
  return %g : tensor<2xf32>
}
