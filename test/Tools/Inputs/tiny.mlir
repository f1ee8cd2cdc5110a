func.func @main(
    %x: tensor<4x1xf32> {remat.role = #remat.role<input>, remat.name = "x"},
    %y: tensor<4x1xf32> {remat.role = #remat.role<input>, remat.name = "y"},
    %w: tensor<1x1xf32> {remat.role = #remat.role<parameter>, remat.name = "w",
                         remat.init = #remat.init<normal, 1.0>})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.matmul %x, %w : (tensor<4x1xf32>, tensor<1x1xf32>) -> tensor<4x1xf32>
  %loss = remat.mse %0, %y : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
