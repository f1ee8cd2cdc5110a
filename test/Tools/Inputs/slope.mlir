// A root at zero: its value is a number, its slope is not.
func.func @main(
    %w: tensor<2xf32> {remat.role = #remat.role<parameter>, remat.name = "w"})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.sqrt %w : tensor<2xf32>
  %loss = remat.reduce <sum> %0, [0] : (tensor<2xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
