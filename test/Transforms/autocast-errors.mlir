// RUN: remat-opt %s --remat-autocast --split-input-file --verify-diagnostics

// expected-error@+2 {{the graph has gradients already}}
// expected-note@+1 {{run remat-autocast before remat-differentiate}}
func.func @main(%w: tensor<f32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"},
        tensor<f32> {remat.role = #remat.role<gradient>, remat.name = "grad.w"}) {
  return %w, %w : tensor<f32>, tensor<f32>
}
