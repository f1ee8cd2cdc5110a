// The logarithm of a negative number; a mask that holds infinities on purpose.
func.func @main(
    %w: tensor<4xf32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %signs = remat.constant dense<[1.0, 2.0, -1.0, 3.0]> : tensor<4xf32>
  %shifted = remat.add %w, %signs : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %zero = remat.constant dense<0.0> : tensor<f32>
  %low = remat.constant dense<0xFF800000> : tensor<f32>
  %keep = remat.compare <lt> %zero, %shifted : (tensor<f32>, tensor<4xf32>) -> tensor<4xi1>
  %masked = remat.select %keep, %shifted, %low : (tensor<4xi1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %shares = remat.softmax %masked : tensor<4xf32>
  %root = remat.log %shifted : tensor<4xf32>
  %both = remat.mul %root, %shares : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %loss = remat.reduce <sum> %both, [0] : (tensor<4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
