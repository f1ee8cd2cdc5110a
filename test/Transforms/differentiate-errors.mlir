// RUN: remat-opt %s --remat-differentiate --split-input-file --verify-diagnostics

func.func @main(
    %w: tensor<3xf32> {remat.role = #remat.role<parameter>, remat.name = "w"},
    // expected-error@+2 {{the loss does not depend on parameter 'idle'}}
    // expected-note@+1 {{remove it or give it the role input}}
    %idle: tensor<3xf32> {remat.role = #remat.role<parameter>, remat.name = "idle"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %loss = remat.reduce <sum> %w, [0] : (tensor<3xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// The way from w to the loss leads through integers.
func.func @main(
    // expected-error@+2 {{the loss does not depend on parameter 'w'}}
    // expected-note@+1 {{remove it or give it the role input}}
    %w: tensor<3xf32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.cast %w : tensor<3xf32> to tensor<3xi32>
  %1 = remat.cast %0 : tensor<3xi32> to tensor<3xf32>
  %loss = remat.reduce <sum> %1, [0] : (tensor<3xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// What a loss or a parameter may be, the verifier of its role says.
// expected-error@+2 {{result #0: a value of role 'loss' is a 'tensor<f32>', not a 'tensor<3xf32>'}}
// expected-note@+1 {{make one f32 number of it: remat.cast, and remat.reduce sum or mean over all dimensions}}
func.func @main(%w: tensor<3xf32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<3xf32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.exp %w : tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// expected-error@+2 {{result #0: a value of role 'loss' is a 'tensor<f32>', not a 'tensor<i64>'}}
// expected-note@+1 {{make one f32 number of it}}
func.func @main(%w: tensor<3xf32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<i64> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.cast %w : tensor<3xf32> to tensor<3xi64>
  %1 = remat.reduce <sum> %0, [0] : (tensor<3xi64>) -> tensor<i64>
  return %1 : tensor<i64>
}

// -----

// expected-error@+2 {{there are 2 losses (results 0 and 2), but one is needed}}
// expected-note@+1 {{add them up with remat.add}}
func.func @main(%w: tensor<f32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "a"},
        tensor<f32> {remat.role = #remat.role<output>, remat.name = "b"},
        tensor<f32> {remat.role = #remat.role<loss>, remat.name = "c"}) {
  return %w, %w, %w : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// expected-error@+2 {{argument #0: a value of role 'parameter' must have float elements, not 'tensor<3xi64>'}}
// expected-note@+1 {{integers have no gradient; give it the role input}}
func.func @main(
    %ids: tensor<3xi64> {remat.role = #remat.role<parameter>, remat.name = "ids"},
    %table: tensor<4x2xf32> {remat.role = #remat.role<parameter>, remat.name = "table"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.embedding %ids, %table : (tensor<3xi64>, tensor<4x2xf32>) -> tensor<3x2xf32>
  %loss = remat.reduce <sum> %0, [0, 1] : (tensor<3x2xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

func.func @main(%w: tensor<3xf32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  // expected-error@+2 {{has no adjoint, but the loss depends on a parameter through it}}
  // expected-note@+1 {{write it with differentiable operations}}
  %0 = remat.global_norm %w : (tensor<3xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @main(
    %x: tensor<1x2x3x1x4xf32> {remat.role = #remat.role<parameter>, remat.name = "x"},
    %positions: tensor<2x2xf32> {remat.role = #remat.role<parameter>, remat.name = "positions"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  // expected-error@+2 {{the mask depends on a parameter, but attention has no gradient of its mask}}
  // expected-note@+1 {{compute scores with remat.matmul, add the mask and use remat.softmax}}
  %0, %lse = remat.attention %x mask %positions : (tensor<1x2x3x1x4xf32>, tensor<2x2xf32>) -> (tensor<1x2x1x4xf32>, tensor<1x1x2xf32>)
  %loss = remat.reduce <sum> %0, [0, 1, 2, 3] : (tensor<1x2x1x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

func.func @main(%x: tensor<1x2x3x1x4xf32> {remat.role = #remat.role<parameter>, remat.name = "x"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  // expected-error@+2 {{cannot be differentiated with respect to its log-sum-exp (result 1)}}
  // expected-note@+1 {{compute the log-sum-exp with elementwise operations}}
  %0, %lse = remat.attention %x : (tensor<1x2x3x1x4xf32>) -> (tensor<1x2x1x4xf32>, tensor<1x1x2xf32>)
  %loss = remat.reduce <sum> %lse, [0, 1, 2] : (tensor<1x1x2xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// expected-error@+2 {{the graph has gradients already}}
// expected-note@+1 {{remat-differentiate runs once, on a forward graph}}
func.func @main(%w: tensor<f32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"},
        tensor<f32> {remat.role = #remat.role<gradient>, remat.name = "grad.w"}) {
  return %w, %w : tensor<f32>, tensor<f32>
}

// -----

func.func @main(
    // expected-error@+2 {{the gradient of parameter 'w' is called 'grad.w', which is a result's name}}
    // expected-note@+1 {{give that result another name}}
    %w: tensor<f32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"},
        tensor<f32> {remat.role = #remat.role<output>, remat.name = "grad.w"}) {
  return %w, %w : tensor<f32>, tensor<f32>
}
