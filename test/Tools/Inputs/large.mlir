func.func @main(
    %x: tensor<1x8192xf32> {remat.role = #remat.role<input>, remat.name = "x"},
    %y: tensor<1x4096xf32> {remat.role = #remat.role<input>, remat.name = "y"},
    %w: tensor<8192x4096xf32> {remat.role = #remat.role<parameter>, remat.name = "w",
                               remat.init = #remat.init<constant, 1.0e-03>})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.matmul %x, %w : (tensor<1x8192xf32>, tensor<8192x4096xf32>) -> tensor<1x4096xf32>
  %loss = remat.mse %0, %y : (tensor<1x4096xf32>, tensor<1x4096xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
