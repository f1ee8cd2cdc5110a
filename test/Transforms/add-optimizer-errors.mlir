// RUN: remat-opt %s --remat-add-optimizer --split-input-file --verify-diagnostics

func.func @main(
    // expected-error@+2 {{parameter 'w' has no gradient of its shape}}
    // expected-note@+1 {{run remat-differentiate before remat-add-optimizer, each once}}
    %w: tensor<f32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  return %w : tensor<f32>
}

// -----

func.func @main(
    %g: tensor<2xf32> {remat.role = #remat.role<input>, remat.name = "g"},
    // expected-error@+2 {{parameter 'w' has no gradient of its shape}}
    // expected-note@+1 {{run remat-differentiate before remat-add-optimizer, each once}}
    %w: tensor<f32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"},
        tensor<2xf32> {remat.role = #remat.role<gradient>, remat.name = "grad.w"}) {
  return %w, %g : tensor<f32>, tensor<2xf32>
}
