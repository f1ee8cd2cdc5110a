// RUN: remat-opt %s -split-input-file -verify-diagnostics -remat-print-liveness -o /dev/null

// The parameter is read behind the operation that overwrites it.
func.func @read_after(%w: tensor<4xf32> {remat.role = #remat.role<parameter>, remat.name = "w", remat.donated = 0 : i64})
    -> (tensor<4xf32> {remat.role = #remat.role<parameter>, remat.name = "w"},
        tensor<4xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  // expected-error @+1 {{result #0 cannot overwrite argument #0, which is read by or after this operation}}
  %0 = remat.exp %w : tensor<4xf32>
  %1 = remat.tanh %w : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// sgd may write over its parameter, but not while that is its gradient as well.
func.func @read_by(%w: tensor<4xf32> {remat.role = #remat.role<parameter>, remat.name = "w", remat.donated = 0 : i64},
                   %rate: tensor<f32> {remat.role = #remat.role<learning_rate>, remat.name = "rate"})
    -> (tensor<4xf32> {remat.role = #remat.role<parameter>, remat.name = "w"}) {
  // expected-error @+1 {{result #0 cannot overwrite argument #0, which is read by or after this operation}}
  %0 = remat.sgd %w, %w rate %rate : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Each size, 2^62 bytes, fits 64 bits; two of them are 2^63 bytes.
// expected-error @+1 {{bytes alive at once do not fit 64 bits}}
func.func @sum(%x: tensor<1152921504606846976xf32> {remat.role = #remat.role<input>, remat.name = "x"})
    -> (tensor<1152921504606846976xf32> {remat.role = #remat.role<output>, remat.name = "y"}) {
  %0 = remat.exp %x : tensor<1152921504606846976xf32>
  %1 = remat.mul %0, %x : (tensor<1152921504606846976xf32>, tensor<1152921504606846976xf32>) -> tensor<1152921504606846976xf32>
  %2 = remat.transpose %1, [0] : (tensor<1152921504606846976xf32>) -> tensor<1152921504606846976xf32>
  return %2 : tensor<1152921504606846976xf32>
}
