// RUN: remat-opt %s --remat-accumulate=micro-batches=2 --split-input-file --verify-diagnostics
// RUN: not remat-opt %s --remat-accumulate=micro-batches=0 --split-input-file 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not remat-opt %s --remat-accumulate=micro-batches=99999 --split-input-file 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: error: micro-batches is {{0|99999}}; it must be from 1 to 4096

// expected-error@+2 {{result 1 is neither a loss, an output, a gradient nor a state's new value: it cannot be accumulated}}
// expected-note@+1 {{run remat-accumulate behind remat-differentiate and before remat-add-optimizer}}
func.func @main(%w: tensor<f32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"},
        tensor<f32> {remat.role = #remat.role<parameter>, remat.name = "w"}) {
  return %w, %w : tensor<f32>, tensor<f32>
}

// -----

// 2^60 elements of 4 bytes fit 64 bits, twice as many do not.
func.func @main(
    // expected-error@+1 {{2 micro-batches of input 'x' ('tensor<1152921504606846976xf32>') do not fit 64-bit sizes}}
    %x: tensor<1152921504606846976xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<1152921504606846976xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.neg %x : tensor<1152921504606846976xf32>
  return %0 : tensor<1152921504606846976xf32>
}

// -----

// 16 dimensions leave no room for that of the micro-batches.
func.func @main(
    // expected-error@+1 {{2 micro-batches of input 'x' ('tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>') have 17 dimensions, more than the 16 that are supported}}
    %x: tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  return %x : tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>
}

// -----

func.func @main(%w: tensor<f32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  // expected-error@+1 {{2 micro-batches of result #0 ('tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>') have 17 dimensions, more than the 16 that are supported}}
  %0 = remat.reshape %w : tensor<f32> to tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>
  return %0 : tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>
}

// -----

// The input is another one in each micro-batch.
func.func @main(%x: tensor<3xf32> {remat.role = #remat.role<input>, remat.name = "x"},
                %rate: tensor<f32> {remat.role = #remat.role<parameter>, remat.name = "rate"})
    -> (tensor<3xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  // expected-error@+2 {{'remat.sgd' would run in each of 2 micro-batches, an update runs once a step}}
  // expected-note@+1 {{run remat-accumulate behind remat-differentiate and before remat-add-optimizer}}
  %0 = remat.sgd %x, %x rate %rate : (tensor<3xf32>, tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
