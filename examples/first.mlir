func.func @main(
    %x: tensor<1024x16xf32> {remat.role = #remat.role<input>, remat.name = "x"},
    %y: tensor<1024x4xf32> {remat.role = #remat.role<input>, remat.name = "y"},
    %w1: tensor<16x32xf32> {remat.role = #remat.role<parameter>, remat.name = "w1",
                            remat.init = #remat.init<normal, 2.0e-01>},
    %w2: tensor<32x32xf32> {remat.role = #remat.role<parameter>, remat.name = "w2",
                            remat.init = #remat.init<normal, 2.0e-01>},
    %w3: tensor<32x4xf32> {remat.role = #remat.role<parameter>, remat.name = "w3",
                           remat.init = #remat.init<normal, 2.0e-01>})
    -> (tensor<f32> {remat.role = #remat.role<loss>, remat.name = "loss"}) {
  %0 = remat.matmul %x, %w1 : (tensor<1024x16xf32>, tensor<16x32xf32>) -> tensor<1024x32xf32>
  %1 = remat.gelu %0 : tensor<1024x32xf32>
  %2 = remat.matmul %1, %w2 : (tensor<1024x32xf32>, tensor<32x32xf32>) -> tensor<1024x32xf32>
  %3 = remat.gelu %2 : tensor<1024x32xf32>
  %4 = remat.matmul %3, %w3 : (tensor<1024x32xf32>, tensor<32x4xf32>) -> tensor<1024x4xf32>
  %loss = remat.mse %4, %y : (tensor<1024x4xf32>, tensor<1024x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
