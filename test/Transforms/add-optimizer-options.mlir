// RUN: not remat-opt %s --remat-add-optimizer=kind=lbfgs 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not remat-opt %s --remat-add-optimizer=rate=-1 2>&1 | FileCheck %s --check-prefix=RATE
// RUN: not remat-opt %s --remat-add-optimizer=rate=nan 2>&1 | FileCheck %s --check-prefix=NAN
// RUN: not remat-opt %s --remat-add-optimizer=beta2=1 2>&1 | FileCheck %s --check-prefix=BETA
// RUN: not remat-opt %s --remat-add-optimizer=clip-norm=inf 2>&1 | FileCheck %s --check-prefix=CLIP

// KIND: error: unknown optimizer 'lbfgs'
// KIND: note: known are adamw, adam, sgd, lion, rmsprop, adafactor, muon
// RATE: error: optimizer option rate is -1{{.*}}; it must be finite and not negative
// NAN: error: optimizer option rate is {{.*}}; it must be finite and not negative
// BETA: error: optimizer option beta2 is 1{{.*}}; it must be in [0, 1)
// CLIP: error: optimizer option clip-norm is {{.*}}; it must be finite and not negative
func.func @main(%x: tensor<f32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<f32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<f32>
}
